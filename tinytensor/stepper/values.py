"""A tensor as the data of a page: names, numbers and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..draw.picture import CONSTANT, Value
from ..shown.statistics import Stats


def entry(
    value: Value, data: list[Any] | None, grad: list[Any] | None,
    stats: Stats | None, grad_stats: Stats | None, unknown: str | None = None,
) -> dict[str, Any]:
    """A value as ``docs/pages.md`` describes it; ``data`` and ``grad`` are of :func:`numbers`.

    ``unknown``: why there are no data.
    """
    return {
        "name": value.name,
        "called": value.hint,
        "role": value.role,
        "shape": list(value.shape or ()),
        "dtype": value.dtype,
        "data": data,
        "grad": grad,
        "needs_grad": value.needs_grad and value.role != CONSTANT,
        "output": value.output,
        "stats": statistics(stats),
        "grad_stats": statistics(grad_stats),
        "flags": list(value.flags),
        "unknown": unknown,
    }  # fmt: skip


def numbers(array: Any, size: int, exact: bool = False) -> list[Any] | None:
    """The elements in C order, or None for more than ``size`` of them, or none known.

    ``exact``: as many digits as tell the number apart; else seven.
    """
    if array is None or np.size(array) > size:
        return None
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return list(array.reshape(-1).tolist())
    if exact:
        return [float(str(x)) for x in array.reshape(-1)]
    return [float(f"{x:.7g}") for x in array.reshape(-1).tolist()]


def statistics(stats: Stats | None) -> dict[str, Any] | None:
    """Mean, standard deviation, extremes, share of zeros, and how many are NaN or infinite."""
    if stats is None:
        return None
    words = {"mean": stats.settled, "std": stats.std, "min": stats.low, "max": stats.high}
    rounded = {key: float(f"{number:.5g}") for key, number in words.items()}
    return rounded | {"zero": float(f"{stats.zero:.4g}"), "bad": stats.bad}
