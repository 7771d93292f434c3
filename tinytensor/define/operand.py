"""The types that the signatures of ops are made of, in the .pyi files of ``operations``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from ..tensor.tensor import Tensor

__all__ = ["Axis", "DType", "Operand", "Sizes"]


class OnGPU(Protocol):
    """An array of CuPy."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


#: a tensor, or what is made one: an array, a number, nested lists of numbers
Operand: TypeAlias = (
    Tensor | np.ndarray[Any, Any] | OnGPU | np.generic | float | list[Any] | tuple[Any, ...]
)
#: one axis, several, or all
Axis: TypeAlias = int | Sequence[int] | None
#: a length, or one per axis
Sizes: TypeAlias = int | Sequence[int]
DType: TypeAlias = DTypeLike
