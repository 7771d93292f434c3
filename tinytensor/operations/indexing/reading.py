"""Reading elements by position; the gradient of each of these adds up at the positions read.

Index arrays are checked against the length of the axis on every device: CuPy would wrap an index
that is out of range silently. What an index may be is told in :mod:`.indices`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...define.application import share_version
from ...define.op import op
from ...define.samples import Sample
from ...tensor.axes import as_tensor
from ...tensor.tensor import Tensor, tensor
from ..shapes.reshaping import broadcast_to, reshape
from .indices import (
    add_at,
    along,
    check_axis,
    check_range,
    is_basic,
    is_reordering,
    may_repeat,
    raw_index,
)


@op(
    "g",
    formula="zeros of a shape, with g added at index",
    gradient="dg = the gradient at index",
    samples=lambda r: [
        Sample(r(2, 3), (slice(0, 2),), (4, 3)),
        Sample(r(3), (np.array([0, 0, 2]),), (4,)),
        Sample(r(2, 2), (slice(None), np.array([1, 1])), (2, 3)),
        Sample(r(), (1, 2), (3, 4)),
        Sample(r(0, 3), (slice(0, 0),), (2, 3)),
    ],
)
def getitem_grad(xp, g, index, shape):
    """Zeros of ``shape`` with ``g`` added at ``index``; a position named twice gets both.

    float16 is added up in float32.
    """
    if not may_repeat(index) or is_reordering(index, g):
        out = xp.zeros(shape, dtype=g.dtype)
        out[index] = g
        return out
    out = xp.zeros(shape, dtype=np.float32 if g.dtype == np.float16 else g.dtype)
    add_at(xp, out, index, g)
    return out.astype(g.dtype, copy=False)


@op(
    "x",
    name="getitem",
    formula="x[index]",
    gradient="dx = zeros with g added at index",
    samples=lambda r: [
        Sample(r(4, 3), (slice(1, 3),)),
        Sample(r(4, 3), (Ellipsis, None, -1)),
        Sample(r(4, 3), (slice(None, None, -2), 1)),
        Sample(r(4, 3), (np.array([0, 0, 2]),)),
        Sample(r(2, 3), (slice(None), np.array([[2, 2], [0, -1]]))),
        Sample(r(2, 3, 4), (np.array([1, 1]), slice(None), np.array([3, 3]))),
        Sample(r(2, 3), (np.array([[True, False, True], [False, False, True]]),)),
        Sample(r(2, 3), (np.array([[1], [0]]), np.array([True, False, True]))),
        Sample(r(2, 3), (True, slice(None), np.array([2, 2]))),
        Sample(r(3), (2,)),
        Sample(r(3, 0), (1,)),
        Sample(r(), (None,)),
    ],
)
def _getitem(xp, x, index):
    """The elements at ``index``."""
    if is_basic(index) and Ellipsis not in index:
        index = (*index, Ellipsis)  # a view even of a single element, where NumPy gives a scalar
    return x[index]


_getitem.vjp(x=lambda xp, g, k: k.run(getitem_grad, g, index=k.index, shape=k.shape_of()))
getitem_grad.vjp(g=lambda xp, g, k: k.run(_getitem, g, index=k.index))


def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` with everything NumPy allows, in any mix.

    Slices, integers, None, Ellipsis, booleans, and integer or boolean arrays: tensors, NumPy
    arrays, (nested) lists, ranges. A view where the index holds no arrays and no booleans, else a
    copy.

    Raises:
        IndexError: a part is no index, is out of range, or does not fit the shape of ``x``.
    """
    x = as_tensor(x)
    index = raw_index(index, x.data)
    out = _getitem(x, index=index)
    if is_basic(index):
        share_version(out, x)
    return out


def as_integers(name: str, index: Any, x: Tensor) -> Tensor:
    """The argument ``index`` as an integer tensor; an empty list counts as integers."""
    if not isinstance(index, Tensor):
        index = tensor(index, device=x.device)
        index = index if index.size else index.astype("int64")
    if index.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got {index.dtype}")
    return index


