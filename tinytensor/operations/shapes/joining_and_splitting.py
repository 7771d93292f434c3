"""More ways to cut a tensor into pieces and to join several; see also split, concat and stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...define.op import op
from ...define.samples import Sample
from ...hints.finding import kind_of
from ...tensor.axes import as_tensor, at, axis_of, whole, wholes
from ...tensor.tensor import Tensor
from .reshaping import _split, concat, reshape, split


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


def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """:func:`array_split` along the second axis, of a vector along the only one."""
    x = as_tensor(x)
    return array_split(x, indices_or_sections, axis=0 if x.ndim == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """:func:`array_split` along the first of at least two axes."""
    return array_split(_of_axes("vsplit", x, 2), indices_or_sections, axis=0)


def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """:func:`array_split` along the third axis."""
    return array_split(_of_axes("dsplit", x, 3), indices_or_sections, axis=2)


def _of_axes(name: str, x: Any, ndim: int) -> Any:
    x = as_tensor(x)
    if x.ndim < ndim:
        raise ValueError(f"{name}: x: expected at least {ndim} axes, got shape {x.shape}")
    return x


# -- at least so many axes ------------------------------------------------------------------
def atleast_1d(*xs: Any) -> Any:
    """``x`` itself, a number as a vector of one element; of several arguments a tuple."""
    return _each(lambda x: x if x.ndim else reshape(x, (1,)), "atleast_1d", xs)


def atleast_2d(*xs: Any) -> Any:
    """``x`` itself, a vector (n,) as one row (1, n), a number as (1, 1); of several a tuple."""
    return _each(_as_row, "atleast_2d", xs)


def atleast_3d(*xs: Any) -> Any:
    """``x`` itself, a matrix (m, n) as (m, n, 1), a vector (n,) as (1, n, 1), a number as
    (1, 1, 1); of several arguments a tuple."""
    return _each(_as_volume, "atleast_3d", xs)


def _as_row(x: Any) -> Any:
    return x if x.ndim > 1 else reshape(x, (1, x.size))


def _as_volume(x: Any) -> Any:
    return x if x.ndim > 2 else reshape(x, (*_as_row(x).shape, 1))


def _each(widened: Callable[[Any], Any], name: str, xs: tuple[Any, ...]) -> Any:
    if not xs:
        raise TypeError(f"{name}: expected at least one tensor, got none")
    if len(xs) == 1:
        if not (isinstance(xs[0], (tuple, list)) and _holds_tensors(xs[0])):
            return widened(as_tensor(xs[0]))
        xs = tuple(xs[0])  # as PyTorch takes them
    return tuple(widened(as_tensor(x)) for x in xs)


def _holds_tensors(xs: Sequence[Any]) -> bool:
    return any(isinstance(x, Tensor) for x in xs)


# -- side by side ---------------------------------------------------------------------------
def _side_by_side(name: str, xs: Sequence[Any], widened: Callable[[Any], Any]) -> list[Any]:
    """The tensors, each with the axes that ``widened`` gives it."""
    if not isinstance(xs, (tuple, list)):
        raise TypeError(f"{name}: xs: expected a list or tuple of tensors, got {kind_of(xs)}")
    if not xs:
        raise ValueError(f"{name}: xs: expected at least one tensor, got none")
    return [widened(as_tensor(x)) for x in xs]


def hstack(xs: Sequence[Any]) -> Any:
    """Join tensors side by side: along the second axis, vectors and numbers along the only one."""
    tensors = _side_by_side("hstack", xs, atleast_1d)
    return concat(tensors, axis=0 if tensors[0].ndim == 1 else 1)


def vstack(xs: Sequence[Any]) -> Any:
    """Join tensors one below the other: along the first axis, each vector as one row."""
    return concat(_side_by_side("vstack", xs, _as_row), axis=0)


def dstack(xs: Sequence[Any]) -> Any:
    """Join tensors one behind the other, along the third axis; see :func:`atleast_3d`."""
    return concat(_side_by_side("dstack", xs, _as_volume), axis=2)


def column_stack(xs: Sequence[Any]) -> Any:
    """Join tensors along the second axis, each vector (n,) or number as one column (n, 1)."""
    columns = _side_by_side(
        "column_stack", xs, lambda x: x if x.ndim > 1 else reshape(x, (x.size, 1))
    )
    return concat(columns, axis=1)
