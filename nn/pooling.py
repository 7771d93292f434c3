"""Pooling layers: the largest or the mean element of each window; arguments are PyTorch's.

The inputs are (N, channels, length), (N, channels, height, width) or (N, channels, depth, height,
width); without N, so is the output.
"""

from __future__ import annotations

from typing import Any

from .. import operations
from ..operations.windows.window_positions import per_axis
from ..tensor.tensor import Tensor
from .module import Module


class _Pool(Module):
    """Max and average pooling: the windows."""

    dims: int

    def _set_up(self, kernel_size: Any, stride: Any, padding: Any) -> None:
        self.kernel_size = per_axis("kernel_size", kernel_size, self.dims, 1)
        self.stride = (
            self.kernel_size if stride is None else per_axis("stride", stride, self.dims, 1)
        )
        self.padding = per_axis("padding", padding, self.dims, 0)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size, strict=True)):
            raise ValueError(
                f"padding: expected at most half of kernel_size {self.kernel_size}, got {padding}"
            )

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_Pool):
    """MaxPool1d, MaxPool2d and MaxPool3d."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        self._set_up(kernel_size, stride, padding)
        self.dilation = per_axis("dilation", dilation, self.dims, 1)
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Any:
        """(N, C, ...) -> (N, C, ...'), or without N; with return_indices a pair."""
        pool = getattr(operations, f"max_pool{self.dims}d")
        return pool(
            x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool1d(_MaxPool):
    """The largest element of each window: see :func:`tinytensor.max_pool1d`."""

    dims = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window: see :func:`tinytensor.max_pool2d`."""

    dims = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window: see :func:`tinytensor.max_pool3d`."""

    dims = 3


class AvgPool1d(_Pool):
    """The mean of each window: see :func:`tinytensor.avg_pool1d`."""

    dims = 1

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):  # fmt: skip
        self._set_up(kernel_size, stride, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, length) -> (N, C, length'), or without N."""
        return operations.avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_Pool):
    """The mean of each window: see :func:`tinytensor.avg_pool2d`."""

    dims = 2

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ):  # fmt: skip
        self._set_up(kernel_size, stride, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, ...) -> (N, C, ...'), or without N."""
        pool = getattr(operations, f"avg_pool{self.dims}d")
        return pool(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(AvgPool2d):
    """The mean of each window: see :func:`tinytensor.avg_pool3d`."""

    dims = 3


class _AdaptivePool(Module):
    """Pooling with as many windows as the output is to have."""

    dims: int

    def __init__(self, output_size: Any):
        sizes = 1 if output_size is None else output_size  # None: as many as the input has
        if isinstance(sizes, (tuple, list)):
            sizes = tuple(1 if n is None else n for n in sizes)
        per_axis("output_size", sizes, self.dims, 0)
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_AdaptivePool):
    """The mean, on any number of axes."""

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, ...) -> (N, C, *output_size), or without N."""
        return getattr(operations, f"adaptive_avg_pool{self.dims}d")(x, self.output_size)


class _AdaptiveMaxPool(_AdaptivePool):
    """The largest, on any number of axes."""

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Any:
        """(N, C, ...) -> (N, C, *output_size), or without N; with return_indices a pair."""
        pool = getattr(operations, f"adaptive_max_pool{self.dims}d")
        return pool(x, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean of each of output_size windows: see :func:`tinytensor.adaptive_avg_pool1d`."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of each of output_size windows: see :func:`tinytensor.adaptive_avg_pool2d`."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of each of output_size windows: see :func:`tinytensor.adaptive_avg_pool3d`."""

    dims = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest of each of output_size windows: see :func:`tinytensor.adaptive_max_pool1d`."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest of each of output_size windows: see :func:`tinytensor.adaptive_max_pool2d`."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest of each of output_size windows: see :func:`tinytensor.adaptive_max_pool3d`."""

    dims = 3
