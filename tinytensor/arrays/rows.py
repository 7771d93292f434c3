"""A gradient of a table of which few rows are not zero: those rows, and which they are.

It is what ``embedding(..., sparse=True)`` hands to the leaf that is its table, in the place of an
array as large as that: neither its time nor its memory grows with the number of rows of the table.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .device import device_of
from .dtypes import F16, F32


class Rows:
    """An array of ``shape`` (rows, width) that is 0 outside of some rows.

    Attributes:
        rows: their numbers, int64 (n,), sorted, each once. values: (n, width), what they hold.
        shape: of the whole.
    """

    __slots__ = ("rows", "shape", "values")
    __array_ufunc__ = None  # array + Rows is a TypeError: only Rows + array is known
    base = None  # no array looks at the memory of another here

    def __init__(self, rows: Any, values: Any, shape: tuple[int, ...]):
        self.rows, self.values, self.shape = rows, values, shape

    @classmethod
    def added_up(cls, ids: Any, values: Any, shape: tuple[int, ...]) -> Rows:
        """Row i of ``values`` (n, width) added at the row ``ids[i]``, one after the other; float16
        in float32, rounded once."""
        wide = values.astype(F32) if values.dtype == F16 else values
        xp = device_of(values).xp
        add = _add_on_host if xp is np else partial(_add_anywhere, xp)
        rows, total = add(ids.astype(np.int64, copy=False), wide)
        return cls(rows, total.astype(values.dtype, copy=False), shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        dtype: np.dtype[Any] = self.values.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the whole: 2."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of the whole."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of what is held: the values, and the numbers of the rows."""
        return int(self.values.nbytes + self.rows.nbytes)

    def copy(self) -> Rows:
        """The same in memory of its own."""
        return Rows(self.rows.copy(), self.values.copy(), self.shape)

    def dense(self) -> Any:
        """An array of the whole."""
        out = device_of(self.values).xp.zeros(self.shape, self.dtype)
        out[self.rows] = self.values
        return out

    def add_to(self, array: Any) -> None:
        """``array += self`` in place."""
        array[self.rows] += self.values

    def __add__(self, other: Any) -> Any:
        """With another one: their sum, as Rows; with an array: a new array."""
        if not isinstance(other, Rows):
            out = other.copy()
            self.add_to(out)
            return out
        xp = device_of(self.values).xp
        ids = xp.concatenate((self.rows, other.rows))
        return Rows.added_up(ids, xp.concatenate((self.values, other.values)), self.shape)


def dense(g: Any) -> Any:
    """``g`` as an array, of which nobody else holds the memory if it was none."""
    return g.dense() if type(g) is Rows else g


def _add_on_host(ids: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows there are, sorted, and the sum of those with the same number, in their order.

    A product with a sparse matrix of ones, whose row i has the places of the i-th number. SciPy
    forms it in the order of these places, so that the sums are the same bit by bit as those of
    ``np.add.at``, in a fourth of the time.
    """
    from scipy.sparse import csr_array

    order = np.argsort(ids, kind="stable")
    listed = ids[order]
    starts = np.flatnonzero(np.diff(listed, prepend=-1))
    ones = np.ones(len(ids), values.dtype)
    shape = (len(starts), len(ids))
    matrix = csr_array((ones, order, np.append(starts, len(ids))), shape=shape)
    return listed[starts], matrix @ values


def _add_anywhere(xp: Any, ids: Any, values: Any) -> tuple[Any, Any]:
    """The same on another device."""
    rows, first, place = xp.unique(ids, return_index=True, return_inverse=True)
    total = values[first]
    if rows.size < ids.size:
        again = xp.ones(ids.shape, dtype=bool)
        again[first] = False
        width = values.shape[1]
        at = place.reshape(-1)[again][:, None] * width + xp.arange(width)
        xp.add.at(total.reshape(-1), at.reshape(-1), values[again].reshape(-1))
    return rows, total
