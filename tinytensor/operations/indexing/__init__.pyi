# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Reading and writing at positions."""

from ...define.operand import DType, Operand
from ...tensor.tensor import Tensor
from .at import at as at

def take_along_axis(x: Operand, indices: Operand, axis: int | None) -> Tensor:
    """Pick along ``axis``: ``out[i, j] = x[i, indices[i, j]]`` for ``axis=1``."""

def gather(x: Operand, axis: int, index: Operand) -> Tensor:
    """``out[i, j] = x[i, index[i, j]]`` for ``axis=1``."""

def index_select(x: Operand, axis: int, index: Operand) -> Tensor:
    """The slices of ``x`` along ``axis`` at ``index`` (integers, one axis), in that order."""

def take(x: Operand, indices: Operand, axis: int | None = None) -> Tensor:
    """The elements of ``x`` at ``indices`` (integers of any shape), as NumPy's ``take``."""

def masked_select(x: Operand, mask: Operand) -> Tensor:
    """The elements of ``x`` where the boolean ``mask`` is True, in C order: shape (count,)."""

def nonzero(x: Operand) -> tuple[Tensor, ...]:
    """Where ``x`` is not zero (True): per axis an int64 tensor of coordinates, in C order."""

def embedding(
    ids: Operand,
    weight: Operand,
    padding_idx: int | None = None,
    sparse: bool = False,
) -> Tensor:
    """Rows of the table ``weight`` (rows, width) at ``ids`` (any shape, integers)."""

def one_hot(ids: Operand, num_classes: int | None = None, dtype: DType = "float32") -> Tensor:
    """``ids`` (...) integers to (..., num_classes): 1 at the id, 0 elsewhere; no gradient."""

def scatter(x: Operand, axis: int, index: Operand, src: Operand) -> Tensor:
    """A copy of ``x`` with ``out[i, index[i, j]] = src[i, j]`` for ``axis=1``."""

def scatter_add(x: Operand, axis: int, index: Operand, src: Operand) -> Tensor:
    """A copy of ``x`` with ``out[i, index[i, j]] += src[i, j]`` for ``axis=1``."""

def index_add(x: Operand, axis: int, index: Operand, source: Operand, alpha: float = 1) -> Tensor:
    """A copy of ``x`` with the slices of ``alpha * source`` along ``axis`` added at ``index``."""

def masked_scatter(x: Operand, mask: Operand, source: Operand) -> Tensor:
    """``x`` with the elements of ``source``, in C order, where the boolean ``mask`` is True."""
