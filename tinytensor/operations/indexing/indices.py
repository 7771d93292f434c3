"""What an index may be, and where in memory it points; shared by the ops that read and write there.

Inside the ops an index is always *raw*: a tuple of slices, integers, booleans, None, Ellipsis, and
integer or boolean arrays of the operand's device, copied, so that a later write to the user's index
moves no gradient.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...arrays.convert import _unwrap
from ...arrays.device import BY_TYPE, Device, device_of
from ...hints.finding import kind_of
from ...tensor.axes import axis_of
from ...tensor.tensor import Tensor

Index = tuple[Any, ...]


def raw_index(index: Any, x: Any) -> Index:
    """``index`` as a tuple of slices, integers, booleans, None, Ellipsis and arrays of x's device.

    Everything that NumPy takes is known: also lists, ranges and tuples inside of the tuple
    (arrays, all of them), and tensors. Integer and boolean arrays without axes become numbers.

    Raises:
        IndexError: a part is of no kind that NumPy's indexing knows, or is out of range.
        TypeError: an index tensor is on another device.
    """
    dev = device_of(x)
    parts = index if isinstance(index, tuple) else (index,)
    parts = tuple(part if type(part) is int else _raw_part(part, dev) for part in parts)
    if not dev.checks_bounds:
        _check_bounds(parts, x.shape)
    return parts


def _raw_part(part: Any, dev: Device) -> Any:
    """One part of an index, as :func:`raw_index` gives it."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        edges = (part.start, part.stop, part.step)
        return slice(*(edge if edge is None else operator.index(edge) for edge in edges))
    if isinstance(part, (bool, np.bool_)):
        return bool(part)
    if isinstance(part, Tensor) or (type(part) in BY_TYPE and not isinstance(part, np.ndarray)):
        _check_kind(part)
        home = device_of(part.data if isinstance(part, Tensor) else part)
        if home is not dev:
            raise TypeError(f"index: a tensor on {home.name!r}, but x is on {dev.name!r}")
        array = (part.data if isinstance(part, Tensor) else part).copy()
    elif isinstance(part, (list, tuple, range, np.ndarray)):
        array = dev.from_host(_host_array(part))
    elif hasattr(part, "__index__"):
        return operator.index(part)
    else:
        raise IndexError(
            "index: expected slices, integers, None, ... or integer or boolean arrays, got "
            f"{kind_of(part)}"
        )
    if array.ndim == 0:
        return bool(array) if array.dtype.kind == "b" else int(array)
    return array


def _host_array(part: Any) -> np.ndarray:
    """A host array of integers or booleans from what NumPy would make one of."""
    try:
        host = np.asarray(_unwrap(part) if isinstance(part, (list, tuple)) else part)
    except ValueError as error:
        raise IndexError(f"index: expected evenly nested lists ({error})") from error
    if not host.size and not isinstance(part, np.ndarray):
        host = host.astype(np.int64)  # an empty list says nothing of its kind
    _check_kind(host)
    return host


def _check_kind(array: Any) -> None:
    if array.dtype.kind not in "iub":
        raise IndexError(f"index: arrays must be of integers or booleans, got {array.dtype}")


def _axes_of(part: Any) -> int:
    """How many axes of the operand a part of an index speaks of."""
    if part is None or part is Ellipsis or type(part) is bool:
        return 0
    return part.ndim if type(part) in BY_TYPE and part.dtype.kind == "b" else 1


def _spell_out(index: Index, ndim: int) -> Index:
    """``index`` with full slices for Ellipsis and for the axes that it leaves out.

    An Ellipsis that stands for no axes stays: even so it separates the arrays around it, and the
    axes that they are broadcast to then come first.
    """
    rest = (slice(None),) * (ndim - sum(_axes_of(part) for part in index))
    if not rest:
        return index
    at = next((i for i, part in enumerate(index) if part is Ellipsis), len(index))
    return index[:at] + rest + index[at + 1 :]


def _check_bounds(index: Index, shape: tuple[int, ...]) -> None:
    """Raise IndexError for an index array out of range, on devices that would wrap it."""
    axis = 0
    for part in _spell_out(index, len(shape)):
        if type(part) in BY_TYPE and part.dtype.kind != "b" and axis < len(shape):
            n = shape[axis]
            try:
                check_range("index", part, -n, n, f"axis {axis} of shape {shape}")
            except IndexError:
                if not any(_reads_nothing(other) for other in index):
                    raise
        axis += _axes_of(part)


def _reads_nothing(part: Any) -> bool:
    """Whether all arrays of an index, broadcast with this part, have no elements. NumPy does not
    look at any of them then."""
    if type(part) in BY_TYPE:
        return not (part.size and (part.dtype.kind != "b" or part.any()))
    return part is False


