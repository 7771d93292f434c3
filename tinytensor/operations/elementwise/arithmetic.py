"""Arithmetic, element by element with NumPy's broadcasting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import (
    Draw,
    Sample,
    any_values,
    broadcasting_pairs,
    kinked,
    positive,
    positive_pairs,
)


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


@op(
    "x y",
    keeps={"x": "y", "y": "x"},
    formula="x · y",
    gradient="dx = g y, dy = g x",
    samples=broadcasting_pairs,
)
def mul(xp, x, y):
    """Product, element by element."""
    return x * y


mul.vjp(x=lambda xp, g, k: g * k.y, y=lambda xp, g, k: g * k.x)


@op(
    "x y",
    keeps={"x": "y", "y": "y out"},
    formula="x / y",
    gradient="dx = g / y, dy = -g out / y",
    samples=positive_pairs,
)
def div(xp, x, y):
    """Quotient; integers give float32, as 1 / 2 does in PyTorch."""
    return xp.true_divide(x, y)


div.vjp(x=lambda xp, g, k: g / k.y, y=lambda xp, g, k: -g * k.out / k.y)


@op(
    "x y",
    keeps={"x": "x y", "y": "x y out"},
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
    that of the exponent is 0; x ** 0 is 1 with gradient 0, as in PyTorch. A negative base has no
    derivative by its exponent: NaN."""
    return x**y


def _pow_dx(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.y, (int, float)):
        return xp.zeros_like(g) if k.y == 0 else g * (k.y * k.x ** (k.y - 1))
    # only where 0 · x⁻¹ would be NaN: elsewhere y x^(y-1) is right at y = 0, and so is its slope
    zero = (k.y == 0) & ((k.x == 0) | (k.x != k.x))
    return g * xp.where(zero, 0.0, k.y * k.x ** xp.where(zero, 1.0, k.y - 1))


def _pow_dy(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.x, (int, float)) and k.x:
        return g * k.out * (math.log(k.x) if k.x > 0 else math.nan)
    zero = ((k.x == 0) & (k.y >= 0)) | ((k.x == math.inf) & (k.y < 0))
    return g * xp.where(zero, 0.0, k.out * xp.log(xp.where(zero, 1.0, k.x)))


pow.vjp(x=_pow_dx, y=_pow_dy)


@op("x", formula="-x", gradient="dx = -g", samples=any_values)
def neg(xp, x):
    """Negative of each element."""
    return -x


neg.vjp(x=lambda xp, g, k: -g)


@op("x", keeps="x", formula="x²", gradient="dx = 2 g x", samples=any_values)
def square(xp, x):
    """Each element times itself."""
    return x * x


square.vjp(x=lambda xp, g, k: 2 * g * k.x)


@op("x", keeps="out", formula="1 / x", gradient="dx = -g out²", samples=positive)
def reciprocal(xp, x):
    """One divided by each element; integers give float32."""
    return 1 / x


reciprocal.vjp(x=lambda xp, g, k: -g * k.out * k.out)


def kink(xp: Any, k: Any, x: Any) -> Any:
    """What a rule adds to the slope of a length |x|, which at 0 is 0 by choice: 0, but with a
    derivative that is NaN where x is 0.

    The slope jumps there, so that |x| has no second derivative, and none that could be chosen: |x|²
    has 2, which is no sum of products of chosen ones. NaN says so; a silent 0 would be wrong.
    """
    return 0.0 * xp.sqrt(xp.where(x == 0, x, 1.0)) if k.graph else 0.0


def are_usual(xp: Any, lengths: Any) -> bool:
    """Whether all lengths are known to be above 0 and finite; a GPU is not asked."""
    return xp is np and bool(lengths.size and 0 < lengths.min() and lengths.max() < math.inf)


@op("x", keeps="x", formula="|x|", gradient="dx = g sign x", samples=kinked)
def abs(xp, x):
    """Absolute value; gradient 0 at 0, and NaN at NaN (PyTorch: 0). The second derivative is 0, and
    NaN at 0 (PyTorch: 0, also for ``abs(x) ** 2``, where 2 is right)."""
    return xp.abs(x)


abs.vjp(x=lambda xp, g, k: g * (xp.sign(k.x) + kink(xp, k, k.x)))


@op("x", keeps="out", formula="√x", gradient="dx = g / (2 out)", samples=positive)
def sqrt(xp, x):
    """Square root; its gradient at 0 is infinite (see :func:`log`)."""
    return xp.sqrt(x)


sqrt.vjp(x=lambda xp, g, k: g * 0.5 / k.out)


@op("x", keeps="out", formula="1 / √x", gradient="dx = -g out³ / 2", samples=positive)
def rsqrt(xp, x):
    """One divided by the square root; infinite at 0."""
    return 1 / xp.sqrt(x)


# from the left, so that out³ alone cannot overflow where g is small
rsqrt.vjp(x=lambda xp, g, k: g * -0.5 * k.out * k.out * k.out)


@op(
    "x y",
    keeps={"x": "x y out", "y": "x y out"},
    formula="√(x² + y²)",
    gradient="dx = g x / out, dy = g y / out",
    samples=broadcasting_pairs,
)
def hypot(xp, x, y):
    """Length of the vector (x, y), with no overflow in between.

    At (0, 0) the gradient is 0, as that of :func:`norm` (PyTorch: NaN), and the second derivative
    NaN. Where one number is infinite it has the whole gradient; two have 1 / √2 of it each.
    """
    return xp.hypot(x, y)


def _hypot_slope(xp: Any, k: Any, x: Any, other: Any) -> Any:
    """x / out, and what it comes to where the length is 0 or infinite."""
    if are_usual(xp, k.out):
        return x / k.out
    endless = xp.isinf(k.out)
    slope = x / xp.where(endless | (k.out == 0), 1.0, k.out)
    part = xp.where(xp.isinf(x), xp.where(xp.isinf(other), math.sqrt(0.5), 1.0), 0.0)
    return xp.where(endless, xp.sign(x) * part, slope) + kink(xp, k, k.out)


hypot.vjp(
    x=lambda xp, g, k: g * _hypot_slope(xp, k, k.x, k.y),
    y=lambda xp, g, k: g * _hypot_slope(xp, k, k.y, k.x),
)


def _blends(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4), r(3, 4), 0.3),
        Sample(r(3, 4), r(4), 0.75),
        Sample(r(3, 1), r(1, 4), r(2, 1, 1)),
        Sample(r(4), r(4), r(4)),
        Sample(r(), r(), r()),
        Sample(r(0, 3), r(3), r(1)),
        Sample(r(2, 3), r(2, 3), 1),
    ]


@op(
    "x y weight",
    keeps={"x": "weight", "y": "weight", "weight": "x y"},
    formula="x + weight (y - x)",
    gradient="dx = g (1 - weight), dy = g weight, dweight = g (y - x)",
    samples=_blends,
)
def lerp(xp, x, y, weight):
    """Linear interpolation from x (weight 0) to y (weight 1), exact at both ends.

    ``weight`` is a number or a tensor and may lie outside [0, 1].
    """
    span = y - x
    if isinstance(weight, (int, float)):
        return x + weight * span if weight < 0.5 else y - (1 - weight) * span
    return xp.where(weight < 0.5, x + weight * span, y - (1 - weight) * span)


lerp.vjp(
    x=lambda xp, g, k: g * (1 - k.weight),
    y=lambda xp, g, k: g * k.weight,
    weight=lambda xp, g, k: g * (k.y - k.x),
)
