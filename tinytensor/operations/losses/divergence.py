"""Losses between probabilities: binary cross-entropy and the Kullback-Leibler divergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.naming import anywhere
from ...define.op import op
from ...define.samples import Draw, Sample
from ..activations.smooth import log_sigmoid, sigmoid
from ..elementwise.choosing import clip
from ..elementwise.exponential import exp, log
from .reduction import (
    REDUCTIONS,
    check_reduction,
    fits,
    floats_of_one_shape,
    reduced,
    spread,
    total,
)


def _check_weight(name: str, weight: Any, prediction: Any) -> None:
    """Raise ValueError unless a weight is None, a number, or broadcasts to the prediction."""
    shape, given = prediction.shape, getattr(weight, "shape", ())
    if not fits(given, shape):
        raise ValueError(f"{name}: expected a shape that broadcasts to {shape}, got {given}")


def _times(loss: Any, weight: Any) -> Any:
    return loss if weight is None else loss * weight


def _between(r: Draw, *shape: int) -> Any:
    return np.asarray(r.rng.uniform(0.1, 0.9, shape))


def _clamped(xp: Any, fn: Any, x: Any, singular: Any, harmless: float) -> Any:
    """fn(x), but -100 at least, even where x is ``singular`` and fn(x) minus infinity."""
    value = fn(xp.where(singular, harmless, x))
    return xp.where(singular, -100.0, xp.maximum(value, -100.0))


def _logs(xp: Any, p: Any) -> tuple[Any, Any]:
    """ln p and ln(1 - p), each at least -100."""
    return _clamped(xp, xp.log, p, p == 0, 1.0), _clamped(xp, xp.log1p, -p, p == 1, 0.0)


@op(
    "prediction target weight",
    keeps={
        "prediction": "prediction target weight",
        "target": "prediction weight",
        "weight": "prediction target",
    },
    formula="-weight (target ln p + (1 - target) ln(1 - p)), with p = prediction and ln >= -100",
    gradient="dp = g weight (p - target) / max(p (1 - p), 10⁻¹²), dtarget = g weight (ln(1 - p) - "
    "ln p), both divided by the number of elements for the mean",
    wide=True,
    samples=lambda r: [
        Sample(_between(r, 3, 4), _between(r, 3, 4)),
        Sample(_between(r, 2, 1, 3), _between(r, 2, 1, 3), None, "sum"),
        Sample(_between(r, 3, 2), _between(r, 3, 2), r.positive(2)),
        Sample(_between(r, 2, 3), _between(r, 2, 3), r.positive(2, 1), "none"),
        Sample(_between(r), _between(r)),
        Sample(_between(r, 0, 3), _between(r, 0, 3), None, "sum"),
        Sample(_between(r, 4), r.bools(4)),
    ],
)
def binary_cross_entropy(xp, prediction, target, weight=None, reduction="mean"):
    """Cross-entropy of probabilities; better use :func:`binary_cross_entropy_with_logits`.

    Logarithms are cut off at -100, so that a prediction of 0 or 1 costs 100 at most, and the
    gradient divides by at least 10⁻¹², both as in PyTorch: at p = 0 and target 1 it is -10¹². The
    gradient of the target is that of the cut-off value (PyTorch: infinite at p = 0 and p = 1).

    Args:
        prediction: probabilities in [0, 1].
        target: the same shape, also in [0, 1].
        weight: factor of the loss of each element; broadcasts to that shape.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, or a prediction is not in [0, 1].
    """
    check_reduction(reduction)
    p, target = floats_of_one_shape(xp, prediction, target)
    _check_weight("weight", weight, p)
    if p.size:
        low, high = float(p.min()), float(p.max())
        if not (low >= 0 and high <= 1):
            raise ValueError(
                f"prediction: expected probabilities in [0, 1], got {high if low >= 0 else low:g}"
            )
    log_p, log_q = _logs(xp, p)
    return reduced(xp, _times((target - 1) * log_q - target * log_p, weight), reduction)


def _bce_dprediction(xp: Any, g: Any, k: Any) -> Any:
    p = k.prediction
    return _times(spread(g, k), k.weight) * ((p - k.target) / xp.maximum(p * (1 - p), 1e-12))


def _bce_dtarget(xp: Any, g: Any, k: Any) -> Any:
    log_p, log_q = _logs(xp, k.prediction)
    return _times(spread(g, k), k.weight) * (log_q - log_p)


def _bce_dweight(xp: Any, g: Any, k: Any) -> Any:
    log_p, log_q = _logs(xp, k.prediction)
    return spread(g, k) * ((k.target - 1.0) * log_q - log_p * k.target)


binary_cross_entropy.vjp(prediction=_bce_dprediction, target=_bce_dtarget, weight=_bce_dweight)


@binary_cross_entropy.reference_is
def _binary_cross_entropy(
    prediction: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    log_p, log_q = (log(x) for x in (prediction, 1 - prediction))
    log_p, log_q = (clip(x, -100.0) if anywhere(x < -100) else x for x in (log_p, log_q))
    loss = -(log_p * target + log_q * (1.0 - target))
    return total(_times(loss, weight), reduction)


def _softplus(k: Any, x: Any) -> Any:
    """ln(1 + eˣ) without overflow, by an op that a rule can be differentiated through."""
    return -k.run(log_sigmoid, -x)


@op(
    "logits target weight pos_weight",
    keeps={
        "logits": "logits target weight pos_weight",
        "target": "logits weight pos_weight",
        "weight": "logits target pos_weight",
        "pos_weight": "logits target weight",
    },
    formula="-weight (pos_weight target ln σ(logits) + (1 - target) ln(1 - σ(logits)))",
    gradient="dlogits = g weight (σ(logits) (1 + (pos_weight - 1) target) - pos_weight target), "
    "divided by the number of elements for the mean",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), _between(r, 3, 4)),
        Sample(3 * r(2, 1, 3), _between(r, 2, 1, 3), None, None, "sum"),
        Sample(r(3, 2), _between(r, 3, 2), r.positive(2)),
        Sample(r(2, 3), _between(r, 2, 3), r.positive(2, 1), r.positive(3), "none"),
        Sample(r(2, 3), _between(r, 2, 3), None, r.positive(3)),
        Sample(r(), _between(r), None, 2.5),
        Sample(r(0, 3), _between(r, 0, 3), None, None, "sum"),
        Sample(r(4), r.bools(4)),
    ],
)
def binary_cross_entropy_with_logits(
    xp, logits, target, weight=None, pos_weight=None, reduction="mean"
):
    """Cross-entropy of sigmoid(logits), finite for every finite logit; at ±inf 0 or infinite
    (PyTorch: NaN).

    Args:
        logits: any shape.
        target: the same shape, in [0, 1].
        weight: factor of the loss of each element; broadcasts to that shape.
        pos_weight: factor of the part with ``target``, for what is rarer than its opposite; a
            number, or an array that broadcasts to that shape.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, or ``reduction`` is unknown.
    """
    check_reduction(reduction)
    x, y = floats_of_one_shape(xp, logits, target, "logits")
    _check_weight("weight", weight, x)
    _check_weight("pos_weight", pos_weight, x)
    curve = xp.log1p(xp.exp(-xp.abs(x)))
    parts = xp.maximum(-x, 0.0) + curve, xp.maximum(x, 0.0) + curve
    return reduced(xp, _times(_bce_with_logits(xp, y, pos_weight, *parts), weight), reduction)


def _bce_with_logits(xp: Any, y: Any, pos_weight: Any, if_true: Any, if_false: Any) -> Any:
    """The loss per element from -ln σ(logits) and -ln(1 - σ(logits)). What is impossible costs
    nothing where it does not happen: 0 · ∞ is 0."""
    true, false = _times(y, pos_weight), 1 - y
    return _unless_never(xp, true, if_true) + _unless_never(xp, false, if_false)


def _unless_never(xp: Any, weight: Any, loss: Any) -> Any:
    never = (weight == 0) & xp.isinf(loss)
    return xp.where(never, 0.0, weight) * xp.where(never, 0.0, loss)


def _logits_dlogits(xp: Any, g: Any, k: Any) -> Any:
    s, y, pos = k.run(sigmoid, k.logits), k.target, k.pos_weight
    slope = s - y if pos is None else s * (1.0 + (pos - 1) * y) - pos * y
    return _times(spread(g, k), k.weight) * slope


def _logits_dtarget(xp: Any, g: Any, k: Any) -> Any:
    slope = -k.logits
    if k.pos_weight is not None:
        slope = slope + (k.pos_weight - 1) * _softplus(k, slope)
    return _times(spread(g, k), k.weight) * slope


binary_cross_entropy_with_logits.vjp(
    logits=_logits_dlogits,
    target=_logits_dtarget,
    weight=lambda xp, g, k: (
        spread(g, k)
        * _bce_with_logits(
            xp, k.target * 1.0, k.pos_weight, _softplus(k, -k.logits), _softplus(k, k.logits)
        )
    ),
    pos_weight=lambda xp, g, k: _times(spread(g, k), k.weight) * k.target * _softplus(k, -k.logits),
)


@binary_cross_entropy_with_logits.reference_is
def _binary_cross_entropy_with_logits(
    logits: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    positive = _times(log_sigmoid(logits) * target, pos_weight)
    negative = log_sigmoid(-logits) * (1.0 - target)  # for 1 - σ(x) is σ(-x)
    return total(_times(-(positive + negative), weight), reduction)


def _kl(xp: Any, x: Any, target: Any, log_target: bool) -> tuple[Any, Any, Any]:
    """Target probabilities, ln target - x with 0 for a target of 0, and where that is."""
    p = xp.exp(target) if log_target else target
    zero = p == 0
    log_p = xp.where(zero, 0.0, target) if log_target else xp.log(xp.where(zero, 1.0, target))
    return p, log_p - xp.where(zero, 0.0, x), zero


@op(
    "log_probs target",
    keeps={"log_probs": "target", "target": "log_probs target"},
    formula="Σ target (ln target - log_probs)",
    gradient="dlog_probs = -g target, dtarget = g (ln target + 1 - log_probs), divided by the "
    "number of elements for the mean and by that of rows for the batchmean",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r.positive(3, 4)),
        Sample(r(2, 1, 3), r.positive(2, 1, 3), False, "sum"),
        Sample(r(3, 2), r.positive(3, 2), False, "batchmean"),
        Sample(r(3, 2), r(3, 2), True, "batchmean"),
        Sample(r(3, 2), r(3, 2), True, "none"),
        Sample(r(), r.positive()),
        Sample(r(0, 3), r.positive(0, 3), False, "sum"),
    ],
)
def kl_div(xp, log_probs, target, log_target=False, reduction="mean"):
    """Kullback-Leibler divergence of the distribution ``target`` from a predicted one.

    A target of 0 costs 0, whatever is predicted (PyTorch: NaN where it has ``log_probs`` -inf, or
    ``log_target``). The gradient of a target of 0 is minus infinity, that of t ln t.

    Args:
        log_probs: log-probabilities that are predicted, any shape.
        target: the same shape, probabilities, or their logarithms if ``log_target``.
        log_target: whether ``target`` is given as logarithms.
        reduction: "batchmean" (the sum divided by the length of the first axis: the divergence as
            it is defined), "mean" over all elements, "sum", or "none".

    Raises:
        ValueError: the shapes differ, or ``reduction`` is unknown.
    """
    if isinstance(log_target, str):  # it would be as good as True
        raise TypeError(f"log_target: expected True or False, got {log_target!r}; use reduction=")
    check_reduction(reduction, ("batchmean", *REDUCTIONS))
    x, target = floats_of_one_shape(xp, log_probs, target, "log_probs")
    p, difference, _ = _kl(xp, x, target, log_target)
    return reduced(xp, p * difference, reduction)


def _kl_dlog_probs(xp: Any, g: Any, k: Any) -> Any:
    return -spread(g, k) * (xp.exp(k.target) if k.log_target else k.target)


def _kl_dtarget(xp: Any, g: Any, k: Any) -> Any:
    p, difference, zero = _kl(xp, k.log_probs, k.target, k.log_target)
    slope = p * (difference + 1) if k.log_target else xp.where(zero, -math.inf, difference + 1)
    return spread(g, k) * slope


kl_div.vjp(log_probs=_kl_dlog_probs, target=_kl_dtarget)


@kl_div.reference_is
def _kl_div(log_probs: Any, target: Any, log_target: bool = False, reduction: str = "mean") -> Any:
    if log_target:
        return total(exp(target) * (target - log_probs), reduction)
    return total(target * (log(target) - log_probs), reduction)