# -- one index array along an axis, the other axes in step ----------------------------------------


def _put_in_step(g: Any, k: Any, index: Any) -> Any:
    """Gradient of x where ``index`` was read along an axis."""
    index = index.data if k.graph else index
    shape = k.shape_of()
    index = along(device_of(index).xp, index, k.axis, shape)
    return k.run(getitem_grad, g, index=index, shape=shape)


@op(
    "x indices",
    name="take_along_axis",
    keeps={"x": "indices"},
    formula="x at indices along an axis, all other positions in step",
    gradient="dx = zeros with g added at the indices",
    samples=lambda r: [
        Sample(r(3, 4), r.ints(4, 3, 2), 1),
        Sample(r(3, 4), r.ints(3, 5, 4), -2),
        Sample(r(1, 4), r.ints(4, 3, 2), 1),
        Sample(r(5), r.ints(5, 3), 0),
        Sample(r(2, 3), r.ints(3, 2, 0), 1),
    ],
)
def _take_along_axis(xp, x, indices, axis):
    """Elements of x picked along one axis."""
    return x[along(xp, indices, axis, x.shape)]


_take_along_axis.vjp(x=lambda xp, g, k: _put_in_step(g, k, k.indices))


def take_along_axis(x: Any, indices: Any, axis: int | None) -> Any:
    """Pick along ``axis``: ``out[i, j] = x[i, indices[i, j]]`` for ``axis=1``.

    ``indices`` are integers of the same number of axes as ``x``, and of lengths that broadcast
    with those of ``x`` except along ``axis``; negative ones count from the end. With ``axis=None``
    both are taken flat. (PyTorch's ``take_along_dim``, NumPy's ``take_along_axis``.)

    Raises:
        IndexError: an index is out of range. ValueError: shapes do not match.
    """
    x = as_tensor(x)
    indices = as_integers("take_along_axis: indices", indices, x)
    if axis is None:
        return take_along_axis(reshape(x, -1), reshape(indices, -1), 0)
    axis = check_axis("take_along_axis", axis, x.shape)
    lengths = [n for i, n in enumerate(x.shape) if i != axis]
    try:
        if indices.ndim != x.ndim:
            raise ValueError
        given = [n for i, n in enumerate(indices.shape) if i != axis]
        both = np.broadcast_shapes(tuple(lengths), tuple(given))
    except ValueError:
        raise ValueError(
            f"take_along_axis: indices: expected a shape that broadcasts with that of x, {x.shape},"
            f" except along axis {axis}, got {indices.shape}"
        ) from None
    check_range(
        "indices", indices.data, -x.shape[axis], x.shape[axis], f"axis {axis} of shape {x.shape}"
    )
    shape = (*both[:axis], indices.shape[axis], *both[axis:])
    if indices.shape != shape:
        indices = broadcast_to(indices, shape)
    return _take_along_axis(x, indices, axis=axis)


@op(
    "x index",
    name="gather",
    keeps={"x": "index"},
    formula="x at index along an axis, all other positions in step",
    gradient="dx = zeros with g added at index",
    samples=lambda r: [
        Sample(r(3, 4), r.ints(4, 3, 2), 1),
        Sample(r(3, 4), r.ints(3, 5, 2), -2),
        Sample(r(2, 3, 4), r.ints(4, 1, 2, 6), 2),
        Sample(r(5), r.ints(5, 3), 0),
        Sample(r(1, 2), r.ints(1, 3, 1), 0),
        Sample(r(2, 3), r.ints(3, 0, 3), 1),
    ],
)
def _gather(xp, x, index, axis):
    """``out[i, j] = x[i, index[i, j]]`` (for axis 1), in the shape of ``index``."""
    return x[along(xp, index, axis, x.shape)]


_gather.vjp(x=lambda xp, g, k: _put_in_step(g, k, k.index))


