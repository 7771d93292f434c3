"""What dtype a result has where NumPy's own answer is not the one we want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

F64 = np.dtype(np.float64)
F32 = np.dtype(np.float32)
F16 = np.dtype(np.float16)


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
