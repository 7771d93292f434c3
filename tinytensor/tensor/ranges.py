"""Evenly spaced numbers: `arange` by their distance, `linspace` by how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.convert import DEFAULT_DTYPE
from ..arrays.device import Device
from ..arrays.device import device as get_device
from .creation import Where, leaf, namespace
from .tensor import Tensor, make


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers from ``start`` (default 0) below ``stop``: int64, or float32 if any is a float.

    Each may be a tensor of one element, on any device, that requires no gradient.
    """
    if stop is None:
        start, stop = 0, start
    given = {"start": start, "stop": stop, "step": step}
    start, stop, step = (_number("arange", what, value) for what, value in given.items())
    if step == 0:
        raise ValueError("step: expected a number other than 0")
    if dtype is None:
        floats = any(isinstance(v, (float, np.floating)) for v in (start, stop, step))
        dtype = "float32" if floats else "int64"
    return leaf(namespace(device).arange(start, stop, step, dtype=dtype), requires_grad, name)


def _number(fn: str, what: str, value: Any) -> Any:
    """A Python number: of a tensor or array with one element that element."""
    if getattr(value, "requires_grad", False):
        raise TypeError(
            f"{fn}: {what}: expected a number, got a tensor that requires gradients, which would "
            f"be lost; use .detach(), or tt.linspace, whose ends get theirs"
        )
    if isinstance(value, (Tensor, np.ndarray)):
        if value.size != 1:
            raise TypeError(f"{fn}: {what}: expected a number, got shape {value.shape}")
        return value.item()
    return value


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Args:
        start, stop: numbers, or tensors of shapes that broadcast to one another; the result then
            has a first axis of length ``num`` before theirs, and lies in their graph.
        num: an integer >= 0.
        dtype: by default float32, or that of the tensors where they are floating-point.
        device: by default that of the tensors, or the default device.
    """
    return _spaced("linspace", start, stop, num, None, dtype, device, requires_grad, name)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    base: float = 10.0,
    dtype: Any = None,
    device: Where = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """``num`` numbers from ``base ** start`` to ``base ** stop``, whose exponents are evenly
    spaced; see :func:`linspace`."""
    return _spaced("logspace", start, stop, num, base, dtype, device, requires_grad, name)


def _spaced(
    fn: str,
    start: Any,
    stop: Any,
    num: int,
    base: float | None,
    dtype: Any,
    device: Where,
    requires_grad: bool,
    name: str | None,
) -> Tensor:
    """Evenly spaced numbers, or powers of ``base`` with such exponents."""
    if isinstance(num, bool) or not isinstance(num, (int, np.integer)) or num < 0:
        raise ValueError(f"{fn}: num: expected an integer >= 0, got {num!r}")
    ends = [x for x in (start, stop) if isinstance(x, Tensor)]
    if not ends:
        xp = namespace(device)
        array = xp.linspace(start, stop, int(num))
        array = array if base is None else xp.power(base, array)
        return leaf(array.astype(dtype or DEFAULT_DTYPE), requires_grad, name)
    home = ends[0].device if device is None else get_device(device)
    dtypes = [x.dtype for x in ends] + ([] if dtype is None else [np.dtype(dtype)])
    floats = [d for d in dtypes if d.kind == "f"]
    wide = np.result_type(*floats) if floats else DEFAULT_DTYPE
    first, last = (_floats(x, wide, home) for x in (start, stop))
    ndim = max(first.ndim, last.ndim)
    place = home.from_host(np.linspace(0.0, 1.0, int(num)).astype(wide))
    share = make(place.reshape((int(num),) + (1,) * ndim))
    out = first * (1.0 - share) + last * share  # exact at both ends
    out = out if base is None else base**out
    out = out if dtype is None else out.to(np.dtype(dtype))
    out.name = name
    return out.requires_grad_() if requires_grad else out


def _floats(x: Any, dtype: Any, device: Device) -> Tensor:
    """``x`` as a tensor of this floating-point dtype on this device, in its graph if it has one."""
    t = x if isinstance(x, Tensor) else Tensor(x, dtype, device=device)
    return t.to(device).to(dtype)
