"""Time of one GPT training step: tinytensor beside eager PyTorch, in one run on this machine.

    python benchmarks/gpt_step.py                 # setting S: 4 layers, 4 heads, 128 wide
    python benchmarks/gpt_step.py --setting M --rounds 10 --dropout

The short way to one line of ``python -m benchmarks``, for work on the engine: nothing is written,
and the environment needs no framework but torch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import machine, report
from benchmarks.peers import EAGER, OURS, PRODUCTS, WORKERS
from benchmarks.turns import disagreements, measure
from benchmarks.workloads import WORKLOADS


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--setting", choices="SML", default="S", help="size of the model")
    parser.add_argument("--dropout", action="store_true", help="of 0.2, else none")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each framework")
    parser.add_argument("--steps", type=int, default=10, help="steps in a turn")
    parser.add_argument("--threads", type=int, help="of each process")
    options = parser.parse_args()
    name = f"gpt-{options.setting}" + ("-dropout" if options.dropout else "")
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    peers = [OURS, WORKERS, EAGER, *PRODUCTS]
    print(f"{name}: {options.rounds} turns of {', '.join(peers)}", flush=True)
    unlimited = float("inf")
    results = measure(workload, peers, options.rounds, options.steps, unlimited, options.threads)
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    print(report.text_table(results))
    for line in disagreements(results):
        print(f"NOT THE SAME WORK: {line}")


if __name__ == "__main__":
    main()
