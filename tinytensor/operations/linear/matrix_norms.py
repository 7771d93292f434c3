"""Norms of matrices: by elements, by rows and columns, and by singular values."""

from __future__ import annotations

import math
from typing import Any

from ...tensor.axes import as_tensor
from ..elementwise.arithmetic import abs
from ..reductions import sum_mean_max as reduce
from ..reductions.statistics import norm
from ..shapes.rearranging import moveaxis
from ..shapes.reshaping import expand_dims
from .decompositions import svdvals


def matrix_norm(
    x: Any, ord: Any = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False
) -> Any:
    """Norm of the matrices that two axes span.

    Args:
        ord: ``"fro"``: Frobenius, the root of the sum of squares. ``1``, ``-1``: largest and
            smallest sum of magnitudes of a column. ``math.inf``, ``-math.inf``: of a row. ``2``,
            ``-2``: largest and smallest singular value. ``"nuc"``: the sum of all of them.
        axis: the axes of rows and of columns.
        keepdims: keep both, with length 1.

    The gradient of the Frobenius norm of a zero matrix is 0; ties share it evenly, as in PyTorch.
    """
    x = as_tensor(x)
    if (
        not isinstance(axis, (tuple, list))
        or len(axis) != 2
        or any(not -x.ndim <= a < x.ndim for a in axis)
    ):
        raise ValueError(
            f"matrix_norm: axis: expected two axes of an x of shape {x.shape}, got {axis}"
        )
    row, column = (a % x.ndim for a in axis)
    if row == column:
        raise ValueError(f"matrix_norm: axis: expected two different axes, got {axis}")
    if ord == "fro":
        return norm(x, 2, (row, column), keepdims)
    if ord in (2, -2, "nuc"):
        values = svdvals(moveaxis(x, (row, column), (-2, -1)))
        of_values = reduce.sum if ord == "nuc" else reduce.max if ord == 2 else reduce.min
        found = of_values(values, -1)
        return expand_dims(found, (row, column)) if keepdims else found
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"matrix_norm: ord: expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    across, along = (row, column) if ord in (1, -1) else (column, row)
    sums = reduce.sum(abs(x), across, True)
    largest = (reduce.max if ord > 0 else reduce.min)(sums, along, True)
    return largest if keepdims else largest.squeeze((row, column))
