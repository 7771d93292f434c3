"""Losses, as functions and as modules.

The functions are the engine's losses (``tt.mse_loss`` and so on) for targets that may also be
arrays or nested lists: these are put beside the prediction, in its dtype and on its device. A
prediction and its target must have the same shape: broadcasting (N, 1) against (N,) would average a
table of N x N differences without a word, so it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import operations, tensor
from ..operations.losses.reduction import REDUCTIONS, check_reduction
from ..tensor.axes import whole
from ..tensor.tensor import Tensor
from .layers import check_number, check_probability
from .module import Module


def _beside(prediction: Tensor, target: Any) -> Tensor:
    """``target`` as a Tensor on the device and in the dtype of ``prediction``, if it is none."""
    if isinstance(target, Tensor):
        return target
    return tensor(np.asarray(target, dtype=prediction.dtype), device=prediction.device)


def _factor(prediction: Tensor, weight: Any) -> Any:
    """A weight as an operand: None and numbers as they are, the rest beside the prediction."""
    if weight is None or isinstance(weight, (int, float)):
        return weight
    return _beside(prediction, weight)


def _ids(prediction: Tensor, target: Any) -> Tensor:
    """Integer targets as a Tensor on the device of ``prediction``."""
    if isinstance(target, Tensor):
        return target
    return tensor(np.asarray(target), device=prediction.device)


def mse_loss(prediction: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """(prediction - target)^2: see ``tt.mse_loss``.

    Args:
        prediction: any shape.
        target: the same shape, a Tensor or anything NumPy takes.
        reduction: "mean" over all entries, "sum", or "none".

    Raises:
        ValueError: the shapes differ.
    """
    return operations.mse_loss(prediction, _beside(prediction, target), reduction=reduction)


def l1_loss(prediction: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """abs(prediction - target); arguments as :func:`mse_loss`."""
    return operations.l1_loss(prediction, _beside(prediction, target), reduction=reduction)


def smooth_l1_loss(
    prediction: Tensor, target: Any, beta: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """The absolute error, a parabola where it is below ``beta``: see ``tt.smooth_l1_loss``."""
    target = _beside(prediction, target)
    return operations.smooth_l1_loss(prediction, target, beta=beta, reduction=reduction)


def huber_loss(
    prediction: Tensor, target: Any, delta: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """d^2 / 2 where abs(d) <= delta, delta (abs(d) - delta / 2) outside: see ``tt.huber_loss``.

    Args:
        prediction: any shape; ``d`` is its difference from ``target``.
        target: the same shape.
        delta: > 0, where the square turns into a line.
        reduction: "mean", "sum" or "none".
    """
    target = _beside(prediction, target)
    return operations.huber_loss(prediction, target, delta=delta, reduction=reduction)


def binary_cross_entropy(
    prediction: Tensor, target: Any, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """-y log(p) - (1 - y) log(1 - p), logarithms cut off at -100: ``tt.binary_cross_entropy``."""
    return operations.binary_cross_entropy(
        prediction,
        _beside(prediction, target),
        _factor(prediction, weight),
        reduction=reduction,
    )


def binary_cross_entropy_with_logits(
    logits: Tensor,
    target: Any,
    reduction: str = "mean",
    pos_weight: Any = None,
    weight: Any = None,
) -> Tensor:
    """-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), finite for every finite x.

    Args:
        logits: x, any shape.
        target: y in [0, 1], the same shape.
        reduction: "mean", "sum" or "none".
        pos_weight: factor of the first term; broadcasts to the shape of x.
        weight: factor of the whole; broadcasts to the shape of x.
    """
    return operations.binary_cross_entropy_with_logits(
        logits,
        _beside(logits, target),
        _factor(logits, weight),
        _factor(logits, pos_weight),
        reduction=reduction,
    )


def kl_div(
    log_probs: Tensor, target: Any, log_target: bool = False, reduction: str = "mean"
) -> Tensor:
    """target (log target - log_probs): see ``tt.kl_div``.

    The default "mean" divides by the number of entries; "batchmean" is the divergence as defined.
    """
    target = _beside(log_probs, target)
    return operations.kl_div(log_probs, target, log_target=log_target, reduction=reduction)


def nll_loss(
    log_probs: Tensor,
    target: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    weight: Any = None,
) -> Tensor:
    """-log_probs[..., target]: what cross-entropy does after log_softmax, see ``tt.nll_loss``.

    Args:
        log_probs: (..., C).
        target: integers (...), each 0 .. C - 1 or ``ignore_index``.
        ignore_index: targets that do not count; the mean is over the others (NaN if none).
        reduction: "mean", "sum" or "none".
        weight: (C,) how much each class counts, or None.

    Raises:
        ValueError: shapes differ. IndexError: a target is no class. TypeError: or no integer.
    """
    return operations.nll_loss(
        log_probs,
        _ids(log_probs, target),
        _factor(log_probs, weight),
        ignore_index=ignore_index,
        reduction=reduction,
    )


class _Loss(Module):
    _reductions: tuple[str, ...] = REDUCTIONS
    weight: Any
    pos_weight: Any

    def __init__(self, reduction: str = "mean"):
        check_reduction(reduction, self._reductions)
        self.reduction = reduction

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"reduction={self.reduction!r}"

    def _weight(self, name: str, value: Any) -> None:
        """Keep a weight: a number as it is, an array as a buffer, which moves with the module."""
        if isinstance(value, (int, float)):
            setattr(self, name, value)
            return
        if value is not None and not isinstance(value, Tensor):
            value = tensor(value)
        self.register_buffer(name, value)


class CrossEntropyLoss(_Loss):
    """Cross-entropy of softmax(logits) and integer targets or probabilities.

    The classes are the **last** axis of the logits, whatever comes before: (..., C) and (...).

    Args:
        ignore_index: targets with this value do not count.
        reduction: "mean" over the targets that count, "sum", or "none".
        label_smoothing: share of the target spread evenly over all classes.
        weight: (C,) how much each class counts, or None.
    """

    def __init__(
        self,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        weight: Any = None,
    ):
        super().__init__(reduction)
        self.ignore_index = whole("ignore_index", ignore_index)
        self.label_smoothing = check_probability("label_smoothing", label_smoothing)
        self._weight("weight", weight)

    def forward(self, logits: Tensor, target: Any) -> Tensor:
        """(..., C), integers (...) -> a scalar, or (...) without reduction."""
        return operations.cross_entropy(
            logits,
            _ids(logits, target),
            self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


class NLLLoss(_Loss):
    """See :func:`nll_loss`."""

    def __init__(self, ignore_index: int = -100, reduction: str = "mean", weight: Any = None):
        super().__init__(reduction)
        self.ignore_index = whole("ignore_index", ignore_index)
        self._weight("weight", weight)

    def forward(self, log_probs: Tensor, target: Any) -> Tensor:
        """(..., C), integers (...) -> a scalar, or (...) without reduction."""
        return nll_loss(log_probs, target, self.ignore_index, self.reduction, self.weight)


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


class SmoothL1Loss(_Loss):
    """See :func:`smooth_l1_loss`."""

    def __init__(self, beta: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.beta = check_number("beta", beta, "a number >= 0", lambda x: x >= 0)

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return smooth_l1_loss(prediction, target, self.beta, self.reduction)


class HuberLoss(_Loss):
    """See :func:`huber_loss`."""

    def __init__(self, delta: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.delta = check_number("delta", delta, "a number > 0", lambda x: x > 0)

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return huber_loss(prediction, target, self.delta, self.reduction)


class BCELoss(_Loss):
    """See :func:`binary_cross_entropy`; :class:`BCEWithLogitsLoss` is the better choice."""

    def __init__(self, reduction: str = "mean", weight: Any = None):
        super().__init__(reduction)
        self._weight("weight", weight)

    def forward(self, prediction: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return binary_cross_entropy(prediction, target, self.reduction, self.weight)


class BCEWithLogitsLoss(_Loss):
    """See :func:`binary_cross_entropy_with_logits`."""

    def __init__(self, reduction: str = "mean", pos_weight: Any = None, weight: Any = None):
        super().__init__(reduction)
        self._weight("pos_weight", pos_weight)
        self._weight("weight", weight)

    def forward(self, logits: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return binary_cross_entropy_with_logits(
            logits, target, self.reduction, self.pos_weight, self.weight
        )


class KLDivLoss(_Loss):
    """See :func:`kl_div`; ``reduction="batchmean"`` is the divergence as it is defined."""

    _reductions = ("batchmean", *REDUCTIONS)

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, log_probs: Tensor, target: Any) -> Tensor:
        """Equal shapes -> a scalar, or that shape without reduction."""
        return kl_div(log_probs, target, self.log_target, self.reduction)
