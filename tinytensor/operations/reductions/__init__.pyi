# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Sums, extremes, statistics, running sums and order along axes."""

from collections.abc import Sequence

from ...define.operand import Axis, Operand
from ...tensor.tensor import Tensor

def sum(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sum of elements over ``axis``."""

def mean(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Arithmetic mean over ``axis``."""

def prod(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Product of elements over ``axis``; its gradient is right at zeros too, to any order."""

def max(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element over ``axis``, NaN if one is; tied maxima share the gradient evenly."""

def amax(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element over ``axis``, NaN if one is; tied maxima share the gradient evenly."""

def min(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element over ``axis``, NaN if one is; tied minima share the gradient evenly."""

def amin(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element over ``axis``, NaN if one is; tied minima share the gradient evenly."""

def argmax(x: Operand, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the largest element along ``axis``, the first of ties; no gradient."""

def argmin(x: Operand, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the smallest element along ``axis``, the first of ties; no gradient."""

def any(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether one element over ``axis`` is non-zero; boolean, no gradient."""

def all(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over ``axis`` are non-zero; boolean, no gradient."""

def count_nonzero(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements over ``axis`` are not 0 (NaN is not); int64, no gradient."""

def nansum(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sum of the elements over ``axis`` that are not NaN; those that are get gradient 0."""

def nanmean(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Mean of the elements over ``axis`` that are not NaN; NaN where there are none."""

def var(x: Operand, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Variance over ``axis``, dividing by ``n - ddof``."""

def std(x: Operand, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Standard deviation over ``axis``: the root of :func:`var`, which says what ``ddof`` does."""

def logsumexp(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials over ``axis``, without overflow."""

def norm(x: Operand, p: float = 2, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The p-norm of the elements over ``axis``, as of one vector, without overflow in between."""

def linear_recurrence(a: Operand, b: Operand, axis: int = 0, reverse: bool = False) -> Tensor:
    """The states of a linear recurrence: ``h[t] = a[t] * h[t-1] + b[t]`` along ``axis``."""

def cumsum(x: Operand, axis: int | None = None) -> Tensor:
    """Running sum along ``axis``; of the flattened elements without one, as in NumPy."""

def cumprod(x: Operand, axis: int | None = None) -> Tensor:
    """Running product along ``axis``; of the flattened elements without one, as in NumPy."""

def logcumsumexp(x: Operand, axis: int | None = None) -> Tensor:
    """``ln(exp(x[0]) + ... + exp(x[i]))`` along ``axis`` (flattened without one), no overflow."""

def diff(
    x: Operand,
    n: int = 1,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Tensor:
    """Differences ``x[i + 1] - x[i]`` of neighbours along ``axis``, taken ``n`` times."""

def cummax(x: Operand, axis: int | None = None) -> tuple[Tensor, Tensor]:
    """Running maximum along ``axis`` (flattened without one): (values, indices)."""

def cummin(x: Operand, axis: int | None = None) -> tuple[Tensor, Tensor]:
    """Running minimum along ``axis`` (flattened without one): (values, indices)."""

def sort(
    x: Operand,
    axis: int | None = -1,
    descending: bool = False,
    stable: bool = False,
) -> tuple[Tensor, Tensor]:
    """Sort along ``axis`` (flattened where None): (values, indices), as in PyTorch."""

def argsort(
    x: Operand,
    axis: int | None = -1,
    descending: bool = False,
    stable: bool = False,
) -> Tensor:
    """Positions (int64) that :func:`sort` would take the elements from; no gradient."""

def topk(
    x: Operand,
    k: int,
    axis: int | None = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest elements along ``axis`` (flattened where None): (values, indices)."""

def quantile(
    x: Operand,
    q: float | Sequence[float],
    axis: Axis = None,
    keepdims: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    """The values that fractions ``q`` of the elements over ``axis`` lie below, as in NumPy."""

def median(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The middle element over ``axis``, of an even number the mean of the middle two, as in
    NumPy."""
