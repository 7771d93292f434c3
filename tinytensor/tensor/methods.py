"""Operators and methods of Tensor; each is the op of the same name, which documents it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import late
from ..hints.finding import hinting
from ..hints.habits import axis_to_repeat
from .fields import Fields

if TYPE_CHECKING:
    from .tensor import Tensor

    ops: Any = None  # operations, to which the mixin below is no Tensor yet
    getitem: Any = None
else:
    late.needs(
        __name__,
        ops="operations",
        getitem="operations.indexing.reading.getitem",
        Tensor="tensor.tensor.Tensor",
    )

Axis = int | Sequence[int] | None


class Operators(Fields):
    """Mixin with the arithmetic of :class:`~tinytensor.Tensor`."""

    __slots__ = ()

    # fmt: off
    def __add__(self, other: Any) -> Tensor: return ops.add(self, other)
    def __radd__(self, other: Any) -> Tensor: return ops.add(other, self)
    def __sub__(self, other: Any) -> Tensor: return ops.sub(self, other)
    def __rsub__(self, other: Any) -> Tensor: return ops.sub(other, self)
    def __mul__(self, other: Any) -> Tensor: return ops.mul(self, other)
    def __rmul__(self, other: Any) -> Tensor: return ops.mul(other, self)
    def __truediv__(self, other: Any) -> Tensor: return ops.div(self, other)
    def __rtruediv__(self, other: Any) -> Tensor: return ops.div(other, self)
    def __pow__(self, other: Any) -> Tensor: return ops.pow(self, other)
    def __rpow__(self, other: Any) -> Tensor: return ops.pow(other, self)
    def __floordiv__(self, other: Any) -> Tensor: return ops.floor_divide(self, other)
    def __rfloordiv__(self, other: Any) -> Tensor: return ops.floor_divide(other, self)
    def __mod__(self, other: Any) -> Tensor: return ops.remainder(self, other)
    def __rmod__(self, other: Any) -> Tensor: return ops.remainder(other, self)
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: return ops.floor_divide(self, other), ops.remainder(self, other)
    def __round__(self, decimals: int = 0) -> Tensor: return ops.round(self, decimals)
    def __floor__(self) -> Tensor: return ops.floor(self)
    def __ceil__(self) -> Tensor: return ops.ceil(self)
    def __trunc__(self) -> Tensor: return ops.trunc(self)
    def __matmul__(self, other: Any) -> Tensor: return ops.matmul(self, other)
    def __rmatmul__(self, other: Any) -> Tensor: return ops.matmul(other, self)
    def __neg__(self) -> Tensor: return ops.neg(self)
    def __pos__(self) -> Tensor: return self  # type: ignore[return-value]
    def __abs__(self) -> Tensor: return ops.abs(self)
    def __eq__(self, other: Any) -> Tensor: return ops.equal(self, other)  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: return ops.not_equal(self, other)  # type: ignore[override]
    def __lt__(self, other: Any) -> Tensor: return ops.less(self, other)
    def __le__(self, other: Any) -> Tensor: return ops.less_equal(self, other)
    def __gt__(self, other: Any) -> Tensor: return ops.greater(self, other)
    def __ge__(self, other: Any) -> Tensor: return ops.greater_equal(self, other)
    def __and__(self, other: Any) -> Tensor: return ops.bitwise_and(self, other)
    def __rand__(self, other: Any) -> Tensor: return ops.bitwise_and(other, self)
    def __or__(self, other: Any) -> Tensor: return ops.bitwise_or(self, other)
    def __ror__(self, other: Any) -> Tensor: return ops.bitwise_or(other, self)
    def __xor__(self, other: Any) -> Tensor: return ops.bitwise_xor(self, other)
    def __rxor__(self, other: Any) -> Tensor: return ops.bitwise_xor(other, self)
    def __invert__(self) -> Tensor: return ops.bitwise_not(self)
    def __getitem__(self, index: Any) -> Tensor: return getitem(self, index)


    def add(self, other: Any) -> Tensor: return ops.add(self, other)
    def sub(self, other: Any) -> Tensor: return ops.sub(self, other)
    def mul(self, other: Any) -> Tensor: return ops.mul(self, other)
    def div(self, other: Any) -> Tensor: return ops.div(self, other)
    def pow(self, exponent: Any) -> Tensor: return ops.pow(self, exponent)
    def neg(self) -> Tensor: return ops.neg(self)
    def matmul(self, other: Any) -> Tensor: return ops.matmul(self, other)
    def maximum(self, other: Any) -> Tensor: return ops.maximum(self, other)
    def minimum(self, other: Any) -> Tensor: return ops.minimum(self, other)
    def abs(self) -> Tensor: return ops.abs(self)
    def exp(self) -> Tensor: return ops.exp(self)
    def log(self) -> Tensor: return ops.log(self)
    def sqrt(self) -> Tensor: return ops.sqrt(self)
    def sin(self) -> Tensor: return ops.sin(self)
    def cos(self) -> Tensor: return ops.cos(self)
    def tanh(self) -> Tensor: return ops.tanh(self)
    def sigmoid(self) -> Tensor: return ops.sigmoid(self)
    def relu(self) -> Tensor: return ops.relu(self)
    def gelu(self, approximate: str = "none") -> Tensor: return ops.gelu(self, approximate)
    def silu(self) -> Tensor: return ops.silu(self)
    def floor_divide(self, other: Any) -> Tensor: return ops.floor_divide(self, other)
    def remainder(self, other: Any) -> Tensor: return ops.remainder(self, other)
    def fmod(self, other: Any) -> Tensor: return ops.fmod(self, other)
    def square(self) -> Tensor: return ops.square(self)
    def reciprocal(self) -> Tensor: return ops.reciprocal(self)
    def rsqrt(self) -> Tensor: return ops.rsqrt(self)
    def floor(self) -> Tensor: return ops.floor(self)
    def ceil(self) -> Tensor: return ops.ceil(self)
    def trunc(self) -> Tensor: return ops.trunc(self)
    def round(self, decimals: int = 0) -> Tensor: return ops.round(self, decimals)
    def exp2(self) -> Tensor: return ops.exp2(self)
    def expm1(self) -> Tensor: return ops.expm1(self)
    def log2(self) -> Tensor: return ops.log2(self)
    def log10(self) -> Tensor: return ops.log10(self)
    def log1p(self) -> Tensor: return ops.log1p(self)
    def erf(self) -> Tensor: return ops.erf(self)
    def erfc(self) -> Tensor: return ops.erfc(self)
    def erfinv(self) -> Tensor: return ops.erfinv(self)
    def lgamma(self) -> Tensor: return ops.lgamma(self)
    def digamma(self) -> Tensor: return ops.digamma(self)
    def polygamma(self, n: int) -> Tensor: return ops.polygamma(n, self)
    def logit(self, eps: float | None = None) -> Tensor: return ops.logit(self, eps)
    def logaddexp(self, other: Any) -> Tensor: return ops.logaddexp(self, other)
    def hypot(self, other: Any) -> Tensor: return ops.hypot(self, other)
    def tan(self) -> Tensor: return ops.tan(self)
    def asin(self) -> Tensor: return ops.asin(self)
    def acos(self) -> Tensor: return ops.acos(self)
    def atan(self) -> Tensor: return ops.atan(self)
    def atan2(self, x: Any) -> Tensor: return ops.atan2(self, x)
    def sinh(self) -> Tensor: return ops.sinh(self)
    def cosh(self) -> Tensor: return ops.cosh(self)
    def asinh(self) -> Tensor: return ops.asinh(self)
    def acosh(self) -> Tensor: return ops.acosh(self)
    def atanh(self) -> Tensor: return ops.atanh(self)
    def lerp(self, y: Any, weight: Any) -> Tensor: return ops.lerp(self, y, weight)
    def fmax(self, other: Any) -> Tensor: return ops.fmax(self, other)
    def fmin(self, other: Any) -> Tensor: return ops.fmin(self, other)
    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor: return ops.nan_to_num(self, nan, posinf, neginf)
    def isnan(self) -> Tensor: return ops.isnan(self)
    def isinf(self) -> Tensor: return ops.isinf(self)
    def isfinite(self) -> Tensor: return ops.isfinite(self)
    def isclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor: return ops.isclose(self, other, rtol, atol, equal_nan)
    def allclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool: return ops.allclose(self, other, rtol, atol, equal_nan)
    def dot(self, other: Any) -> Tensor: return ops.dot(self, other)
    def outer(self, other: Any) -> Tensor: return ops.outer(self, other)
    def inner(self, other: Any) -> Tensor: return ops.inner(self, other)
    def bmm(self, other: Any) -> Tensor: return ops.bmm(self, other)
    def mv(self, other: Any) -> Tensor: return ops.mv(self, other)
    def cross(self, other: Any, axis: int = -1) -> Tensor: return ops.cross(self, other, axis)
    def inv(self) -> Tensor: return ops.inv(self)
    def det(self) -> Tensor: return ops.det(self)
    def slogdet(self) -> tuple[Tensor, Tensor]: return ops.slogdet(self)
    def cholesky(self) -> Tensor: return ops.cholesky(self)
    def svd(self, full_matrices: bool = False) -> tuple[Tensor, Tensor, Tensor]: return ops.svd(self, full_matrices)
    def qr(self) -> tuple[Tensor, Tensor]: return ops.qr(self)
    def matrix_power(self, n: int) -> Tensor: return ops.matrix_power(self, n)
    def sign(self) -> Tensor: return ops.sign(self)
    def clip(self, low: float | None = None, high: float | None = None) -> Tensor: return ops.clip(self, low, high)
    def masked_fill(self, mask: Any, value: float) -> Tensor: return ops.masked_fill(self, mask, value)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.sum(self, axis, keepdims)
    def mean(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.mean(self, axis, keepdims)
    def var(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor: return ops.var(self, axis, keepdims, ddof)
    def max(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.max(self, axis, keepdims)
    def min(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.min(self, axis, keepdims)
    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor: return ops.argmax(self, axis, keepdims)
    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor: return ops.argmin(self, axis, keepdims)
    def any(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.any(self, axis, keepdims)
    def all(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.all(self, axis, keepdims)
    def prod(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.prod(self, axis, keepdims)
    def std(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor: return ops.std(self, axis, keepdims, ddof)
    def amax(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.max(self, axis, keepdims)
    def amin(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.min(self, axis, keepdims)
    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.logsumexp(self, axis, keepdims)
    def norm(self, p: float = 2, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.norm(self, p, axis, keepdims)
    def count_nonzero(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.count_nonzero(self, axis, keepdims)
    def nansum(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.nansum(self, axis, keepdims)
    def nanmean(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.nanmean(self, axis, keepdims)
    def median(self, axis: Axis = None, keepdims: bool = False) -> Tensor: return ops.median(self, axis, keepdims)
    def quantile(self, q: Any, axis: Axis = None, keepdims: bool = False, interpolation: str = "linear") -> Tensor: return ops.quantile(self, q, axis, keepdims, interpolation)
    def cumsum(self, axis: int | None = None) -> Tensor: return ops.cumsum(self, axis)
    def cumprod(self, axis: int | None = None) -> Tensor: return ops.cumprod(self, axis)
    def logcumsumexp(self, axis: int | None = None) -> Tensor: return ops.logcumsumexp(self, axis)
    def cummax(self, axis: int | None = None) -> tuple[Tensor, Tensor]: return ops.cummax(self, axis)
    def cummin(self, axis: int | None = None) -> tuple[Tensor, Tensor]: return ops.cummin(self, axis)
    def diff(self, n: int = 1, axis: int = -1) -> Tensor: return ops.diff(self, n, axis)
    def sort(self, axis: int | None = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]: return ops.sort(self, axis, descending, stable)
    def argsort(self, axis: int | None = -1, descending: bool = False, stable: bool = False) -> Tensor: return ops.argsort(self, axis, descending, stable)
    def topk(self, k: int, axis: int | None = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]: return ops.topk(self, k, axis, largest, sorted)
    def softmax(self, axis: int = -1) -> Tensor: return ops.softmax(self, axis)
    def log_softmax(self, axis: int = -1) -> Tensor: return ops.log_softmax(self, axis)

    def reshape(self, *shape: Any) -> Tensor: return ops.reshape(self, *shape)
    def transpose(self, *axes: Any) -> Tensor: return ops.transpose(self, *axes)
    def permute(self, *axes: Any) -> Tensor: return ops.permute(self, *axes)
    def swapaxes(self, axis1: int, axis2: int) -> Tensor: return ops.swapaxes(self, axis1, axis2)
    def squeeze(self, axis: Axis = None) -> Tensor: return ops.squeeze(self, axis)
    def expand_dims(self, axis: int | tuple[int, ...]) -> Tensor: return ops.expand_dims(self, axis)
    def unsqueeze(self, axis: int | tuple[int, ...]) -> Tensor: return ops.expand_dims(self, axis)
    def broadcast_to(self, *shape: Any) -> Tensor: return ops.broadcast_to(self, *shape)
    def moveaxis(self, source: Any, destination: Any) -> Tensor: return ops.moveaxis(self, source, destination)
    def flatten(self, start: int = 0, end: int = -1) -> Tensor: return ops.flatten(self, start, end)
    def unflatten(self, axis: int, sizes: Any) -> Tensor: return ops.unflatten(self, axis, sizes)
    def ravel(self) -> Tensor: return ops.ravel(self)
    def expand(self, *shape: Any) -> Tensor: return ops.expand(self, *shape)
    def flip(self, axis: Axis = None) -> Tensor: return ops.flip(self, axis)
    def roll(self, shift: Any, axis: Axis = None) -> Tensor: return ops.roll(self, shift, axis)
    def rot90(self, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor: return ops.rot90(self, k, axes)
    def repeat(self, repeats: Any, *more: Any, axis: int | None = None) -> Tensor: return ops.repeat(self, repeats, axis_to_repeat(self, repeats, more, axis))
    def repeat_interleave(self, repeats: Any, axis: int | None = None) -> Tensor: return ops.repeat(self, repeats, axis)
    def tile(self, reps: Any) -> Tensor: return ops.tile(self, reps)
    def chunk(self, chunks: int, axis: int = 0) -> tuple[Tensor, ...]: return ops.chunk(self, chunks, axis)
    def tensor_split(self, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]: return ops.array_split(self, indices_or_sections, axis)
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]: return ops.hsplit(self, indices_or_sections)
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]: return ops.vsplit(self, indices_or_sections)
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]: return ops.dsplit(self, indices_or_sections)
    def unbind(self, axis: int = 0) -> tuple[Tensor, ...]: return ops.unbind(self, axis)
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor: return ops.diagonal(self, offset, axis1, axis2)
    def diag(self, k: int = 0) -> Tensor: return ops.diag(self, k)
    def diag_embed(self, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor: return ops.diag_embed(self, offset, axis1, axis2)
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor: return ops.trace(self, offset, axis1, axis2)
    def unfold(self, axis: int, size: int, step: int = 1) -> Tensor: return ops.unfold(self, axis, size, step)
    def pad(self, pad_width: Any, mode: str = "constant", value: float = 0.0) -> Tensor: return ops.pad(self, pad_width, mode, value)
    def split(self, sections: Any, axis: int = 0) -> tuple[Tensor, ...]: return ops.split(self, sections, axis)
    def tril(self, k: int = 0) -> Tensor: return ops.tril(self, k)
    def triu(self, k: int = 0) -> Tensor: return ops.triu(self, k)
    def gather(self, axis: int, index: Any) -> Tensor: return ops.gather(self, axis, index)
    def scatter(self, axis: int, index: Any, src: Any) -> Tensor: return ops.scatter(self, axis, index, src)
    def scatter_add(self, axis: int, index: Any, src: Any) -> Tensor: return ops.scatter_add(self, axis, index, src)
    def index_add(self, axis: int, index: Any, source: Any, alpha: Any = 1) -> Tensor: return ops.index_add(self, axis, index, source, alpha)
    def index_select(self, axis: int, index: Any) -> Tensor: return ops.index_select(self, axis, index)
    def masked_select(self, mask: Any) -> Tensor: return ops.masked_select(self, mask)
    def masked_scatter(self, mask: Any, source: Any) -> Tensor: return ops.masked_scatter(self, mask, source)
    def take(self, indices: Any, axis: int | None = None) -> Tensor: return ops.take(self, indices, axis)
    def nonzero(self) -> tuple[Tensor, ...]: return ops.nonzero(self)
    def take_along_axis(self, indices: Any, axis: int | None) -> Tensor: return ops.take_along_axis(self, indices, axis)
    def multinomial(self, num_samples: int, replacement: bool = False, generator: Any = None) -> Tensor: return ops.multinomial(self, num_samples, replacement, generator)
    def astype(self, dtype: Any) -> Tensor: return ops.astype(self, dtype)
    def float(self) -> Tensor: return ops.astype(self, "float32")
    def double(self) -> Tensor: return ops.astype(self, "float64")
    def half(self) -> Tensor: return ops.astype(self, "float16")
    def long(self) -> Tensor: return ops.astype(self, "int64")
    def short(self) -> Tensor: return ops.astype(self, "int16")
    def int(self) -> Tensor: return ops.astype(self, "int32")
    def bool(self) -> Tensor: return ops.astype(self, "bool")
    def clone(self) -> Tensor: return ops.copy(self)
    def copy(self) -> Tensor: return ops.copy(self)
    # fmt: on

    @property
    def T(self) -> Tensor:
        """Axes in reverse order."""
        return ops.transpose(self)

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return ops.swapaxes(self, -1, -2)


def document() -> None:
    """Give every method its name in Python's own messages, the documentation of its op, and a hint
    for an argument that has another name in PyTorch or NumPy."""
    for mixin in Tensor.__mro__[1:-1]:
        for name, method in vars(mixin).items():
            if inspect.isfunction(method):
                method.__qualname__ = f"Tensor.{name}"
    for name, method in list(vars(Operators).items()):
        if callable(method):
            if method.__doc__ is None:
                method.__doc__ = getattr(getattr(ops, name, None), "__doc__", None)
            if not name.startswith("_") and len(inspect.signature(method).parameters) > 1:
                setattr(Operators, name, hinting(method))
