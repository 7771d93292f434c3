"""Losses, as functions and as modules.

A prediction and its target must have the same shape: broadcasting (N, 1) against (N,) would
average a table of N x N differences without a word, so it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import operations, tensor
from ..tensor import Tensor
from .module import Module

_REDUCTIONS = ("mean", "sum", "none")


def _check_reduction(reduction: str) -> str:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction: expected one of {_REDUCTIONS}, got {reduction!r}")
    return reduction


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if _check_reduction(reduction) == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _same_shape(prediction: Tensor, target: Any, name: str = "target") -> Tensor:
    """``target`` as a Tensor beside ``prediction``, of the same shape."""
    if not isinstance(target, Tensor):
        target = tensor(np.asarray(target, dtype=prediction.dtype), device=prediction.device)
    if target.shape != prediction.shape:
        raise ValueError(
            f"{name}: expected the prediction's shape {prediction.shape}, got {target.shape}; "
            "reshape one of them"
        )
    return target


def mse_loss(prediction: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """(prediction - target)^2.

    Args:
        prediction: any shape.
        target: the same shape, a Tensor or anything NumPy takes.
        reduction: "mean" over all entries, "sum", or "none".

    Raises:
        ValueError: the shapes differ.
    """
    difference = prediction - _same_shape(prediction, target)
    return _reduce(difference * difference, reduction)


def l1_loss(prediction: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """abs(prediction - target); arguments as :func:`mse_loss`."""
    return _reduce(operations.abs(prediction - _same_shape(prediction, target)), reduction)


def huber_loss(
    prediction: Tensor, target: Any, delta: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """d^2 / 2 where abs(d) <= delta, delta (abs(d) - delta / 2) outside: Huber, 1964.

    Args:
        prediction: any shape; ``d`` is its difference from ``target``.
        target: the same shape.
        delta: > 0, where the square turns into a line.
        reduction: "mean", "sum" or "none".
    """
    if not delta > 0:
        raise ValueError(f"delta: expected a number > 0, got {delta!r}")
    size = operations.abs(prediction - _same_shape(prediction, target))
    inner = operations.minimum(size, delta)
    return _reduce(inner * (size - 0.5 * inner), reduction)


def binary_cross_entropy_with_logits(
    logits: Tensor, target: Any, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), finite for every finite x.

    Args:
        logits: x, any shape.
        target: y in [0, 1], the same shape.
        reduction: "mean", "sum" or "none".
        pos_weight: factor of the first term; broadcasts against x.
    """
    y = _same_shape(logits, target)
    # log(1 + e^-x) = max(-x, 0) + log(1 + e^-|x|). At x = 0 the gradient is right because max
    # splits a tie evenly and abs has slope 0 there.
    softplus = operations.maximum(-logits, 0.0) + operations.log(
        1.0 + operations.exp(-operations.abs(logits))
    )
    if pos_weight is None:
        return _reduce((1.0 - y) * logits + softplus, reduction)
    if not isinstance(pos_weight, Tensor):
        pos_weight = tensor(np.asarray(pos_weight, dtype=logits.dtype), device=logits.device)
    weight = 1.0 + (pos_weight - 1.0) * y
    return _reduce((1.0 - y) * logits + weight * softplus, reduction)


def nll_loss(
    log_probs: Tensor, target: Any, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-log_probs[..., target]: what cross-entropy does after log_softmax.

    Args:
        log_probs: (..., C).
        target: integers (...), each 0 .. C - 1 or ``ignore_index``.
        ignore_index: targets that do not count; the mean is over the others (0 if none).
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes differ.
        IndexError: a target is no class.
    """
    ids = (
        target
        if isinstance(target, Tensor)
        else tensor(np.asarray(target), device=log_probs.device)
    )
    if ids.shape != log_probs.shape[:-1] or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            f"target: expected integers of shape {log_probs.shape[:-1]}, got {ids.dtype} of shape "
            f"{ids.shape}"
        )
    classes = log_probs.shape[-1]
    host = ids.numpy()
    counts = host != ignore_index
    wrong = host[counts & ((host < 0) | (host >= classes))]
    if wrong.size:
        raise IndexError(f"target: class {wrong[0]} is outside 0 .. {classes - 1}")
    keep = tensor(counts, device=log_probs.device)
    picks = tensor(np.where(counts, host, 0)[..., None], device=log_probs.device)
    picked = operations.take_along_axis(log_probs, picks, axis=-1).squeeze(-1)
    loss = operations.where(keep, -picked, 0.0)
    if reduction == "mean":
        return loss.sum() / max(int(counts.sum()), 1)
    return _reduce(loss, reduction)


class _Loss(Module):
    def __init__(self, reduction: str = "mean"):
        self.reduction = _check_reduction(reduction)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"reduction={self.reduction!r}"


class CrossEntropyLoss(_Loss):
    """Cross-entropy of softmax(logits) and integer targets.

    The classes are the **last** axis of the logits, whatever comes before: (..., C) and (...).

    Args:
        ignore_index: targets with this value do not count.
        reduction: "mean" over the targets that count, "sum", or "none".
        label_smoothing: share of the target spread evenly over all classes.
    """

    def __init__(
        self, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ):
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, logits: Tensor, target: Any) -> Tensor:
        """(..., C), integers (...) -> a scalar, or (...) without reduction."""
        return operations.cross_entropy(
            logits,
            target,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


class NLLLoss(_Loss):
    """See :func:`nll_loss`."""

    def __init__(self, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def forward(self, log_probs: Tensor, target: Any) -> Tensor:
        """(..., C), integers (...) -> a scalar, or (...) without reduction."""
        return nll_loss(log_probs, target, self.ignore_index, self.reduction)


class MSELoss(_Loss):
    """See :func:`mse_loss`."""

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return mse_loss(prediction, target, self.reduction)


class L1Loss(_Loss):
    """See :func:`l1_loss`."""

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return l1_loss(prediction, target, self.reduction)


class HuberLoss(_Loss):
    """See :func:`huber_loss`."""

    def __init__(self, delta: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.delta = delta

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return huber_loss(prediction, target, self.delta, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """See :func:`binary_cross_entropy_with_logits`."""

    def __init__(self, reduction: str = "mean", pos_weight: Any = None):
        super().__init__(reduction)
        self.pos_weight = pos_weight

    def forward(self, logits: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return binary_cross_entropy_with_logits(logits, target, self.reduction, self.pos_weight)
