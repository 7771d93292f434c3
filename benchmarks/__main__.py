"""Measure, print the table, write it with a bar chart to benchmarks/results/.

python -m benchmarks                      # everything; about 20 minutes on two cores
python -m benchmarks gpt-S lstm           # some workloads; patterns like 'gpt-*' too
python -m benchmarks --peers torch jax    # ours beside these only
python -m benchmarks --quick              # the same on toys, under a minute: does it still run?
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

from . import machine, report
from .peers import OURS, PEERS, PRODUCTS, WORKERS
from .turns import ROOT, disagreements, run_all
from .workloads import QUICK, WORKLOADS, Workload


def chosen(patterns: list[str], quick: bool) -> list[Workload]:
    """The workloads that a command line asks for.

    Raises:
        SystemExit: a pattern that fits no workload.
    """
    known = QUICK if quick else WORKLOADS
    for pattern in patterns:
        if not any(fnmatch.fnmatch(workload.name, pattern) for workload in known):
            names = ", ".join(workload.name for workload in known)
            sys.exit(f"workloads: nothing fits {pattern!r}; there are {names}")
    return [
        workload
        for workload in known
        if not patterns or any(fnmatch.fnmatch(workload.name, p) for p in patterns)
    ]


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    others = [name for name in PEERS if name not in (OURS, WORKERS, *PRODUCTS)]
    parser.add_argument("workloads", nargs="*", help="names or patterns; all if none")
    parser.add_argument("--peers", nargs="*", choices=others, default=others, help="beside ours")
    parser.add_argument("--quick", action="store_true", help="toy settings, a few steps")
    parser.add_argument("--all", action="store_true", help="also peers that are very slow")
    parser.add_argument("--rounds", type=int, help="turns of each peer (10)")
    parser.add_argument("--steps", type=int, help="most steps in a turn (1000)")
    parser.add_argument("--seconds", type=float, help="a turn starts no step after this (1.0)")
    parser.add_argument("--threads", type=int, help="of each process; its own choice if not given")
    parser.add_argument("--out", type=Path, help="folder for the CSV and PNG files")
    options = parser.parse_args(arguments)
    defaults = (1, 3, 0.5) if options.quick else (10, 1000, 1.0)
    for name, value in zip(("rounds", "steps", "seconds"), defaults):
        if getattr(options, name) is None:
            setattr(options, name, value)
        if not getattr(options, name) > 0:
            parser.error(f"--{name}: expected more than 0, got {getattr(options, name)}")
    if options.out is None:
        quick, full = ROOT / "build" / "bench" / "quick", ROOT / "benchmarks" / "results"
        options.out = quick if options.quick else full
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run from a command line; returns the exit status, 1 if tinytensor itself failed."""
    options = options_of(arguments)
    facts = machine.describe()
    results = run_all(
        chosen(options.workloads, options.quick),
        [OURS, WORKERS, *options.peers, *PRODUCTS],
        options.rounds,
        options.steps,
        options.seconds,
        options.threads,
        options.quick,
        options.all,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print("\n" + "\n".join(f"{key}: {value}" for key, value in facts.items()) + "\n")
    print(report.text_table(results) + "\n")
    for group in report.by_workload(results).values():
        for line in disagreements(group):
            print(f"NOT THE SAME WORK: {line}")
    for path in report.save(results, facts, options.out):
        print(f"wrote {path}")
    failed = [r for r in results if r.peer in (OURS, WORKERS) and r.absent is not None]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
