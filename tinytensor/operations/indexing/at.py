"""``tt.at(x, index).set(v)``: changing a tensor at some positions, as a new tensor."""

from __future__ import annotations

import inspect
from typing import Any

from ...tensor.axes import as_tensor
from ...tensor.tensor import Tensor
from .reading import getitem
from .writing import index_add_at, index_multiply, index_set


class at:
    """Positions of a tensor, to read or to change: ``tt.at(x, index).set(v)`` is a new tensor.

    ``x`` itself stays as it is: the result has gradients for ``x`` and for ``v``. Positions are
    what ``x[index]`` takes in NumPy. (As ``x.at[index].set(v)`` in JAX; but an index out of range
    is an IndexError.)

    >>> x = tt.zeros(3)
    >>> tt.at(x, [0, 0, 2]).add(1.0)
    tensor([2., 0., 1.])
    """

    __slots__ = ("index", "x")
    __signature__ = inspect.signature(lambda x, index: None)

    def __init__(self, x: Any, index: Any, *values: Any):
        if values:
            raise TypeError("at: expected (x, index); write tt.at(x, index).set(v) or .add(v)")
        self.x = as_tensor(x)
        self.index = index

    def get(self) -> Tensor:
        """``x[index]``."""
        return getitem(self.x, self.index)

    def set(self, v: Any) -> Tensor:
        """``x`` with ``v`` there; see :func:`index_set`. The last value counts where one position
        is named twice."""
        return index_set(self.x, v, self.index)

    def add(self, v: Any) -> Tensor:
        """``x`` with ``v`` added there, once for each time that a position is named."""
        return index_add_at(self.x, v, self.index)

    def multiply(self, v: Any) -> Tensor:
        """``x`` multiplied by ``v`` there, once for each time that a position is named."""
        return index_multiply(self.x, v, self.index)

    def __repr__(self) -> str:
        return f"at({self.x!r}, {self.index!r})"
