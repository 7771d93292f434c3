"""Reading elements by position, and the scatter ops that are their gradients.

Index arrays are checked against the length of the axis on every device: CuPy would wrap an index
that is out of range silently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import BY_TYPE, device_of
from ..registry import OPS, op
from ..samples import Sample
from ..tensor import Tensor

__all__ = ["embedding", "embedding_grad", "getitem", "index_put", "one_hot", "take_along_axis"]


def raw_index(index: Any, x: Any) -> tuple[Any, ...]:
    """``index`` as a tuple of slices, integers, None, Ellipsis and arrays of x's device.

    Raises:
        IndexError: a part is of no kind that NumPy's indexing knows, or is out of range.
        TypeError: an index tensor is on another device.
    """
    dev = device_of(x)
    parts = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, Tensor):
            if part.device is not dev:
                raise TypeError(
                    f"index: a tensor on {part.device.name!r}, but x is on {dev.name!r}"
                )
            part = part.data.copy()  # a later write to the index must not move the gradient
        elif isinstance(part, (list, np.ndarray)):
            host = np.asarray(part)
            part = dev.from_host(host.astype(np.int64) if host.size == 0 else host)
        if type(part) in BY_TYPE and part.ndim == 0 and part.dtype.kind in "iu":
            part = int(part)
        if type(part) in BY_TYPE and part.dtype.kind not in "iub":
            raise IndexError(f"index: arrays must be of integers or booleans, got {part.dtype}")
        if not (
            part is None
            or part is Ellipsis
            or type(part) in BY_TYPE
            or isinstance(part, (slice, int, np.integer))
        ):
            raise IndexError(
                "index: expected slices, integers, None, ... or integer or boolean arrays, got "
                f"{type(part).__name__}"
            )
        parts.append(part)
    if not dev.checks_bounds:
        _check_bounds(parts, x.shape)
    return tuple(parts)


def _check_bounds(parts: list[Any], shape: tuple[int, ...]) -> None:
    """Raise IndexError for an index array out of range, on devices that would wrap it."""
    taken = sum(
        p.ndim if type(p) in BY_TYPE and p.dtype.kind == "b" else 1
        for p in parts
        if p is not None and p is not Ellipsis
    )
    axis = 0
    for part in parts:
        if part is None:
            continue
        if part is Ellipsis:
            axis += len(shape) - taken
            continue
        if type(part) in BY_TYPE:
            if part.dtype.kind == "b":
                axis += part.ndim
                continue
            check_range("index", part, -shape[axis], shape[axis], f"axis {axis} of shape {shape}")
        axis += 1


def check_range(what: str, ids: Any, low: int, high: int, of: str) -> None:
    """Raise IndexError unless ``low <= ids < high`` everywhere."""
    if ids.size == 0:
        return
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest < low or largest >= high:
        bad = smallest if smallest < low else largest
        raise IndexError(f"{what}: {bad} is out of range for {of}; expected {low} to {high - 1}")


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether the index holds no arrays, so that NumPy gives a view."""
    return not any(type(part) in BY_TYPE for part in index)


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
def index_put(xp, g, index, shape):
    """Zeros of ``shape`` with ``g`` added at ``index``; a position named twice gets both."""
    out = xp.zeros(shape, dtype=g.dtype)
    if not any(type(part) in BY_TYPE and part.dtype.kind != "b" for part in index):
        out[index] = g  # no position can be named twice
        return out
    xp.add.at(out, index, g)
    return out


index_put.vjp(g=lambda xp, g, k: k.run(OPS["getitem"], g, index=k.index))


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


_getitem.vjp(x=lambda xp, g, k: k.run(index_put, g, index=k.index, shape=k.shape_of()))


