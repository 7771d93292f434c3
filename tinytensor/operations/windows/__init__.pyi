# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""What slides over signals and images: padding, convolution, pooling, resizing."""

from collections.abc import Sequence
from typing import Any, Literal, overload

from ...define.operand import Axis, Operand, Sizes
from ...tensor.tensor import Tensor

def pad(
    x: Operand,
    pad_width: int | Sequence[Any] | dict[int, Any],
    mode: str = "constant",
    value: float = 0.0,
) -> Tensor:
    """Add elements in front and behind along the axes."""

def unfold(x: Operand, axis: int, size: int, step: int = 1) -> Tensor:
    """Windows of ``size`` elements along ``axis``, one every ``step``: PyTorch's ``x.unfold``."""

def overlap_add(x: Operand, axis: int, length: int, step: int = 1) -> Tensor:
    """The transpose of :func:`unfold`: windows (..., count, ..., size) laid along ``axis`` every
    ``step`` elements and added up where they overlap, over ``length`` elements in all."""

def sliding_window_view(x: Operand, window_shape: Sizes, axis: Axis = None) -> Tensor:
    """NumPy's words for windows one element apart: the axes ``axis`` (all by default) become the
    numbers of windows, and new last axes of lengths ``window_shape`` hold them."""

def conv1d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution along one axis: :func:`conv2d` without the height."""

def conv2d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Each output is the sum of a window of ``x`` times a kernel: LeCun et al. 1989."""

def conv_transpose1d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution along one axis: :func:`conv_transpose2d` without the height."""

def conv_transpose2d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The gradient of :func:`conv2d` as an operation of its own (Zeiler et al. 2010): each element
    of ``x`` adds its multiple of the kernel to the output, ``stride`` apart."""

def conv3d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes: :func:`conv2d` with a depth in front of the height."""

def conv_transpose3d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution of volumes: :func:`conv_transpose2d` with a depth in front."""

@overload
def max_pool1d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window along the last axis: :func:`max_pool2d` without the
    height, for x (N, C, length) or (C, length)."""

@overload
def max_pool1d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest element of each window along the last axis: :func:`max_pool2d` without the
    height, for x (N, C, length) or (C, length)."""

@overload
def max_pool2d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window."""

@overload
def max_pool2d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest element of each window."""

@overload
def max_pool3d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window of volumes: :func:`max_pool2d` with a depth in front of
    the height, for x (N, C, depth, height, width) or (C, depth, height, width)."""

@overload
def max_pool3d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of volumes: :func:`max_pool2d` with a depth in front of
    the height, for x (N, C, depth, height, width) or (C, depth, height, width)."""

def avg_pool1d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window along the last axis: :func:`avg_pool2d` without the height, for x (N,
    C, length) or (C, length)."""

def avg_pool2d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window."""

def avg_pool3d(
    x: Operand,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of volumes: :func:`avg_pool2d` with a depth in front of the height,
    for x (N, C, depth, height, width) or (C, depth, height, width)."""

@overload
def adaptive_max_pool1d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest of each of ``output_size`` windows along the last axis: see
    :func:`adaptive_max_pool2d`; x is (N, C, length) or (C, length)."""

@overload
def adaptive_max_pool1d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest of each of ``output_size`` windows along the last axis: see
    :func:`adaptive_max_pool2d`; x is (N, C, length) or (C, length)."""

@overload
def adaptive_max_pool2d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each of ``output_size`` windows that cover ``x`` evenly."""

@overload
def adaptive_max_pool2d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest element of each of ``output_size`` windows that cover ``x`` evenly."""

@overload
def adaptive_max_pool3d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest of each of ``output_size`` windows of volumes: see :func:`adaptive_max_pool2d`; x
    is (N, C, depth, height, width) or (C, depth, height, width)."""

@overload
def adaptive_max_pool3d(
    x: Operand,
    output_size: int | Sequence[int | None] | None,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]:
    """The largest of each of ``output_size`` windows of volumes: see :func:`adaptive_max_pool2d`; x
    is (N, C, depth, height, width) or (C, depth, height, width)."""

def adaptive_avg_pool1d(x: Operand, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of each of ``output_size`` windows along the last axis: see
    :func:`adaptive_avg_pool2d`; x is (N, C, length) or (C, length)."""

def adaptive_avg_pool2d(x: Operand, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of each of ``output_size`` windows that cover ``x`` evenly; with 1, of each
    channel."""

def adaptive_avg_pool3d(x: Operand, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of each of ``output_size`` windows of volumes: see :func:`adaptive_avg_pool2d`; x is
    (N, C, depth, height, width) or (C, depth, height, width)."""

def interpolate(
    x: Operand,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    recompute_scale_factor: bool = False,
) -> Tensor:
    """``x`` in another size: ``torch.nn.functional.interpolate``."""
