"""Smooth activation functions; those with kinks are in :mod:`.relu`.

The fused ones have a hand-written forward and backward and their composition from primitives. What
needs more range or more digits in between than float16 has, is ``wide``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from ..elementwise.choosing import all_finite, times, within
from ..elementwise.exponential import erf, exp
from ..elementwise.trigonometric import tanh
from .in_cache import strips


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
    return 1 / (1 + exp(-x))  # whose e⁻ˣ overflows from x = -89 on, in float32


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
    """Like tanh with slower tails (Bergstra et al. 2009); ±1 at ±∞ (PyTorch: NaN)."""
    if all_finite(xp, x):
        return x / (1 + xp.abs(x))
    endless = xp.isinf(x)
    return xp.where(endless, xp.sign(x), xp.where(endless, 0.0, x) / (1 + xp.abs(x)))


@softsign.vjp
def _softsign_vjp(xp: Any, g: Any, k: Any) -> Any:
    # |x| with a second derivative at 0: that of softsign jumps from 2 to -2, and 0 is between them
    scale = 1 + (k.x * xp.sign(k.x) if k.graph else xp.abs(k.x))
    return (g / scale / scale,)  # the square alone would overflow in float16


#: further out each of the activations below is 0 or x in every dtype, and so nothing is computed
#: from numbers beyond: ∞ would make 0 · ∞ of what vanishes there
_FAR = 1000.0


@op(
    "x",
    keeps={"x": "x"},
    wide=True,
    formula="x · sigmoid(x)",
    gradient="dx = g s (1 + x (1 - s)), s = sigmoid(x)",
    samples=_any,
)
def silu(xp, x):
    """Sigmoid-weighted linear unit, also called swish (Elfwing et al. 2017, arXiv:1702.03118)."""
    return times(xp, x, sigmoid.forward(xp, x), -_FAR)


@silu.vjp
def _silu_vjp(xp: Any, g: Any, k: Any) -> Any:
    x = within(xp, k.x, _FAR)
    s = k.run(sigmoid, x)
    return (g * (s * (1 + x * (1 - s))),)


@silu.reference_is
def _silu(x: Any) -> Any:
    return x * sigmoid(x)


@op(
    "x",
    keeps={"x": "x"},
    wide=True,
    formula="x tanh(ln(1 + eˣ))",
    gradient="dx = g (t + x (1 - t²) sigmoid(x)), t = tanh(ln(1 + eˣ))",
    samples=_any,
)
def mish(xp, x):
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
    return times(xp, x, _mish_parts(xp, x)[-1], -_FAR)


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
    return (g * (t + xp.clip(k.x, -_FAR, 40.0) * (4 * e * (1 + e) / d / d)),)


@mish.reference_is
def _mish(x: Any) -> Any:
    return x * tanh(softplus(x, threshold=math.inf))


_C = math.sqrt(2 / math.pi)
_A = 0.044715


@op(
    "x",
    keeps={"x": "x slope"},
    wide=True,
    formula="x Φ(x), or 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
    gradient="dx = g (Φ(x) + x φ(x))",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(2, 3), "tanh"),
        Sample(2 * r(2, 1, 3), "tanh"),
        Sample(r()),
        Sample(r(0, 3), "tanh"),
        Sample(r(2, 3).T, "tanh"),
    ],
)
def gelu(xp, x, approximate="none", recording=False):
    """Gaussian error linear unit (Hendrycks and Gimpel 2016, arXiv:1606.08415).

    ``approximate="none"`` is exact (by erf, which needs SciPy); ``"tanh"`` is GPT-2's formula.
    """
    rule = {"none": _gelu_exact, "tanh": _gelu_tanh}.get(approximate)
    if rule is None:
        raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
    x = xp.asarray(x, x.dtype if x.dtype.kind == "f" else "float32", order="C")
    out, slope = xp.empty_like(x), xp.empty_like(x) if recording else None
    for part, y, d in strips(xp, x, out, slope):
        near = part
        if xp is not np or not np.vdot(part, part) < 1e18:  # a sum of squares costs next to nothing
            near = xp.clip(part, -_FAR, _FAR)
        rule(xp, near, y, d)
        if near is not part:
            y[...] = xp.where(part > _FAR, part, y)
    return out, slope


# The slope shares most of its work with the value: both are made at once, and backward is a single
# product. That saves 4% of a training step.


def _gelu_exact(xp: Any, x: Any, y: Any, slope: Any) -> None:
    """y = x h with h = Φ(x), and slope = h + x φ(x)."""
    h = erf.forward(xp, x * math.sqrt(0.5))
    h *= 0.5
    h += 0.5
    xp.multiply(x, h, out=y)
    if slope is not None:
        density = x * x
        density *= -0.5
        xp.exp(density, out=density)
        density *= x
        density *= 1 / math.sqrt(2 * math.pi)
        xp.add(h, density, out=slope)


def _gelu_tanh(xp: Any, x: Any, y: Any, slope: Any) -> None:
    """y = x h with h = (1 + tanh u) / 2, u = C (x + A x³), and slope = h + 2 u' y (1 - h)."""
    xx = x * x
    h = xx * (_A * _C)
    h += _C
    h *= x
    xp.tanh(h, out=h)
    h *= 0.5
    h += 0.5
    xp.multiply(x, h, out=y)
    if slope is not None:
        xx *= -6 * _A * _C
        xx -= 2 * _C
        xx *= y
        xx += 1  # 1 - 2 u' y
        xp.subtract(1, h, out=h)
        h *= xx
        xp.subtract(1, h, out=slope)


@gelu.vjp
def _gelu_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (g * (_gelu_slope(k, within(xp, k.x, _FAR)) if k.graph else k.slope),)


def _gelu_slope(k: Any, x: Any) -> Any:
    """The slope on Tensors, with a graph of its own."""
    if k.approximate == "none":
        return 0.5 * (1 + erf(x / math.sqrt(2))) + x * exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    t = tanh(_C * (x + _A * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_C * (1 + 3 * _A * x * x))


@gelu.reference_is
def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + tanh(_C * (x + _A * x**3)))
