# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""The same elements in another shape or order; joining and splitting."""

from collections.abc import Sequence
from typing import Any, overload

from ...define.operand import Axis, Operand, Sizes
from ...tensor.tensor import Tensor

def reshape(x: Operand, *shape: Sizes) -> Tensor:
    """The elements of ``x`` in C order in another shape; one length may be -1 and is inferred."""

def transpose(x: Operand, *axes: int | Sequence[Any]) -> Tensor:
    """The axes of ``x`` in the given order; without one, in reverse. A view."""

def permute(x: Operand, *axes: int | Sequence[Any]) -> Tensor:
    """The axes of ``x`` in the given order, all of them named: ``permute(x, 0, 2, 1)``. A view."""

def swapaxes(x: Operand, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes. A view."""

def squeeze(x: Operand, axis: Axis = None) -> Tensor:
    """Remove axes of length 1: those in ``axis`` (int or tuple), or all. A view."""

def expand_dims(x: Operand, axis: Sizes) -> Tensor:
    """Insert axes of length 1 at the positions ``axis`` (int or tuple) of the result. A view."""

def broadcast_to(x: Operand, *shape: Sizes) -> Tensor:
    """Repeat ``x`` along new leading axes and axes of length 1 to reach ``shape``."""

def concat(xs: Sequence[Operand], /, axis: int = 0) -> Tensor:
    """Join a list of tensors along an existing ``axis``; all other lengths must agree."""

def stack(xs: Sequence[Operand], /, axis: int = 0) -> Tensor:
    """Join a list of tensors of one shape along a new ``axis``."""

def split(x: Operand, sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Cut ``x`` along ``axis`` into pieces (views)."""

def tril(x: Operand, k: int = 0) -> Tensor:
    """Lower triangle of the last two axes: 0 above diagonal ``k``."""

def triu(x: Operand, k: int = 0) -> Tensor:
    """Upper triangle of the last two axes: 0 below diagonal ``k``."""

def diagonal(x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of the matrices that ``axis1`` (rows) and ``axis2`` (columns) span, as the last
    axis of the result. A view."""

def diag_embed(x: Operand, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Square matrices with the last axis of ``x`` (..., n) on a diagonal, 0 elsewhere."""

def diag(x: Operand, k: int = 0) -> Tensor:
    """A square matrix with the vector ``x`` on diagonal ``k``, or diagonal ``k`` of the matrix
    ``x`` (a view)."""

def trace(x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Sum of the diagonal of the matrices that ``axis1`` (rows) and ``axis2`` (columns) span; of a
    diagonal without elements it is 0."""

def moveaxis(x: Operand, source: Sizes, destination: Sizes) -> Tensor:
    """Put the axes ``source`` (an integer or several) at the positions ``destination``; the rest
    keep their order. A view."""

def flatten(x: Operand, start: int = 0, end: int = -1) -> Tensor:
    """The axes from ``start`` to ``end`` (both included) joined into one; a 0-d tensor gets one."""

def ravel(x: Operand) -> Tensor:
    """All elements along one axis, in C order: ``reshape(x, -1)``."""

def unflatten(x: Operand, axis: int, sizes: Sizes) -> Tensor:
    """One axis split into several of lengths ``sizes``, of which one may be -1 and is inferred."""

def expand(x: Operand, *shape: Sizes) -> Tensor:
    """PyTorch's name for :func:`broadcast_to`; a length -1 keeps that of ``x``."""

def broadcast_arrays(*xs: Operand) -> tuple[Tensor, ...]:
    """All ``xs`` broadcast to the one shape that they have together; one that has it stays
    itself."""

def broadcast_tensors(*xs: Operand) -> tuple[Tensor, ...]:
    """All ``xs`` broadcast to the one shape that they have together; one that has it stays
    itself."""

def meshgrid(*xs: Operand, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid: vectors in, one array of the whole grid's shape out for each."""

def flip(x: Operand, axis: Axis = None) -> Tensor:
    """Reverse the order along ``axis``: None (all), an integer or a tuple. A view."""

def rot90(x: Operand, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turn by 90 degrees ``k`` times, from the first of ``axes`` towards the second. A view."""

def roll(x: Operand, shift: Sizes, axis: Axis = None) -> Tensor:
    """Move elements on by ``shift`` places; those that fall off come in again at the start."""

def repeat(x: Operand, repeats: Operand, axis: int | None = None) -> Tensor:
    """Each element several times in a row: NumPy's ``repeat``, PyTorch's ``repeat_interleave``
    (another name for it here). PyTorch's ``x.repeat`` is :func:`tile`."""

def repeat_interleave(x: Operand, repeats: Operand, axis: int | None = None) -> Tensor:
    """Each element several times in a row: NumPy's ``repeat``, PyTorch's ``repeat_interleave``
    (another name for it here). PyTorch's ``x.repeat`` is :func:`tile`."""

def tile(x: Operand, reps: Sizes) -> Tensor:
    """The whole of ``x`` ``reps`` times along each axis: an integer (the last axis) or a tuple (the
    last axes; more counts than ``x`` has axes add new ones in front). PyTorch's ``x.repeat``."""

def chunk(x: Operand, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of one length along ``axis`` (views), the last maybe shorter."""

def array_split(x: Operand, indices_or_sections: Sizes, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut ``x`` along ``axis`` into pieces (views); PyTorch's ``tensor_split`` is the same."""

def tensor_split(x: Operand, indices_or_sections: Sizes, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut ``x`` along ``axis`` into pieces (views); PyTorch's ``tensor_split`` is the same."""

def unbind(x: Operand, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along ``axis``, one tensor each (views); none where the axis has length 0."""

def hsplit(x: Operand, indices_or_sections: Sizes) -> tuple[Tensor, ...]:
    """:func:`array_split` along the second axis, of a vector along the only one."""

def vsplit(x: Operand, indices_or_sections: Sizes) -> tuple[Tensor, ...]:
    """:func:`array_split` along the first of at least two axes."""

def dsplit(x: Operand, indices_or_sections: Sizes) -> tuple[Tensor, ...]:
    """:func:`array_split` along the third axis."""

@overload
def atleast_1d(x: Operand, /) -> Tensor:
    """``x`` itself, a number as a vector of one element; of several arguments a tuple."""

@overload
def atleast_1d(*xs: Operand) -> tuple[Tensor, ...]:
    """``x`` itself, a number as a vector of one element; of several arguments a tuple."""

@overload
def atleast_2d(x: Operand, /) -> Tensor:
    """``x`` itself, a vector (n,) as one row (1, n), a number as (1, 1); of several a tuple."""

@overload
def atleast_2d(*xs: Operand) -> tuple[Tensor, ...]:
    """``x`` itself, a vector (n,) as one row (1, n), a number as (1, 1); of several a tuple."""

@overload
def atleast_3d(x: Operand, /) -> Tensor:
    """``x`` itself, a matrix (m, n) as (m, n, 1), a vector (n,) as (1, n, 1), a number as (1, 1,
    1); of several arguments a tuple."""

@overload
def atleast_3d(*xs: Operand) -> tuple[Tensor, ...]:
    """``x`` itself, a matrix (m, n) as (m, n, 1), a vector (n,) as (1, n, 1), a number as (1, 1,
    1); of several arguments a tuple."""

def hstack(xs: Sequence[Operand]) -> Tensor:
    """Join tensors side by side: along the second axis, vectors and numbers along the only one."""

def vstack(xs: Sequence[Operand]) -> Tensor:
    """Join tensors one below the other: along the first axis, each vector as one row."""

def dstack(xs: Sequence[Operand]) -> Tensor:
    """Join tensors one behind the other, along the third axis; see :func:`atleast_3d`."""

def column_stack(xs: Sequence[Operand]) -> Tensor:
    """Join tensors along the second axis, each vector (n,) or number as one column (n, 1)."""
