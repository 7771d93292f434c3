"""Statistics of a tensor's numbers: what is said of those that are too many to be shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: in so many rows a unit that is on half the time is 0 by chance once in 65,536 times
ROWS = 16


@dataclass(frozen=True)
class Stats:
    """Statistics of some numbers.

    Attributes:
        mean, std, low, high: of the finite numbers (std: their spread, divided by n); NaN where
            there are none.
        rms: root of the mean square, of the finite numbers.
        zero: share of exact zeros. bad: how many are NaN or infinite. size: how many there are.
        still: (units that are 0 in every row, units, rows); None where there are fewer than
            ROWS rows. Units are on the last axis, of four axes on axis 1.
    """

    mean: float
    std: float
    low: float
    high: float
    rms: float
    zero: float
    bad: int
    size: int
    still: tuple[int, int, int] | None = None

    @property
    def settled(self) -> float:
        """The mean; 0 where it is less than a thousandth of the spread, and says nothing."""
        return 0.0 if abs(self.mean) < self.std / 1000 else self.mean


def measured(x: np.ndarray) -> Stats | None:
    """Statistics of an array on the host, of any shape, in float64; None for no elements."""
    if not x.size:
        return None
    with np.errstate(all="ignore"):
        return _measured(x)


def _measured(x: np.ndarray) -> Stats:
    y = x.astype(np.float64)
    fine = np.isfinite(y)
    bad = int(y.size - fine.sum())
    z = y[fine] if bad else y.reshape(-1)
    if z.size:
        largest = float(np.abs(z).max()) or 1.0  # squares of float64's largest would overflow
        mean = float((z / largest).mean() * largest)
        std = float(np.sqrt(np.square((z - mean) / largest).mean()) * largest)
        rms = float(np.sqrt(np.square(z / largest).mean()) * largest)
        low, high = float(z.min()), float(z.max())
    else:
        mean = std = low = high = rms = float("nan")
    zero = float((y == 0).mean())
    return Stats(mean, std, low, high, rms, zero, bad, int(y.size), still_units(y))


def still_units(x: np.ndarray) -> tuple[int, int, int] | None:
    """How many units give 0 whatever they are given: (these, all, rows that were looked at)."""
    if x.ndim < 2 or not x.size:
        return None
    axis = 1 if x.ndim == 4 else x.ndim - 1
    units = x.shape[axis]
    rows = x.size // units
    if rows < ROWS:
        return None
    others = tuple(i for i in range(x.ndim) if i != axis)
    return int((x == 0).all(axis=others).sum()), units, rows
