"""In-place writes that the graph records, where that is sound.

``x += y`` and ``x[i] = v`` on a tensor inside a graph make a new node, and x becomes its output.
What was computed from x before still has the old numbers: they are saved in arrays of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.convert import refuse_masked
from ..arrays.device import BY_TYPE, device_of
from ..hints.finding import kind_of
from .hooks import move_retained
from .version import Version, is_shared, owns_array, share

if TYPE_CHECKING:
    from ..operations.indexing import writing
    from ..operations.indexing.indices import is_basic
    from ..tensor.tensor import Tensor
else:
    late.needs(
        __name__,
        Tensor="tensor.tensor.Tensor",
        writing="operations.indexing.writing",
        is_basic="operations.indexing.indices.is_basic",
    )


def check_recordable(x: Tensor, what: str, instead: str) -> None:
    """Raise unless a write to ``x`` can be recorded; ``instead`` is what to do then."""
    if x.node is None and x.requires_grad:
        raise RuntimeError(
            f"{what}: x is a leaf that requires gradients, and its old value would be lost to "
            f"backward; {instead}, or write under tt.no_grad() (as an optimiser does)"
        )
    if is_shared(x):
        raise RuntimeError(
            f"{what}: another tensor shares the memory of x (a view such as x[0] or x.T, or a "
            f"detach()), and the write would change it without a record; {instead}, or .copy() "
            "one of them first (for x[i] += y: x[i] = x[i] + y)"
        )


def assign(x: Tensor, value: Any) -> None:
    """``x.data = value``: let the tensor hold another array, of its shape, dtype and device.

    Nothing is copied or recorded. It counts as a write: a backward that needs the old numbers
    refuses. This is also the last step of ``x.data += array``, where value is the array itself.

    Args:
        value: an array; or a tensor that no recorded op made, whose memory is shared from then on.

    Raises:
        RuntimeError: a tensor inside a graph.
        TypeError: neither array nor tensor; another dtype or device. ValueError: another shape.
    """
    array = value
    if isinstance(value, Tensor):
        if value.node is not None:
            raise RuntimeError(
                f"data: expected an array or a tensor outside a graph, got the result of "
                f"{value.node.made_by!r}, whose graph would be lost; use .detach(), or compute it "
                "under tt.no_grad()"
            )
        array = value._data
    elif isinstance(value, np.generic) and not x.ndim:  # what NumPy makes of 0-d arrays
        array = np.asarray(value)
    elif type(value) not in BY_TYPE and not isinstance(value, np.ndarray):
        raise TypeError(
            f"data: expected an array of shape {x.shape} and dtype {x.dtype}, or a tensor, got "
            f"{kind_of(value)}; to write numbers into the tensor use x.copy_(...) or "
            "x.fill_(...) under tt.no_grad()"
        )
    if isinstance(array, np.ndarray) and type(array) is not np.ndarray:
        refuse_masked("data", array)
        array = np.asarray(array)  # of a matrix: where x * y would be another product
    if device_of(array) is not x.device:
        raise TypeError(
            f"data: expected an array on {x.device.name!r}, got one on {device_of(array).name!r}; "
            f"move it, or the tensor, with .to(...)"
        )
    if array.shape != x.shape:
        raise ValueError(
            f"data: expected shape {x.shape}, got {array.shape}; a tensor keeps its shape, and one "
            "of another is a new tt.tensor(...)"
        )
    if array.dtype != x.dtype:
        raise TypeError(
            f"data: expected dtype {x.dtype}, got {array.dtype}; convert with "
            f".astype('{x.dtype}') (a module changes its dtype by module.to(...))"
        )
    x.version.bump()
    if array is not x._data:
        x.replaced, x.version.left = x.version.written, True
        x._data = array
        x.version, x.holder = Version(), None
        if x.node is not None:
            x.node.apart = True
        if isinstance(value, Tensor):
            share(x, value)


def set_at(x: Tensor, index: tuple[Any, ...], value: Any) -> None:
    """``x[index] = value`` as a node of the graph.

    The array is copied if anything else may read it again (a graph that saved it, the caller), and
    else written to, so that filling a tensor row by row takes one pass over it and not one each.
    An array that looks at the memory of another is always copied: who holds that is not known.
    """
    if owns_array(x) and is_basic(index):
        become(x, writing._index_set(x, value, index=index, overwrite=True))
    else:
        become(x, writing.index_set(x, value, index))


def become(x: Tensor, out: Tensor) -> None:
    """Let ``x`` be ``out``, which was computed from it: array, node and counter (the node may have
    saved ``out``)."""
    move_retained(x.node, out.node)
    x._data, x.node, x.tracked = out._data, out.node, out.tracked
    x.version = out.version
    if x.node is not None:
        x.node.name = x.name
