"""Losses as modules that compare vectors with each other, and sequences of unknown alignment."""

from __future__ import annotations

from typing import Any

from .. import operations
from ..tensor.tensor import Tensor
from .layers import check_eps, check_number
from .losses import _Loss


class CosineEmbeddingLoss(_Loss):
    """Two vectors are to point the same way (y = 1) or not (y = -1): ``tt.cosine_embedding_loss``.

    Args:
        margin: the cosine that is small enough for y = -1.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = check_number("margin", margin)

    def forward(self, x1: Tensor, x2: Tensor, y: Any) -> Tensor:
        """(..., n), (..., n), 1 or -1 (...) -> a scalar, or (...) without reduction."""
        return operations.cosine_embedding_loss(x1, x2, y, self.margin, self.reduction)


class TripletMarginLoss(_Loss):
    """An anchor is to be closer to one vector than to another: ``tt.triplet_margin_loss``.

    Args:
        margin: > 0, by how much.
        p: which norm of the difference is the distance.
        eps: added to the differences.
        swap: whether the positive may stand in for the anchor if it is closer to the negative.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.margin = check_number("margin", margin, "a number > 0", lambda x: x > 0)
        self.p, self.eps, self.swap = check_number("p", p), check_eps(eps), swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three of (..., n) -> a scalar, or (...) without reduction."""
        return operations.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction
        )


class MarginRankingLoss(_Loss):
    """x1 is to be above x2 (y = 1) or below (y = -1) by a margin: ``tt.margin_ranking_loss``."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = check_number("margin", margin)

    def forward(self, x1: Tensor, x2: Tensor, y: Any) -> Tensor:
        """Equal shapes, y 1 or -1 -> a scalar, or that shape without reduction."""
        return operations.margin_ranking_loss(x1, x2, y, self.margin, self.reduction)


class HingeEmbeddingLoss(_Loss):
    """A distance is to be small (y = 1) or above a margin (y = -1): ``tt.hinge_embedding_loss``."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = check_number("margin", margin)

    def forward(self, x: Tensor, y: Any) -> Tensor:
        """Any shape, y 1 or -1 -> a scalar, or that shape without reduction."""
        return operations.hinge_embedding_loss(x, y, self.margin, self.reduction)


class CTCLoss(_Loss):
    """The probability of a text under all its alignments with the frames: ``tt.ctc_loss``.

    Args:
        blank: the class that stands for no label.
        reduction: "mean", "sum" or "none".
        zero_infinity: count a text that is too long for its frames as 0 instead of infinity.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """(time, batch, classes), integers (batch, longest), two of (batch,) -> a scalar."""
        return operations.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