def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` with everything NumPy allows: slices, integers, None, Ellipsis, and integer or
    boolean arrays (or tensors), mixed. A view where the index holds no arrays, else a copy."""
    index = raw_index(index, x.data)
    out = _getitem(x, index=index)
    if is_basic(index):
        out.version = x.version
    return out


def _along(xp: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """Index tuple that reads ``indices`` along ``axis`` and every other axis in step."""
    n = indices.ndim
    axis = axis % n
    return tuple(
        indices
        if i == axis
        else xp.arange(indices.shape[i]).reshape((1,) * i + (-1,) + (1,) * (n - i - 1))
        for i in range(n)
    )


@op(
    "x indices",
    name="take_along_axis",
    keeps="indices",
    formula="x at indices along an axis, all other positions in step",
    gradient="dx = zeros with g added at the indices",
    samples=lambda r: [
        Sample(r(3, 4), r.ints(4, 3, 2), 1),
        Sample(r(3, 4), r.ints(3, 5, 4), -2),
        Sample(r(5), r.ints(5, 3), 0),
        Sample(r(2, 3), r.ints(3, 2, 0), 1),
    ],
)
def _take_along_axis(xp, x, indices, axis):
    """Elements of x picked along one axis."""
    return x[_along(xp, indices, axis)]


@_take_along_axis.vjp
def _take_along_axis_vjp(xp: Any, g: Any, k: Any) -> Any:
    indices = k.indices.data if k.graph else k.indices
    index = _along(device_of(indices).xp, indices, k.axis)
    return k.run(index_put, g, index=index, shape=k.shape_of()), None


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    """Pick along ``axis``: ``out[i, j] = x[i, indices[i, j]]`` for ``axis=1``.

    ``indices`` are integers of the same number of axes as ``x``, and of the same lengths except
    along ``axis``; negative ones count from the end.

    Raises:
        IndexError: an index is out of range. ValueError: shapes do not match.
    """
    indices = indices if isinstance(indices, Tensor) else Tensor(indices, device=x.device)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"take_along_axis: indices: expected integers, got {indices.dtype}")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(
            f"take_along_axis: axis: expected {-x.ndim} to {x.ndim - 1} for shape {x.shape}, got "
            f"{axis}"
        )
    axis %= x.ndim
    same = [i for i in range(x.ndim) if i != axis]
    if indices.ndim != x.ndim or any(indices.shape[i] != x.shape[i] for i in same):
        raise ValueError(
            f"take_along_axis: indices: expected the shape of x, {x.shape}, except along axis "
            f"{axis}, got {indices.shape}"
        )
    check_range(
        "indices", indices.data, -x.shape[axis], x.shape[axis], f"axis {axis} of shape {x.shape}"
    )
    return _take_along_axis(x, indices, axis=axis)


#: up to this many rows the gradient of a table is a product with a one-hot matrix: on NumPy that is
#: several times faster than adding row by row
_ONE_HOT_ROWS = 1024


@op(
    "g ids",
    keeps="ids",
    formula="rows of g added into a table at ids",
    gradient="dg = the rows of the gradient at ids",
    samples=lambda r: [
        Sample(r(2, 3, 4), r.ints(5, 2, 3), 5),
        Sample(r(6, 2), r.ints(3, 6), 2000),
        Sample(r(4), r.ints(3), 3),
        Sample(r(0, 2), r.ints(3, 0), 3),
    ],
)
def embedding_grad(xp, g, ids, rows, padding_idx=None):
    """A table of ``rows`` rows, each row of ``g`` added at its id; that of ``padding_idx`` is 0."""
    width = g.shape[-1]
    flat_g, flat_ids = g.reshape(ids.size, width), ids.reshape(-1)
    if rows <= _ONE_HOT_ROWS:
        one_hot = (xp.arange(rows)[:, None] == flat_ids[None, :]).astype(g.dtype)
        table = one_hot @ flat_g
    else:
        table = xp.zeros((rows, width), dtype=g.dtype)
        xp.add.at(table, flat_ids, flat_g)
    if padding_idx is not None:
        table[padding_idx] = 0
    return table


def _embedding_grad_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (
        k.run(embedding, k.ids, g, padding_idx=None)
        if k.padding_idx is None
        else (k.run(embedding, k.ids, g) * (k.ids != k.padding_idx)[..., None])
    )


embedding_grad.vjp(g=_embedding_grad_vjp)


@op(
    "ids weight",
    keeps="ids",
    formula="weight[ids]",
    gradient="dweight = rows of g added up per id",
    samples=lambda r: [
        Sample(r.ints(5, 2, 3), r(5, 4)),
        Sample(r.ints(5, 6), r(5, 2)),
        Sample(np.array([2, 0, 2, 0]), r(3, 2), 1),
        Sample(np.array(2), r(3, 4)),
        Sample(r.ints(3, 0), r(3, 4)),
    ],
)
def embedding(xp, ids, weight, padding_idx=None):
    """Rows of the table ``weight`` (rows, width) at ``ids`` (any shape, integers).

    The row ``padding_idx`` gets no gradient.

    Raises:
        TypeError: ids are not integers. IndexError: an id is not in [0, rows).
    """
    if getattr(ids, "dtype", None) is None or ids.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got {getattr(ids, 'dtype', type(ids).__name__)}")
    if weight.ndim != 2:
        raise ValueError(f"weight: expected shape (rows, width), got {weight.shape}")
    check_range("ids", ids, 0, weight.shape[0], f"a table of {weight.shape[0]} rows")
    return weight[ids]


embedding.vjp(
    weight=lambda xp, g, k: k.run(
        embedding_grad, g, k.ids, rows=k.shape_of(1)[0], padding_idx=k.padding_idx
    )
)


@op(
    "ids",
    name="one_hot",
    casts=True,
    formula="1 at position id of a new last axis, else 0",
    samples=lambda r: [Sample(r.ints(5, 2, 3), 5), Sample(np.array(1), 3), Sample(r.ints(4, 0), 4)],
)
def _one_hot(xp, ids, num_classes, dtype="float32"):
    """One-hot vectors of integer ids."""
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got {ids.dtype}")
    check_range("ids", ids, 0, num_classes, f"{num_classes} classes")
    return (ids[..., None] == xp.arange(num_classes)).astype(dtype)


def one_hot(ids: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """``ids`` (...) integers to (..., num_classes): 1 at the id, 0 elsewhere; no gradient.

    ``num_classes`` defaults to the largest id + 1.
    """
    ids = ids if isinstance(ids, Tensor) else Tensor(ids)
    if num_classes is None:
        if not ids.size:
            raise ValueError("one_hot: num_classes: expected a number, since ids is empty")
        num_classes = int(ids.data.max()) + 1
    return _one_hot(ids, num_classes=num_classes, dtype=dtype)
