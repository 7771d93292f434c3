"""Scans: running sums and products along one axis, and the recurrence behind them.

What NumPy and CuPy both have (cumsum, cumprod) is used; everything else is one idea, doubling: an
associative combination of all elements up to each position takes log2(n) passes over whole arrays
(or n steps, where those are cheaper).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...define.op import Op, op
from ...define.samples import Draw, Sample
from ...tensor.axes import at, axis_of
from ...tensor.creation import full_like
from ...tensor.tensor import Tensor, tensor
from ..shapes.reshaping import concat, reshape

_REVERSED = slice(None, None, -1)


def check_axis(name: str, axis: Any, shape: tuple[int, ...]) -> int:
    """``axis`` counted from 0; a 0-d tensor counts as having one axis, as in PyTorch."""
    return axis_of(f"{name}: axis", axis, shape or (1,))


def on_axis(op: Op, x: Any, axis: int | None, **settings: Any) -> Any:
    """Apply an op that works along one axis.

    With ``axis=None`` the elements are flattened first (NumPy's convention); a 0-d tensor is
    handled as one element, and gives 0-d results (PyTorch's).
    """
    x = x if isinstance(x, Tensor) else tensor(x)
    if axis is None:
        return op(reshape(x, -1), axis=0, **settings)
    axis = check_axis(op.name, axis, x.shape)
    if x.ndim:
        return op(x, axis=axis, **settings)
    out = op(reshape(x, 1), axis=axis, **settings)
    return tuple(reshape(y, ()) for y in out) if isinstance(out, tuple) else reshape(out, ())


#: from this many lines side by side NumPy is faster one step at a time: n steps of little overhead
#: instead of log2(n) passes over everything
_WIDE = 64


def scan(
    combine: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
    parts: Sequence[Any],
    axis: int,
) -> None:
    """Replace each element by the combination of all up to it along ``axis``, in place.

    ``combine(earlier, later)`` must be associative. After the pass with distance d every position
    holds the combination of the 2 d elements that end there (Hillis and Steele, Data Parallel
    Algorithms, 1986). An element may consist of several ``parts``, arrays of one shape.
    Where a step is wide enough, NumPy's arrays are taken one position after the other instead.
    """
    n = parts[0].shape[axis]
    pairs: list[tuple[Any, Any]]
    if isinstance(parts[0], np.ndarray) and parts[0].size >= _WIDE * n:
        pairs = [(i - 1, i) for i in range(1, n)]
    else:
        distances = [1 << i for i in range((n - 1).bit_length())] if n else []
        pairs = [(slice(None, -d), slice(d, None)) for d in distances]
    for early, late in pairs:
        later = [p[at(axis, late)] for p in parts]
        new = combine([p[at(axis, early)] for p in parts], later)
        for part, values in zip(later, new, strict=True):
            part[...] = values


def _shift(xp: Any, x: Any, axis: int, by: int, fill: float) -> Any:
    """The element before (``by`` = 1) or after (-1) at each position, ``fill`` where none is."""
    edge = xp.full_like(x[at(axis, slice(0, 1))], fill)
    if by > 0:
        return xp.concatenate([edge, x[at(axis, slice(None, -1))]], axis=axis)
    return xp.concatenate([x[at(axis, slice(1, None))], edge], axis=axis)


def lines(r: Draw) -> list[Sample]:
    return [
        Sample(r.apart(3, 4), 0),
        Sample(r.apart(3, 4), 1),
        Sample(r.apart(2, 5, 2), -2),
        Sample(r.apart(7), 0),
        Sample(r.apart(1, 3), 0),
        Sample(r.apart(0, 3), 0),
        Sample(r.apart(0, 3), 1),
    ]


@op(
    "a b",
    name="linear_recurrence",
    keeps={"a": "a out", "b": "a"},
    formula="hₜ = aₜ hₜ₋₁ + bₜ",
    gradient="db = s with sₜ = gₜ + aₜ₊₁ sₜ₊₁, da = s hₜ₋₁",
    samples=lambda r: [
        Sample(r(3, 4), r(3, 4), 0),
        Sample(r(3, 4), r(3, 4), -1),
        Sample(r(2, 5, 2), r(2, 5, 2), 1, True),
        Sample(r(7), r(7), 0, True),
        Sample(r(1), r(1), 0),
        Sample(r(0, 2), r(0, 2), 0),
    ],
)
def _linear_recurrence(xp, a, b, axis, reverse=False):
    """h with h[t] = a[t] h[t-1] + b[t], and zero before the start."""
    if getattr(a, "shape", ()) != b.shape:
        raise ValueError(f"a: expected the shape of b, {b.shape}, got {getattr(a, 'shape', ())}")
    axis = axis % b.ndim
    dtype = xp.result_type(a, b)
    a, h = a.astype(dtype), b.astype(dtype)  # copies, to be overwritten
    turn = at(axis, _REVERSED if reverse else slice(None))
    scan(
        lambda early, late: (early[0] * late[0], late[0] * early[1] + late[1]),
        (a[turn], h[turn]),
        axis,
    )
    return h


@_linear_recurrence.vjp
def _linear_recurrence_vjp(xp: Any, g: Any, k: Any) -> Any:
    axis, step = k.axis % g.ndim, -1 if k.reverse else 1
    ahead = _shift(xp, k.a, axis, -step, 0.0)
    s = k.run(_linear_recurrence, ahead, g, axis=axis, reverse=not k.reverse)
    return (s * _shift(xp, k.out, axis, step, 0.0) if k.needs[0] else None), s


def linear_recurrence(a: Any, b: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The states of a linear recurrence: ``h[t] = a[t] * h[t-1] + b[t]`` along ``axis``.

    ``a`` and ``b`` have one shape, which is that of the result; the state before the first is 0.
    With ``reverse`` it runs from the end: ``h[t] = a[t] * h[t+1] + b[t]``. A moving average, the
    discounted return of reinforcement learning and the core of linear recurrent networks are of
    this form (Blelloch, Prefix Sums and Their Applications, 1990).

    Raises:
        ValueError: the shapes differ, or there is no such axis.
    """
    b = b if isinstance(b, Tensor) else tensor(b)
    axis = check_axis("linear_recurrence", axis, b.shape)
    if not b.ndim:
        raise ValueError("linear_recurrence: b: expected at least one axis, got a number")
    return _linear_recurrence(a, b, axis=axis, reverse=reverse)


@op(
    "x",
    name="cumsum",
    formula="yᵢ = x₀ + … + xᵢ",
    gradient="dxᵢ = gᵢ + gᵢ₊₁ + …",
    wide=True,
    samples=lines,
)
def _cumsum(xp, x, axis):
    """Running sum along an axis."""
    return xp.cumsum(x, axis=axis)


def _cumsum_dx(xp: Any, g: Any, k: Any) -> Any:
    turn = at(k.axis % g.ndim, _REVERSED)
    return k.run(_cumsum, g[turn], axis=k.axis)[turn]


_cumsum.vjp(x=_cumsum_dx)


def cumsum(x: Any, axis: int | None = None) -> Any:
    """Running sum along ``axis``; of the flattened elements without one, as in NumPy."""
    return on_axis(_cumsum, x, axis)


@op(
    "x",
    name="cumprod",
    keeps="x out",
    formula="yᵢ = x₀ · … · xᵢ",
    gradient="dxᵢ = yᵢ₋₁ sᵢ with sᵢ = gᵢ + xᵢ₊₁ sᵢ₊₁",
    wide=True,
    samples=lambda r: [
        *lines(r),
        Sample(np.array([[1.5, 0.0, -2.0, 0.5], [0.0, 0.0, 3.0, 1.0]]), 1),
    ],
)
def _cumprod(xp, x, axis):
    """Running product along an axis."""
    return xp.cumprod(x, axis=axis)


def _cumprod_dx(xp: Any, g: Any, k: Any) -> Any:
    """What comes before an element times what g sums up after it: no division, right at zeros."""
    axis = k.axis % g.ndim
    ahead = _shift(xp, k.x, axis, -1, 0.0)
    s = k.run(_linear_recurrence, ahead, g, axis=axis, reverse=True)
    return s * _shift(xp, k.out, axis, 1, 1.0)


_cumprod.vjp(x=_cumprod_dx)


def cumprod(x: Any, axis: int | None = None) -> Any:
    """Running product along ``axis``; of the flattened elements without one, as in NumPy.

    The gradient is right where elements are 0, to any order.
    """
    return on_axis(_cumprod, x, axis)


def _bounded_below(xp: Any, x: Any) -> Any:
    """x with -inf replaced by the lowest finite number, so that differences are no NaN."""
    return xp.maximum(x, -float(np.finfo(x.dtype).max))


@op(
    "x",
    name="logcumsumexp",
    keeps="x out",
    formula="yᵢ = ln(e^x₀ + … + e^xᵢ)",
    gradient="dxᵢ = e^(xᵢ - yᵢ) sᵢ with sᵢ = gᵢ + e^(yᵢ - yᵢ₊₁) sᵢ₊₁",
    wide=True,
    samples=lines,
)
def _logcumsumexp(xp, x, axis):
    """Logarithm of the running sum of exponentials along an axis."""
    axis = axis % x.ndim
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    largest = x.copy()
    scan(lambda early, late: (xp.maximum(early[0], late[0]),), (largest,), axis)
    # relative to the running maximum the sums follow a recurrence with coefficients up to 1
    level = xp.minimum(_bounded_below(xp, largest), float(np.finfo(x.dtype).max))
    decay = xp.exp(_shift(xp, level, axis, 1, -math.inf) - level)
    total = _linear_recurrence.forward(xp, decay, xp.exp(x - level), axis)
    return xp.log(total + (total == 0)) + largest  # ln 1 - inf where all is -inf so far


def _logcumsumexp_dx(xp: Any, g: Any, k: Any) -> Any:
    axis = k.axis % g.ndim
    out = _bounded_below(xp, k.out)
    after = _shift(xp, out, axis, -1, math.inf)
    # from the first +inf on all results are, and each is the mean of those so far
    n = xp.maximum(xp.cumsum(k.x == math.inf, axis=axis), 1).astype(out.dtype)
    endless = out == math.inf
    decay = xp.where(
        endless,
        n / _shift(xp, n, axis, -1, math.inf),
        xp.exp(xp.where(endless, 0.0, out) - after),
    )
    s = k.run(_linear_recurrence, decay, g, axis=axis, reverse=True)
    shares = xp.exp(xp.where(endless, -math.inf, k.x) - xp.where(endless, 0.0, out))
    return s * xp.where(k.x == math.inf, 1 / n, shares)


_logcumsumexp.vjp(x=_logcumsumexp_dx)


def logcumsumexp(x: Any, axis: int | None = None) -> Any:
    """``ln(exp(x[0]) + ... + exp(x[i]))`` along ``axis`` (flattened without one), no overflow.

    Elements that are -inf add nothing and get gradient 0, also at the start, where the result is
    -inf (PyTorch: NaN there). From +inf on the result is +inf, and so the gradient is that of +inf
    alone, as in :func:`logsumexp`.
    """
    return on_axis(_logcumsumexp, x, axis)


@op(
    "x",
    name="diff",
    formula="yᵢ = xᵢ₊₁ - xᵢ, n times",
    gradient="dx = (-1)ⁿ diff of g with n zeros at both ends",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(3, 4), 1, 0),
        Sample(r(2, 6), 3, -1),
        Sample(r(4), 0),
        Sample(r(3), 3),
        Sample(r(2, 3), 5, 1),
        Sample(r(0, 3), 1, 0),
    ],
)
def _diff(xp, x, n=1, axis=-1):
    """Differences of neighbours along an axis, n times over."""
    return xp.diff(x, n=n, axis=axis) if n else x.copy()


