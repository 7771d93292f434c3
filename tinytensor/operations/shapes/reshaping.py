"""Ops that move elements without changing them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample
from ...hints.habits import warn
from ...tensor.axes import as_tensor, at, axes_of, axis_of, unpacked, whole, wholes


@op(
    "x",
    name="reshape",
    view=True,
    formula="the same elements in another shape",
    gradient="dx = g in x's shape",
    samples=lambda r: [
        Sample(r(3, 4), (2, 6)),
        Sample(r(3, 4), (-1,)),
        Sample(r(2, 3), (3, 1, 2)),
        Sample(r(), (1, 1)),
        Sample(r(1), ()),
        Sample(r(0, 3), (3, 0)),
    ],
)
def _reshape(xp, x, shape):
    """The elements in C order in another shape; one length may be -1."""
    try:
        return x.reshape(shape)
    except ValueError:
        raise ValueError(
            f"shape: expected lengths that multiply to {x.size}, the number of elements (one of "
            f"them may be -1), got {shape}"
        ) from None


_reshape.vjp(x=lambda xp, g, k: xp.reshape(g, k.shape_of()))


def reshape(x: Any, *shape: Any) -> Any:
    """The elements of ``x`` in C order in another shape; one length may be -1 and is inferred."""
    return _reshape(x, shape=unpacked("reshape: shape", shape))


def _inverse(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if axes is None:
        return None
    inverse = [0] * len(axes)
    for to, frm in enumerate(axes):
        inverse[frm % len(axes)] = to
    return tuple(inverse)


@op(
    "x",
    name="transpose",
    view=True,
    formula="axes in another order",
    gradient="dx = g with the axes put back",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(2, 3, 4), (2, 0, 1)),
        Sample(r(2, 3, 4), (-1, 0, -2)),
        Sample(r(5)),
        Sample(r()),
        Sample(r(0, 2)),
    ],
)
def _transpose(xp, x, axes=None):
    """The axes in the order ``axes``, reversed by default."""
    return xp.transpose(x, axes)


_transpose.vjp(x=lambda xp, g, k: xp.transpose(g, _inverse(k.axes)))


def _order(name: str, x: Any, axes: tuple[Any, ...]) -> tuple[int, ...]:
    """The axes of a permutation: each of them once."""
    order = unpacked(f"{name}: axes", axes)
    if len(order) != x.ndim or len(axes_of(f"{name}: axes", order, x.shape)) != x.ndim:
        advice = ""
        if len(order) == 2 and x.ndim > 2:  # what PyTorch's transpose takes
            last = " or x.mT" if {a % x.ndim for a in order} == {x.ndim - 2, x.ndim - 1} else ""
            advice = f"; to exchange two axes, use x.swapaxes{order}{last}"
        raise ValueError(
            f"{name}: axes: expected each axis of shape {x.shape} once, got {order}{advice}"
        )
    return order


def transpose(x: Any, *axes: Any) -> Any:
    """The axes of ``x`` in the given order; without one, in reverse. A view.

    NumPy's: ``x.transpose(1, 2)`` of three axes, PyTorch's exchange of two, is an error that names
    :func:`swapaxes`. Of two axes ``x.transpose(0, 1)`` changes nothing, where PyTorch exchanges
    them; it warns, as hardly anyone means it (``x.transpose((0, 1))`` does not).
    """
    x = as_tensor(x)
    if not axes or axes == (None,):
        return _transpose(x)
    order = _order("transpose", x, axes)
    if len(axes) == 2 and order[0] % 2 < order[1] % 2:
        warn(
            f"transpose{order} keeps the two axes in their order, as NumPy's does; use x.T or "
            "x.swapaxes(0, 1) to exchange them"
        )
    return _transpose(x, axes=order)


def permute(x: Any, *axes: Any) -> Any:
    """The axes of ``x`` in the given order, all of them named: ``permute(x, 0, 2, 1)``. A view."""
    x = as_tensor(x)
    return _transpose(x, axes=_order("permute", x, axes))


@op(
    "x",
    view=True,
    formula="two axes exchanged",
    gradient="dx = g with the axes exchanged back",
    samples=lambda r: [
        Sample(r(3, 4), 0, 1),
        Sample(r(2, 3, 4), -1, -2),
        Sample(r(2, 3, 4), 0, -1),
        Sample(r(0, 2), 0, 1),
    ],
)
def swapaxes(xp, x, axis1, axis2):
    """Exchange two axes. A view."""
    return xp.swapaxes(x, axis1, axis2)


swapaxes.vjp(x=lambda xp, g, k: xp.swapaxes(g, k.axis1, k.axis2))


@op(
    "x",
    view=True,
    formula="axes of length 1 removed",
    gradient="dx = g in x's shape",
    samples=lambda r: [
        Sample(r(3, 1, 4)),
        Sample(r(1, 3, 1), 0),
        Sample(r(1, 3, 1), (0, -1)),
        Sample(r()),
        Sample(r(0, 1), 1),
    ],
)
def squeeze(xp, x, axis=None):
    """Remove axes of length 1: those in ``axis`` (int or tuple), or all. A view."""
    return xp.squeeze(x, axis)


squeeze.vjp(x=lambda xp, g, k: xp.reshape(g, k.shape_of()))


@op(
    "x",
    view=True,
    formula="new axes of length 1",
    gradient="dx = g in x's shape",
    samples=lambda r: [
        Sample(r(3, 4), 0),
        Sample(r(3, 4), -1),
        Sample(r(3), (0, 2)),
        Sample(r(), 0),
        Sample(r(0), 0),
    ],
)
def expand_dims(xp, x, axis):
    """Insert axes of length 1 at the positions ``axis`` (int or tuple) of the result. A view."""
    return xp.expand_dims(x, axis)


expand_dims.vjp(x=lambda xp, g, k: xp.reshape(g, k.shape_of()))


@op(
    "x",
    name="broadcast_to",
    formula="x repeated along new axes and axes of length 1",
    gradient="dx = g summed over the repeated axes",
    samples=lambda r: [
        Sample(r(3, 1), (3, 4)),
        Sample(r(4), (2, 3, 4)),
        Sample(r(), (2, 3)),
        Sample(r(1, 3), (0, 3)),
        Sample(r(2, 3), (2, 3)),
    ],
)
def _broadcast_to(xp, x, shape):
    """Repeat along new leading axes and axes of length 1, as NumPy's broadcasting does."""
    return xp.broadcast_to(x, shape).copy()


