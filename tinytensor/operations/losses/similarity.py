"""Losses on how alike two vectors are, and on the order of two numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...define.naming import anywhere
from ...define.op import op
from ...define.samples import Sample
from ...tensor.axes import as_tensor
from ...tensor.tensor import Tensor
from ..elementwise.arithmetic import sqrt
from ..elementwise.choosing import clip, maximum, minimum, where
from ..reductions import sum_mean_max as reduce
from ..reductions.statistics import norm
from ..reductions.sum_mean_max import keepdims_shape
from ..shapes.reshaping import broadcast_to
from .reduction import check_reduction, fits, total


@op(
    "x1 x2",
    keeps="x1 x2 out size1 size2",
    formula="x1 · x2 / (max(|x1|, eps) max(|x2|, eps))",
    gradient="dx1 = g (x2 / (|x1| |x2|) - out x1 / |x1|²), dx2 likewise",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r(3, 4)),
        Sample(r(3, 4), r(4), -1),
        Sample(r(2, 3, 1), r(3, 5)),
        Sample(r(5), r(5), 0),
        Sample(r(2, 3), r(2, 3), 0, 10.0),
        Sample(r(0, 3), r(0, 3)),
        Sample(r(2, 0), r(2, 0)),
    ],
)
def cosine_similarity(xp, x1, x2, axis=1, eps=1e-8):
    """Cosine of the angle between vectors along ``axis``.

    Args:
        x1, x2: shapes that broadcast against each other.
        axis: of the broadcast shape; it is gone from the result.
        eps: > 0, what the length of a vector counts at least. A shorter vector's length is then
            a constant: the gradient of x1 is x2 / (eps |x2|). (PyTorch differentiates the length
            nevertheless; at 0 both agree.)

    Raises:
        ValueError: the shapes do not broadcast. AxisError: there is no such axis.
    """
    x1, x2 = _broadcast(xp, x1, x2)
    sizes = [_length(xp, x, axis, eps) for x in (x1, x2)]
    dot = xp.sum((x1 / sizes[0]) * (x2 / sizes[1]), axis=axis)
    return (dot, *sizes)


def _broadcast(xp: Any, x1: Any, x2: Any) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    return xp.broadcast_to(x1, shape), xp.broadcast_to(x2, shape)


def _length(xp: Any, x: Any, axis: int, eps: float) -> Any:
    return xp.maximum(xp.sqrt(xp.sum(x * x, axis=axis, keepdims=True)), eps)


@cosine_similarity.vjp
def _cosine_similarity_vjp(xp: Any, g: Any, k: Any) -> Any:
    x1, x2 = _broadcast(xp, k.x1, k.x2)
    shape = keepdims_shape(x1.shape, k.axis)
    g, cosine = g.reshape(shape), k.out.reshape(shape)
    unit1, unit2 = x1 / k.size1, x2 / k.size2
    # a length that is held at eps does not move with the vector
    d1 = unit2 - unit1 * (cosine * (k.size1 > k.eps))
    d2 = unit1 - unit2 * (cosine * (k.size2 > k.eps))
    return d1 * (g / k.size1), d2 * (g / k.size2)


@cosine_similarity.reference_is
def _cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = (x if x.shape == shape else broadcast_to(x, shape) for x in (x1, x2))
    squares = [reduce.sum(x * x, axis) for x in (x1, x2)]
    least = eps * eps  # of the square of a length
    sizes = [sqrt(maximum(s, least) if anywhere(s < least) else s) for s in squares]
    return reduce.sum(x1 * x2, axis) / (sizes[0] * sizes[1])


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Any:
    """The p-norm of ``x1 - x2 + eps`` over the last axis.

    ``eps`` keeps the gradient of equal vectors away from 0 / 0, as in PyTorch.

    Args:
        x1, x2: (..., n), broadcast against each other. p: as of ``tt.norm``.

    Returns:
        (...), or (..., 1) with ``keepdims``.
    """
    return norm(x1 - x2 + eps, p=p, axis=-1, keepdims=keepdims)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the :func:`pairwise_distance`.

    Args:
        anchor, positive, negative: (..., n); the first is to be closer to the second than to the
            third by ``margin`` (Balntas et al. 2016, "Learning local feature descriptors with
            triplets").
        p, eps: of the distance.
        swap: take d(positive, negative) instead of d(anchor, negative) where it is smaller.
        reduction: "mean", "sum" or "none" (shape (...)).

    Raises:
        ValueError: the shapes differ, or ``margin`` is not positive.
    """
    check_reduction(reduction)
    if not margin > 0:
        raise ValueError(f"triplet_margin_loss: margin: expected a number > 0, got {margin}")
    anchor = as_tensor(anchor)
    positive, negative = as_tensor(positive, anchor), as_tensor(negative, anchor)
    for name, x in (("positive", positive), ("negative", negative)):
        if x.shape != anchor.shape:
            raise ValueError(
                f"triplet_margin_loss: {name}: expected the shape of anchor, {anchor.shape}, got "
                f"{x.shape}"
            )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return total(clip(near - far + margin, 0.0), reduction)


def _signs(loss: str, y: Any, like: Tensor) -> Tensor:
    """``y`` as a tensor; ValueError unless it broadcasts to the shape of ``like``."""
    y = as_tensor(y, like)
    if not fits(y.shape, like.shape):
        raise ValueError(
            f"{loss}: y: expected a shape that broadcasts to {like.shape}, got {y.shape}"
        )
    return y


def margin_ranking_loss(
    x1: Any, x2: Any, y: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """max(0, -y (x1 - x2) + margin): x1 is to be the larger where y is 1, the smaller where -1.

    Args:
        x1, x2: one shape. y: 1 or -1 per element. reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the shapes differ.
    """
    check_reduction(reduction)
    x1 = as_tensor(x1)
    x2 = as_tensor(x2, x1)
    if x1.shape != x2.shape:
        raise ValueError(
            f"margin_ranking_loss: x2: expected the shape of x1, {x1.shape}, got {x2.shape}"
        )
    y = _signs("margin_ranking_loss", y, x1)
    return total(clip(margin - y * (x1 - x2), 0.0), reduction)


def hinge_embedding_loss(x: Any, y: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """x where y is 1, and max(0, margin - x) where y is -1: a distance is to be small or large.

    Args:
        x: distances, any shape. y: 1 or -1 per element. reduction: "mean", "sum" or "none".
    """
    check_reduction(reduction)
    x = as_tensor(x)
    y = _signs("hinge_embedding_loss", y, x)
    return total(where(y == 1, x, clip(margin - x, 0.0)), reduction)


def cosine_embedding_loss(
    x1: Any, x2: Any, y: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cos(x1, x2) where y is 1, and max(0, cos(x1, x2) - margin) where y is -1.

    Args:
        x1, x2: (..., n). y: 1 or -1 per pair, shape (...). reduction: "mean", "sum" or "none".
    """
    check_reduction(reduction)
    cosine = cosine_similarity(x1, x2, axis=-1)
    y = _signs("cosine_embedding_loss", y, cosine)
    return total(where(y == 1, 1.0 - cosine, clip(cosine - margin, 0.0)), reduction)
