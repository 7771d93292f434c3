"""Exponentials and logarithms, and functions made of them."""

from __future__ import annotations

import math

from ..device import device_of
from ..registry import op
from ..samples import any_values, positive

__all__ = ["exp", "log", "erf"]


@op("x", keeps="out", formula="eˣ", gradient="dx = g out", samples=any_values)
def exp(xp, x):
    """Exponential function eˣ, element by element."""
    return xp.exp(x)


exp.vjp(x=lambda xp, g, k: g * k.out)


@op("x", keeps="x", formula="ln x", gradient="dx = g / x", samples=positive)
def log(xp, x):
    """Natural logarithm; minus infinity at 0."""
    return xp.log(x)


log.vjp(x=lambda xp, g, k: g / k.x)


@op("x", keeps="x", formula="erf x", gradient="dx = g 2/√π exp(-x²)", samples=any_values)
def erf(xp, x):
    """Error function (by SciPy, or cupyx on a GPU)."""
    return device_of(x).special.erf(x)


erf.vjp(x=lambda xp, g, k: g * (2 / math.sqrt(math.pi)) * xp.exp(-k.x * k.x))
