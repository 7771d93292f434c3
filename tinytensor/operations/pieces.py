"""More ways to cut a tensor into pieces and to join several; see also split, concat and stack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..registry import op
from ..samples import Sample
from .axes import as_tensor, at, axis_of, whole, wholes
from .shape import _split, concat, reshape, split

__all__ = ["array_split", "chunk", "hstack", "tensor_split", "unbind", "vstack"]


def chunk(x: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """At most ``chunks`` pieces of one length along ``axis`` (views), the last maybe shorter.

    As PyTorch's: 5 elements in 4 chunks are 3 pieces, of lengths 2, 2 and 1. :func:`array_split`
    gives as many pieces as it is asked for.
    """
    x = as_tensor(x)
    axis = axis_of("chunk: axis", axis, x.shape)
    if whole("chunk: chunks", chunks) < 1:
        raise ValueError(f"chunk: chunks: expected at least 1, got {chunks}")
    length = math.ceil(x.shape[axis] / chunks)
    return split(x, length, axis) if length else split(x, [0] * chunks, axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Cut ``x`` along ``axis`` into pieces (views); PyTorch's ``tensor_split`` is the same.

    Args:
        indices_or_sections: how many pieces, of nearly one length (the first ones longer by one
            where the axis does not divide evenly), or the increasing positions to cut at;
            negative ones count from the end, those behind it give empty pieces.
        axis: which axis to cut.

    Raises:
        ValueError: no piece is asked for, or the positions decrease (the pieces would overlap).
    """
    x = as_tensor(x)
    axis = axis_of("array_split: axis", axis, x.shape)
    n = x.shape[axis]
    if isinstance(indices_or_sections, (tuple, list)) or getattr(
        indices_or_sections, "ndim", False
    ):
        cuts = wholes("array_split: indices_or_sections", indices_or_sections)
        points = tuple(min(max(p + n if p < 0 else p, 0), n) for p in cuts)
        if list(points) != sorted(points):
            raise ValueError(
                "array_split: indices_or_sections: expected positions that do not decrease, got "
                f"{cuts} for the {n} elements along axis {axis}"
            )
    else:
        pieces = whole("array_split: indices_or_sections", indices_or_sections)
        if pieces < 1:
            raise ValueError(
                f"array_split: indices_or_sections: expected at least 1 piece, got {pieces}"
            )
        short, longer = divmod(n, pieces)
        points = tuple(i * short + min(i, longer) for i in range(1, pieces))
    return tuple(_split(x, points=points, axis=axis))


tensor_split = array_split


@op(
    "x",
    outputs=None,
    view=True,
    formula="the slices along an axis",
    gradient="dx = the slices' gradients, stacked",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(3, 2), -1),
        Sample(r(2, 3, 2), 1),
        Sample(r(3)),
        Sample(r(1, 2)),
        Sample(r(2, 0)),
    ],
)
def unbind(xp, x, axis=0):
    """The slices along ``axis``, one tensor each (views); none where the axis has length 0."""
    axis = axis_of("axis", axis, x.shape)
    return tuple(x[(*at(axis, i), ...)] for i in range(x.shape[axis]))


unbind.vjp(x=lambda xp, g, k: xp.stack(g, axis=k.axis))


def _side_by_side(name: str, xs: Sequence[Any], ndim: int) -> list[Any]:
    """The tensors, those of fewer axes with axes of length 1 in front."""
    if not isinstance(xs, (tuple, list)):
        raise TypeError(f"{name}: xs: expected a list or tuple of tensors, got {type(xs).__name__}")
    if not xs:
        raise ValueError(f"{name}: xs: expected at least one tensor, got none")
    tensors = [as_tensor(x) for x in xs]
    return [x if x.ndim >= ndim else reshape(x, (1,) * (ndim - x.ndim) + x.shape) for x in tensors]


def hstack(xs: Sequence[Any]) -> Any:
    """Join tensors side by side: along the second axis, vectors and numbers along the only one."""
    tensors = _side_by_side("hstack", xs, 1)
    return concat(tensors, axis=0 if tensors[0].ndim == 1 else 1)


def vstack(xs: Sequence[Any]) -> Any:
    """Join tensors one below the other: along the first axis, each vector as one row."""
    return concat(_side_by_side("vstack", xs, 2), axis=0)
