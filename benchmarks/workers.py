"""From which work on several processes are faster than one, which the default of ``workers`` is.

    python benchmarks/workers.py                       # about three minutes, prints a table

Steps of one process and of a process for each core take turns, over models and batches from tiny
to large. The work of a step is its number of parameters times its number of symbols; the ratio is
the shortest step of the processes over the shortest step of one, which what else runs on the
machine disturbs least. The last lines say where the two cross, and where the rule in
``train/workers.py`` takes one process although several are much faster, or several that are slower.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import machine
from benchmarks.peers import OURS, WORKERS
from benchmarks.report import duration
from benchmarks.turns import measure
from benchmarks.workloads import GPT, Recurrent, Workload

#: from tiny to large in each model; some with many parameters and few symbols
LADDER: list[GPT | Recurrent] = [
    GPT(1, 1, 16, 16, 4),
    GPT(1, 2, 32, 32, 4),
    GPT(2, 2, 48, 32, 8),
    GPT(2, 4, 64, 64, 8),
    GPT(4, 4, 64, 64, 12),
    GPT(2, 4, 128, 64, 8),
    GPT(2, 4, 128, 64, 12),
    GPT(4, 4, 128, 64, 12),
    GPT(2, 4, 256, 8, 2),
    GPT(4, 4, 256, 16, 4),
    *(
        Recurrent(cell, layers, width, block, batch)
        for cell in ("lstm", "rnn")
        for layers, width, block, batch in (
            (1, 32, 16, 4),
            (2, 32, 32, 8),
            (2, 64, 64, 12),
            (2, 128, 64, 12),
            (2, 192, 64, 12),
            (2, 256, 64, 12),
            (2, 384, 64, 12),
            (2, 512, 8, 2),
            (2, 512, 32, 8),
        )
    ),
]


@dataclass
class Line:
    """A setting measured: seconds of the shortest step of one process, and of several."""

    setting: GPT | Recurrent
    work: int
    one: float
    several: float
    chosen: int

    @property
    def ratio(self) -> float:
        """Below 1 several processes are faster."""
        return self.several / self.one


def described(s: GPT | Recurrent) -> str:
    """``gpt 4 x 128, 12 x 64``: layers and width, blocks and symbols of each."""
    name = "gpt" if isinstance(s, GPT) else s.cell
    return f"{name:<4} {s.layers} x {s.width:<3}  {s.batch:>2} x {s.block}"


def line(setting: GPT | Recurrent, rounds: int, seconds: float) -> Line:
    """Measure one setting."""
    from benchmarks.peers import ours
    from tinytensor.train.parallel.workers import best, work

    gpt = isinstance(setting, GPT)
    model = ours.gpt_model(setting) if gpt else ours.recurrent_model(setting)
    results = measure(Workload("workers", setting), (OURS, WORKERS), rounds, 10**6, seconds)
    for result in results:
        if result.absent is not None:
            sys.exit(f"{result.peer}: {result.absent}")
    sizes = model.num_parameters(), setting.batch, setting.block
    one, several = (min(result.times) for result in results)
    return Line(setting, work(*sizes), one, several, best(*sizes))


def main() -> None:
    """Parse the command line, measure, print."""
    machine.start_clean()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=12, help="turns of each")
    parser.add_argument("--seconds", type=float, default=0.15, help="length of a turn")
    parser.add_argument("--quick", action="store_true", help="two toy settings, in seconds")
    options = parser.parse_args()
    ladder = LADDER
    if options.quick:
        ladder, options.rounds, options.seconds = [LADDER[0], LADDER[10]], 1, 0.05
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    print(f"{'model':<15}  {'batch':<7}  {'work':>8}  {'one':>10}  {'several':>10}  ratio  chosen")
    lines = []
    for setting in ladder:
        new = line(setting, options.rounds, options.seconds)
        lines.append(new)
        print(
            f"{described(setting):<24}  {new.work / 1e6:>6,.1f} M  {duration(new.one):>10}  "
            f"{duration(new.several):>10}  {new.ratio:>5.2f}  {new.chosen:>6}",
            flush=True,
        )
    slower = [x for x in lines if x.ratio >= 0.9]
    faster = [x for x in lines if x.ratio < 0.9]
    if slower:
        most = max(slower, key=lambda x: x.work)
        print(f"the most work that gains less than a tenth: {most.work / 1e6:,.1f} M")
    if faster:
        least = min(faster, key=lambda x: x.work)
        print(f"the least work that gains a tenth: {least.work / 1e6:,.1f} M")
    for x in lines:
        if x.chosen > 1 and x.ratio > 1:
            print(f"several processes are chosen and lose: {described(x.setting)}")
        if x.chosen == 1 and x.ratio < 0.75:
            print(f"one process is chosen and loses more than a quarter: {described(x.setting)}")


if __name__ == "__main__":
    main()
