"""What dtype a result has where NumPy's own answer is not the one we want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

F64 = np.dtype(np.float64)
F32 = np.dtype(np.float32)
F16 = np.dtype(np.float16)

#: ``tt.long`` and so on: PyTorch's names and NumPy's -> the names of NumPy's dtypes
NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
    "float16": "float16",
    "float32": "float32",
    "float64": "float64",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
}


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """``dtype``, or the one of that name, as NumPy's.

    Raises:
        TypeError: there is no such dtype; where it is PyTorch's, the message says what to write.
    """
    try:
        return np.dtype(dtype)
    except TypeError:
        library, _, name = str(dtype).rpartition(".")
        advice = f"; use tt.{name}" if library == "torch" and name in NAMES else ""
        if name == "bfloat16":
            advice = "; use tt.float16 or tt.float32, since NumPy has no bfloat16"
        raise TypeError(
            f"dtype: expected one of NumPy's or its name, such as 'float32', got {dtype!r}{advice}"
        ) from None


def any_half(arrays: Sequence[Any]) -> bool:
    """Whether one of the operands is float16."""
    for a in arrays:  # faster than any(...) for two or three
        if getattr(a, "dtype", None) == F16:
            return True
    return False


def narrow_to_operands(result: Any, arrays: Sequence[Any]) -> Any:
    """float64 that no operand asked for (integers divided, say): their own float, or float32."""
    if result.dtype != F64:
        return result
    floats = _floats(arrays)
    dtype = np.result_type(*floats) if floats else F32
    return result if dtype == F64 else result.astype(dtype)


def widen(arrays: list[Any]) -> tuple[list[Any], Any]:
    """float16 operands as float32, to compute in, and the dtype for the result."""
    wide = [a.astype(F32) if getattr(a, "dtype", None) == F16 else a for a in arrays]
    return wide, np.result_type(*_floats(arrays))


def _floats(arrays: Sequence[Any]) -> list[Any]:
    """The floating-point dtypes among the operands."""
    return [a.dtype for a in arrays if hasattr(a, "dtype") and a.dtype.kind == "f"]
