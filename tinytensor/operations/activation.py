"""Activation functions: fused forward and backward, each with its composition from primitives."""

from __future__ import annotations

import math
from typing import Any

from ..registry import op
from ..samples import Draw, Sample, kinked
from .exponential import erf
from .select import where
from .trigonometric import tanh

__all__ = ["gelu", "relu", "sigmoid", "silu"]


def _any(r: Draw) -> list[Sample]:
    return [Sample(r(3, 4)), Sample(3 * r(2, 1, 3)), Sample(r()), Sample(r(0, 3))]


@op("x", keeps="out", formula="max(x, 0)", gradient="dx = g where x > 0, else 0", samples=kinked)
def relu(xp, x):
    """Rectified linear unit; gradient 0 at 0."""
    return xp.maximum(x, 0)


relu.vjp(x=lambda xp, g, k: g * (k.out > 0))


@relu.reference_is
def _relu(x: Any) -> Any:
    return where(x > 0, x, 0.0)


@op("x", keeps="out", formula="1 / (1 + e⁻ˣ)", gradient="dx = g out (1 - out)", samples=_any)
def sigmoid(xp, x):
    """Logistic function; does not overflow for any x."""
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1, small) / (1 + small)


sigmoid.vjp(x=lambda xp, g, k: g * (k.out * (1 - k.out)))


@sigmoid.reference_is
def _sigmoid(x: Any) -> Any:
    return 0.5 * tanh(0.5 * x) + 0.5


@op(
    "x",
    keeps="x",
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


_C = math.sqrt(2 / math.pi)
_A = 0.044715


@op(
    "x",
    keeps="x",
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
