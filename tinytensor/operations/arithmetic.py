"""Arithmetic, element by element with NumPy's broadcasting."""

from __future__ import annotations

import math
from typing import Any

from ..registry import op
from ..samples import (
    Sample,
    any_values,
    apart_pairs,
    broadcasting_pairs,
    kinked,
    positive,
    positive_pairs,
)

__all__ = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "neg",
    "abs",
    "sign",
    "sqrt",
    "maximum",
    "minimum",
    "clip",
]


@op("x y", formula="x + y", gradient="dx = g, dy = g", samples=broadcasting_pairs)
def add(xp, x, y):
    """Sum, element by element."""
    return x + y


add.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: g)


@op("x y", formula="x - y", gradient="dx = g, dy = -g", samples=broadcasting_pairs)
def sub(xp, x, y):
    """Difference, element by element."""
    return x - y


sub.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: -g)


@op("x y", keeps="x y", formula="x · y", gradient="dx = g y, dy = g x", samples=broadcasting_pairs)
def mul(xp, x, y):
    """Product, element by element."""
    return x * y


mul.vjp(x=lambda xp, g, k: g * k.y, y=lambda xp, g, k: g * k.x)


@op(
    "x y",
    keeps="x y",
    formula="x / y",
    gradient="dx = g / y, dy = -g x / y²",
    samples=positive_pairs,
)
def div(xp, x, y):
    """Quotient; integers give float32, as 1 / 2 does in PyTorch."""
    return xp.true_divide(x, y)


div.vjp(x=lambda xp, g, k: g / k.y, y=lambda xp, g, k: -g * k.x / (k.y * k.y))


@op(
    "x y",
    keeps="x y out",
    formula="x ** y",
    gradient="dx = g y x^(y-1), dy = g x^y ln x",
    samples=lambda r: [
        Sample(r.positive(3, 4), r(3, 4)),
        Sample(r.positive(3, 4), r(4)),
        Sample(r.positive(3, 1), r(1, 4)),
        Sample(r.positive(), r(2, 3)),
        Sample(r.positive(2, 3), r()),
        Sample(r.positive(), r()),
        Sample(r.positive(0, 3), r(1, 3)),
        Sample(r(3, 4), 3),
        Sample(r(3), 2),
        Sample(2.0, r(3)),
    ],
)
def pow(xp, x, y):
    """Power. At x = 0 the gradient of the base is that of x ** y (0 for y > 1, 1 for y = 1), and
    that of the exponent is 0; x ** 0 is 1 with gradient 0, as in PyTorch."""
    return x**y


def _pow_dx(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.y, (int, float)):
        return g * 0.0 if k.y == 0 else g * (k.y * k.x ** (k.y - 1))
    zero = k.y == 0
    return g * xp.where(zero, 0.0, k.y * k.x ** xp.where(zero, 1.0, k.y - 1))


def _pow_dy(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.x, (int, float)):
        return g * k.out * math.log(k.x) if k.x > 0 else g * 0.0
    zero = (k.x == 0) & (k.y >= 0)
    return g * xp.where(zero, 0.0, k.out * xp.log(xp.where(zero, 1.0, k.x)))


pow.vjp(x=_pow_dx, y=_pow_dy)


@op("x", formula="-x", gradient="dx = -g", samples=any_values)
def neg(xp, x):
    """Negative of each element."""
    return -x


neg.vjp(x=lambda xp, g, k: -g)


@op("x", keeps="x", formula="|x|", gradient="dx = g sign x", samples=kinked)
def abs(xp, x):
    """Absolute value; gradient 0 at 0."""
    return xp.abs(x)


abs.vjp(x=lambda xp, g, k: g * xp.sign(k.x))


@op("x", formula="sign x", samples=kinked)
def sign(xp, x):
    """-1, 0 or 1; its gradient is 0 everywhere."""
    return xp.sign(x)


@op("x", keeps="out", formula="√x", gradient="dx = g / (2 out)", samples=positive)
def sqrt(xp, x):
    """Square root; its gradient at 0 is infinite."""
    return xp.sqrt(x)


sqrt.vjp(x=lambda xp, g, k: g * 0.5 / k.out)


@op(
    "x y",
    keeps="x y",
    formula="max(x, y)",
    gradient="g to the larger, half each where equal",
    samples=apart_pairs,
)
def maximum(xp, x, y):
    """The larger of two, element by element; where equal, each gets half of the gradient."""
    return xp.maximum(x, y)


def _to_larger(xp: Any, g: Any, a: Any, b: Any) -> Any:
    """g where a > b, half of it where they are equal."""
    return xp.where(a > b, g, xp.where(a == b, 0.5 * g, 0.0))


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
    """The smaller of two, element by element; where equal, each gets half of the gradient."""
    return xp.minimum(x, y)


minimum.vjp(
    x=lambda xp, g, k: _to_larger(xp, g, k.y, k.x), y=lambda xp, g, k: _to_larger(xp, g, k.x, k.y)
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
    """Limit to [low, high]; either may be None. At the limits the gradient passes (as PyTorch)."""
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
    return xp.where(inside, g, 0.0)


clip.vjp(x=_clip_dx)
