"""Trigonometric and hyperbolic functions, their inverses included."""

from __future__ import annotations

from ..registry import op
from ..samples import any_values

__all__ = ["sin", "cos", "tanh"]


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


@op("x", keeps="out", formula="tanh x", gradient="dx = g (1 - out²)", samples=any_values)
def tanh(xp, x):
    """Hyperbolic tangent of each element."""
    return xp.tanh(x)


tanh.vjp(x=lambda xp, g, k: g * (1 - k.out * k.out))
