"""Checking axes and lengths: what the ops that rearrange elements have in common."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .tensor import Tensor, tensor


def as_tensor(x: Any, like: Tensor | None = None) -> Tensor:
    """``x`` itself where it is a tensor, else a tensor made of it (on the device of ``like``)."""
    if isinstance(x, Tensor):
        return x
    return tensor(x) if like is None else tensor(x, device=like.device)


def whole(what: str, value: Any) -> int:
    """``value`` as a Python integer; 2.0 is none, because 2.5 would be cut to 2 silently.

    Raises:
        TypeError: ``value`` is no integer; the message begins with ``what``.
    """
    if isinstance(value, Tensor) and value.ndim:
        raise TypeError(f"{what}: expected an integer, got a tensor of shape {value.shape}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected an integer, got {value!r}") from None


def wholes(what: str, values: Any) -> tuple[int, ...]:
    """An integer, or a tuple, list, array or tensor of them, as a tuple of Python integers."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (tuple, list)):
        return tuple(whole(what, v) for v in values)
    return (whole(what, values),)


def unpacked(what: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    """The integers of ``f(2, 3)`` and of ``f((2, 3))``, which mean the same."""
    return wholes(what, values[0] if len(values) == 1 else values)


def axis_of(what: str, axis: Any, shape: tuple[int, ...]) -> int:
    """``axis`` counted from the front.

    Raises:
        AxisError: (an IndexError and a ValueError, as NumPy's) there is no such axis.
    """
    n, i = len(shape), whole(what, axis)
    if not -n <= i < n:
        allowed = f"{-n} to {n - 1} for shape {shape}" if n else "none: a 0-d tensor has no axes"
        raise np.exceptions.AxisError(f"{what}: expected {allowed}, got {i}")
    return i % n


def axes_of(what: str, axes: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Different axes, counted from the front; ``axes`` is an integer or a tuple or list."""
    found = tuple(axis_of(what, a, shape) for a in wholes(what, axes))
    if len(set(found)) < len(found):
        raise ValueError(f"{what}: expected different axes of shape {shape}, got {axes}")
    return found


def at(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that takes ``part`` along ``axis`` (counted from the front) and all of the rest."""
    return (slice(None),) * axis + (part,)
