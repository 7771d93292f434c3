"""Activation functions with kinks: relu and its relatives.

At a kink each takes the slope that PyTorch takes, and says which. At NaN the value is NaN; the
gradient is g for relu, g times its slope for leaky_relu, 0 for what has limits (as for clip), and
NaN where it is computed from x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...define.naming import named
from ...define.op import op
from ...define.samples import Draw, Sample, kinked
from ...tensor.tensor import Tensor
from ..elementwise.choosing import gate, times, where


def _with_settings(*settings: Any) -> Any:
    """The samples of :func:`kinked`, and one each with these settings."""

    def samples(r: Draw) -> list[Sample]:
        return [*kinked(r), *(Sample(r.apart(3, 4), *s) for s in settings)]

    return samples


@op("x", keeps="out", formula="max(x, 0)", gradient="dx = g where x > 0, else 0", samples=kinked)
def relu(xp, x):
    """Rectified linear unit; gradient 0 at 0."""
    return xp.maximum(x, 0)


# "not <= 0" rather than "> 0" lets g pass at NaN, as in PyTorch
relu.vjp(x=lambda xp, g, k: gate(xp, ~(k.out <= 0), g))


@relu.reference_is
def _relu(x: Any) -> Any:
    return where(named("x <= 0", x <= 0), 0.0, x)  # max(x, 0) would share the gradient at 0


@op(
    "x",
    keeps="x",
    formula="x where x > 0, else negative_slope x",
    gradient="dx = g where x > 0, else g negative_slope",
    samples=_with_settings((0.2,), (-0.5,), (0,)),
)
def leaky_relu(xp, x, negative_slope=0.01):
    """relu with a slope on the negative side too (Maas et al. 2013); ``negative_slope`` at 0."""
    # the two lines cross at 0; much faster than a choice by where
    return (xp.maximum if negative_slope <= 1 else xp.minimum)(x, x * negative_slope)


leaky_relu.vjp(x=lambda xp, g, k: _two_slopes(xp, g, k.x, k.negative_slope))


def _two_slopes(xp: Any, g: Any, x: Any, slope: Any) -> Any:
    """g where x > 0, else g · slope."""
    right = x > 0
    return gate(xp, right, g) + gate(xp, ~right, g * slope)


@op(
    "x weight",
    keeps={"x": "x weight", "weight": "x"},
    name="prelu",
    formula="x where x > 0, else weight x",
    gradient="dx = g where x > 0, else g weight; dweight = Σ g x where x <= 0",
    samples=lambda r: [
        Sample(r.apart(3, 4), r(1)),
        Sample(r.apart(3, 4), r(4)),
        Sample(r.apart(2, 3, 4), r(3, 1)),
        Sample(r.apart(), r()),
        Sample(r.apart(0, 3), r(3)),
    ],
)
def _prelu(xp, x, weight):
    """leaky_relu whose slope is an operand, broadcast against x."""
    return xp.where(x > 0, x, x * weight)


_prelu.vjp(
    x=lambda xp, g, k: _two_slopes(xp, g, k.x, k.weight),
    weight=lambda xp, g, k: gate(xp, ~(k.x > 0), g * k.x),
)


def prelu(x: Any, weight: Any) -> Any:
    """leaky_relu with a learned slope (He et al. 2015, arXiv:1502.01852); the weight's at 0.

    Args:
        x: (batch, channels, ...), or any shape where there is one weight only.
        weight: one number per channel (axis 1), shape (channels,), or one for all, (1,) or ().

    Raises:
        ValueError: the number of weights is neither 1 nor the number of channels.
    """
    x, weight = (a if isinstance(a, Tensor) else Tensor(a) for a in (x, weight))
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise ValueError(
            f"prelu: weight: expected shape (1,) or one number per channel, ({channels},), for x "
            f"of shape {x.shape}, got {weight.shape}"
        )
    if weight.size == 1:
        return _prelu(x, weight.reshape(()))
    return _prelu(x, weight.reshape(channels, *(1,) * (x.ndim - 2)))


def _exponential(xp: Any, x: Any, height: float, slope: float = 1, rate: float = 1) -> Any:
    """slope x where x > 0, else height (e^(rate x) - 1); the other term is 0 there."""
    return xp.maximum(x, 0) * slope + xp.expm1(xp.minimum(x, 0) * rate) * height


def _exponential_dx(xp: Any, g: Any, k: Any, low: float, slope: float = 1, rate: float = 1) -> Any:
    """g slope where x > 0, else g low e^(rate x); the power is 1 where x > 0."""
    # on Tensors minimum would halve the curvature at 0
    left = xp.where(k.x > 0, 0.0, k.x) if k.graph else xp.minimum(k.x, 0)
    dx = g * low * xp.exp(left * rate)
    return dx if low == slope else dx + gate(xp, k.x > 0, g * (slope - low))


@op(
    "x",
    keeps="x",
    formula="x where x > 0, else alpha (eˣ - 1)",
    gradient="dx = g where x > 0, else g alpha eˣ",
    samples=_with_settings((0.5,), (2,)),
)
def elu(xp, x, alpha=1.0):
    """Exponential linear unit (Clevert et al. 2015, arXiv:1511.07289); gradient alpha at 0."""
    return _exponential(xp, x, alpha)


elu.vjp(x=lambda xp, g, k: _exponential_dx(xp, g, k, k.alpha))

# the fixed point of mean 0 and variance 1 (Klambauer et al. 2017, appendix)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@op(
    "x",
    keeps="x",
    formula="s x where x > 0, else s α (eˣ - 1), s = 1.0507, α = 1.6733",
    gradient="dx = g s where x > 0, else g s α eˣ",
    samples=kinked,
)
def selu(xp, x):
    """Self-normalising elu (Klambauer et al. 2017, arXiv:1706.02515); gradient s α at 0."""
    return _exponential(xp, x, _SELU_SCALE * _SELU_ALPHA, _SELU_SCALE)


selu.vjp(x=lambda xp, g, k: _exponential_dx(xp, g, k, _SELU_SCALE * _SELU_ALPHA, _SELU_SCALE))


@op(
    "x",
    keeps="x",
    formula="x where x > 0, else alpha (e^(x / alpha) - 1)",
    gradient="dx = g where x > 0, else g e^(x / alpha)",
    samples=_with_settings((0.5,), (2,)),
)
def celu(xp, x, alpha=1.0):
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""
    if not alpha:
        raise ValueError(f"alpha: expected a number other than 0, got {alpha}")
    return _exponential(xp, x, alpha, rate=1 / alpha)


celu.vjp(x=lambda xp, g, k: _exponential_dx(xp, g, k, 1, rate=1 / k.alpha))


@op(
    "x",
    keeps="x",
    formula="min(max(x, min_val), max_val)",
    gradient="dx = g where min_val < x < max_val, else 0",
    samples=_with_settings((-0.5, 0.7), (0, 6), (-10, -0.4)),
)
def hardtanh(xp, x, min_val=-1.0, max_val=1.0):
    """Limit to [min_val, max_val]; unlike that of :func:`clip`, the gradient is 0 at the limits."""
    if min_val > max_val:
        raise ValueError(f"min_val: expected at most max_val, {max_val}, got {min_val}")
    return xp.clip(x, min_val, max_val)


hardtanh.vjp(x=lambda xp, g, k: gate(xp, (k.x > k.min_val) & (k.x < k.max_val), g))


def relu6(x: Any) -> Any:
    """relu that ends at 6, ``hardtanh(x, 0, 6)``; gradient 0 at 0 and at 6."""
    return hardtanh(x, 0, 6)


def _wider(r: Draw) -> list[Sample]:
    return [Sample(np.asarray(9 * s.args[0])) for s in kinked(r)]


@op(
    "x",
    keeps="x",
    formula="min(max(x / 6 + 1/2, 0), 1)",
    gradient="dx = g / 6 where -3 < x < 3, else 0",
    samples=_wider,
)
def hard_sigmoid(xp, x):
    """Sigmoid of three straight lines; gradient 0 at ±3."""
    return xp.clip(x / 6 + 0.5, 0, 1)


hard_sigmoid.vjp(x=lambda xp, g, k: gate(xp, (k.x > -3) & (k.x < 3), g / 6))


@op(
    "x",
    keeps="x",
    formula="x · hard_sigmoid(x)",
    gradient="dx = 0 where x <= -3, g (x / 3 + 1/2) where x < 3, else g",
    samples=_wider,
)
def hard_swish(xp, x):
    """silu with straight lines for its sigmoid (Howard et al. 2019, arXiv:1905.02244)."""
    return times(xp, x, hard_sigmoid.forward(xp, x), -3.0)


@hard_swish.vjp
def _hard_swish_vjp(xp: Any, g: Any, k: Any) -> Any:
    right = k.x >= 3
    middle = ~(right | (k.x <= -3))
    return (gate(xp, right, g) + gate(xp, middle, g * (k.x / 3 + 0.5)),)
