"""Functions that make new tensors. All take ``device`` and ``name``, and ``dtype`` and
``requires_grad`` where they make fractions.

The default dtype is float32, the default device that of the innermost ``with tt.device(...)``.
Random ones take an explicit ``generator``; without one they draw from the named generator "init".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import random
from ..arrays.device import Device, default_device
from ..arrays.device import device as get_device
from .axes import whole
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


def leaf(array: Any, requires_grad: bool, name: str | None) -> Tensor:
    """A new array as a tensor, as it was asked for."""
    out = make(array)
    out.name = name
    return out.requires_grad_() if requires_grad else out


def _device(device: Where) -> Device:
    return default_device() if device is None else get_device(device)


def namespace(device: Where) -> Any:
    """The array namespace of a device, by default the default one's."""
    return _device(device).xp


def zeros(
    *shape: Any,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``."""
    return leaf(namespace(device).zeros(_shape(shape), dtype=dtype), requires_grad, name)


def ones(
    *shape: Any,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A tensor of ones."""
    return leaf(namespace(device).ones(_shape(shape), dtype=dtype), requires_grad, name)


def empty(
    *shape: Any,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A tensor with arbitrary contents."""
    return leaf(namespace(device).empty(_shape(shape), dtype=dtype), requires_grad, name)


def full(
    shape: Any,
    fill_value: float,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A tensor of ``shape`` filled with a number (float32, or int64 / bool by its type)."""
    kind = np.asarray(fill_value).dtype.kind
    if kind not in "fiub":
        raise TypeError(f"fill_value: expected a number, got {fill_value!r}")
    if dtype is None:
        dtype = {"f": "float32", "b": "bool"}.get(kind, "int64")
    size = _shape((shape,))
    return leaf(namespace(device).full(size, fill_value, dtype=dtype), requires_grad, name)


def eye(
    n: int,
    m: int | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """An n by m matrix (m defaults to n) with ones on the diagonal."""
    return leaf(namespace(device).eye(n, m, dtype=dtype), requires_grad, name)


def randn(
    *shape: Any,
    generator: random.Generator | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Standard normal numbers from ``generator``."""
    return _random("normal", shape, generator, dtype, device, requires_grad, name)


def rand(
    *shape: Any,
    generator: random.Generator | None = None,
    dtype: Any = "float32",
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Uniform numbers in [0, 1) from ``generator``."""
    return _random("random", shape, generator, dtype, device, requires_grad, name)


def _random(
    method: str,
    shape: tuple[Any, ...],
    generator: random.Generator | None,
    dtype: Any,
    device: Where,
    requires_grad: bool,
    name: str | None,
) -> Tensor:
    draw_as = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    host = getattr(random.source(generator, "init"), method)(_shape(shape), dtype=draw_as).astype(
        dtype
    )
    dev = default_device() if device is None else get_device(device)
    return leaf(dev.from_host(host), requires_grad, name)


def _like(x: Any, dtype: Any, device: Where) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The shape of ``x``, and its dtype and device where no other is given."""
    t = x if isinstance(x, Tensor) else Tensor(x)
    return t.shape, {
        "dtype": t.dtype if dtype is None else dtype,
        "device": t.device if device is None else device,
    }


def zeros_like(
    x: Any,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Zeros of the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return zeros(shape, requires_grad=requires_grad, name=name, **options)


def ones_like(
    x: Any,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Ones of the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return ones(shape, requires_grad=requires_grad, name=name, **options)


def empty_like(
    x: Any,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A tensor with arbitrary contents of the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return empty(shape, requires_grad=requires_grad, name=name, **options)


def full_like(
    x: Any,
    fill_value: float,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """A number repeated in the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return full(shape, fill_value, requires_grad=requires_grad, name=name, **options)


def randn_like(
    x: Any,
    generator: random.Generator | None = None,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Standard normal numbers of the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return _random("normal", shape, generator, requires_grad=requires_grad, name=name, **options)


def rand_like(
    x: Any,
    generator: random.Generator | None = None,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Uniform numbers in [0, 1) of the shape, dtype and device of ``x``."""
    shape, options = _like(x, dtype, device)
    return _random("random", shape, generator, requires_grad=requires_grad, name=name, **options)


def randint(
    low: int,
    high: Any = None,
    shape: int | tuple[int, ...] | None = None,
    generator: random.Generator | None = None,
    device: Where = None,
    name: str | None = None,
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
    return leaf(_device(device).from_host(host), False, name)


def randperm(
    n: int,
    generator: random.Generator | None = None,
    device: Where = None,
    name: str | None = None,
) -> Tensor:
    """The numbers 0 to n - 1 (int64) in random order."""
    host = random.source(generator, "init").permutation(n)
    return leaf(_device(device).from_host(host), False, name)
