"""Exponentials and logarithms, and functions made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...define.op import OPS, op
from ...define.samples import Draw, Sample, any_values, broadcasting_pairs, positive
from .arithmetic import kink
from .choosing import within


@op("x", keeps="out", formula="eˣ", gradient="dx = g out", samples=any_values)
def exp(xp, x):
    """Exponential function eˣ, element by element."""
    return xp.exp(x)


exp.vjp(x=lambda xp, g, k: g * k.out)


@op("x", keeps="out", formula="2ˣ", gradient="dx = g out ln 2", samples=any_values)
def exp2(xp, x):
    """Two to the power of each element."""
    return xp.exp2(x)


exp2.vjp(x=lambda xp, g, k: g * math.log(2) * k.out)


@op("x", keeps="out", formula="eˣ - 1", gradient="dx = g (out + 1)", samples=any_values)
def expm1(xp, x):
    """eˣ - 1, exact for small x too, where ``exp(x) - 1`` cancels."""
    return xp.expm1(x)


expm1.vjp(x=lambda xp, g, k: g * (k.out + 1))


@op("x", keeps="x", formula="ln x", gradient="dx = g / x", samples=positive)
def log(xp, x):
    """Natural logarithm; minus infinity at 0, NaN below.

    Gradients at singular points: the slope at 0 is infinite, and the chain rule multiplies it with
    the gradient that comes in, also where that is 0. So in ``tt.log(x)[2]`` an ``x[0]`` of 0 gets
    0 · ∞ = NaN, although it is not read: as in PyTorch and JAX, since a rule cannot know that the
    element does not count. The same holds for every function with an infinite slope or value:
    ``log2``, ``log10``, ``log1p`` at -1, ``sqrt``, ``pow``, ``reciprocal``, ``x / y``, ``asin`` and
    ``acos`` at ±1. What to write instead:

    - read first, ``tt.log(x[2])``: elements that were not read have gradient 0;
    - with a mask, make the operand harmless inside: ``tt.where(x > 0, tt.log(tt.where(x > 0, x,
      1.0)), 0.0)``; a ``where`` on the outside alone still gives 0 · ∞;
    - or use the function that knows the limit: ``xlogy``, ``log_softmax``, ``logsumexp``, ``norm``.
    """
    return xp.log(x)


log.vjp(x=lambda xp, g, k: g / k.x)


@op("x", keeps="x", formula="log₂ x", gradient="dx = g / (x ln 2)", samples=positive)
def log2(xp, x):
    """Logarithm to base 2."""
    return xp.log2(x)


log2.vjp(x=lambda xp, g, k: g / (k.x * math.log(2)))


@op("x", keeps="x", formula="log₁₀ x", gradient="dx = g / (x ln 10)", samples=positive)
def log10(xp, x):
    """Logarithm to base 10."""
    return xp.log10(x)


log10.vjp(x=lambda xp, g, k: g / (k.x * math.log(10)))


@op("x", keeps="x", formula="ln(1 + x)", gradient="dx = g / (1 + x)", samples=positive)
def log1p(xp, x):
    """ln(1 + x), exact for small x too, where ``log(1 + x)`` has lost its digits."""
    return xp.log1p(x)


log1p.vjp(x=lambda xp, g, k: g / (1 + k.x))


@op(
    "x y",
    keeps="x y",
    formula="ln(eˣ + eʸ)",
    gradient="dx = g sigmoid(x - y), dy = g sigmoid(y - x)",
    samples=broadcasting_pairs,
)
def logaddexp(xp, x, y):
    """Logarithm of the sum of two exponentials, without overflow.

    Where both are the same infinity each gets half of the gradient, as at any other tie (PyTorch
    gives NaN, which then spreads from positions that are masked out).
    """
    return xp.logaddexp(x, y)


def _share(xp: Any, g: Any, k: Any, a: Any, b: Any) -> Any:
    """eᵃ / (eᵃ + eᵇ); equal infinities are set to 0 first, since ∞ - ∞ is NaN."""
    tie, zero = (a == b) & xp.isinf(a), xp.zeros_like(g)
    return k.run(OPS["sigmoid"], xp.where(tie, zero, a) - xp.where(tie, zero, b))


logaddexp.vjp(
    x=lambda xp, g, k: g * _share(xp, g, k, k.x, k.y),
    y=lambda xp, g, k: g * _share(xp, g, k, k.y, k.x),
)


def _factors(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4), r.positive(3, 4)),
        Sample(r(3, 4), r.positive(4)),
        Sample(r(3, 1), r.positive(1, 4)),
        Sample(r(), r.positive(2, 3)),
        Sample(r(), r.positive()),
        Sample(r(0, 3), r.positive(1, 3)),
        Sample(r(3), 2.5),
        Sample(-1.5, r.positive(3)),
        Sample(0, r.positive(3)),
    ]


@op(
    "x y",
    keeps="x y",
    formula="x ln y, 0 where x = 0",
    gradient="dx = g ln y, 0 where x = 0 and y <= 0; dy = g x / y, 0 where x = 0",
    samples=_factors,
)
def xlogy(xp, x, y):
    """x · ln y with 0 · ln 0 = 0, as entropies need it; NaN where y is NaN."""
    void = (x == 0) & (y == y)  # NaN differs from itself
    return x * xp.log(xp.where(void, 1.0, y))


@xlogy.vjp
def _xlogy_vjp(xp: Any, g: Any, k: Any) -> Any:
    dx = dy = None
    if k.needs[0]:
        void = (k.x == 0) & (k.y <= 0)
        dx = k.run(xlogy, g, xp.where(void, xp.ones_like(g), k.y))
    if k.needs[1]:
        zero = (k.x == 0) & (k.y == 0)
        dy = g * (
            xp.where(zero, 0.0, k.x / xp.where(zero, 1.0, k.y))
            + kink(xp, k, xp.where(zero, k.x, 1.0))
        )
    return dx, dy


def _fractions(r: Draw) -> list[Sample]:
    def between(*shape: int) -> Any:
        return np.asarray(r.positive(*shape) / 2.2)  # in [0.23, 0.91)

    return [
        Sample(between(3, 4)),
        Sample(between(2, 1, 3)),
        Sample(between()),
        Sample(between(0, 3)),
        Sample(between(3, 4), 0.3),
        Sample(between(5), eps=1e-6),
    ]


@op(
    "x",
    keeps="x",
    formula="ln(x / (1 - x))",
    gradient="dx = g / (x (1 - x)), 0 where clipped",
    samples=_fractions,
)
def logit(xp, x, eps=None):
    """Inverse of the sigmoid; with ``eps``, x is first limited to [eps, 1 - eps].

    Infinite at 0 and 1; beyond, the value and the gradient are NaN.
    """
    if eps is not None:
        if not 0 <= eps <= 0.5:
            raise ValueError(f"eps: expected None or a number in [0, 0.5], got {eps}")
        x = xp.clip(x, eps, 1 - eps)
    return xp.log(x / (1 - x))


@logit.vjp
def _logit_vjp(xp: Any, g: Any, k: Any) -> Any:
    x, low = k.x, k.eps or 0
    outside = (x < low) | (x > 1 - low)
    if k.eps is not None:
        x = xp.clip(x, low, 1 - low)
    return (xp.where(outside, math.nan if k.eps is None else 0.0, g / (x * (1 - x))),)


# NumPy has no error function; SciPy's gives float32 for float16, hence wide
@op(
    "x",
    keeps="x",
    wide=True,
    formula="erf x",
    gradient="dx = g 2/√π exp(-x²)",
    samples=any_values,
)
def erf(xp, x):
    """Error function (by SciPy, or cupyx on a GPU)."""
    return device_of(x).special.erf(x)


def _bell(xp: Any, x: Any) -> Any:
    """2/√π exp(-x²); at 100 it is 0 in every dtype, and ∞ would make its derivative 0 · ∞."""
    x = within(xp, x, 100.0)
    return (2 / math.sqrt(math.pi)) * xp.exp(-x * x)


erf.vjp(x=lambda xp, g, k: g * _bell(xp, k.x))


@op(
    "x",
    keeps="x",
    wide=True,
    formula="1 - erf x",
    gradient="dx = -g 2/√π exp(-x²)",
    samples=any_values,
)
def erfc(xp, x):
    """Complement of the error function, exact in the tail, where ``1 - erf(x)`` cancels."""
    return device_of(x).special.erfc(x)


erfc.vjp(x=lambda xp, g, k: -g * _bell(xp, k.x))
