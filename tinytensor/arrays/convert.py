"""From what a user has (numbers, lists, arrays, tensors) to arrays of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from .device import BY_TYPE, Device, default_device, device, device_of
from .dtypes import as_dtype

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor
else:
    late.needs(__name__, Tensor="tensor.tensor.Tensor")

#: of Python numbers with a fraction
DEFAULT_DTYPE = np.dtype(np.float32)


def names_device(text: str) -> bool:
    try:
        np.dtype(text)
    except TypeError:
        return True
    return False


def as_array(data: Any, dtype: Any = None, where: str | Device | None = None) -> Any:
    """A new array on device ``where`` (default: that of ``data``, else the default device).

    Python numbers, NumPy scalars and lists of them become float32, int64 or bool; arrays and
    tensors, other libraries' too, keep their dtype (bfloat16 becomes float32).

    Raises:
        TypeError: the data is not numeric, is ragged, or is complex.
    """
    if isinstance(data, Tensor):
        data = data.data
    dev = device(where) if where is not None else None
    try:
        dtype = None if dtype is None else as_dtype(dtype)
    except TypeError as error:
        if not (isinstance(data, (int, float)) and isinstance(dtype, (int, float))):
            raise
        raise TypeError(
            f"{error}; several numbers are a list, tt.tensor([{data}, {dtype}, ...]), and of a "
            f"shape is tt.zeros({data}, {dtype}, ...)"
        ) from None
    if isinstance(data, np.ndarray):
        refuse_masked("data", data)
        data = data if data.dtype.kind in "fiub" else host_array(data)
    elif (
        hasattr(data, "__array__")
        and type(data) not in BY_TYPE
        and not isinstance(data, np.generic)
    ):
        data = host_array(data)
    if type(data) in BY_TYPE or isinstance(data, np.ndarray):
        home = device_of(data)
        if data.dtype.kind not in "fiub":
            raise TypeError(
                f"data: expected real numbers or booleans, got an array of dtype {data.dtype}"
            )
        if dev is None:
            # an array passed by hand goes where new tensors go, unless it is on a GPU already
            dev = default_device() if home.xp is np else home
        host_dtype = dtype
        if dev is home:
            array = home.xp.array(data, dtype=host_dtype)
        else:
            array = dev.from_host(home.to_host(data).astype(host_dtype or data.dtype))
    else:
        if isinstance(data, (list, tuple)):
            data = _unwrap(data)
        try:
            host = np.asarray(data)
        except ValueError as error:
            raise TypeError(
                f"data: expected numbers or evenly nested lists of numbers ({error})"
            ) from error
        if dtype is None and host.dtype.kind == "f":
            dtype = DEFAULT_DTYPE
        if dtype is None and host.size == 0 and isinstance(data, (list, tuple)):
            dtype = DEFAULT_DTYPE
        if host.dtype.kind not in "fiub":
            raise TypeError(
                f"data: expected real numbers or booleans, got {type(data).__name__} of dtype "
                f"{host.dtype}"
            )
        dev = dev or default_device()
        array = dev.from_host(host if dtype is None else host.astype(dtype))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"data: expected real numbers or booleans, got dtype {array.dtype}")
    return array


def refuse_masked(argument: str, array: np.ndarray) -> None:
    """Raise TypeError for a masked array, whose mask would be lost without a word."""
    if hasattr(array, "filled"):
        raise TypeError(
            f"{argument}: expected an array without a mask, got {type(array).__name__}; use "
            "array.filled(value)"
        )


def host_array(data: Any) -> np.ndarray:
    """An array, or another library's tensor in host memory, as a NumPy array.

    Fractions of 8 or 16 bits that NumPy does not have (bfloat16, by PyTorch or by ml_dtypes) become
    float32, which holds each of their numbers.
    """
    name = str(getattr(data, "dtype", "")).removeprefix("torch.")
    if not name.startswith(("bfloat16", "float8")):
        return np.asarray(data)
    if hasattr(data, "float"):  # PyTorch, which gives NumPy no such array
        return np.asarray(data.float())
    return np.asarray(data).astype(np.float32)


def _unwrap(items: Any) -> Any:
    """Nested lists with tensors replaced by their host values."""
    if isinstance(items, Tensor):
        if getattr(items, "requires_grad", False):
            raise TypeError(
                "data: a list with tensors that require gradients would lose their graph; use "
                "tt.stack or tt.concat, or .detach() them"
            )
        return items.device.to_host(items.data)
    if isinstance(items, (list, tuple)):
        return [_unwrap(item) for item in items]
    return items
