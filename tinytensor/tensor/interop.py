"""How tensors meet NumPy and other libraries: NumPy's operators become tensor operators, its
functions say what to use, and DLPack hands the memory to whoever asks (:mod:`.dlpack` takes it)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..context.thread_state import local
from ..graph.grad_mode import is_recording
from . import tree

if TYPE_CHECKING:
    import tinytensor

    from .. import operations
else:
    late.needs(__name__, tinytensor="", operations="operations")

#: ufuncs that are the operators of ndarrays (`array + tensor`), and the ops that they are here
_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "matmul": "matmul",
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}


class NumpyProtocols:
    """Mixin of Tensor: what happens when NumPy, or a library that knows DLPack, is handed one."""

    __slots__ = ()

    device: Any
    requires_grad: bool
    detach: Any

    @property
    def data(self) -> Any: ...  # the tensor's own

    def numpy(self) -> np.ndarray:
        """The elements as a NumPy array: the same memory on the CPU, a copy from a GPU.

        Raises:
            RuntimeError: the tensor requires gradients; use ``t.detach().numpy()``.
        """
        if self.requires_grad:
            raise RuntimeError(
                "numpy: this tensor requires gradients, and a NumPy array would lose them; "
                "use t.detach().numpy()"
            )
        return self.device.to_host(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.device.xp is not np:
            raise TypeError(
                f"implicit conversion of a tensor on {self.device.name!r} to a NumPy array; "
                "use t.detach().numpy()"
            )
        if self.requires_grad:
            raise RuntimeError(
                "implicit conversion to a NumPy array would lose the graph of this tensor; "
                "use t.detach().numpy(), or a tinytensor function instead of NumPy's"
            )
        return np.array(self.data, dtype=dtype, copy=copy)

    def __dlpack__(self, **wanted: Any) -> Any:
        """The memory as a DLPack capsule, for ``torch.from_dlpack(t)``, ``np.from_dlpack(t)`` and
        whatever else takes one. Nothing is copied, so both sides see what either writes; backward
        does not notice what the other side writes (say so with ``t.bump_version()``). A tensor
        that runs backwards in memory, such as ``t[::-1]``, is handed over as a copy: PyTorch does
        not know such strides, and ends the program where it meets them.

        Args:
            wanted: ``stream``, ``max_version``, ``dl_device`` and ``copy``, as the array API's
                standard has them; the array (NumPy's or CuPy's) answers them.

        Raises:
            BufferError: the tensor requires gradients, or the array cannot be handed over so.
        """
        if self.requires_grad:
            raise BufferError(
                "DLPack: this tensor requires gradients, which the other side would not see; hand "
                "over t.detach()"
            )
        given = {name: value for name, value in wanted.items() if value is not None}
        array = self.data
        if min(array.strides, default=0) < 0:
            if given.get("copy") is False:
                raise BufferError(
                    "DLPack: this tensor runs backwards in memory and can only be handed over as a "
                    "copy; hand over t.copy()"
                )
            array = array.copy()
        return array.__dlpack__(**given)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the memory is, in DLPack's numbers: (1, 0) is the CPU, (2, i) a CUDA device."""
        kind, number = self.data.__dlpack_device__()
        return int(kind), int(number)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if method == "__call__" and name in _OPERATORS and not kwargs:
            return getattr(operations, _OPERATORS[name])(*inputs)
        given = [x for x in inputs if isinstance(x, NumpyProtocols)]
        out = kwargs.get("out", ())
        if any(isinstance(x, NumpyProtocols) for x in out):
            raise TypeError(
                f"np.{name} with out=: expected an array to write to, got a tensor; use "
                "t.copy_(...) under tt.no_grad()"
            )
        if out and all(x.device.xp is np for x in given) and not is_recording(local.state):
            given = [x.detach() for x in given]  # w.data -= lr * x, where no graph is wanted
            inputs = tuple(x.detach() if isinstance(x, NumpyProtocols) else x for x in inputs)
        if any(x.requires_grad for x in given):
            raise TypeError(
                f"np.{name} with out=: a NumPy array cannot take the graph of a tensor; write "
                "a = a + t instead of a += t, or use t.detach().numpy()"
                if out
                else _advice(name if method == "__call__" else f"{name}.{method}")
            )
        return getattr(ufunc, method)(*(_plain(x) for x in inputs), **kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        given = [x for x in tree.leaves([args, kwargs]) if isinstance(x, NumpyProtocols)]
        if any(x.requires_grad for x in given):
            raise TypeError(_advice(func.__name__))
        return func(*tree.map_leaves(_plain, args), **tree.map_leaves(_plain, kwargs))


def _plain(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, NumpyProtocols) else x


def _advice(name: str) -> str:
    """What to use instead of a NumPy function."""
    ours = getattr(tinytensor, name, None)
    if callable(ours) and not inspect.isclass(ours):
        return (
            f"np.{name} would lose the graph of a tensor; use tt.{name}, or give NumPy "
            "t.detach().numpy()"
        )
    return (
        f"np.{name} does not take a tensor that is part of a graph, and tinytensor has no function "
        "of this name; give NumPy t.detach().numpy()"
    )
