"""Losses on the difference of a prediction and its target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...define.naming import named
from ...define.op import Op, op
from ...define.samples import Draw, Sample
from ..elementwise import arithmetic
from ..elementwise.choosing import where
from .reduction import check_reduction, floats_of_one_shape, reduced, share, spread, total


def _pairs(*settings: Any) -> Callable[[Draw], list[Sample]]:
    """Samples of equal shapes whose differences stay away from 0 and from the kinks in use."""

    def make(r: Draw) -> list[Sample]:
        def pair(*shape: int) -> tuple[Any, Any]:
            target = r(*shape)
            return np.asarray(target + r.apart(*shape)), target

        return [
            Sample(*pair(3, 4)),
            Sample(*pair(2, 1, 3), *settings, "sum"),
            Sample(*pair(3, 2), *settings, "none"),
            Sample(*pair()),
            Sample(*pair(1)),
            Sample(*pair(0, 3), *settings, "sum"),
            Sample(*pair(0, 3), *settings, "none"),
            Sample(pair(3)[0], r.ints(2, 3) * 9, *settings),
        ]

    return make


def _difference(xp: Any, prediction: Any, target: Any, reduction: str) -> Any:
    """prediction - target, after the checks that all these losses make."""
    check_reduction(reduction)
    prediction, target = floats_of_one_shape(xp, prediction, target)
    return prediction - target


def _rules(loss: Op, slope: Callable[[Any, Any, Any, Any], Any]) -> None:
    """The gradient rules of a loss of d = prediction - target.

    ``slope(xp, d, g, k)`` is ``g`` times its derivative with respect to d.
    """
    loss.vjp(
        prediction=lambda xp, g, k: slope(xp, k.prediction - k.target, spread(g, k), k),
        target=lambda xp, g, k: -slope(xp, k.prediction - k.target, spread(g, k), k),
    )


_KEEPS = {"prediction": "prediction target", "target": "prediction target"}


@op(
    "prediction target",
    keeps=_KEEPS,
    formula="(prediction - target)²",
    gradient="dprediction = 2 g (prediction - target), divided by the number of elements for the "
    "mean; dtarget = -dprediction",
    wide=True,
    samples=_pairs(),
)
def mse_loss(xp, prediction, target, reduction="mean"):
    """Squared error.

    Args:
        prediction, target: one shape, which is not broadcast.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, or ``reduction`` is unknown.
    """
    d = _difference(xp, prediction, target, reduction)
    if reduction == "none":
        return d * d
    whole = xp.vdot(d, d)  # a dot product: one pass, and no array of the squares
    return whole if reduction == "sum" else whole * share(d.shape, reduction)


_rules(mse_loss, lambda xp, d, g, k: (2 * g) * d)


@mse_loss.reference_is
def _mse_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    d = prediction - target
    return total(d * d, reduction)


@op(
    "prediction target",
    keeps=_KEEPS,
    formula="|prediction - target|",
    gradient="dprediction = g sign(prediction - target), divided by the number of elements for the "
    "mean; dtarget = -dprediction",
    wide=True,
    samples=_pairs(),
)
def l1_loss(xp, prediction, target, reduction="mean"):
    """Absolute error; where prediction and target are equal its gradient is 0, and its second
    derivative NaN, as of ``abs``.

    Args:
        prediction, target: one shape, which is not broadcast.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, or ``reduction`` is unknown.
    """
    return reduced(xp, xp.abs(_difference(xp, prediction, target, reduction)), reduction)


_rules(l1_loss, lambda xp, d, g, k: g * _direction(xp, d, k))


def _direction(xp: Any, d: Any, k: Any) -> Any:
    """The slope of |d|, as of :func:`~tinytensor.abs`."""
    return xp.sign(d) + arithmetic.kink(xp, k, d)


@l1_loss.reference_is
def _l1_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    return total(arithmetic.abs(prediction - target), reduction)


def _huber(xp: Any, size: Any, delta: float) -> Any:
    """d² / 2 up to |d| = delta, and the line that goes on with the same slope."""
    inner = xp.minimum(size, delta)
    return inner * (size - 0.5 * inner)


@op(
    "prediction target",
    keeps=_KEEPS,
    formula="d² / (2 beta) where |d| < beta, else |d| - beta / 2, with d = prediction - target",
    gradient="dprediction = g clip(d / beta, -1, 1), divided by the number of elements for the "
    "mean; dtarget = -dprediction",
    wide=True,
    samples=_pairs(0.6),
)
def smooth_l1_loss(xp, prediction, target, beta=1.0, reduction="mean"):
    """Absolute error, rounded off near 0 (Girshick 2015, arXiv:1504.08083).

    Args:
        prediction, target: one shape, which is not broadcast.
        beta: >= 0, where the square turns into a line; 0 is the absolute error itself.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, ``beta`` is negative, or ``reduction`` is unknown.
    """
    if not beta >= 0:
        raise ValueError(f"beta: expected a number >= 0, got {beta}")
    size = xp.abs(_difference(xp, prediction, target, reduction))
    return reduced(xp, _huber(xp, size, beta) / beta if beta else size, reduction)


def _smooth_l1_slope(xp: Any, d: Any, g: Any, k: Any) -> Any:
    return g * (xp.clip(d / k.beta, -1.0, 1.0) if k.beta else _direction(xp, d, k))


_rules(smooth_l1_loss, _smooth_l1_slope)


@smooth_l1_loss.reference_is
def _smooth_l1_loss(
    prediction: Any, target: Any, beta: float = 1.0, reduction: str = "mean"
) -> Any:
    d = prediction - target
    size = arithmetic.abs(d)
    if beta:
        square = named(f"|d| < {beta:g}", size.detach() < beta)
        size = where(square, d * d / (2 * beta), size - beta / 2)
    return total(size, reduction)


@op(
    "prediction target",
    keeps=_KEEPS,
    formula="d² / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = prediction - target",
    gradient="dprediction = g clip(d, -delta, delta), divided by the number of elements for the "
    "mean; dtarget = -dprediction",
    wide=True,
    samples=_pairs(0.6),
)
def huber_loss(xp, prediction, target, delta=1.0, reduction="mean"):
    """Squared error near 0 and absolute error far away (Huber 1964).

    Args:
        prediction, target: one shape, which is not broadcast.
        delta: > 0, where the square turns into a line.
        reduction: "mean" over all elements (NaN where there are none), "sum", or "none".

    Raises:
        ValueError: the shapes differ, ``delta`` is not positive, or ``reduction`` is unknown.
    """
    if not 0 < delta < math.inf:
        raise ValueError(f"delta: expected a number > 0, got {delta}")
    size = xp.abs(_difference(xp, prediction, target, reduction))
    return reduced(xp, _huber(xp, size, delta), reduction)


_rules(huber_loss, lambda xp, d, g, k: g * xp.clip(d, -k.delta, k.delta))


@huber_loss.reference_is
def _huber_loss(prediction: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    d = prediction - target
    size = arithmetic.abs(d)
    square = named(f"|d| <= {delta:g}", size.detach() <= delta)
    return total(where(square, d * d / 2, delta * (size - delta / 2)), reduction)
