"""What ``weight.grad`` is after a backward through ``embedding(ids, weight, sparse=True)``."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..arrays.device import Device, device_of
from ..arrays.rows import Rows
from ..shown.printing import text_of
from .tensor import Tensor, make


class RowGrad(Tensor):
    """The gradient of a table that is 0 but for some rows; to all who read it a Tensor as any.

    Optimisers and ``clip_grad_norm`` look at those rows only, so that a step takes as long for a
    table of a million rows as for one of a thousand. Everything else that reads it (an op,
    ``data``, ``numpy()``) sees the whole table, made anew each time, and read-only on the CPU.
    Backward adds to it; other writes are refused, except multiplying by a number and ``zero_()``.
    To write to it, ``weight.grad = weight.grad.to_dense()`` first.

    Attributes:
        rows: the numbers of the rows, an array of int64 (n,), sorted, each once.
        values: what they hold, an array (n, width).
        sparse: both, as the engine hands them around.
    """

    __slots__ = ("sparse",)
    sparse: Rows

    def __init__(self, sparse: Rows):
        other = make(None)
        for name in ("_grad", "hooks", "node", "tracked", "version", "_name"):
            setattr(self, name, getattr(other, name))
        self.sparse = sparse

    @property
    def rows(self) -> Any:
        """Numbers of the rows that are there, sorted."""
        return self.sparse.rows

    @property
    def values(self) -> Any:
        """What these rows hold, (n, width)."""
        return self.sparse.values

    @property
    def _data(self) -> Any:
        array = self.sparse.dense()
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
        return array

    @_data.setter
    def _data(self, value: Any) -> None:
        self._refuse("data")

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the whole table."""
        return self.sparse.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements."""
        return self.sparse.dtype

    @property
    def device(self) -> Device:
        """Where the arrays live."""
        return device_of(self.sparse.values)

    @property
    def nbytes(self) -> int:
        """Bytes of what is held: the values, and the numbers of the rows."""
        return self.sparse.nbytes

    def to_dense(self) -> Tensor:
        """A Tensor of the whole, in memory of its own."""
        return make(self.sparse.dense())

    def detach(self) -> Tensor:
        """The same rows and values."""
        return RowGrad(self.sparse)

    def to(self, *targets: Any, **named: Any) -> Tensor:
        """See :meth:`Tensor.to`; remains sparse with a floating dtype."""
        values = make(self.values).to(*targets, **named)
        if values.dtype.kind != "f":
            return self.to_dense().to(*targets, **named)
        rows = make(self.rows).to(values.device)
        return RowGrad(Rows(rows.data, values.data, self.shape))

    def zero_(self) -> Tensor:
        """Forget all rows."""
        self.sparse = Rows(self.rows[:0], self.values[:0], self.shape)
        self.version.bump()
        return self

    def __imul__(self, other: Any) -> Tensor:
        return self._scaled(other, lambda x: x * other)

    def __itruediv__(self, other: Any) -> Tensor:
        return self._scaled(other, lambda x: x / other)

    def _scaled(self, other: Any, by: Any) -> Tensor:
        if isinstance(other, bool) or not isinstance(other, (int, float, np.number)):
            self._refuse("a write")
        self.sparse = Rows(self.rows, by(self.values), self.shape)
        self.version.bump()
        return self

    def _write(self, index: Any, value: Any, what: str, instead: str) -> None:
        self._refuse(what)

    def _refuse_in_place(self, other: Any) -> Tensor:
        self._refuse("a write")

    __iadd__ = __isub__ = __ifloordiv__ = __imod__ = __ipow__ = _refuse_in_place

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what}: this gradient holds only {len(self.rows)} rows of the {self.shape[0]} of its "
            "table (sparse=True) and cannot be written to; write w.grad = w.grad.to_dense() first, "
            "or compute a new tensor"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        out = memo[id(self)] = RowGrad(self.sparse.copy())
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        host = self.device.to_host
        return _unpickle, (host(self.rows), host(self.values), self.shape, self.device)

    _printed_as = "RowGrad"

    def _printed_numbers(self) -> np.ndarray:
        """Those of its rows."""
        return self.device.to_host(self.values)

    def __repr__(self) -> str:
        host = self.device.to_host
        values = text_of(host(self.values), prefix="RowGrad(")
        return f"RowGrad({values}, rows={host(self.rows).tolist()}, shape={self.shape})"


def _unpickle(rows: Any, values: Any, shape: tuple[int, ...], device: Device) -> RowGrad:
    return RowGrad(Rows(device.from_host(rows), device.from_host(values), shape))


def as_grad(g: Any) -> Tensor:
    """A gradient of the engine's, an array or Rows, as a Tensor."""
    return RowGrad(g) if type(g) is Rows else make(g)


def stored(grad: Tensor | None) -> Any:
    """The array of all its numbers that may be other than 0, which may be written to."""
    assert grad is not None
    return grad.values if type(grad) is RowGrad else grad._data
