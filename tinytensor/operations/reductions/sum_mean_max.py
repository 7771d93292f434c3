"""Reductions over axes; ``axis`` is None (all), an integer or a tuple, negative from the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from ..elementwise.comparison import isnan, logical_not

Axis = Any

#: up to so many elements, filling an array is faster than making a view of a number
_FEW = 1024


def over(x: Any, axis: Axis) -> Axis:
    """``axis`` for a reduction of x. A 0-d array counts as having one axis, as in PyTorch."""
    if x.ndim or axis is None:
        return axis
    if not {0, -1}.issuperset(axis if isinstance(axis, tuple) else (axis,)):
        raise ValueError(f"axis: expected 0 or -1 for a 0-d tensor, got {axis}")
    return None


def axes_of(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The reduced axes, counted from 0; a 0-d array has none, whatever ``axis`` says."""
    if axis is None:
        return tuple(range(len(shape)))
    axes = axis if isinstance(axis, tuple) else (axis,)
    n = len(shape)
    if not n:
        return ()
    if not set(axes) <= set(range(-n, n)) or len({a % n for a in axes}) < len(axes):
        raise ValueError(f"axis: expected numbers from {-n} to {n - 1}, each once, got {axis}")
    return tuple(a % n for a in axes)


def keepdims_shape(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """``shape`` with the reduced axes set to 1."""
    axes = axes_of(shape, axis)
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduced_shape(shape: tuple[int, ...], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    """``shape`` with the reduced axes set to 1, or left out."""
    axes = axes_of(shape, axis)
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements are reduced into one."""
    return math.prod(shape if axis is None else [shape[a] for a in axes_of(shape, axis)])


def to_rows(xp: Any, x: Any, axis: Axis) -> Any:
    """x with the reduced axes as one last axis: (*kept, n)."""
    axes = axes_of(x.shape, axis)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    return xp.reshape(
        xp.transpose(x, kept + axes), tuple(x.shape[i] for i in kept) + (count(x.shape, axis),)
    )


def from_rows(xp: Any, rows: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """An array of ``shape`` of which :func:`to_rows` made ``rows``."""
    axes = axes_of(shape, axis)
    order = tuple(i for i in range(len(shape)) if i not in axes) + axes
    moved = xp.reshape(rows, tuple(shape[i] for i in order))
    return xp.transpose(moved, tuple(order.index(i) for i in range(len(shape))))


def spread(xp: Any, g: Any, k: Any) -> Any:
    """The output's gradient at every element it was reduced from."""
    shape = k.shape_of()
    if xp is np and g.size == 1 and math.prod(shape) <= _FEW:
        out = xp.empty(shape, g.dtype)
        out.fill(g.item())
        return out  # broadcast_to takes five times as long
    return xp.broadcast_to(g.reshape(keepdims_shape(shape, k.axis)), shape)


def _samples(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(r(3, 4), -1, True),
        Sample(r(2, 3, 4), (0, 2)),
        Sample(r(2, 3, 4), (-1, 0), True),
        Sample(r(2, 1, 3), 1),
        Sample(r()),
        Sample(r(4), ()),
    ]


def with_empty(r: Draw) -> list[Sample]:
    return [*_samples(r), Sample(r(0, 3)), Sample(r(0, 3), 0), Sample(r(0, 3), 1)]


def _extreme(r: Draw) -> list[Sample]:
    return [
        Sample(r.apart(3, 4)),
        Sample(r.apart(3, 4), 0),
        Sample(r.apart(3, 4), -1, True),
        Sample(r.apart(2, 3, 4), (0, 2)),
        Sample(r.apart(2, 1, 3), 1),
        Sample(r.apart()),
        Sample(r.apart(0, 3), 1),
    ]


@op(
    "x",
    formula="Σ x",
    gradient="dx = g, spread over the reduced axes",
    wide=True,
    samples=with_empty,
)
def sum(xp, x, axis=None, keepdims=False):
    """Sum of elements over ``axis``."""
    return xp.sum(x, axis=over(x, axis), keepdims=keepdims)


sum.vjp(x=spread)


@op(
    "x",
    formula="Σ x / n",
    gradient="dx = g / n, spread over the reduced axes",
    wide=True,
    samples=lambda r: [*_samples(r), Sample(r(0, 3), 1)],
)
def mean(xp, x, axis=None, keepdims=False):
    """Arithmetic mean over ``axis``."""
    n = x.size if axis is None else count(x.shape, axis)
    if x.dtype.kind != "f" or not n:
        return xp.mean(x, axis=over(x, axis), keepdims=keepdims)
    return x.sum(axis=over(x, axis), keepdims=keepdims) / n  # as xp.mean, with less around it


mean.vjp(x=lambda xp, g, k: spread(xp, g / (count(k.shape_of(), k.axis) or 1), k))


@op(
    "x",
    keeps="x",
    formula="Π x",
    gradient="dx = g · (product of the other elements)",
    wide=True,
    samples=lambda r: [
        *with_empty(r),
        Sample(np.array([[1.5, 0.0, -2.0], [0.0, 0.0, 3.0], [0.5, 1.0, 2.0]]), 1),
        Sample(np.array([[0.0, 2.0], [3.0, -1.0]]), (1, 0)),
    ],
)
def prod(xp, x, axis=None, keepdims=False):
    """Product of elements over ``axis``; its gradient is right at zeros too, to any order."""
    return xp.prod(x, axis=over(x, axis), keepdims=keepdims)


def _others(xp: Any, rows: Any) -> Any:
    """The product of all others of its row, at each element.

    That of all other pairs times the partner: no division, which would be 0 / 0 at a zero.
    """
    n = rows.shape[-1]
    if n < 2:
        return xp.ones_like(rows)
    left, right = rows[..., : (n + 1) // 2], rows[..., (n + 1) // 2 :]
    if n % 2:
        right = xp.concatenate([right, xp.ones_like(left[..., :1])], axis=-1)
    pairs = _others(xp, left * right)
    return xp.concatenate([pairs * right, pairs * left], axis=-1)[..., :n]


def _prod_dx(xp: Any, g: Any, k: Any) -> Any:
    others = _others(xp, to_rows(xp, k.x, k.axis))
    return spread(xp, g, k) * from_rows(xp, others, k.shape_of(), k.axis)


prod.vjp(x=_prod_dx)


def shared(xp: Any, g: Any, k: Any, hit: Any) -> Any:
    """g to the elements where ``hit``, in equal parts, so that it still adds up to g."""
    ties = xp.sum(hit, axis=over(hit, k.axis), keepdims=True)
    return xp.where(hit, xp.reshape(g, ties.shape) / ties.astype(g.dtype), 0.0)


def _to_extreme(xp: Any, g: Any, k: Any) -> Any:
    """g to the elements that are the extreme; where that is NaN, to those that are NaN."""
    extreme = xp.reshape(k.out, keepdims_shape(k.shape_of(), k.axis))
    return shared(xp, g, k, (k.x == extreme) | (k.x != k.x))


@op(
    "x",
    keeps="x out",
    formula="max x",
    gradient="dx = g at the maximum, shared evenly among ties",
    samples=_extreme,
)
def max(xp, x, axis=None, keepdims=False):
    """Largest element over ``axis``, NaN if one is; tied maxima share the gradient evenly.

    Also called ``amax``, PyTorch's name for the maximum that shares its gradient.
    """
    return xp.max(x, axis=over(x, axis), keepdims=keepdims)


max.vjp(x=_to_extreme)
amax = max


@op(
    "x",
    keeps="x out",
    formula="min x",
    gradient="dx = g at the minimum, shared evenly among ties",
    samples=_extreme,
)
def min(xp, x, axis=None, keepdims=False):
    """Smallest element over ``axis``, NaN if one is; tied minima share the gradient evenly.

    Also called ``amin``, PyTorch's name for the minimum that shares its gradient.
    """
    return xp.min(x, axis=over(x, axis), keepdims=keepdims)


min.vjp(x=_to_extreme)
amin = min


def _positions(r: Draw) -> list[Sample]:
    return [
        Sample(r.apart(3, 4)),
        Sample(r.apart(3, 4), 0),
        Sample(r.apart(2, 3), -1, True),
        Sample(r.apart(5)),
    ]


@op("x", formula="argmax x", samples=_positions)
def argmax(xp, x, axis=None, keepdims=False):
    """Position (int64) of the largest element along ``axis``, the first of ties; no gradient."""
    return xp.argmax(x, axis=over(x, axis), keepdims=keepdims)


@op("x", formula="argmin x", samples=_positions)
def argmin(xp, x, axis=None, keepdims=False):
    """Position (int64) of the smallest element along ``axis``, the first of ties; no gradient."""
    return xp.argmin(x, axis=over(x, axis), keepdims=keepdims)


@op(
    "x",
    formula="any x",
    samples=lambda r: [Sample(r.bools(3, 4)), Sample(r.bools(3, 4), 0), Sample(r.bools(0, 3), 0)],
)
def any(xp, x, axis=None, keepdims=False):
    """Whether one element over ``axis`` is non-zero; boolean, no gradient."""
    return xp.any(x, axis=over(x, axis), keepdims=keepdims)


@op(
    "x",
    formula="all x",
    samples=lambda r: [Sample(r.bools(3, 4)), Sample(r.bools(3, 4), 0), Sample(r.bools(0, 3), 0)],
)
def all(xp, x, axis=None, keepdims=False):
    """Whether all elements over ``axis`` are non-zero; boolean, no gradient."""
    return xp.all(x, axis=over(x, axis), keepdims=keepdims)


@op("x", formula="how many x ≠ 0", samples=with_empty)
def count_nonzero(xp, x, axis=None, keepdims=False):
    """How many elements over ``axis`` are not 0 (NaN is not); int64, no gradient."""
    return xp.sum(x != 0, axis=over(x, axis), keepdims=keepdims)


@op(
    "x",
    keeps="x",
    formula="Σ x without NaN",
    gradient="dx = g, 0 at NaN",
    wide=True,
    samples=with_empty,
)
def nansum(xp, x, axis=None, keepdims=False):
    """Sum of the elements over ``axis`` that are not NaN; those that are get gradient 0."""
    return xp.nansum(x, axis=over(x, axis), keepdims=keepdims)


nansum.vjp(x=lambda xp, g, k: xp.where(xp.isnan(k.x), 0.0, spread(xp, g, k)))


def nanmean(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Mean of the elements over ``axis`` that are not NaN; NaN where there are none."""
    return nansum(x, axis, keepdims) / sum(logical_not(isnan(x)), axis, keepdims)
