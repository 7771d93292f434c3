"""Losses against class indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.naming import anywhere, named
from ...define.op import op
from ...define.samples import Sample
from ...tensor.tensor import Tensor, tensor
from ..activations.softmax import log_softmax, stable_exp
from ..elementwise.choosing import where
from ..indexing.indices import check_range
from ..indexing.reading import getitem, take_along_axis
from ..linear.products import as_rows
from ..reductions import sum_mean_max as reduce
from ..shapes.reshaping import reshape
from .reduction import (
    check_reduction,
    total,
)


def _class_ids(xp: Any, scores: Any, of: str, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """Flat targets, checked, with 0 for those that are ignored; and which of them count."""
    dtype = target.dtype
    if dtype.kind not in "iu":
        raise TypeError(
            f"target: expected integers (class indices), got {dtype} of shape {target.shape}"
        )
    if not scores.ndim or target.shape != scores.shape[:-1]:
        raise ValueError(
            f"target: expected integers of shape {scores.shape[:-1]}, that of {of} {scores.shape} "
            f"without the last axis, got {target.shape}"
        )
    classes = scores.shape[-1]
    if not classes:
        raise ValueError(f"{of}: expected at least one class on the last axis, got {scores.shape}")
    ids = target.reshape(-1)
    counts = ids != ignore_index
    ids = xp.where(counts, ids, 0)
    check_range(
        "target", ids, 0, classes, f"{classes} classes (and ignore_index is {ignore_index})"
    )
    return ids, counts


def _check_weight(weight: Any, classes: int) -> None:
    """Raise ValueError unless there is one weight per class, or none."""
    if weight is not None and weight.shape != (classes,):
        raise ValueError(
            f"weight: expected shape ({classes},), one number per class, got {weight.shape}"
        )


def _average(xp: Any, total: Any, weight: Any) -> Any:
    """total / weight, NaN where the weight is 0."""
    nothing = weight == 0
    return xp.where(nothing, math.nan, total / xp.where(nothing, 1, weight).astype(total.dtype))


def _picked(log_probs: Any, target: Any, ignored: Any) -> Any:
    """-log_probs at the target, 0 for rows that are ignored, from primitives."""
    some = anywhere(ignored)
    ids = reshape(where(ignored, 0, target) if some else target, *target.shape, 1)
    at = named("target, or 0 if ignored" if some else "target", ids)
    loss = -reshape(take_along_axis(log_probs, at, -1), target.shape)
    return where(ignored, 0.0, loss) if some else loss


def _averaged(loss: Any, ignored: Any, reduction: str) -> Any:
    """:func:`total` of the rows that count."""
    if reduction != "mean" or not anywhere(ignored):
        return total(loss, reduction)
    return _mean(reduce.sum(loss), int((~ignored).data.sum()))


def _mean(loss: Any, n: Any) -> Any:
    """A summed loss over ``n``, from primitives; of nothing NaN, with a gradient of 0."""
    return loss / n if n else loss * 0.0 + math.nan


@op(
    "log_probs target weight",
    keeps="log_probs target weight out",
    arrays="target",
    formula="-Σ weight[target] log_probs[target] / Σ weight[target]",
    gradient="dlog_probs = -g weight at the target, 0 elsewhere, divided by Σ weight for the mean",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 3), np.array([0, 2, 1, 2])),
        Sample(r(2, 3, 5), r.ints(5, 2, 3), None, -100, "sum"),
        Sample(r(4, 3), np.array([0, -100, 1, -100])),
        Sample(r(4, 3), np.array([0, 2, 1, 2]), None, 2, "none"),
        Sample(r(4, 3), np.array([0, 2, 1, -100]), r.positive(3)),
        Sample(r(4, 3), np.array([0, 2, 0, 0]), r.positive(3), 2, "sum"),
        Sample(r(2, 2, 3), np.array([[0, 2], [0, 1]]), r.positive(3), -100, "none"),
        Sample(r(3), np.array(1)),
        Sample(r(0, 3), r.ints(3, 0), None, -100, "sum"),
    ],
)
def nll_loss(xp, log_probs, target, weight=None, ignore_index=-100, reduction="mean"):
    """Negative log-likelihood of class indices: what cross-entropy does after ``log_softmax``.

    Args:
        log_probs: (..., C) log-probabilities; classes are on the last axis.
        target: (...) integers in [0, C), or ``ignore_index``.
        weight: (C,) how much each class counts, or None for all alike.
        ignore_index: rows with this target count neither in the loss nor in the mean.
        reduction: "mean" (weighted: divided by the sum of the weights of the rows that count),
            "sum" or "none" (a loss per row, shape (...)).

    The mean of nothing is NaN, as in PyTorch; its gradient is zero.

    Raises:
        ValueError: shapes do not fit, or ``reduction`` is unknown.
        IndexError: a target is not in [0, C). TypeError: targets are not integers.
    """
    check_reduction(reduction)
    ids, counts = _class_ids(xp, log_probs, "log_probs", target, ignore_index)
    flat = as_rows(log_probs)
    _check_weight(weight, flat.shape[1])
    loss = xp.where(counts, -flat[xp.arange(len(ids)), ids], 0)
    if weight is not None:
        loss = loss * weight[ids]
    if reduction == "none":
        return loss.reshape(target.shape)
    loss = xp.sum(loss)
    if reduction == "sum":
        return loss
    return _average(xp, loss, xp.sum(_row_weights(xp, ids, counts, weight)))


def _row_weights(xp: Any, ids: Any, counts: Any, weight: Any) -> Any:
    """How much each row counts: booleans, or the weight of its class."""
    return counts if weight is None else xp.where(counts, weight[ids], 0)


@nll_loss.vjp
def _nll_loss_vjp(xp: Any, g: Any, k: Any) -> Any:
    ids = k.target.reshape(-1)
    counts = ids != k.ignore_index
    ids = xp.where(counts, ids, 0)
    weight = k.weight
    rows = _row_weights(xp, ids, counts, weight)
    g = g.reshape(-1)  # per row, or the one number for all
    if k.reduction == "mean":
        n = xp.sum(rows)
        g = g / xp.where(n == 0, 1, n).astype(g.dtype)
    flat = as_rows(k.log_probs)
    at = (xp.arange(len(ids)), ids)
    dlogp = dweight = None
    if k.needs[0]:
        dlogp = xp.zeros(flat.shape, dtype=g.dtype)
        dlogp[at] = xp.where(counts, -g * rows, 0)
        dlogp = dlogp.reshape(k.log_probs.shape)
    if k.needs[2]:
        loss = xp.where(counts, -flat[at], 0)
        if k.reduction == "mean":
            loss = xp.where(counts, loss - k.out, 0)
        dweight = xp.zeros(weight.shape, dtype=g.dtype)
        xp.add.at(dweight, ids, (g * loss).astype(g.dtype))
    return dlogp, None, dweight


@nll_loss.reference_is
def _nll_loss(
    log_probs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    ignored = named("target is ignore_index", target == ignore_index)
    loss = _picked(log_probs, target, ignored)
    if weight is None:
        return _averaged(loss, ignored, reduction)
    if anywhere(ignored):
        rows = where(ignored, 0.0, getitem(weight, where(ignored, 0, target)))
    else:
        rows = getitem(weight, target)
    loss = loss * rows
    if reduction != "mean":
        return total(loss, reduction)
    return _mean(reduce.sum(loss), reduce.sum(rows))


@op(
    "logits target",
    name="cross_entropy",
    keeps="logits target m log_total",
    arrays="target",
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
        Sample(r(0, 3), r.ints(3, 0), -100, 0.0, "sum"),
    ],
)
def _cross_entropy(xp, logits, target, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    """Cross-entropy between softmax(logits) and class indices: ``tt.cross_entropy`` says more."""
    check_reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing: expected a number in [0, 1], got {label_smoothing}")
    ids, counts = _class_ids(xp, logits, "logits", target, ignore_index)
    flat = as_rows(logits)
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
            loss = _average(xp, loss, xp.sum(counts))
    return loss, m, log_total


@_cross_entropy.vjp
def _cross_entropy_vjp(xp: Any, g: Any, k: Any) -> Any:
    shape = k.logits.shape
    classes = shape[-1]
    ids = k.target.reshape(-1)
    counts = ids != k.ignore_index
    ids = xp.where(counts, ids, 0)
    d = as_rows(k.logits) - k.m
    d -= k.log_total
    xp.exp(d, out=d)
    if k.label_smoothing:
        d -= k.label_smoothing / classes
    d[xp.arange(len(ids)), ids] -= 1 - k.label_smoothing
    scale = xp.where(counts, g.reshape(-1), 0).astype(d.dtype)
    if k.reduction == "mean":
        scale /= xp.maximum(xp.sum(counts), 1).astype(d.dtype)
    d *= scale[:, None]
    if xp is not np or not counts.all():  # what an ignored row holds may be infinite
        d = xp.where(counts[:, None], d, 0)
    return d.reshape(shape), None


@_cross_entropy.reference_is
def _cross_entropy_reference(
    logits: Any,
    target: Any,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    ignored = named("target is ignore_index", target == ignore_index)
    logp = log_softmax(logits, -1)
    loss = _picked(logp, target, ignored)
    if label_smoothing:
        even = -reduce.mean(logp, -1)
        if anywhere(ignored):
            even = where(ignored, 0.0, even)
        loss = (1 - label_smoothing) * loss + label_smoothing * even
    return _averaged(loss, ignored, reduction)


def cross_entropy(
    logits: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Cross-entropy between softmax(logits) and class indices or probabilities.

    Args:
        logits: (..., C) unnormalised log-probabilities; classes are on the last axis.
        target: (...) integers in [0, C) or ``ignore_index``; or (..., C) floating-point
            probabilities of the classes.
        weight: (C,) how much each class counts, or None for all alike.
        ignore_index: rows with this target count neither in the loss nor in the mean.
        label_smoothing: ε in [0, 1]: how much of the target is spread evenly over all classes
            (Szegedy et al. 2016, arXiv:1512.00567).
        reduction: "mean" (over rows that count; weighted if ``weight`` is given and targets are
            indices), "sum" or "none" (a loss per row, shape (...)).

    With "mean" and every row ignored the loss is NaN, the mean of nothing, as in PyTorch; the
    gradient is zero.

    Raises:
        ValueError: shapes do not fit, or a setting is out of range.
        IndexError: a target is not in [0, C). TypeError: targets are not integers.
    """
    if isinstance(logits, (list, tuple, np.ndarray)):
        logits = tensor(logits)
    soft = getattr(getattr(target, "dtype", None), "kind", "") == "f" and (
        target.shape == logits.shape and target.shape != ()
    )
    if weight is None and not soft:
        return _cross_entropy(
            logits,
            target,
            ignore_index=ignore_index,
            label_smoothing=label_smoothing,
            reduction=reduction,
        )
    check_reduction(reduction)
    logp = log_softmax(logits, -1)
    if weight is not None and not isinstance(weight, Tensor):
        weight = tensor(np.asarray(weight, dtype=logp.dtype), device=logp.device)
    classes = logp.shape[-1]
    _check_weight(weight, classes)
    weighted = logp if weight is None else logp * weight
    if soft:
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        never = (target == 0) & (logp == -math.inf)  # costs nothing, as 0 ln 0 = 0
        loss = -reduce.sum(where(never, 0.0, weighted) * target, -1)
        n: Any = loss.size
    else:
        loss = nll_loss(logp, target, weight, ignore_index=ignore_index, reduction="none")
        target = target if isinstance(target, Tensor) else tensor(target, device=logp.device)
        counts = target != ignore_index
        if label_smoothing:
            even = where(counts, -reduce.sum(weighted, -1), 0.0)
            loss = loss * (1 - label_smoothing) + even * (label_smoothing / classes)
        n = reduce.sum(where(counts, getitem(weight, where(counts, target, 0)), 0.0))
    if reduction == "none":
        return loss
    loss = reduce.sum(loss)
    if reduction == "sum":
        return loss
    return _mean(loss, n)
