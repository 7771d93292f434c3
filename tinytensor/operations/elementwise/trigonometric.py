"""Trigonometric and hyperbolic functions, their inverses included.

The inverses go by PyTorch's names; NumPy's (``arcsin``) name the same ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample, any_values, broadcasting_pairs


def _between(low: float, high: float) -> Any:
    """Samples in the open interval (low, high), away from its ends."""

    def samples(r: Draw) -> list[Sample]:
        def part(*shape: int) -> Any:
            return np.asarray(low + (high - low) * (r.positive(*shape) - 0.4) / 1.7)

        return [Sample(part(3, 4)), Sample(part(2, 1, 3)), Sample(part()), Sample(part(0, 3))]

    return samples


@op("x", keeps="x", formula="sin x", gradient="dx = g cos x", samples=any_values)
def sin(xp, x):
    """Sine of radians."""
    return xp.sin(x)


sin.vjp(x=lambda xp, g, k: g * xp.cos(k.x))


@op("x", keeps="x", formula="cos x", gradient="dx = -g sin x", samples=any_values)
def cos(xp, x):
    """Cosine of radians."""
    return xp.cos(x)


cos.vjp(x=lambda xp, g, k: -g * xp.sin(k.x))


@op("x", keeps="out", formula="tan x", gradient="dx = g (1 + out²)", samples=_between(-1.3, 1.3))
def tan(xp, x):
    """Tangent of radians."""
    return xp.tan(x)


tan.vjp(x=lambda xp, g, k: g * (1 + k.out * k.out))


# (1 - x) (1 + x) rather than 1 - x²: near the ends of the domain the latter cancels
@op("x", keeps="x", formula="asin x", gradient="dx = g / √(1 - x²)", samples=_between(-1, 1))
def asin(xp, x):
    """Inverse sine in radians, in [-π/2, π/2]; NaN outside [-1, 1], gradient infinite at ±1."""
    return xp.arcsin(x)


asin.vjp(x=lambda xp, g, k: g / xp.sqrt((1 - k.x) * (1 + k.x)))


@op("x", keeps="x", formula="acos x", gradient="dx = -g / √(1 - x²)", samples=_between(-1, 1))
def acos(xp, x):
    """Inverse cosine in radians, in [0, π]; NaN outside [-1, 1], gradient infinite at ±1."""
    return xp.arccos(x)


acos.vjp(x=lambda xp, g, k: -g / xp.sqrt((1 - k.x) * (1 + k.x)))


@op("x", keeps="x", wide=True, formula="atan x", gradient="dx = g / (1 + x²)", samples=any_values)
def atan(xp, x):
    """Inverse tangent in radians, in (-π/2, π/2)."""
    return xp.arctan(x)


@atan.vjp
def _atan_vjp(xp: Any, g: Any, k: Any) -> Any:
    """1 / (1 + x²), on Tensors beyond ±1 as r² / (1 + r²) with r = 1 / x, whose derivatives are
    right at infinity too."""
    if not k.graph:
        return (g / (1 + k.x * k.x),)
    far = xp.abs(k.x) > 1
    r = xp.where(far, 1 / xp.where(far, k.x, 1.0), k.x)
    return (g * (xp.where(far, r * r, 1.0) / (1 + r * r)),)


@op(
    "y x",
    keeps="y x",
    formula="angle of the point (x, y)",
    gradient="dy = g x / (x² + y²), dx = -g y / (x² + y²)",
    samples=broadcasting_pairs,
)
def atan2(xp, y, x):
    """Angle in radians, in [-π, π], between the x axis and the point (x, y). Note the order: y
    first. At the origin both gradients are 0, as in PyTorch, and infinitely far from it too."""
    return xp.arctan2(y, x)


def _over_square(xp: Any, g: Any, a: Any, k: Any) -> Any:
    """g a / (x² + y²), and 0 at the origin and at infinity; the length is used twice, since its
    square overflows."""
    length = xp.hypot(k.y, k.x)
    special = (length == 0) | xp.isinf(length)
    length = xp.where(special, 1.0, length)
    return g * (xp.where(special, xp.zeros_like(g), a) / length / length)


atan2.vjp(
    y=lambda xp, g, k: _over_square(xp, g, k.x, k),
    x=lambda xp, g, k: _over_square(xp, -g, k.y, k),
)


@op("x", keeps="x", formula="sinh x", gradient="dx = g cosh x", samples=any_values)
def sinh(xp, x):
    """Hyperbolic sine, (eˣ - e⁻ˣ) / 2."""
    return xp.sinh(x)


sinh.vjp(x=lambda xp, g, k: g * xp.cosh(k.x))


@op("x", keeps="x", formula="cosh x", gradient="dx = g sinh x", samples=any_values)
def cosh(xp, x):
    """Hyperbolic cosine, (eˣ + e⁻ˣ) / 2."""
    return xp.cosh(x)


cosh.vjp(x=lambda xp, g, k: g * xp.sinh(k.x))


@op("x", keeps="out", formula="tanh x", gradient="dx = g (1 - out²)", samples=any_values)
def tanh(xp, x):
    """Hyperbolic tangent of each element."""
    return xp.tanh(x)


tanh.vjp(x=lambda xp, g, k: g * (1 - k.out * k.out))


@op("x", keeps="x", formula="asinh x", gradient="dx = g / √(x² + 1)", samples=any_values)
def asinh(xp, x):
    """Inverse hyperbolic sine."""
    return xp.arcsinh(x)


asinh.vjp(x=lambda xp, g, k: g / xp.hypot(k.x, 1.0))


@op("x", keeps="x", formula="acosh x", gradient="dx = g / √(x² - 1)", samples=_between(1, 3))
def acosh(xp, x):
    """Inverse hyperbolic cosine, at least 0; NaN below 1, gradient infinite at 1."""
    return xp.arccosh(x)


# one division after the other: the product is infinite at infinity, and its derivative 0 · ∞
acosh.vjp(x=lambda xp, g, k: g / xp.sqrt(k.x - 1) / xp.sqrt(k.x + 1))


@op("x", keeps="x", formula="atanh x", gradient="dx = g / (1 - x²)", samples=_between(-1, 1))
def atanh(xp, x):
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""
    return xp.arctanh(x)


atanh.vjp(x=lambda xp, g, k: g / ((1 - k.x) * (1 + k.x)))


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