def check_range(what: str, ids: Any, low: int, high: int, of: str) -> None:
    """Raise IndexError unless ``low <= ids < high`` everywhere."""
    if ids.size == 0:
        return
    smallest, largest = int(ids.min()), int(ids.max())
    if smallest < low or largest >= high:
        bad = smallest if smallest < low else largest
        raise IndexError(f"{what}: {bad} is out of range for {of}; expected {low} to {high - 1}")


def check_axis(name: str, axis: int, shape: tuple[int, ...]) -> int:
    """``axis`` counted from the front, of a tensor that must have one."""
    if not shape:
        raise ValueError(f"{name}: x: expected at least one axis, got shape ()")
    return axis_of(f"{name}: axis", axis, shape)


def is_basic(index: Index) -> bool:
    """Whether the index holds no arrays and no booleans, so that NumPy gives a view."""
    return not any(type(part) in BY_TYPE or type(part) is bool for part in index)


def may_repeat(index: Index) -> bool:
    """Whether the index could name a position twice: only integer arrays can."""
    return any(type(part) in BY_TYPE and part.dtype.kind != "b" for part in index)


def is_reordering(index: Index, values: Any) -> bool:
    """Whether the index has a single array, of integers >= 0 that all differ: writing is then as
    good as adding, and ten times faster. Only looked at where the slices that it picks are long,
    and not on a GPU, which that would wait for."""
    arrays = [part for part in index if type(part) in BY_TYPE]
    if len(arrays) != 1 or not isinstance(arrays[0], np.ndarray) or arrays[0].dtype.kind == "b":
        return False
    (at,) = arrays
    return 0 < 8 * at.size <= values.size and at.min() >= 0 and len(np.unique(at)) == at.size


def along(xp: Any, index: Any, axis: int, shape: tuple[int, ...]) -> Index:
    """The raw index that reads ``index`` along ``axis`` of an array of ``shape``, the other axes in
    step; those of length 1 stand still."""

    def in_step(i: int) -> Any:
        count = 1 if shape[i] == 1 else index.shape[i]
        return xp.arange(count).reshape((1,) * i + (count,) + (1,) * (index.ndim - i - 1))

    axis %= len(shape)
    return tuple(index if i == axis else in_step(i) for i in range(len(shape)))


def positions(xp: Any, shape: tuple[int, ...], index: Index) -> Any:
    """Where ``x[index]`` comes from, in its shape: positions in the flat ``x`` of ``shape``.

    NumPy's own rules do the work: indexing the coordinates along an axis (a view that takes no
    memory) gives that coordinate of each element. Axes at the end that are read as a whole, like
    the rows of a table, need no such reading.
    """
    index = _spell_out(index, len(shape))
    block = len(shape)
    while index and isinstance(index[-1], slice) and index[-1] == slice(None):
        index, block = index[:-1], block - 1
    at: Any = xp.zeros((), dtype=np.int64)[index] if block == 0 else 0
    for axis in range(block):
        coordinate = xp.arange(shape[axis]).reshape((-1,) + (1,) * (block - axis - 1))
        at = at * shape[axis] + xp.broadcast_to(coordinate, shape[:block])[index]
    tail = shape[block:]
    if not tail:
        return at
    width = math.prod(tail)
    return (at[..., None] * width + xp.arange(width)).reshape(at.shape + tail)


def repeats(xp: Any, shape: tuple[int, ...], index: Index) -> bool:
    """Whether the index names a position more than once."""
    if not may_repeat(index):
        return False
    # slices repeat nothing: their first element stands for all
    parts = tuple(slice(0, 1) if isinstance(p, slice) else p for p in _spell_out(index, len(shape)))
    at = xp.sort(positions(xp, shape, parts).reshape(-1))
    return bool((at[1:] == at[:-1]).any())


def in_order(xp: Any, at: Any) -> tuple[Any, Any]:
    """The places in the list ``at`` sorted by what stands there, equal ones in order of appearance;
    and what stands there, sorted."""
    n = at.size
    order = xp.argsort(at * n + xp.arange(n))  # all keys differ: no sort can mix up equal ones
    return order, at[order]


def add_at(xp: Any, out: Any, index: Index, values: Any) -> None:
    """``out[index] += values``, where a position named twice gets both; ``out`` is C-contiguous.

    The flat form is several times faster on NumPy than ``add.at`` with an index of several parts.
    """
    values = xp.asarray(values, dtype=out.dtype)
    if not may_repeat(index):
        place = out[index]
        out[index] = place + fit(xp, values, place.shape)
        return
    at = positions(xp, out.shape, index)
    values = fit(xp, values, at.shape)
    xp.add.at(out.reshape(-1), at.reshape(-1), values.reshape(-1))


def fit(xp: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """``values`` broadcast to ``shape``. Raises ValueError where they do not fit."""
    if values.shape == shape:
        return values
    aligned = zip(values.shape[::-1], shape[::-1], strict=False)
    if values.ndim > len(shape) or any(n not in (1, m) for n, m in aligned):
        raise ValueError(f"v: shape {values.shape} does not fit into the place of shape {shape}")
    return xp.broadcast_to(values, shape)
