"""Taking over the memory of another library's tensor; see also ``Tensor.__dlpack__``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.device import CPU, Device, device_of
from ..arrays.device import device as get_device
from ..hints.finding import kind_of
from .tensor import Tensor, make

#: where DLPack says that memory is: on the host, pinned or not, and of CUDA, managed or not
_HOST, _CUDA = (1, 3), (2, 13)


def from_dlpack(x: Any, name: str | None = None) -> Tensor:
    """A tensor on the memory of ``x``: of PyTorch, NumPy, CuPy, JAX and others, without a copy.

    Both sides see what either writes. What is written here counts as a write; what the other side
    writes is not noticed by backward (say so with ``t.bump_version()``). Where ``x`` is read-only,
    or several of its elements are one in memory, as ``expand`` makes them, the tensor is read-only
    on the CPU. ``tt.tensor(x)`` makes a copy.

    Args:
        x: an object with ``__dlpack__`` and ``__dlpack_device__``, of real numbers or booleans,
            on the CPU or a GPU; the tensor is on the same.
        name: label in pictures of the graph.

    Raises:
        TypeError: ``x`` is nothing of that kind, or has a dtype that tensors do not have.
        BufferError: ``x`` cannot be handed over, such as a tensor that requires gradients.
    """
    if isinstance(x, Tensor):
        if x.requires_grad:
            x.__dlpack__()  # says why not
        out = x.detach()
    else:
        out = make(_taken(x))
    out.name = name
    return out


def _taken(x: Any) -> Any:
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(
            f"from_dlpack: x: expected an object with __dlpack__, got {kind_of(x)}; "
            "tt.tensor takes numbers, lists and arrays"
        )
    dtype = str(getattr(x, "dtype", "")).removeprefix("torch.")
    if dtype.startswith(("bfloat16", "float8", "complex")):
        copied = "" if dtype.startswith("complex") else "; tt.tensor(x) copies it to float32"
        raise TypeError(
            f"from_dlpack: x: expected real numbers or booleans of a dtype that NumPy has, got "
            f"{dtype}{copied}"
        )
    array = _home(x).xp.from_dlpack(x)
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"from_dlpack: x: expected real numbers or booleans, got dtype {array.dtype}"
        )
    repeated = any(n > 1 and not step for n, step in zip(array.shape, array.strides, strict=True))
    if repeated and device_of(array).xp is np:
        array.flags.writeable = False
    return array


def _home(x: Any) -> Device:
    """Our device for the memory of ``x``."""
    kind = int(x.__dlpack_device__()[0])
    if kind in _HOST:
        return CPU
    if kind in _CUDA:
        return get_device("cuda")
    raise TypeError(
        f"from_dlpack: x: expected memory of the CPU or of CUDA, got DLPack's device type {kind}; "
        "copy it to the CPU first"
    )
