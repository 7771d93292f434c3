"""Writes into a tensor's memory: ``x[i] = v``, ``x += y``, ``x.copy_(y)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import late
from ..arrays.convert import as_array
from ..context.thread_state import local
from ..graph import inplace
from ..graph.grad_mode import is_recording
from .fields import Fields

if TYPE_CHECKING:
    from .. import operations as ops
    from ..operations.indexing.indices import raw_index
    from .tensor import Tensor, make
else:
    late.needs(
        __name__,
        ops="operations",
        raw_index="operations.indexing.indices.raw_index",
        Tensor="tensor.tensor.Tensor",
        make="tensor.tensor.make",
    )


class Writes(Fields):
    """Mixin of :class:`~tinytensor.Tensor`: its methods that write."""

    __slots__ = ()

    def __iadd__(self, other: Any) -> Tensor:
        return _in_place(self, other, "+", ops.add)

    def __isub__(self, other: Any) -> Tensor:
        return _in_place(self, other, "-", ops.sub)

    def __imul__(self, other: Any) -> Tensor:
        return _in_place(self, other, "*", ops.mul)

    def __itruediv__(self, other: Any) -> Tensor:
        return _in_place(self, other, "/", ops.div)

    def __ifloordiv__(self, other: Any) -> Tensor:
        return _in_place(self, other, "//", ops.floor_divide)

    def __imod__(self, other: Any) -> Tensor:
        return _in_place(self, other, "%", ops.remainder)

    def __ipow__(self, other: Any) -> Tensor:
        return _in_place(self, other, "**", ops.pow)

    def bump_version(self) -> None:
        """Say that the memory was written to, so that a backward that saved it can refuse."""
        self.version.bump()

    def copy_(self: Any, source: Any) -> Tensor:
        """Write ``source`` (broadcast to this shape) into this tensor; returns the tensor.

        Inside a graph the write is recorded: gradients then flow to ``source``.

        Raises:
            RuntimeError: the write would have to be recorded, but this is a leaf that requires
                gradients, or another tensor shares its memory.
            ValueError: ``source`` has a shape that does not fit.
        """
        self._write(Ellipsis, source, "copy_", "make a new tensor instead")
        return self

    def fill_(self, value: float) -> Tensor:
        """Set every element to ``value``."""
        return self.copy_(value)

    def zero_(self) -> Tensor:
        """Set every element to 0."""
        return self.copy_(0)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._write(index, value, "x[index] = v", "use x = tt.at(x, index).set(v)")

    def _write(self: Any, index: Any, value: Any, what: str, instead: str) -> None:
        if isinstance(value, Tensor):
            if value.device is not self.device:
                raise TypeError(
                    f"{what}: the tensor is on {self.device.name!r}, the value on "
                    f"{value.device.name!r}"
                )
        elif not isinstance(value, (int, float, bool)):
            numbers = isinstance(value, (list, tuple))  # these have no dtype of their own
            value = make(as_array(value, self.dtype if numbers else None, self.device))
        where = raw_index(index, self.data)
        try:
            if self.is_recorded(value):
                inplace.check_recordable(self, what, instead)
                inplace.set_at(self, where, value)
                return
            self._data[where] = value._data if isinstance(value, Tensor) else value
        except ValueError as error:
            if "read-only" in str(error):
                raise ValueError(
                    f"{what}: the memory of this tensor is read-only, as it was where it came "
                    "from; write to x = x.copy()"
                ) from error
            raise ValueError(
                f"{what}: a value of shape {getattr(value, 'shape', ())} and dtype "
                f"{getattr(value, 'dtype', type(value).__name__)} does not fit into the place of "
                f"shape {self.data[where].shape} (the tensor is {self.shape} {self.dtype})"
            ) from error
        self.version.bump()

    def is_recorded(self, value: Any) -> bool:
        """Whether a write of ``value`` to this tensor has to go into a graph."""
        tracked = self.requires_grad or (isinstance(value, Tensor) and value.requires_grad)
        return tracked and is_recording(local.state)


#: kinds of dtype in the order in which one can hold another: booleans, integers, fractions
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def _in_place(x: Any, other: Any, symbol: str, operation: Any) -> Any:
    """``x += other``: recorded inside a graph; where none is recorded, a write to x's memory."""
    what = f"x {symbol}= y"
    recorded = x.is_recorded(other)
    if recorded:
        inplace.check_recordable(x, what, f"use x = x {symbol} y")
        result = operation(x, other)
    else:
        result = operation(x.detach(), other.detach() if hasattr(other, "detach") else other)
    if result.shape != x.shape:
        raise ValueError(
            f"{what}: x of shape {x.shape} cannot hold the result of shape {result.shape}"
        )
    if _RANK[result.dtype.kind] > _RANK[x.dtype.kind]:
        raise TypeError(
            f"{what}: x of dtype {x.dtype} cannot hold the result of dtype {result.dtype}"
        )
    if recorded:
        inplace.become(x, result if result.dtype == x.dtype else result.astype(x.dtype))
    else:
        x.data[...] = result.data
        x.bump_version()
    return x
