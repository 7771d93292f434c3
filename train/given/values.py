"""Numbers given as settings: those of NumPy and of tensors become Python's, others are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...tensor.tensor import Tensor
from .words import shortened


def plain(value: Any) -> Any:
    """A setting in Python's own types, fit for JSON.

    NumPy's scalars, and arrays and tensors without axes, become numbers; lists and tuples become
    tuples of such. Everything else stays as it is.
    """
    if type(value) in (float, int, bool, str):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, Tensor) and value.requires_grad:
        return value  # a number out of it would silently get no gradient
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def number(name: str, value: Any, expected: str, fits: Callable[[float], bool]) -> float:
    """A setting as a Python float.

    Args:
        name: of the setting, for the message.
        value: a number of Python's or NumPy's, or an array or tensor without axes; no bool.
        expected: what to say of the range, such as ``"a finite number >= 0"``.
        fits: whether a number is in the range, where NaN is not.

    Raises:
        ValueError: it is none, NaN, or out of range.
    """
    if type(value) is float and fits(value):
        return value
    found = plain(value)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        try:
            result = float(found)
        except OverflowError:  # an integer beyond all floats
            result = math.inf if found > 0 else -math.inf
        if fits(result):
            return result
    call = "; call it, as in schedule(step)" if callable(value) else ""
    raise ValueError(f"{name}: expected {expected}, got {shown(value)}{call}")


def shown(value: Any) -> str:
    """A refused value as a message shows it."""
    if isinstance(value, Tensor) and value.requires_grad:
        return f"a tensor of shape {value.shape} that requires gradients"
    if getattr(value, "ndim", 0):
        return f"{type(value).__name__} of shape {value.shape}"
    try:
        return shortened(repr(value))
    except ValueError:  # Python writes out no integer of thousands of digits
        return f"a {type(value).__name__} of thousands of digits"


def not_negative(x: float) -> bool:
    """Whether 0 <= x < inf."""
    return 0.0 <= x < math.inf


def positive(x: float) -> bool:
    """Whether x > 0; infinity is."""
    return x > 0.0


def decay(x: float) -> bool:
    """Whether 0 <= x < 1, as decay rates are."""
    return 0.0 <= x < 1.0
