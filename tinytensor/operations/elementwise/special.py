"""The gamma function's logarithm and what its derivatives are, and the inverse of erf.

SciPy computes them, on a GPU ``cupyx.scipy.special``; float16 is computed in float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...define.op import op
from ...define.samples import Draw, Sample
from ...tensor.axes import whole


def _between_poles(r: Draw) -> list[Sample]:
    """On both sides of 0, and no nearer than 0.2 to the poles at 0, -1, -2, ..."""
    below = np.floor(3 * r(2, 3)) + 0.1 + 0.4 * r.positive(2, 3)
    return [
        Sample(r.positive(3, 4)),
        Sample(below),
        Sample(10 * r.positive(2, 1, 3)),
        Sample(r.positive()),
        Sample(r.positive(0, 3)),
    ]


def _orders(r: Draw) -> list[Sample]:
    return [Sample(*sample.args, n=n) for n in (1, 2, 3, 0) for sample in _between_poles(r)]


@op(
    "x",
    name="polygamma",
    keeps="x",
    wide=True,
    formula="the derivative of order n of digamma at x",
    gradient="dx = g polygamma(n + 1, x)",
    samples=_orders,
)
def _polygamma(xp, x, n):
    """Derivative of order ``n`` of :func:`digamma`; see :func:`tinytensor.polygamma`."""
    special = device_of(x).special
    if n == 0:
        return special.digamma(x)
    # (-1)ⁿ⁺¹ n! ζ(n + 1, x), by Hurwitz' zeta function; in float64, where n! soon has to be
    wide = xp.where(x == -math.inf, math.nan, x.astype("float64"))
    far = wide < _FAR_BELOW  # there zeta would count up to 0 by ones
    factorial = float(math.factorial(n)) if n <= 170 else math.inf
    result = math.copysign(factorial, (-1) ** (n + 1)) * special.zeta(
        xp.full_like(wide, n + 1), xp.where(far, 1 - wide, wide)
    )
    if xp.any(far):
        result = xp.where(far, (-1) ** n * result - _cot_derivative(xp, wide, n), result)
    return result.astype(x.dtype) if x.dtype.kind == "f" else result


_FAR_BELOW = -30.0


def _cot_derivative(xp: Any, x: Any, n: int) -> Any:
    """The derivative of order n of π cot πx, a polynomial in the cotangent: that of cot is
    -(1 + cot²). By reflection ψ(x) = ψ(1 - x) - π cot πx (Abramowitz and Stegun, 6.3.7)."""
    powers = [0, 1]  # coefficients, from that of cot⁰
    for _ in range(n):
        slope = [i * c for i, c in enumerate(powers)][1:]
        powers = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    r = x - xp.round(x)
    half = 0.5 - xp.abs(r)  # from where the cotangent is 0
    cot = xp.where(half < 0.25, xp.sign(r) * xp.tan(math.pi * half), 1 / xp.tan(math.pi * r))
    value: Any = float(powers.pop())
    for c in reversed(powers):
        value = value * cot + (float(c) if abs(c) < 1e308 else math.nan)
    return math.pi ** (n + 1) * value


_polygamma.vjp(x=lambda xp, g, k: g * k.run(_polygamma, k.x, n=k.n + 1))


def polygamma(n: int, x: Any) -> Any:
    """Derivative of order ``n`` of :func:`digamma`, so of order n + 1 of :func:`lgamma`.

    With n = 0 it is digamma itself. Where x is an integer <= 0 it is infinite. It is computed as
    (-1)ⁿ⁺¹ n! ζ(n + 1, x), and so infinite or NaN for n > 170, where n! is beyond float64, and 0
    where ζ(n + 1, x), about x⁻ⁿ / n, is below 1e-308.

    Args:
        n: an integer >= 0. x: any shape.

    Raises:
        ValueError: ``n`` is negative.
    """
    if whole("polygamma: n", n) < 0:
        raise ValueError(f"polygamma: n: expected an integer >= 0, got {n}")
    return _polygamma(x, n=whole("polygamma: n", n))


@op(
    "x",
    keeps="x",
    wide=True,
    formula="ψ(x), the derivative of ln |Γ(x)|",
    gradient="dx = g polygamma(1, x)",
    samples=_between_poles,
)
def digamma(xp, x):
    """Derivative of :func:`lgamma`: Γ'(x) / Γ(x).

    At the integers below 0, where it jumps from -∞ to ∞, it is NaN; at 0 it is -∞ (at -0, ∞).
    """
    return device_of(x).special.digamma(x)


digamma.vjp(x=lambda xp, g, k: g * k.run(_polygamma, k.x, n=1))


@op(
    "x",
    keeps="x",
    wide=True,
    formula="ln |Γ(x)|",
    gradient="dx = g digamma(x)",
    samples=_between_poles,
)
def lgamma(xp, x):
    """Logarithm of the magnitude of the gamma function; Γ(n) is (n - 1)! for integers n.

    Infinite at 0 and at the integers below, and at ±∞ (SciPy: -∞ at -∞).
    """
    return xp.where(x == -math.inf, math.inf, device_of(x).special.gammaln(x))


lgamma.vjp(x=lambda xp, g, k: g * k.run(digamma, k.x))


@op(
    "x",
    keeps="out",
    wide=True,
    formula="the y with erf y = x",
    gradient="dx = g √π/2 exp(out²)",
    samples=lambda r: [
        Sample(np.tanh(r(3, 4))),
        Sample(np.tanh(r(2, 1, 3))),
        Sample(np.asarray(np.tanh(r()))),
        Sample(r(0, 3)),
    ],
)
def erfinv(xp, x):
    """Inverse of :func:`erf`: infinite at -1 and 1, NaN beyond.

    √2 erfinv(2 p - 1) is the quantile of the normal distribution at p.
    """
    return device_of(x).special.erfinv(x)


erfinv.vjp(x=lambda xp, g, k: g * (math.sqrt(math.pi) / 2) * xp.exp(k.out * k.out))