_broadcast_to.vjp(x=lambda xp, g, k: g)  # the engine sums over broadcast axes


def broadcast_to(x: Any, *shape: Any) -> Any:
    """Repeat ``x`` along new leading axes and axes of length 1 to reach ``shape``."""
    return _broadcast_to(x, shape=unpacked("broadcast_to: shape", shape))


def _lists(r: Draw) -> list[Sample]:
    return [
        Sample([r(2, 3), r(2, 3)], 0),
        Sample([r(2, 3), r(2, 3), r(2, 3)], -1),
        Sample([r(3)], 0),
        Sample([r(0, 2), r(0, 2)], 1),
    ]


@op(
    "*xs",
    formula="tensors joined along an axis",
    gradient="dxᵢ = the part of g that came from xᵢ",
    samples=lambda r: [
        *_lists(r),
        Sample([r(2, 1), r(2, 3)], -1),
        Sample([r(1, 2), r(3, 2), r(0, 2)], 0),
    ],
)
def concat(xp, *xs, axis=0):
    """Join a list of tensors along an existing ``axis``; all other lengths must agree."""
    if axis is None:
        raise TypeError("axis: expected an integer, got None")
    return xp.concatenate(xs, axis=axis)


@concat.vjp
def _concat_vjp(xp: Any, g: Any, k: Any) -> Any:
    axis = k.axis % g.ndim
    out, start = [], 0
    for meta in k.node.in_meta:
        stop = start + meta[0][axis]
        out.append(g[at(axis, slice(start, stop))])
        start = stop
    return tuple(out)


@op(
    "*xs",
    formula="tensors stacked along a new axis",
    gradient="dxᵢ = the i-th slice of g",
    samples=lambda r: [*_lists(r), Sample([r(), r()], 0), Sample([r(2, 3), r(2, 3)], 1)],
)
def stack(xp, *xs, axis=0):
    """Join a list of tensors of one shape along a new ``axis``."""
    return xp.stack(xs, axis=axis)


@stack.vjp
def _stack_vjp(xp: Any, g: Any, k: Any) -> Any:
    axis = k.axis % g.ndim
    return tuple(g[at(axis, i)] for i in range(g.shape[axis]))


@op(
    "x",
    name="split",
    outputs=None,
    view=True,
    formula="consecutive pieces along an axis",
    gradient="dx = the pieces' gradients, joined",
    samples=lambda r: [
        Sample(r(6, 2), (2, 4)),
        Sample(r(2, 6), (1, 2), -1),
        Sample(r(3), (1,)),
        Sample(r(4, 0), (2,)),
    ],
)
def _split(xp, x, points, axis=0):
    """Cut along ``axis`` before each position in ``points``."""
    axis = axis % x.ndim
    edges = (0, *points, x.shape[axis])
    return tuple(x[at(axis, slice(a, b))] for a, b in zip(edges, edges[1:], strict=False))


_split.vjp(x=lambda xp, g, k: xp.concatenate(g, axis=k.axis))


def split(x: Any, sections: int | Sequence[int], axis: int = 0) -> tuple[Any, ...]:
    """Cut ``x`` along ``axis`` into pieces (views).

    Args:
        sections: the length of each piece, as PyTorch's split: an integer (the last piece may be
            shorter), or a list of lengths that add up to the axis.
        axis: which axis to cut.

    :func:`array_split` takes the number of pieces, or the positions to cut at.
    """
    x = as_tensor(x)
    axis = axis_of("split: axis", axis, x.shape)
    n = x.shape[axis]
    if not isinstance(sections, (tuple, list)):
        length = whole("split: sections", sections)
        if length < 1:
            raise ValueError(f"split: sections: expected a length >= 1, got {length}")
        points = tuple(range(length, n, length))
    else:
        lengths = wholes("split: sections", sections)
        if sum(lengths) != n or min(lengths, default=0) < 0:
            raise ValueError(
                f"split: sections: expected lengths that add up to {n}, the length of axis {axis}, "
                f"got {list(sections)}"
            )
        if not lengths:
            return ()
        points = tuple(itertools.accumulate(lengths))[:-1]
    pieces: tuple[Any, ...] = _split(x, points=points, axis=axis)
    return pieces
