"""Functions that make new tensors. All take ``dtype``, ``device`` and ``requires_grad``.

The default dtype is float32 (`arange` of integers: int64), the default device that of the
innermost ``with tt.device(...)``. Random ones take an explicit ``generator``; without one they
draw from the named generator "init".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import random
from .device import Device, default_device
from .device import device as get_device
from .operations.axes import whole
from .tensor import Tensor, make

Where = str | Device | None


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """``zeros(2, 3)`` and ``zeros((2, 3))`` mean the same."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(f"shape: expected integers >= 0, got {shape}")
    return tuple(int(n) for n in shape)


def _leaf(array: Any, requires_grad: bool) -> Tensor:
    out = make(array)
    return out.requires_grad_() if requires_grad else out


def _device(device: Where) -> Device:
    return default_device() if device is None else get_device(device)


def _xp(device: Where) -> Any:
    return _device(device).xp


def zeros(
    *shape: Any, dtype: Any = "float32", device: Where = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``."""
    return _leaf(_xp(device).zeros(_shape(shape), dtype=dtype), requires_grad)


def ones(
    *shape: Any, dtype: Any = "float32", device: Where = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones."""
    return _leaf(_xp(device).ones(_shape(shape), dtype=dtype), requires_grad)


def empty(
    *shape: Any, dtype: Any = "float32", device: Where = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with arbitrary contents."""
    return _leaf(_xp(device).empty(_shape(shape), dtype=dtype), requires_grad)


def full(
    shape: Any,
    fill_value: float,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ``shape`` filled with a number (float32, or int64 / bool by its type)."""
    kind = np.asarray(fill_value).dtype.kind
    if kind not in "fiub":
        raise TypeError(f"fill_value: expected a number, got {fill_value!r}")
    if dtype is None:
        dtype = {"f": "float32", "b": "bool"}.get(kind, "int64")
    size = _shape((shape,))
    return _leaf(_xp(device).full(size, fill_value, dtype=dtype), requires_grad)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` (default 0) below ``stop``: int64, or float32 if any is a float."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("step: expected a number other than 0")
    if dtype is None:
        floats = any(isinstance(v, (float, np.floating)) for v in (start, stop, step))
        dtype = "float32" if floats else "int64"
    return _leaf(_xp(device).arange(start, stop, step, dtype=dtype), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """An n by m matrix (m defaults to n) with ones on the diagonal."""
    return _leaf(_xp(device).eye(n, m, dtype=dtype), requires_grad)


def randn(
    *shape: Any,
    generator: random.Generator | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers from ``generator``."""
    return _random("normal", shape, generator, dtype, device, requires_grad)


def rand(
    *shape: Any,
    generator: random.Generator | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1) from ``generator``."""
    return _random("random", shape, generator, dtype, device, requires_grad)


def _random(
    method: str,
    shape: tuple[Any, ...],
    generator: random.Generator | None,
    dtype: Any,
    device: Where,
    requires_grad: bool,
) -> Tensor:
    draw_as = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    host = getattr(random.source(generator, "init"), method)(_shape(shape), dtype=draw_as).astype(
        dtype
    )
    dev = default_device() if device is None else get_device(device)
    return _leaf(dev.from_host(host), requires_grad)


def _like(x: Any, options: dict[str, Any]) -> dict[str, Any]:
    t = x if isinstance(x, Tensor) else Tensor(x)
    chosen = {
        "dtype": t.dtype,
        "device": t.device,
        **{k: v for k, v in options.items() if v is not None},
    }
    return {"shape": t.shape, **chosen}


def zeros_like(
    x: Any, dtype: Any = None, device: Where = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return zeros(o["shape"], dtype=o["dtype"], device=o["device"], requires_grad=requires_grad)


def ones_like(
    x: Any, dtype: Any = None, device: Where = None, requires_grad: bool = False
) -> Tensor:
    """Ones of the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return ones(o["shape"], dtype=o["dtype"], device=o["device"], requires_grad=requires_grad)


def empty_like(
    x: Any, dtype: Any = None, device: Where = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with arbitrary contents of the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return empty(o["shape"], dtype=o["dtype"], device=o["device"], requires_grad=requires_grad)


def full_like(
    x: Any, fill_value: float, dtype: Any = None, device: Where = None, requires_grad: bool = False
) -> Tensor:
    """A number repeated in the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return full(o["shape"], fill_value, o["dtype"], o["device"], requires_grad)


def randn_like(
    x: Any,
    generator: random.Generator | None = None,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers of the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return _random("normal", o["shape"], generator, o["dtype"], o["device"], requires_grad)


def rand_like(
    x: Any,
    generator: random.Generator | None = None,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1) of the shape, dtype and device of ``x``."""
    o = _like(x, {"dtype": dtype, "device": device})
    return _random("random", o["shape"], generator, o["dtype"], o["device"], requires_grad)


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    if not isinstance(num, (int, np.integer)) or num < 0:
        raise ValueError(f"linspace: num: expected an integer >= 0, got {num!r}")
    return _leaf(_xp(device).linspace(start, stop, int(num)).astype(dtype), requires_grad)


def randint(
    low: int,
    high: Any = None,
    shape: int | tuple[int, ...] | None = None,
    generator: random.Generator | None = None,
    device: Where = None,
) -> Tensor:
    """int64 numbers drawn evenly from [low, high), of the given shape.

    ``randint(high, shape)``, with a tuple or a list for the shape, begins at 0, as in PyTorch.
    """
    if shape is None and isinstance(high, (tuple, list)):
        low, high, shape = 0, low, tuple(high)
    if shape is None:
        raise TypeError(
            "randint: expected (low, high, shape), or (high, shape) with a tuple for the shape; "
            f"got {low!r} and {high!r}"
        )
    low, high = whole("randint: low", low), whole("randint: high", high)
    if not low < high:
        raise ValueError(f"randint: expected low < high, got {low} and {high}")
    host = random.source(generator, "init").integers(low, high, _shape((shape,)))
    return _leaf(_device(device).from_host(host), False)


def randperm(n: int, generator: random.Generator | None = None, device: Where = None) -> Tensor:
    """The numbers 0 to n - 1 (int64) in random order."""
    host = random.source(generator, "init").permutation(n)
    return _leaf(_device(device).from_host(host), False)
