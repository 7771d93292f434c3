"""What an op's error says, in words that tell how to mend it, where NumPy's do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import as_dtype
from .tensor import Tensor


def reason(error: Exception, args: Sequence[Any], settings: dict[str, Any]) -> str:
    """The message of ``error``, or a better one for a wrong axis and for shapes that do not fit."""
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
    return text


def _no_such_axis(axis: int, ndim: int) -> str:
    if not ndim:
        return f"axis: expected none, as a 0-d tensor has no axes, got {axis}"
    return f"axis: expected {-ndim} to {ndim - 1} for {ndim} axes, got {axis}"
