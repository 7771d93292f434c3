"""Signs, rounding, and division with a rounded quotient.

A step has the derivative 0 wherever it has one, so the gradient of these is 0 everywhere (and not
absent: ``round(x).sum().backward()`` gives zeros), as in PyTorch.
"""

from __future__ import annotations

from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample, kinked, positive_pairs


def _flat(xp: Any, g: Any, k: Any) -> Any:
    return xp.zeros_like(g)


def _whole(xp: Any, x: Any, rounded: Any) -> Any:
    """Integers, which are their own rounding, keep their dtype on every device."""
    return x.copy() if x.dtype.kind in "iub" else rounded(x)


@op("x", formula="sign x", gradient="dx = 0", samples=kinked)
def sign(xp, x):
    """-1, 0 or 1; NaN for NaN, as in NumPy (PyTorch gives 0). The gradient is 0 everywhere."""
    return xp.sign(x)


sign.vjp(x=_flat)


@op("x", formula="⌊x⌋", gradient="dx = 0", samples=kinked)
def floor(xp, x):
    """The largest whole number that is not above x."""
    return _whole(xp, x, xp.floor)


floor.vjp(x=_flat)


@op("x", formula="⌈x⌉", gradient="dx = 0", samples=kinked)
def ceil(xp, x):
    """The smallest whole number that is not below x."""
    return _whole(xp, x, xp.ceil)


ceil.vjp(x=_flat)


@op("x", formula="x without its fraction", gradient="dx = 0", samples=kinked)
def trunc(xp, x):
    """The whole number next to x on the way to 0."""
    return _whole(xp, x, xp.trunc)


trunc.vjp(x=_flat)


def _to_round(r: Draw) -> list[Sample]:
    return [*kinked(r), Sample(r(3, 4), 1), Sample(100 * r(5), -1), Sample(r(2, 3), decimals=2)]


@op("x", formula="x to the nearest multiple of 10^-decimals", gradient="dx = 0", samples=_to_round)
def round(xp, x, decimals=0):
    """The nearest whole number, or with so many decimals; halves go to the even neighbour."""
    return xp.round(x, decimals)


round.vjp(x=_flat)


@op("x y", formula="⌊x / y⌋", gradient="dx = 0, dy = 0", samples=positive_pairs)
def floor_divide(xp, x, y):
    """Quotient rounded down, ``x // y``; integers give integers."""
    return xp.floor_divide(x, y)


floor_divide.vjp(x=_flat, y=_flat)


@op(
    "x y",
    keeps={"y": "x y"},
    formula="x - y ⌊x / y⌋",
    gradient="dx = g, dy = -g ⌊x / y⌋",
    samples=positive_pairs,
)
def remainder(xp, x, y):
    """What is left of x after whole multiples of y, ``x % y``, with the sign of y."""
    return xp.remainder(x, y)


remainder.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: -g * xp.floor_divide(k.x, k.y))


@op(
    "x y",
    keeps={"y": "x y"},
    formula="x - y trunc(x / y)",
    gradient="dx = g, dy = -g trunc(x / y)",
    samples=positive_pairs,
)
def fmod(xp, x, y):
    """What is left of x after whole multiples of y, with the sign of x (C's ``fmod``)."""
    return xp.fmod(x, y)


fmod.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: -g * xp.trunc(k.x / k.y))
