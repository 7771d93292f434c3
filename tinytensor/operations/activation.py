"""Smooth activation functions; those with kinks are in :mod:`.piecewise`.

The fused ones have a hand-written forward and backward and their composition from primitives. What
needs more range or more digits in between than float16 has, is ``wide``.
"""

from __future__ import annotations

import math
from typing import Any

from ..registry import op
from ..samples import Draw, Sample
from .arithmetic import abs
from .exponential import erf, exp, log1p
from .select import maximum
from .trigonometric import tanh

__all__ = ["gelu", "log_sigmoid", "mish", "sigmoid", "silu", "softplus", "softsign"]


def _any(r: Draw) -> list[Sample]:
    return [Sample(r(3, 4)), Sample(3 * r(2, 1, 3)), Sample(r()), Sample(r(0, 3))]


@op("x", keeps="out", formula="1 / (1 + e⁻ˣ)", gradient="dx = g out (1 - out)", samples=_any)
def sigmoid(xp, x):
    """Logistic function; does not overflow for any x."""
    small = xp.exp(-xp.abs(x))
    return xp.maximum(small, x >= 0) / (1 + small)  # 1 or small over 1 + small


sigmoid.vjp(x=lambda xp, g, k: g * (k.out * (1 - k.out)))


@sigmoid.reference_is
def _sigmoid(x: Any) -> Any:
    return 0.5 * tanh(0.5 * x) + 0.5


@op(
    "x",
    keeps="x",
    wide=True,
    formula="ln sigmoid(x) = min(x, 0) - ln(1 + e^-|x|)",
    gradient="dx = g sigmoid(-x)",
    samples=_any,
)
def log_sigmoid(xp, x):
    """Logarithm of the sigmoid, finite where the sigmoid itself has become 0."""
    return xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x)))


log_sigmoid.vjp(x=lambda xp, g, k: g * k.run(sigmoid, -k.x))


@op(
    "x",
    keeps="x",
    wide=True,
    formula="ln(1 + e^(beta x)) / beta, x where beta x > threshold",
    gradient="dx = g sigmoid(beta x), g where beta x > threshold",
    samples=lambda r: [
        *_any(r),
        Sample(r(3, 4), 2.0),
        Sample(r.apart(2, 3), 3.0, 0.5),
        Sample(30 * r.apart(4), beta=0.7),
        Sample(r(3), beta=-1.5),
    ],
)
def softplus(xp, x, beta=1.0, threshold=20.0):
    """Smooth form of relu (Dugas et al. 2000); linear above the threshold, as in PyTorch."""
    if not beta:
        raise ValueError(f"beta: expected a number other than 0, got {beta}")
    scaled = x * beta
    curve = xp.log1p(xp.exp(-xp.abs(scaled))) * (scaled <= threshold)
    return (xp.maximum(scaled, 0) + curve) / beta


@softplus.vjp
def _softplus_vjp(xp: Any, g: Any, k: Any) -> Any:
    scaled = k.x * k.beta
    slope = k.run(sigmoid, scaled)
    return (g * (slope + (1 - slope) * (scaled > k.threshold)),)


@op(
    "x",
    keeps="x",
    formula="x / (1 + |x|)",
    gradient="dx = g / (1 + |x|)²",
    samples=_any,
)
def softsign(xp, x):
    """Like tanh with slower tails (Bergstra et al. 2009)."""
    return x / (1 + xp.abs(x))


@softsign.vjp
def _softsign_vjp(xp: Any, g: Any, k: Any) -> Any:
    scale = 1 + xp.abs(k.x)
    return (g / scale / scale,)  # the square alone would overflow in float16


@op(
    "x",
    keeps="x",
    wide=True,
    formula="x · sigmoid(x)",
    gradient="dx = g s (1 + x (1 - s)), s = sigmoid(x)",
    samples=_any,
)
def silu(xp, x):
    """Sigmoid-weighted linear unit, also called swish (Elfwing et al. 2017, arXiv:1702.03118)."""
    return x * sigmoid.forward(xp, x)


@silu.vjp
def _silu_vjp(xp: Any, g: Any, k: Any) -> Any:
    s = k.run(sigmoid, k.x)
    return (g * (s * (1 + k.x * (1 - s))),)


@silu.reference_is
def _silu(x: Any) -> Any:
    return x * sigmoid(x)


@op(
    "x",
    keeps="x",
    wide=True,
    formula="x tanh(ln(1 + eˣ))",
    gradient="dx = g (t + x (1 - t²) sigmoid(x)), t = tanh(ln(1 + eˣ))",
    samples=_any,
)
def mish(xp, x):
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
    return x * _mish_parts(xp, x)[-1]


def _mish_parts(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    """e = eˣ, d = e² + 2e + 2, and tanh(ln(1 + e)) = (e² + 2e) / d: one exponential in all.

    From x = 40 on the tanh is 1 in every dtype, and eˣ squared would soon overflow.
    """
    e = xp.exp(xp.minimum(x, 40))
    n = e * (e + 2)
    d = n + 2
    return e, d, n / d


@mish.vjp
def _mish_vjp(xp: Any, g: Any, k: Any) -> Any:
    e, d, t = _mish_parts(xp, k.x)
    # (1 - t²) sigmoid(x) = 4 e (1 + e) / d²
    return (g * (t + xp.minimum(k.x, 40) * (4 * e * (1 + e) / d / d)),)


@mish.reference_is
def _mish(x: Any) -> Any:
    return x * tanh(maximum(x, 0) + log1p(exp(-abs(x))))


_C = math.sqrt(2 / math.pi)
_A = 0.044715


@op(
    "x",
    keeps="x",
    wide=True,
    formula="x Φ(x), or 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
    gradient="dx = g (Φ(x) + x φ(x))",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(2, 3), "tanh"),
        Sample(2 * r(2, 1, 3), "tanh"),
        Sample(r()),
        Sample(r(0, 3), "tanh"),
    ],
)
def gelu(xp, x, approximate="none"):
    """Gaussian error linear unit (Hendrycks and Gimpel 2016, arXiv:1606.08415).

    ``approximate="none"`` is exact (by erf, which needs SciPy); ``"tanh"`` is GPT-2's formula.
    """
    if approximate == "none":
        return 0.5 * x * (1 + erf.forward(xp, x * math.sqrt(0.5)))
    if approximate != "tanh":
        raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
    t = x * x
    t *= _A * _C
    t += _C
    t *= x
    t = xp.tanh(t, out=t) if t.ndim else xp.tanh(t)
    t += 1
    t *= x
    t *= 0.5
    return t


@gelu.vjp
def _gelu_vjp(xp: Any, g: Any, k: Any) -> Any:
    x = k.x
    if k.approximate == "none":
        cdf = 0.5 * (1 + k.run(erf, x * math.sqrt(0.5)))
        return (g * (cdf + x * (xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)))),)
    # with u = C (x + A x³), t = tanh u:  dx = 0.5 (1 + t) + 0.5 x (1 - t²) C (1 + 3 A x²);
    # in place, since each temporary of this size costs as much as the arithmetic
    xx = x * x
    t = xx * (_A * _C)
    t += _C
    t *= x
    t = xp.tanh(t, out=t) if t.ndim else xp.tanh(t)
    xx *= 1.5 * _A * _C
    xx += 0.5 * _C
    xx *= x
    slope = t * t
    slope = xp.subtract(1, slope, out=slope) if slope.ndim else 1 - slope
    slope *= xx
    t += 1
    t *= 0.5
    slope += t
    slope *= g
    return (slope,)


@gelu.reference_is
def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + tanh(_C * (x + _A * x**3)))
