"""Reductions over axes; ``axis`` is None (all), an integer or a tuple, negative from the end."""

from __future__ import annotations

import math
from typing import Any

from ..registry import op
from ..samples import Draw, Sample

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "sum", "var"]

Axis = Any


def keepdims_shape(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """``shape`` with the reduced axes set to 1."""
    if axis is None:
        return (1,) * len(shape)
    axes = (
        {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))} if shape else set()
    )
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements are reduced into one."""
    if axis is None:
        return math.prod(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[a] for a in axes) if shape else 1


def _spread(xp: Any, g: Any, k: Any) -> Any:
    """The output's gradient at every element it was reduced from."""
    shape = k.shape_of()
    return xp.broadcast_to(xp.reshape(g, keepdims_shape(shape, k.axis)), shape)


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


def _with_empty(r: Draw) -> list[Sample]:
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
    samples=_with_empty,
)
def sum(xp, x, axis=None, keepdims=False):
    """Sum of elements over ``axis``."""
    return xp.sum(x, axis=axis, keepdims=keepdims)


sum.vjp(x=_spread)


@op(
    "x",
    formula="Σ x / n",
    gradient="dx = g / n, spread over the reduced axes",
    wide=True,
    samples=lambda r: [*_samples(r), Sample(r(0, 3), 1)],
)
def mean(xp, x, axis=None, keepdims=False):
    """Arithmetic mean over ``axis``."""
    return xp.mean(x, axis=axis, keepdims=keepdims)


mean.vjp(x=lambda xp, g, k: _spread(xp, g / count(k.shape_of(), k.axis), k))


@op(
    "x",
    keeps="x",
    formula="Σ (x - mean x)² / (n - ddof)",
    gradient="dx = g 2 (x - mean x) / (n - ddof)",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(r(3, 4), -1, True, 1),
        Sample(r(2, 3, 4), (0, 2)),
        Sample(r(4), None, False, 1),
    ],
)
def var(xp, x, axis=None, keepdims=False, ddof=0):
    """Variance over ``axis``, dividing by ``n - ddof`` (NumPy's convention: ddof 0 by default)."""
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    return xp.sum(centred * centred, axis=axis, keepdims=keepdims) / (count(x.shape, axis) - ddof)


@var.vjp
def _var_vjp(xp: Any, g: Any, k: Any) -> Any:
    centred = k.x - xp.mean(k.x, axis=k.axis, keepdims=True)
    return (_spread(xp, g * (2 / (count(k.shape_of(), k.axis) - k.ddof)), k) * centred,)


@var.reference_is
def _var(x: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    centred = x - mean(x, axis, True)
    return sum(centred * centred, axis, keepdims) / (count(x.shape, axis) - ddof)


def _to_extreme(xp: Any, g: Any, k: Any) -> Any:
    """g to the extreme element, shared evenly among ties so that it still adds up to g."""
    shape = k.shape_of()
    hit = k.x == xp.reshape(k.out, keepdims_shape(shape, k.axis))
    ties = xp.sum(hit, axis=k.axis, keepdims=True)
    return xp.where(hit, _spread(xp, g, k) / ties.astype(g.dtype), 0.0)


@op(
    "x",
    keeps="x out",
    formula="max x",
    gradient="dx = g at the maximum, shared evenly among ties",
    samples=_extreme,
)
def max(xp, x, axis=None, keepdims=False):
    """Largest element over ``axis``; tied maxima share the gradient evenly."""
    return xp.max(x, axis=axis, keepdims=keepdims)


max.vjp(x=_to_extreme)


@op(
    "x",
    keeps="x out",
    formula="min x",
    gradient="dx = g at the minimum, shared evenly among ties",
    samples=_extreme,
)
def min(xp, x, axis=None, keepdims=False):
    """Smallest element over ``axis``; tied minima share the gradient evenly."""
    return xp.min(x, axis=axis, keepdims=keepdims)


min.vjp(x=_to_extreme)


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
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@op("x", formula="argmin x", samples=_positions)
def argmin(xp, x, axis=None, keepdims=False):
    """Position (int64) of the smallest element along ``axis``, the first of ties; no gradient."""
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@op(
    "x",
    formula="any x",
    samples=lambda r: [Sample(r.bools(3, 4)), Sample(r.bools(3, 4), 0), Sample(r.bools(0, 3), 0)],
)
def any(xp, x, axis=None, keepdims=False):
    """Whether one element over ``axis`` is non-zero; boolean, no gradient."""
    return xp.any(x, axis=axis, keepdims=keepdims)


@op(
    "x",
    formula="all x",
    samples=lambda r: [Sample(r.bools(3, 4)), Sample(r.bools(3, 4), 0), Sample(r.bools(0, 3), 0)],
)
def all(xp, x, axis=None, keepdims=False):
    """Whether all elements over ``axis`` are non-zero; boolean, no gradient."""
    return xp.all(x, axis=axis, keepdims=keepdims)