def gather(x: Any, axis: int, index: Any) -> Any:
    """``out[i, j] = x[i, index[i, j]]`` for ``axis=1``.

    PyTorch's ``gather``, arguments in its order. ``index`` holds integers, of as many axes as
    ``x``. Along the other axes it may be shorter than ``x``: the rest of ``x`` is not read.
    Negative indices count from the end. The result has the shape of ``index``; the gradient adds up
    where a position was read twice.

    Raises:
        ValueError: shapes do not match. IndexError: an index is out of range.
    """
    x = as_tensor(x)
    axis, index = check_in_step("gather", x, axis, index)
    return _gather(x, index, axis=axis)


def check_in_step(name: str, x: Tensor, axis: int, index: Any) -> tuple[int, Tensor]:
    """Axis and index of a gather or scatter, checked against the shape of ``x``."""
    axis = check_axis(name, axis, x.shape)
    index = as_integers(f"{name}: index", index, x)
    if index.ndim != x.ndim or any(
        i != axis and n > m for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=True))
    ):
        raise ValueError(
            f"{name}: index: expected {x.ndim} axes, none but axis {axis} longer than that of x, "
            f"{x.shape}, got shape {index.shape}"
        )
    n = x.shape[axis]
    check_range(f"{name}: index", index.data, -n, n, f"axis {axis} of shape {x.shape}")
    return axis, index


# -- by getitem -----------------------------------------------------------------------------------


def index_select(x: Any, axis: int, index: Any) -> Any:
    """The slices of ``x`` along ``axis`` at ``index`` (integers, one axis), in that order.

    PyTorch's ``index_select``. A position may be taken several times.
    """
    x = as_tensor(x)
    axis = check_axis("index_select", axis, x.shape)
    index = as_integers("index_select: index", index, x)
    if index.ndim > 1:
        raise ValueError(f"index_select: index: expected one axis, got shape {index.shape}")
    return getitem(x, (slice(None),) * axis + (reshape(index, -1),))


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements of ``x`` at ``indices`` (integers of any shape), as NumPy's ``take``.

    With an ``axis`` slices are taken along it: its place in the shape is taken by the shape of
    ``indices``. Without one ``x`` is read flat, in C order. Negative indices count from the end.
    """
    x = as_tensor(x)
    indices = as_integers("take: indices", indices, x)
    if axis is None:
        return getitem(reshape(x, -1), indices)
    axis = check_axis("take", axis, x.shape)
    return getitem(x, (slice(None),) * axis + (indices,))


def masked_select(x: Any, mask: Any) -> Any:
    """The elements of ``x`` where the boolean ``mask`` is True, in C order: shape (count,).

    ``x`` and ``mask`` are broadcast against each other. Which elements there are is known only when
    the mask has been read: on a GPU that waits for all work before it.
    """
    x, mask = broadcast_mask("masked_select", x, mask)
    return reshape(getitem(x, mask), -1)


def broadcast_mask(name: str, x: Any, mask: Any) -> tuple[Tensor, Tensor]:
    """A tensor and a boolean mask for it, both in the shape that they broadcast to."""
    x = as_tensor(x)
    mask = as_tensor(mask, x)
    if mask.dtype.kind != "b":
        raise TypeError(f"{name}: mask: expected booleans, got {mask.dtype}")
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(
            f"{name}: mask: expected a shape that broadcasts with that of x, {x.shape}, got "
            f"{mask.shape}"
        ) from None
    x, mask = (t if t.shape == shape else broadcast_to(t, shape) for t in (x, mask))
    return x, mask


@op(
    "x",
    outputs=None,
    formula="positions where x ≠ 0",
    samples=lambda r: [
        Sample(r.bools(3, 4)),
        Sample(r.ints(2, 5)),
        Sample(r(2, 3)),
        Sample(r.bools(0, 3)),
    ],
)
def nonzero(xp, x):
    """Where ``x`` is not zero (True): per axis an int64 tensor of coordinates, in C order.

    As NumPy's ``nonzero``: ``x[tt.nonzero(x)]`` are these elements. No gradient.
    """
    if not x.ndim:
        raise ValueError("x: expected at least one axis, got shape (); use reshape(x, 1)")
    return xp.nonzero(x)