def _diff_dx(xp: Any, g: Any, k: Any) -> Any:
    shape, axis, n = k.shape_of(), k.axis % g.ndim, k.n
    if n > shape[axis]:  # the result is empty
        return xp.zeros(shape, dtype=g.dtype)
    zeros = xp.zeros(tuple(n if i == axis else m for i, m in enumerate(shape)), dtype=g.dtype)
    padded = xp.concatenate([zeros, g, zeros], axis=axis)
    return k.run(_diff, padded if n % 2 == 0 else -padded, n=n, axis=axis)


_diff.vjp(x=_diff_dx)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences ``x[i + 1] - x[i]`` of neighbours along ``axis``, taken ``n`` times.

    ``prepend`` and ``append`` are joined to x first; tensors that fit, or numbers. The axis gets
    ``n`` elements shorter; for ``n = 0`` the result is x, without the ends (as in NumPy).

    Raises:
        ValueError: x is 0-d, there is no such axis, or n is negative. TypeError: x is boolean.
    """
    x = x if isinstance(x, Tensor) else tensor(x)
    if not x.ndim or x.dtype.kind == "b":
        kind = ValueError if not x.ndim else TypeError
        raise kind(f"diff: x: expected numbers along an axis, got shape {x.shape} of {x.dtype}")
    axis = check_axis("diff", axis, x.shape)
    if n < 0:
        raise ValueError(f"diff: n: expected 0 or more, got {n}")
    parts = [x]
    for end, place in ((prepend, 0), (append, 2)) if n else ():
        if isinstance(end, (int, float)):
            end = full_like(x[at(axis, slice(0, 1))], end)
        if end is not None:
            parts.insert(place, end)
    return _diff(concat(parts, axis=axis) if len(parts) > 1 else x, n=n, axis=axis)
