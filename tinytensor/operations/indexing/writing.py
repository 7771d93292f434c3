"""Writing at positions without writing: each op gives a new tensor and leaves its operands alone.

Where an index names a position twice, *add* adds both values, *multiply* multiplies by both, and
*set* keeps the last one in C order, on every device; only the value that was kept gets a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Sample
from ...tensor.axes import as_tensor
from ...tensor.tensor import Tensor, tensor
from ..shapes import reshaping as moves
from ..shapes.reshaping import reshape
from .indices import Index, add_at, along, check_axis, fit, in_order, positions, raw_index, repeats
from .reading import _gather, _getitem, as_integers, broadcast_mask, check_in_step, getitem


@op(
    "x v",
    name="index_set",
    formula="x with v at index",
    gradient="dx = g with 0 at index, dv = g at index",
    samples=lambda r: [
        Sample(r(4, 3), r(2, 3), (slice(1, 3),)),
        Sample(r(4, 3), r(4), (Ellipsis, -1)),
        Sample(r(4, 3), r(), (slice(None, None, -2), 1)),
        Sample(r(4, 3), r(2, 1), (np.array([2, 0]),)),
        Sample(r(2, 3), r(1, 2), (np.array([True, False]), np.array([[0, 2]]))),
        Sample(r(2, 3), r(3), (np.array([[True, False, True], [False, False, True]]),)),
        Sample(r(3), 2.5, (2,)),
        Sample(r(), r(1), (None,)),
        Sample(r(0, 3), r(3), (slice(None),)),
    ],
)
def _index_set(xp, x, v, index, overwrite=False):
    """``x`` with ``v`` (broadcast) at ``index``, which names no position twice; ``overwrite`` where
    nobody else will read ``x`` again."""
    out = x if overwrite else x.copy()
    out[index] = v
    return out


_index_set.vjp(
    x=lambda xp, g, k: k.run(_index_set, g, 0.0, index=k.index),
    v=lambda xp, g, k: k.run(_getitem, g, index=k.index),
)


@op(
    "x v",
    name="index_add_at",
    wide=True,
    formula="x with v added at index",
    gradient="dx = g, dv = g at index",
    samples=lambda r: [
        Sample(r(4, 3), r(2, 3), (slice(1, 3),)),
        Sample(r(4, 3), r(4), (Ellipsis, -1)),
        Sample(r(4, 3), r(3, 1), (np.array([2, 0, 2]),)),
        Sample(r(2, 3), r(), (np.array([[1], [1]]), np.array([0, 2, 0]))),
        Sample(r(2, 3), r(2), (np.array([[True, False, True], [False, False, False]]),)),
        Sample(r(2, 3), r(2, 2), (slice(None), np.array([0, 0]))),
        Sample(r(), r(1), (None,)),
        Sample(r(2, 0), r(2, 0), (np.array([1, 1]),)),
    ],
)
def _index_add_at(xp, x, v, index):
    """``x`` with ``v`` (broadcast) added at ``index``; a position named twice gets both."""
    out = x.copy()
    add_at(xp, out, index, v)
    return out


_index_add_at.vjp(
    x=lambda xp, g, k: g,
    v=lambda xp, g, k: k.run(_getitem, g, index=k.index),
)


@op(
    "x index src",
    name="scatter_add",
    keeps={"src": "index"},
    wide=True,
    formula="x with src added at index along an axis, all other positions in step",
    gradient="dx = g, dsrc = g at index",
    samples=lambda r: [
        Sample(r(3, 4), r.ints(4, 3, 2), r(3, 2), 1),
        Sample(r(3, 4), r.ints(3, 5, 2), r(5, 2), -2),
        Sample(r(2, 3, 4), r.ints(4, 1, 2, 6), r(1, 2, 6), 2),
        Sample(r(5), r.ints(5, 3), r(3), 0),
        Sample(r(2, 3), r.ints(3, 0, 3), r(0, 3), 1),
    ],
)
def _scatter_add(xp, x, index, src, axis):
    """``x`` with ``src`` added: ``out[i, index[i, j]] += src[i, j]`` for axis 1."""
    out = x.copy()
    add_at(xp, out, along(xp, index, axis, x.shape), src)
    return out


_scatter_add.vjp(
    x=lambda xp, g, k: g,
    src=lambda xp, g, k: k.run(_gather, g, k.index, axis=k.axis),
)


# -- with everything that NumPy's indexing allows -------------------------------------------------


def index_set(x: Any, v: Any, index: Any) -> Any:
    """A copy of ``x`` with ``x[index] = v`` done.

    Args:
        x: any tensor; the result has its shape and dtype.
        v: a number or a tensor that broadcasts to the shape of ``x[index]``; as in NumPy's
            assignment, it may have more axes of length 1 in front.
        index: what NumPy's indexing allows, see :func:`getitem`. Where it names a position twice,
            the last value in C order is kept, and only that one gets a gradient. (PyTorch's
            ``index_put`` gives each of them one.)

    Raises:
        IndexError: the index is bad or out of range. ValueError: ``v`` does not fit in.
        TypeError: ``v`` is floating-point and ``x`` is not.
    """
    x, v, index = _operands("index_set", x, v, index)
    xp = x.device.xp
    if not isinstance(v, Tensor) or not repeats(xp, x.shape, index):
        return _index_set(x, v, index=index)
    at, v = _flat("index_set", x, v, index)
    order, there = in_order(xp, at)
    is_last = xp.ones(at.shape, dtype=bool)
    is_last[:-1] = there[1:] != there[:-1]
    last = order[is_last]
    out = _index_set(reshape(x, -1), _getitem(v, index=(last,)), index=(at[last],))
    return reshape(out, x.shape)


def index_add_at(x: Any, v: Any, index: Any) -> Any:
    """A copy of ``x`` with ``v`` added at ``index``; a position named twice gets both.

    Arguments and errors as for :func:`index_set`. float16 is added up in float32.
    """
    x, v, index = _operands("index_add_at", x, v, index)
    v = v if isinstance(v, Tensor) else tensor(v, dtype=x.dtype, device=x.device)
    return _index_add_at(x, v, index=index)


def index_multiply(x: Any, v: Any, index: Any) -> Any:
    """A copy of ``x`` multiplied by ``v`` at ``index``; a position named twice by both.

    Arguments and errors as for :func:`index_set`. Made of reading, multiplying and
    :func:`index_set`; where positions repeat, once for each time the most frequent one is named.
    """
    x, v, index = _operands("index_multiply", x, v, index)
    xp = x.device.xp
    if not repeats(xp, x.shape, index):
        return _index_set(x, getitem(x, index) * v, index=index)
    v = v if isinstance(v, Tensor) else tensor(v, dtype=x.dtype, device=x.device)
    at, v = _flat("index_multiply", x, v, index)
    out = reshape(x, -1)
    for turn in _turns(xp, at):
        place = (at[turn],)
        out = _index_set(out, _getitem(out, index=place) * _getitem(v, index=(turn,)), index=place)
    return reshape(out, x.shape)


def _operands(name: str, x: Any, v: Any, index: Any) -> tuple[Tensor, Any, Index]:
    """The tensor ``x``, the number or tensor ``v`` that goes into it, and the raw index."""
    x = as_tensor(x)
    v = _value(name, x, v)
    index = raw_index(index, x.data)
    if isinstance(v, Tensor) and v.shape[:1] == (1,):
        extra = v.ndim - x.data[index].ndim
        if extra > 0 and v.shape[:extra] == (1,) * extra:
            v = reshape(v, v.shape[extra:])
    return x, v, index


def _value(name: str, x: Tensor, v: Any) -> Any:
    """``v`` as a number or a tensor. Raises TypeError where ``x`` cannot hold its kind."""
    if not isinstance(v, (int, float)):
        v = as_tensor(v, x)
    dtype = v.dtype if isinstance(v, Tensor) else np.dtype(type(v))
    if dtype.kind == "f" and x.dtype.kind != "f":
        raise TypeError(
            f"{name}: {dtype} does not go into x, which is {x.dtype}; convert one with .astype()"
        )
    return v


def _flat(name: str, x: Tensor, v: Tensor, index: Any) -> tuple[Any, Tensor]:
    """Positions in the flat ``x`` of all that is written, and the value for each."""
    at = positions(x.device.xp, x.shape, index)
    try:
        return at.reshape(-1), reshape(fit(moves, v, at.shape), -1)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _turns(xp: Any, at: Any) -> Iterator[Any]:
    """The places of the list ``at`` in groups that hold no position twice: all that stand there for
    the first time, for the second time, and so on."""
    if not at.size:
        return
    order, there = in_order(xp, at)
    time = xp.arange(at.size) - xp.searchsorted(there, there)
    for i in range(int(time.max()) + 1):
        yield order[time == i]


# -- along an axis --------------------------------------------------------------------------------


def scatter(x: Any, axis: int, index: Any, src: Any) -> Any:
    """A copy of ``x`` with ``out[i, index[i, j]] = src[i, j]`` for ``axis=1``.

    PyTorch's ``scatter``, arguments in its order.

    Args:
        x: the tensor to start from, of at least one axis.
        axis: along which ``index`` counts.
        index: integers, as many axes as ``x``, none but ``axis`` longer than that of ``x``;
            negative ones count from the end. Where one position is named twice, the last value in C
            order is kept and gets the gradient (PyTorch leaves open which is kept).
        src: a number, or a tensor at least as long as ``index`` along each axis; what goes beyond
            is not read.

    Raises:
        ValueError: shapes do not match. IndexError: an index is out of range.
    """
    x = as_tensor(x)
    src = _value("scatter", x, src)
    axis, index = check_in_step("scatter", x, axis, index)
    place = along(x.device.xp, index.data, axis, x.shape)
    return index_set(x, _cut("scatter", src, index), place)


def scatter_add(x: Any, axis: int, index: Any, src: Any) -> Any:
    """A copy of ``x`` with ``out[i, index[i, j]] += src[i, j]`` for ``axis=1``.

    PyTorch's ``scatter_add``, arguments in its order; they are those of :func:`scatter`. A position
    that is named twice gets both values. float16 is added up in float32.
    """
    x = as_tensor(x)
    src = _value("scatter_add", x, src)
    axis, index = check_in_step("scatter_add", x, axis, index)
    if not isinstance(src, Tensor):
        src = moves.broadcast_to(tensor(src, dtype=x.dtype, device=x.device), index.shape)
    return _scatter_add(x, index, _cut("scatter_add", src, index), axis=axis)


def _cut(name: str, src: Any, index: Tensor) -> Any:
    """The part of ``src`` that has the shape of ``index``."""
    if not isinstance(src, Tensor) or src.shape == index.shape:
        return src
    if src.ndim != index.ndim or any(n < m for n, m in zip(src.shape, index.shape, strict=True)):
        raise ValueError(
            f"{name}: src: expected a number, or a shape at least that of index, {index.shape}, "
            f"got {src.shape}"
        )
    return getitem(src, tuple(slice(n) for n in index.shape))


def index_add(x: Any, axis: int, index: Any, source: Any, alpha: float = 1) -> Any:
    """A copy of ``x`` with the slices of ``alpha * source`` along ``axis`` added at ``index``.

    PyTorch's ``index_add``: ``index`` holds integers, one axis; ``source`` has the shape of ``x``
    with ``len(index)`` along ``axis``. A position that is named twice gets both slices.
    """
    x = as_tensor(x)
    axis = check_axis("index_add", axis, x.shape)
    index = as_integers("index_add: index", index, x)
    source = as_tensor(source, x)
    if index.ndim > 1:
        raise ValueError(f"index_add: index: expected one axis, got shape {index.shape}")
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    if source.shape != shape:
        raise ValueError(
            f"index_add: source: expected shape {shape} for x of shape {x.shape} and {index.size} "
            f"indices, got {source.shape}"
        )
    source = source if alpha == 1 else source * alpha
    return index_add_at(x, source, (slice(None),) * axis + (reshape(index, -1),))


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """``x`` with the elements of ``source``, in C order, where the boolean ``mask`` is True.

    PyTorch's ``masked_scatter``. ``x`` and ``mask`` are broadcast against each other; ``source``
    needs as many elements as the mask has True, and what it has more is not read.
    """
    x, mask = broadcast_mask("masked_scatter", x, mask)
    source = as_tensor(source, x)
    count = int(mask.data.sum())
    if source.size < count:
        raise ValueError(
            f"masked_scatter: source: expected at least {count} elements, one for each True in "
            f"mask, got {source.size}"
        )
    return index_set(x, getitem(reshape(source, -1), slice(count)), mask)
