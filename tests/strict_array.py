"""The array of the stand-in device (see `strict.py`): a NumPy array behind a wall.

Arithmetic and reductions are attached by `strict.py`, which owns CuPy's names and signatures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .cupy_surface import SURFACE


def refuse_host(value: Any) -> None:
    if isinstance(value, (np.ndarray, list)):
        raise TypeError(f"Unsupported type {type(value)}")


def unwrap(value: Any) -> Any:
    """The NumPy array inside; host arrays are refused at any depth of lists and tuples."""
    if isinstance(value, StrictArray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list):
        return [unwrap(v) for v in value]
    if isinstance(value, tuple):
        return tuple(unwrap(v) for v in value)
    return value


def wrap(value: Any) -> Any:
    """NumPy results become device arrays; a NumPy scalar becomes a 0-d array."""
    if isinstance(value, (np.ndarray, np.generic)):
        return StrictArray(np.asarray(value))
    if isinstance(value, (tuple, list)):
        values = [wrap(v) for v in value]
        # a named tuple, such as NumPy's linalg functions return
        return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
    return value


def wrap_index(index: Any, shape: tuple[int, ...]) -> Any:
    """Check an index as CuPy's (device arrays only); integers out of range wrap, as there."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        refuse_host(part)
    parts = tuple(unwrap(p) for p in parts)

    def width(p: Any) -> int:
        if p is None or isinstance(p, (bool, np.bool_)):
            return 0
        return p.ndim if isinstance(p, np.ndarray) and p.dtype == bool else 1

    used = sum(width(p) for p in parts if p is not Ellipsis)
    axis, out = 0, []
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - used
        else:
            if isinstance(part, np.ndarray) and part.dtype.kind in "iu" and axis < len(shape):
                part = part.astype(np.int64) % max(shape[axis], 1)
            axis += width(part)
        out.append(part)
    return tuple(out) if isinstance(index, tuple) else out[0]


class _Flags:
    """Contiguity flags.  As on CuPy, setting `writeable` changes nothing."""

    def __init__(self, host: np.ndarray):
        self.c_contiguous = host.flags.c_contiguous
        self.f_contiguous = host.flags.f_contiguous
        self.owndata = host.flags.owndata

    def __getitem__(self, key: str) -> bool:
        return bool(getattr(self, key.lower()))


class StrictArray:
    """An array of the stand-in device.  See the module's docstring for what it refuses."""

    __array_ufunc__ = None  # `ndarray * array` asks the array; `np.exp(array)` is a TypeError
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_host", "__weakref__")

    def __init__(self, host: np.ndarray):
        if host.dtype.kind not in "biufc":
            raise ValueError(f"Unsupported dtype {host.dtype}")
        self._host = host

    # -- what must never happen silently -------------------------------------------------
    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"np.{func.__name__} was called with an array of the device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)  # CUDA

    def __dlpack__(self, *, dl_device: Any = None, **wanted: Any) -> Any:
        if dl_device != (1, 0):
            raise BufferError("the memory of the stand-in is taken as a copy on the CPU, or not")
        return self._host.copy().__dlpack__(**{k: v for k, v in wanted.items() if k != "stream"})

    # -- properties -----------------------------------------------------------------------
    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    flags = property(lambda self: _Flags(self._host))
    T = property(lambda self: StrictArray(self._host.T))
    mT = property(lambda self: StrictArray(np.swapaxes(self._host, -1, -2)))

    @property
    def base(self) -> StrictArray | None:
        return None if self._host.base is None else StrictArray(self._host.base)

    def __getattr__(self, name: str) -> Any:
        known = name in SURFACE["ndarray"]
        why = "the stand-in does not model it" if known else "CuPy's ndarray has no such attribute"
        raise AttributeError(f"{name}: {why}")

    # -- explicit transfers, which synchronise --------------------------------------------
    def get(self) -> np.ndarray:
        return self._host.copy()

    def set(self, host: np.ndarray) -> None:
        self._host[...] = host

    def item(self, *args: int) -> Any:
        return self._host.item(*args)

    def tolist(self) -> Any:
        return self._host.tolist()

    def __bool__(self) -> bool:
        return bool(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __repr__(self) -> str:
        return f"strict:{self._host!r}"

    def __format__(self, spec: str) -> str:
        return format(self._host, spec)

    # -- views and copies -----------------------------------------------------------------
    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> StrictArray:
        result = self._host[wrap_index(index, self.shape)]
        if not isinstance(result, np.ndarray):  # x[0, 0] is a 0-d view on CuPy, not a number
            parts = index if isinstance(index, tuple) else (index,)
            result = self._host[(*unwrap(parts), ...)]
        return StrictArray(result)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, (np.ndarray, list)):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        index = wrap_index(index, self.shape)
        if isinstance(value, StrictArray) and value.size > 1:
            where = np.arange(self.size).reshape(self.shape)[index]
            if np.unique(where).size != where.size:
                raise RuntimeError(
                    "assignment through a repeated index: any value may win on a GPU"
                )
        self._host[index] = unwrap(value)

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = None,
        subok: Any = None,
        copy: bool = True,
    ) -> StrictArray:
        if casting is not None or subok is not None:
            raise TypeError("casting is not supported yet")
        result = self._host.astype(dtype, order=order, copy=copy)
        return self if result is self._host else StrictArray(result)

    def copy(self, order: str = "C") -> StrictArray:
        return StrictArray(self._host.copy(order=order))

    def __copy__(self) -> StrictArray:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> StrictArray:
        return self.copy()

    def reshape(self, *shape: Any, order: str = "C") -> StrictArray:
        return StrictArray(self._host.reshape(*unwrap(shape), order=order))

    def transpose(self, *axes: Any) -> StrictArray:
        return StrictArray(self._host.transpose(*axes))

    def flatten(self, order: str = "C") -> StrictArray:
        return StrictArray(self._host.flatten(order=order))

    def view(self, dtype: Any = None) -> StrictArray:
        return StrictArray(self._host.view() if dtype is None else self._host.view(dtype))

    def fill(self, value: Any) -> None:
        self._host.fill(unwrap(value))

    def sort(self, axis: int = -1) -> None:
        self._host.sort(axis=axis)
