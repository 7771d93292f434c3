"""Comparisons and logic: boolean results, no gradients."""

from __future__ import annotations

from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample, any_values, broadcasting_pairs, kinked


def _compare(name: str, symbol: str, text: str, compute: Any) -> Any:
    def forward(xp, x, y):
        return compute(xp, x, y)

    forward.__doc__ = f"{text}, element by element; boolean, no gradient."
    return op("x y", name=name, formula=f"x {symbol} y", samples=broadcasting_pairs)(forward)


equal = _compare("equal", "==", "Whether x equals y", lambda xp, x, y: xp.equal(x, y))
not_equal = _compare(
    "not_equal", "!=", "Whether x differs from y", lambda xp, x, y: xp.not_equal(x, y)
)
less = _compare("less", "<", "Whether x is below y", lambda xp, x, y: xp.less(x, y))
less_equal = _compare(
    "less_equal", "<=", "Whether x is at most y", lambda xp, x, y: xp.less_equal(x, y)
)
greater = _compare("greater", ">", "Whether x is above y", lambda xp, x, y: xp.greater(x, y))
greater_equal = _compare(
    "greater_equal", ">=", "Whether x is at least y", lambda xp, x, y: xp.greater_equal(x, y)
)
logical_and = _compare(
    "logical_and", "and", "Whether both are non-zero", lambda xp, x, y: xp.logical_and(x, y)
)
logical_or = _compare(
    "logical_or", "or", "Whether one is non-zero", lambda xp, x, y: xp.logical_or(x, y)
)
logical_xor = _compare(
    "logical_xor", "xor", "Whether exactly one is non-zero", lambda xp, x, y: xp.logical_xor(x, y)
)


def _whole(r: Draw) -> list[Sample]:
    return [
        Sample(r.ints(9, 3, 4), r.ints(9, 4)),
        Sample(r.bools(3, 1), r.bools(1, 4)),
        Sample(r.ints(9, 3), 5),
        Sample(r.ints(9), r.ints(9)),
        Sample(r.ints(9, 0, 3), 1),
    ]


@op("x y", formula="x & y", samples=_whole)
def bitwise_and(xp, x, y):
    """And, bit by bit, of integers or booleans; no gradient."""
    return xp.bitwise_and(x, y)


@op("x y", formula="x | y", samples=_whole)
def bitwise_or(xp, x, y):
    """Or, bit by bit, of integers or booleans; no gradient."""
    return xp.bitwise_or(x, y)


@op("x y", formula="x ^ y", samples=_whole)
def bitwise_xor(xp, x, y):
    """Exclusive or, bit by bit, of integers or booleans; no gradient."""
    return xp.bitwise_xor(x, y)


@op("x", formula="~x", samples=lambda r: [Sample(r.ints(9, 3, 4)), Sample(r.bools(3))])
def bitwise_not(xp, x):
    """Each bit of integers, or each boolean, turned over; no gradient."""
    return xp.invert(x)


@op("x", formula="not x", samples=kinked)
def logical_not(xp, x):
    """Whether x is zero; boolean, no gradient."""
    return xp.logical_not(x)


@op("x", formula="x is finite", samples=any_values)
def isfinite(xp, x):
    """Whether x is neither infinite nor NaN; boolean, no gradient."""
    return xp.isfinite(x)


@op("x", formula="x is NaN", samples=any_values)
def isnan(xp, x):
    """Whether x is NaN; boolean, no gradient."""
    return xp.isnan(x)


@op("x", formula="x is ∞ or -∞", samples=any_values)
def isinf(xp, x):
    """Whether x is infinite, of either sign; boolean, no gradient."""
    return xp.isinf(x)


def _near_pairs(r: Draw) -> list[Sample]:
    x = r(3, 4)
    return [
        *broadcasting_pairs(r),
        Sample(x, x + 1e-4 * r(3, 4), 1e-4, 5e-5),
        Sample(x, x * (1 + 1e-4 * r(4)), rtol=1e-4, equal_nan=True),
    ]


@op("x y", formula="|x - y| <= atol + rtol |y|", samples=_near_pairs)
def isclose(xp, x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether x is as good as y; boolean, no gradient.

    Infinities are close to themselves only, NaN to nothing, or with ``equal_nan`` to NaN.
    """
    return xp.isclose(xp.asarray(x), xp.asarray(y), rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements of x and y, broadcast, are close (see :func:`isclose`): a Python bool.

    True for operands without elements.
    """
    return bool(isclose(x, y, rtol, atol, equal_nan).data.all())
