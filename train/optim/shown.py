"""An optimiser as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...shown import html
from ...shown.printing import bytes_of

if TYPE_CHECKING:
    from .optimizer import Optimizer


def in_a_notebook(optimizer: Optimizer) -> str:
    """Settings by group, and how much state is kept."""
    groups = optimizer.param_groups
    names = [name for name in groups[0] if name != "params"]
    rows: list[tuple[object, ...]] = [(name, *(g[name] for g in groups)) for name in names]
    rows.append(("parameters", *(len(g["params"]) for g in groups)))
    rows.append(("numbers", *(f"{sum(p.size for p in g['params']):,}" for g in groups)))
    steps = [max((_steps(optimizer, p) for p in g["params"]), default=0) for g in groups]
    rows.append(("steps done", *(f"{n:,}" for n in steps)))
    kept = sum(
        getattr(value, "nbytes", 0)
        for state in optimizer.state.values()
        for value in state.values()
    )
    columns = ("group", *map(str, range(len(groups)))) if len(groups) > 1 else ()
    note = f"{bytes_of(kept)} of state" if kept else "no state yet"
    return html.framed(type(optimizer).__name__, note, html.table(columns, rows))


def _steps(optimizer: Optimizer, parameter: object) -> int:
    return int(optimizer.state.get(parameter, {}).get("step", 0))  # type: ignore[call-overload]
