"""``python -m tests.parity.opinfo [ours ...]``: the complete table, with each failing sample.

With ``--reference`` PyTorch's larger set of samples is run: a search for faults rather than a test,
for there PyTorch itself is not always right, and some of its sets cannot be made with gradients.
"""

from __future__ import annotations

import sys

from . import CHOICES, ENTRIES, check, infos
from ._check import dtypes


def main(arguments: list[str]) -> int:
    names = [a for a in arguments if not a.startswith("-")]
    reference = "--reference" in arguments
    failures = 0
    print(f"{'ours':28} {'OpInfo':44} {'dtype':8} passed/samples  seconds  largest")
    for entry in ENTRIES:
        if names and entry.ours not in names:
            continue
        for info in infos(entry):
            for dtype in dtypes(info):
                try:
                    r = check(entry, info, dtype, CHOICES, reference)
                except ValueError as error:
                    print(f"{entry.ours:28} {info.name:44} {dtype:8} no samples: {error}")
                    continue
                theirs = r.theirs + (f"({r.variant})" if r.variant else "")
                print(
                    f"{r.ours:28} {theirs:44} {dtype:8} {r.passed:6}/{r.samples:<7}"
                    f"  {r.seconds:7.2f}  {r.largest:7}"
                )
                for what, counts in (("n/a", r.not_applicable), ("choice", r.choices)):
                    for reason, n in counts.items():
                        print(f"    {n:4} {what}: {reason}")
                for failure in r.failures:
                    print(f"  FAILED {failure}")
                failures += len(r.failures) + (not r.passed)
    print(f"{failures} failures" if failures else "no failures")
    return int(failures > 0)


sys.exit(main(sys.argv[1:]))
