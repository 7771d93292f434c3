"""What stays as it is over long runs and large inputs: printed as small tables.

python benchmarks/checks.py precision      # the loss in float32 beside float64, 100 steps
python benchmarks/checks.py steps          # memory and time per step over 10,000 steps
python benchmarks/checks.py block          # a block of 4,096 symbols on one head
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import machine
from benchmarks import workloads as w
from benchmarks.peers import ours
from tinytensor import random
from tinytensor.train import CharTokenizer, TokenStream, default_corpus


def resident() -> float:
    """MiB that this process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def precision(steps: int) -> None:
    """Two runs of setting S on the default corpus, from the same weights on the same batches."""
    text = default_corpus()
    tokenizer = CharTokenizer.from_text(text)
    setting = replace(w.S, vocab=len(tokenizer))
    losses = {}
    for dtype in ("float32", "float64"):
        model = ours.gpt_model(setting)
        model.to(dtype)
        random.manual_seed(1)
        data = TokenStream(tokenizer.encode(text), setting.block)
        step = ours.language_model(model, partial(data.batch, setting.batch))
        losses[dtype] = np.array([step() for _ in range(steps)])
        assert {str(p.dtype) for p in model.parameters()} == {dtype}
    difference = abs(losses["float32"] / losses["float64"] - 1)
    print(f"loss {losses['float64'][0]:.4f} to {losses['float64'][-1]:.4f} in {steps} steps")
    print(f"largest relative difference: {difference.max():.2e}, at step {difference.argmax() + 1}")


def steps(count: int) -> None:
    """Setting S; the first tenth warms up."""
    step = ours.gpt(w.S)
    print(f"{'steps':>7} {'ms per step':>12} {'resident MiB':>13}")
    for part in range(10):
        times = []
        for _ in range(count // 10):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        done = (part + 1) * count // 10
        print(f"{done:>7} {1e3 * float(np.median(times)):>12.2f} {resident():>13.1f}", flush=True)


def block(length: int = 4096) -> None:
    """Five training steps of one layer with one head, batch 1."""
    setting = replace(w.S, layers=1, heads=1, block=length, batch=1)
    before, step = resident(), ours.gpt(setting)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    peak = machine.peak_memory() / 2**20
    print(f"block {length}: {1e3 * min(times):.0f} ms per step")
    print(f"peak {peak:.0f} MiB, of which {before:.0f} before the model was made")


def main(arguments: list[str] | None = None) -> None:
    """Run one check from a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("check", choices=["precision", "steps", "block"])
    parser.add_argument("--steps", type=int, help="of precision (100) and steps (10,000)")
    options = parser.parse_args(arguments)
    checks: dict[str, Callable[[], None]] = {
        "precision": lambda: precision(options.steps or 100),
        "steps": lambda: steps(options.steps or 10_000),
        "block": block,
    }
    machine.start_clean()
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    checks[options.check]()


if __name__ == "__main__":
    main()
