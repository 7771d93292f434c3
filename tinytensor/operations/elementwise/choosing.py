"""Choosing between elements: by a condition, by size, or by whether they are finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample, any_values, apart_pairs


def gate(xp: Any, mask: Any, g: Any) -> Any:
    """g where the mask is True, else 0: not g · mask, which is NaN where g is infinite.

    NumPy's where branches on each element, and on a mask without a pattern most branches are
    mispredicted; to "and" the bits with 00… or 11… takes a twentieth of the time.
    """
    if not isinstance(g, np.ndarray) or not g.ndim:
        return xp.where(mask, g, 0.0)
    bits = f"i{g.itemsize}"
    out = np.empty_like(g)
    np.bitwise_and(g.view(bits), np.negative(mask, dtype=bits), out=out.view(bits))
    return out


def all_finite(xp: Any, x: Any) -> bool:
    """Whether an array is known to have neither infinities nor NaN. A sum of squares tells, for
    next to nothing; a GPU is not asked, since the answer would have to be waited for."""
    return xp is np and bool(np.isfinite(np.vdot(x, x)))


def times(xp: Any, x: Any, weight: Any, low: float) -> Any:
    """x · weight, for a weight that is 0 from ``low`` down, where x may be -∞."""
    if not all_finite(xp, x):
        x = xp.maximum(x, low).astype(weight.dtype, copy=False)
    return x * weight


def within(xp: Any, x: Any, limit: float) -> Any:
    """x, but infinities ``limit`` away from 0, and finite numbers beyond too where there are any.
    Derivatives at NaN are NaN."""
    return x if all_finite(xp, x) else xp.minimum(xp.maximum(x, -limit), limit)


@op(
    "condition x y",
    keeps="condition",
    formula="x where condition, else y",
    gradient="dx = g where condition else 0, dy the other way round",
    samples=lambda r: [
        Sample(r.bools(3, 4), r(3, 4), r(3, 4)),
        Sample(r.bools(4), r(3, 1), r()),
        Sample(r.bools(3, 1), r(1, 4), 0.5),
        Sample(r.bools(), r(2), r(2)),
        Sample(r.bools(0, 3), r(0, 3), r(3)),
    ],
)
def where(xp, condition, x, y):
    """Choose element by element.

    Only the chosen side gets a gradient, but what that side's own op makes of a zero gradient is
    its affair: ``where(x > 0, sqrt(x), 0)`` gives NaN at x = 0, because 0 · ∞ is NaN. Guard the
    inside too: ``where(x > 0, sqrt(where(x > 0, x, 1)), 0)``. PyTorch behaves the same.
    """
    return xp.where(condition, x, y)


where.vjp(
    x=lambda xp, g, k: gate(xp, k.condition != 0, g),
    y=lambda xp, g, k: gate(xp, k.condition == 0, g),
)


@op(
    "x mask",
    keeps="mask",
    arrays="mask",
    formula="value where mask, else x",
    gradient="dx = 0 where mask, else g",
    samples=lambda r: [
        Sample(r(3, 4), r.bools(3, 4), -2.0),
        Sample(r(2, 3, 4), r.bools(4), 0.0),
        Sample(r(3, 1), r.bools(3, 4), 7.0),
        Sample(r(), r.bools(), 1.0),
        Sample(r(0, 2), r.bools(2), 1.0),
    ],
)
def masked_fill(xp, x, mask, value):
    """Replace elements where the boolean ``mask`` (broadcast) is True by the number ``value``."""
    if getattr(getattr(mask, "dtype", None), "kind", "") != "b":
        raise TypeError(
            f"mask: expected booleans, got {getattr(mask, 'dtype', type(mask).__name__)}"
        )
    return xp.where(mask, value, x)


masked_fill.vjp(x=lambda xp, g, k: gate(xp, ~k.mask, g))


@op(
    "x y",
    keeps="x y",
    formula="max(x, y)",
    gradient="g to the larger, half each where equal",
    samples=apart_pairs,
)
def maximum(xp, x, y):
    """The larger of two, element by element, NaN where either is NaN.

    Where they are equal, each gets half of the gradient; where the result is NaN, each gets all of
    it, as in PyTorch.
    """
    return xp.maximum(x, y)


def _to_larger(xp: Any, g: Any, a: Any, b: Any) -> Any:
    """0 where a < b, half of g where they are equal, else g."""
    g = gate(xp, ~(a < b), g)
    return xp.where(a == b, 0.5 * g, g)


maximum.vjp(
    x=lambda xp, g, k: _to_larger(xp, g, k.x, k.y), y=lambda xp, g, k: _to_larger(xp, g, k.y, k.x)
)


@op(
    "x y",
    keeps="x y",
    formula="min(x, y)",
    gradient="g to the smaller, half each where equal",
    samples=apart_pairs,
)
def minimum(xp, x, y):
    """The smaller of two, element by element; gradients of ties and NaN as in :func:`maximum`."""
    return xp.minimum(x, y)


minimum.vjp(
    x=lambda xp, g, k: _to_larger(xp, g, k.y, k.x), y=lambda xp, g, k: _to_larger(xp, g, k.x, k.y)
)


@op(
    "x y",
    keeps="x y",
    formula="max(x, y), the number where one is NaN",
    gradient="g to the chosen one, to x where equal",
    samples=apart_pairs,
)
def fmax(xp, x, y):
    """The larger of two, element by element; where one is NaN, the other.

    The chosen one gets the gradient. Where they are equal or both NaN that is x, as in PyTorch.
    """
    return xp.fmax(x, y)


def _takes_x(larger: Any, smaller: Any, y: Any) -> Any:
    """Whether fmax or fmin chose x (only NaN differs from itself)."""
    return (larger >= smaller) | (y != y)


fmax.vjp(
    x=lambda xp, g, k: gate(xp, _takes_x(k.x, k.y, k.y), g),
    y=lambda xp, g, k: gate(xp, ~_takes_x(k.x, k.y, k.y), g),
)


@op(
    "x y",
    keeps="x y",
    formula="min(x, y), the number where one is NaN",
    gradient="g to the chosen one, to x where equal",
    samples=apart_pairs,
)
def fmin(xp, x, y):
    """The smaller of two, element by element; where one is NaN, the other. See :func:`fmax`."""
    return xp.fmin(x, y)


fmin.vjp(
    x=lambda xp, g, k: gate(xp, _takes_x(k.y, k.x, k.y), g),
    y=lambda xp, g, k: gate(xp, ~_takes_x(k.y, k.x, k.y), g),
)


@op(
    "x",
    keeps="x",
    formula="min(max(x, low), high)",
    gradient="dx = g where low <= x <= high, else 0",
    samples=lambda r: [
        Sample(r.apart(3, 4), -0.4, 0.6),
        Sample(r.apart(5), 0.0),
        Sample(r.apart(5), None, 0.3),
        Sample(r.apart(), -1.0, 1.0),
        Sample(r.apart(0, 2), 0.0),
    ],
)
def clip(xp, x, low=None, high=None):
    """Limit to [low, high]; either may be None. At the limits the gradient passes, at NaN it does
    not, as in PyTorch."""
    if low is None and high is None:
        raise ValueError("low and high: expected at least one number, got None for both")
    return xp.clip(x, low, high)


def _clip_dx(xp: Any, g: Any, k: Any) -> Any:
    inside = None
    if k.low is not None:
        inside = k.x >= k.low
    if k.high is not None:
        below = k.x <= k.high
        inside = below if inside is None else inside & below
    return gate(xp, inside, g)


clip.vjp(x=_clip_dx)


def _plain_numbers(r: Draw) -> list[Sample]:
    return [*any_values(r), Sample(r(4), 1.0, 2.0, -2.0), Sample(r(2, 3), posinf=5.0)]


@op(
    "x",
    keeps="x",
    formula="x, with numbers for NaN, ∞ and -∞",
    gradient="dx = g where x is finite, else 0",
    samples=_plain_numbers,
)
def nan_to_num(xp, x, nan=0.0, posinf=None, neginf=None):
    """Put numbers in place of NaN and the infinities: by default 0, the dtype's largest number and
    its smallest. What was replaced gets no gradient."""
    return xp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


nan_to_num.vjp(x=lambda xp, g, k: gate(xp, xp.isfinite(k.x), g))
