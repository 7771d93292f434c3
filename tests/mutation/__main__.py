"""``python -m tests.mutation``: plant every fault, run the checks, report (see the package)."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import Counter
from collections.abc import Iterable

from tests import conftest  # noqa: F401  (registers the devices and settings that tests use)
from tinytensor.define import op as registry
from tinytensor.define.op import Op

from . import checks
from .equivalent import EQUIVALENT
from .faults import ENGINE, KINDS, Fault, faults, in_engine


def survivors(
    op: Op | None, kinds: list[str], fast: bool, counts: dict[str, Counter[str]], verbose: bool
) -> list[Fault]:
    """Plant the faults of one op, count what becomes of them, return those that nothing caught.

    Without an op: those of the engine's accumulation.
    """
    found = []
    further: list[checks.Check] | None = None
    for fault in in_engine() if op is None else faults(op):
        if fault.kind not in kinds:
            continue
        by = _caught(fault, checks.of_engine() if op is None else checks.own(op))
        if by is None and not fault.met():
            continue  # nothing that the op does can meet this fault
        if by is None and op is not None and not fast:
            if further is None:
                further = checks.further(op)
            by = _caught(fault, further)
        if by is None and (fault.op, fault.was, fault.now) in EQUIVALENT:
            by = "equivalent"
        counts[fault.kind][by or "survived"] += 1
        if verbose or by is None:
            print(f"{by or 'SURVIVED':26} {fault.kind:12} {fault}", flush=True)
        if by is None:
            found.append(fault)
    return found


def _caught(fault: Fault, by: Iterable[checks.Check]) -> str | None:
    undo = fault.plant()
    try:
        return checks.caught_by(by)
    finally:
        undo()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--ops", help="names, with commas (engine: accumulation)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="with commas; all: %(default)s")
    parser.add_argument("--fast", action="store_true", help="only what each op is checked by")
    parser.add_argument("-v", "--verbose", action="store_true", help="show each fault")
    options = parser.parse_args(arguments)
    names = options.ops.split(",") if options.ops else [ENGINE, *sorted(registry.OPS)]
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    print(f"{len(names)} ops, about three seconds each; faults that nothing notices are listed")
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: what only the tests beside it notice is listed too")
    start, missed, tried = time.perf_counter(), [], 0
    for name in names:
        op = None if name == ENGINE else registry.OPS[name]
        if op is not None and (not op.differentiable or name == "to_device"):
            continue
        wrong = checks.caught_by(checks.of_engine() if op is None else checks.own(op))
        if wrong is not None:
            print(f"{name}: left out, since it fails without a fault: {wrong}", flush=True)
            missed.append(name)
            continue
        tried += 1
        left = survivors(op, options.kinds.split(","), options.fast, counts, options.verbose)
        missed += [str(fault) for fault in left]
    report(counts, tried, time.perf_counter() - start)
    return int(bool(missed))


def report(counts: dict[str, Counter[str]], ops: int, seconds: float) -> None:
    """Caught of planted, by kind, and by what."""
    total = sum(counts.values(), Counter())
    print(f"\n{'kind':14}  caught / planted   equivalent, not counted")
    for kind, c in [*counts.items(), ("all", total)]:
        planted = c.total() - c["equivalent"]
        print(f"{kind:14} {planted - c['survived']:7} / {planted:<7} {c['equivalent']:12}")
    print(f"\n{ops} ops, {seconds:.0f} s; caught by:")
    for by, n in total.most_common():
        if by not in ("survived", "equivalent"):
            print(f"{n:7}  {by}")


sys.exit(main(sys.argv[1:]))
