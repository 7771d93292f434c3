"""The figure that each model of the lineage reaches on its task: mean and spread of three seeds.

    python benchmarks/lineage.py                       # all of them, one after the other
    python benchmarks/lineage.py dates addition        # some tasks
    python benchmarks/lineage.py --seeds 1 2 -- digits

Every run is the plain command, ``tinytensor train --task T --model M --seed S``, in a process of
its own. What has been measured is kept in ``build/lineage``, and is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tinytensor.train.config import TrainConfig
from tinytensor.train.tasks import TASKS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "lineage"
#: what environments set that slows NumPy's products
SLOW = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def main() -> None:
    """Run what is asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    figures = [task for task in TASKS if task not in ("text", "words")]  # of those there is none
    parser.add_argument("tasks", nargs="*", default=figures)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--workers", help="processes of each run (default: as the run chooses)")
    given = parser.parse_args()
    print("| task | model | steps | figure | mean | seeds | seconds |")
    print("|---|---|---|---|---|---|---|")
    for task in given.tasks:
        for model in TASKS[task].recipes:
            found = [run(task, model, seed, given.workers) for seed in given.seeds]
            print(line(task, model, found), flush=True)


def line(task: str, model: str, found: list[dict]) -> str:
    """A row of the table."""
    values = [each["value"] for each in found]
    mean = statistics.mean(values)
    each = ", ".join(f"{value:.4f}" for value in values)
    seconds = statistics.mean(each["seconds"] for each in found)
    steps = TrainConfig(task=task, model=model).steps
    name = found[0]["name"]
    return f"| {task} | {model} | {steps:,} | {name} | {mean:.4f} | {each} | {seconds:.0f} |"


def run(task: str, model: str, seed: int, workers: str | None) -> dict:
    """The figure of a run, and how long it took with all that belongs to it."""
    folder = OUT / f"{task}-{model}-{seed}"
    result = folder / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    args = ["train", "--task", task, "--model", model, "--seed", str(seed)]
    args += ["--out", str(folder), "--overwrite", *(["--workers", workers] if workers else [])]
    environment = {name: value for name, value in os.environ.items() if name not in SLOW}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tinytensor", *args],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{task} {model}: {done.stderr}")
    figure = re.search(r"validation loss  .*\n(?:test.*\n)?(\w+) +([\d.]+)(.*)", done.stdout)
    assert figure is not None, done.stdout
    found = {"name": figure[1], "value": float(figure[2]), "rest": figure[3], "seconds": seconds}
    result.write_text(json.dumps(found))
    return found


if __name__ == "__main__":
    main()
