"""What an op's error says, in words that tell how to mend it, where NumPy's do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays.dtypes import as_dtype
from ..tensor.tensor import Tensor


def reason(
    error: Exception,
    args: Sequence[Any],
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> str:
    """The message of ``error``, or a better one for a wrong axis, for shapes that do not fit, and
    for a setting of another kind than its default."""
    text = str(error).strip()
    if isinstance(error, TypeError) and settings.get("dtype") is not None:
        try:
            as_dtype(settings["dtype"])
        except TypeError as wrong:
            return str(wrong)
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None:
        return _no_such_axis(int(error.axis), int(error.ndim or 0))
    if "axis" in settings and not text.startswith("axis"):
        axis = settings["axis"]
        parts = axis if isinstance(axis, tuple) else (axis,)
        if not all(part is None or hasattr(part, "__index__") for part in parts):
            return f"axis: expected an integer, a tuple of integers or None, got {axis!r}"
        if "duplicate" in text or "repeated" in text:
            return f"axis: expected different axes, got {axis}"
    if text.startswith("operands could not be broadcast"):
        shapes = [a.shape for a in args if isinstance(a, Tensor)]
        shapes += [settings["shape"]] if "shape" in settings else []
        return (
            f"the shapes {', '.join(map(str, shapes))} do not fit: counted from the last axis, "
            "lengths must be equal or 1; insert an axis with .expand_dims(axis), or use .reshape"
        )
    if isinstance(error, TypeError) and "expected" not in text:  # Python's words or NumPy's
        return _wrong_kind(settings, defaults) or _wrong_dtype(text, args) or text
    return text


def _wrong_kind(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """What is wrong with the first setting that is of a kind that none could be, or ""."""
    for name, value in settings.items():
        usual = defaults.get(name)
        number = isinstance(value, (int, float))
        if type(usual) is bool:
            expected, fits = "True or False", number
        elif type(usual) is int and name != "axis":
            expected, fits = "an integer", number and value == int(value or 0)
        elif type(usual) is float:
            expected, fits = "a number", number
        else:
            expected = "another kind of value"
            fits = value is None or number or isinstance(value, (str, tuple))
            fits = fits or hasattr(value, "dtype")
        if not fits:
            return f"{name}: expected {expected}, got {value!r}"
    return ""


def _wrong_dtype(text: str, args: Sequence[Any]) -> str:
    """What NumPy means with operands whose dtypes a function does not take, or ""."""
    if not text.startswith(("ufunc", "Cannot cast", "The numpy boolean")):
        return ""
    kinds = [str(a.dtype) if isinstance(a, Tensor) else type(a).__name__ for a in args]
    whole = "bitwise" in text or "invert" in text or "shift" in text
    wanted = "integers or booleans" if whole else "numbers"
    return f"expected {wanted}, got {' and '.join(kinds)}; convert with .astype(dtype)"


def _no_such_axis(axis: int, ndim: int) -> str:
    if not ndim:
        return f"axis: expected none, as a 0-d tensor has no axes, got {axis}"
    return f"axis: expected {-ndim} to {ndim - 1} for {ndim} axes, got {axis}"
