"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import op
from ..samples import Sample
from . import reduce
from .index import check_range, take_along_axis
from .probability import log_softmax, stable_exp
from .select import where
from .shape import reshape

__all__ = ["cross_entropy"]

REDUCTIONS = ("mean", "sum", "none")


@op(
    "logits target",
    keeps="logits target m log_total",
    formula="-Σ q ln softmax(logits), q = (1 - ε) one_hot(target) + ε / C",
    gradient="dlogits = g (softmax(logits) - q), divided by the number of rows for the mean",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 3), np.array([0, 2, 1, 2])),
        Sample(r(2, 3, 5), r.ints(5, 2, 3)),
        Sample(r(4, 3), np.array([0, -100, 1, -100])),
        Sample(r(4, 3), np.array([0, 2, 1, 2]), 2, 0.0, "sum"),
        Sample(r(4, 3), np.array([0, 2, 1, 1]), -100, 0.1),
        Sample(r(2, 2, 3), np.array([[0, 2], [-100, 1]]), -100, 0.2, "none"),
        Sample(r(3), np.array(1)),
    ],
)
def cross_entropy(xp, logits, target, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    """Cross-entropy between softmax(logits) and class indices.

    Args:
        logits: (..., C) unnormalised log-probabilities; classes are on the last axis.
        target: (...) integers in [0, C), or ``ignore_index``.
        ignore_index: rows with this target count neither in the loss nor in the mean.
        label_smoothing: ε in [0, 1]: how much of the target is spread evenly over all classes
            (Szegedy et al. 2016, arXiv:1512.00567).
        reduction: "mean" (over rows that count), "sum" or "none" (a loss per row, shape (...)).

    With "mean" and every row ignored the loss is NaN, the mean of nothing, as in PyTorch; the
    gradient is zero.

    Raises:
        ValueError: shapes do not fit, or a setting is out of range.
        IndexError: a target is not in [0, C). TypeError: targets are not integers.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction: expected one of {REDUCTIONS}, got {reduction!r}")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing: expected a number in [0, 1], got {label_smoothing}")
    if getattr(target, "dtype", np.dtype(float)).kind not in "iu":
        raise TypeError(
            f"target: expected integers (class indices), got {getattr(target, 'dtype', target)}"
        )
    if not logits.ndim or target.shape != logits.shape[:-1]:
        raise ValueError(
            f"target: expected shape {logits.shape[:-1]}, that of logits {logits.shape} without "
            "the last axis, "
            f"got {target.shape}"
        )
    classes = logits.shape[-1]
    flat = logits.reshape(-1, classes)
    ids = target.reshape(-1)
    counts = ids != ignore_index
    ids = xp.where(counts, ids, 0)
    check_range(
        "target", ids, 0, classes, f"{classes} classes (and ignore_index is {ignore_index})"
    )
    _, total, m = stable_exp(xp, flat, -1)
    log_total = xp.log(total)
    # differences from m first, since a large common offset would swallow log_total
    loss = log_total[:, 0] - (flat[xp.arange(len(ids)), ids] - m[:, 0])
    if label_smoothing:
        loss = (1 - label_smoothing) * loss + label_smoothing * (
            log_total[:, 0] - xp.mean(flat - m, axis=-1)
        )
    loss = xp.where(counts, loss, 0)
    if reduction == "none":
        loss = loss.reshape(target.shape)
    else:
        loss = xp.sum(loss)
        if reduction == "mean":
            n = xp.sum(counts)
            loss = xp.where(n == 0, np.nan, loss / xp.maximum(n, 1).astype(loss.dtype))
    return loss, m, log_total


@cross_entropy.vjp
def _cross_entropy_vjp(xp: Any, g: Any, k: Any) -> Any:
    shape = k.logits.shape
    classes = shape[-1]
    ids = k.target.reshape(-1)
    counts = ids != k.ignore_index
    ids = xp.where(counts, ids, 0)
    d = k.logits.reshape(-1, classes) - k.m
    d -= k.log_total
    xp.exp(d, out=d)
    if k.label_smoothing:
        d -= k.label_smoothing / classes
    d[xp.arange(len(ids)), ids] -= 1 - k.label_smoothing
    if k.reduction == "none":
        scale = g.reshape(-1) * counts
    else:
        scale = counts.astype(d.dtype) * g
        if k.reduction == "mean":
            scale /= xp.maximum(xp.sum(counts), 1).astype(d.dtype)
    d *= scale[:, None]
    return d.reshape(shape), None


@cross_entropy.reference_is
def _cross_entropy(
    logits: Any,
    target: Any,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    counts = target != ignore_index
    ids = where(counts, target, 0)
    logp = log_softmax(logits, -1)
    picked = reshape(take_along_axis(logp, reshape(ids, *target.shape, 1), -1), target.shape)
    loss = -(1 - label_smoothing) * picked - label_smoothing * reduce.mean(logp, -1)
    loss = where(counts, loss, 0.0)
    if reduction == "none":
        return loss
    loss = reduce.sum(loss)
    if reduction == "sum":
        return loss
    n = int(counts.data.sum())
    return loss / n if n else where(True, float("nan"), loss)
