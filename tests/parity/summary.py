"""The OpInfo suite in a few lines, for the end of a test run.

Fed from the reports that pytest collects (from all workers, where there are several), so nothing
here imports PyTorch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

KEY = "opinfo"  #: the property under which a test leaves its counts
WIDTH = 112


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """At most 20 lines: totals, one line a family, the commonest reasons."""
    passed, wrong = _sum(rows, "passed"), sum(len(r["failures"]) for r in rows)
    infos = {(r["theirs"], r["variant"]) for r in rows}
    head = (
        f"{len({r['ours'] for r in rows})} functions over {len(infos)} OpInfos: {passed} of "
        f"{passed + wrong} applicable samples pass, in {_sum(rows, 'seconds'):.0f} s"
    )
    found = [head]
    families = sorted({r["family"] for r in rows})
    for family in families[:9]:
        part = [r for r in rows if r["family"] == family]
        found.append(
            f"  {family:16} {len({r['ours'] for r in part}):4} functions "
            f"{_sum(part, 'passed'):6} passed {sum(len(r['failures']) for r in part):4} failed "
            f"{_total(part, 'not_applicable').total():5} not applicable "
            f"{_total(part, 'choices').total():4} differ by choice"
        )
    for title, name, most in (("not applicable", "not_applicable", 6), ("choice", "choices", 3)):
        counts = _total(rows, name)
        for reason, n in counts.most_common(most if len(counts) > most + 1 else most + 1):
            found.append(f"  {n:4} {title}: {reason}"[:WIDTH])
        if len(counts) > most + 1:
            found[-1] += f" ({len(counts) - most} more reasons)"
    return [*found, "  everything: python -m tests.parity.opinfo"]


def rows(reports: Iterable[Any]) -> list[dict[str, Any]]:
    """The counts that the tests left in their reports."""
    return [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for key, value in report.user_properties
        if key == KEY
    ]


def _sum(rows: list[dict[str, Any]], name: str) -> float:
    total: float = sum(r[name] for r in rows)
    return total


def _total(rows: list[dict[str, Any]], name: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row[name])
    return total
