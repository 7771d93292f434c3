"""Convolution layers and Flatten.

Parameter names, shapes and starting values are PyTorch's, so its state dicts load as they are. The
inputs are (N, channels, length), (N, channels, height, width) or (N, channels, depth, height,
width); without N, so is the output.
"""

from __future__ import annotations

import math
from typing import Any

from .. import empty, operations
from ..operations.windows.convolution import paddings
from ..operations.windows.window_positions import per_axis
from ..tensor.axes import whole
from ..tensor.tensor import Tensor
from . import init
from .layers import check_size
from .module import Module
from .parameter import Parameter

#: PyTorch's names for what stands in the padding, in NumPy's words
_PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge",
                  "circular": "wrap"}  # fmt: skip


class _Convolution(Module):
    """What convolutions and transposed convolutions on any number of axes have in common."""

    dims: int
    padding_mode: str = "zeros"

    def _set_up(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, dilation: Any,
        groups: int,
    ) -> None:  # fmt: skip
        """Check the arguments and keep them, spelled out for each axis."""
        self.in_channels = check_size("in_channels", in_channels)
        self.out_channels = check_size("out_channels", out_channels)
        self.groups = check_size("groups", groups)
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % groups:
                raise ValueError(
                    f"groups: expected a divisor of {name} = {getattr(self, name)}, got {groups}"
                )
        self.kernel_size = per_axis("kernel_size", kernel_size, self.dims, 1)
        self.stride = per_axis("stride", stride, self.dims, 1)
        self.dilation = per_axis("dilation", dilation, self.dims, 1)

    def _make_parameters(self, shape: tuple[int, ...], bias: bool) -> None:
        """weight of this shape and bias from U(-k, k), k = 1/sqrt(fan_in)."""
        bound = 1.0 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(empty(shape))
        init.uniform_(self.weight, -bound, bound)
        self.bias: Parameter | None = None
        if bias:
            self.bias = Parameter(empty((self.out_channels,)))
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        plain = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1}
        for name, usual in plain.items():
            value = getattr(self, name, usual)
            if value not in (usual, (usual,) * self.dims):
                parts.append(f"{name}={value!r}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode!r}")
        return ", ".join(parts)


class _Conv(_Convolution):
    """Conv1d, Conv2d and Conv3d."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros",
    ):  # fmt: skip
        self._set_up(in_channels, out_channels, kernel_size, stride, dilation, groups)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode: expected one of {', '.join(_PADDING_MODES)}, got {padding_mode!r}"
            )
        self.padding_mode = padding_mode
        self._pads = paddings(
            type(self).__name__, padding, self.kernel_size, self.stride, self.dilation
        )
        named = isinstance(padding, str)
        self.padding = padding if named else tuple(before for before, _ in self._pads)
        self._make_parameters((out_channels, in_channels // groups, *self.kernel_size), bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, ...) -> (N, out_channels, ...'), or without N."""
        padding = self.padding
        if self.padding_mode != "zeros":
            widths = {axis - self.dims: pair for axis, pair in enumerate(self._pads)}
            x = operations.pad(x, widths, mode=_PADDING_MODES[self.padding_mode])
            padding = 0
        convolve = getattr(operations, f"conv{self.dims}d")
        return convolve(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_Convolution):
    """ConvTranspose1d, ConvTranspose2d and ConvTranspose3d."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1,
    ):  # fmt: skip
        self._set_up(in_channels, out_channels, kernel_size, stride, dilation, groups)
        self.padding = per_axis("padding", padding, self.dims, 0)
        self.output_padding = per_axis("output_padding", output_padding, self.dims, 0)
        self._make_parameters((in_channels, out_channels // groups, *self.kernel_size), bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, ...) -> (N, out_channels, ...'), or without N."""
        convolve = getattr(operations, f"conv_transpose{self.dims}d")
        return convolve(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups,
            self.dilation,
        )  # fmt: skip


class Conv1d(_Conv):
    """Convolution along the last axis: (N, in_channels, length) -> (N, out_channels, length').

    Args:
        in_channels, out_channels: sizes of the channel axis of input and output.
        kernel_size: length of the kernels.
        stride, padding, dilation, groups: as for :func:`tinytensor.conv1d`; ``padding`` may be
            "same" or "valid".
        bias: False leaves the bias out.
        padding_mode: what stands in the padding: "zeros", "reflect", "replicate" or "circular".

    Attributes:
        weight: (out_channels, in_channels / groups, kernel_size), from U(-k, k) with k =
            1/sqrt(in_channels / groups · kernel_size).
        bias: (out_channels,) or None, from the same.
    """

    dims = 1


class Conv2d(_Conv):
    """Convolution of images: (N, in_channels, height, width) -> (N, out_channels, height', width').

    Args:
        in_channels, out_channels: sizes of the channel axis of input and output.
        kernel_size: of the kernels; an integer or (height, width), as ``stride``, ``padding`` and
            ``dilation`` are.
        stride, padding, dilation, groups: as for :func:`tinytensor.conv2d`; ``padding`` may be
            "same" or "valid".
        bias: False leaves the bias out.
        padding_mode: what stands in the padding: "zeros", "reflect", "replicate" or "circular".

    Attributes:
        weight: (out_channels, in_channels / groups, kernel height, kernel width), from U(-k, k)
            with k = 1/sqrt(in_channels / groups · kernel height · kernel width).
        bias: (out_channels,) or None, from the same.
    """

    dims = 2


class Conv3d(_Conv):
    """Convolution of volumes (N, in_channels, depth, height, width): as :class:`Conv2d`, with
    integers or (depth, height, width) for arguments, and a kernel depth in ``weight``."""

    dims = 3


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution along the last axis: (N, in_channels, length) -> (N, out_channels,
    length').

    Args:
        in_channels, out_channels: sizes of the channel axis of input and output.
        kernel_size: length of the kernels.
        stride, padding, output_padding, groups, dilation: as for
            :func:`tinytensor.conv_transpose1d`.
        bias: False leaves the bias out.

    Attributes:
        weight: (in_channels, out_channels / groups, kernel_size), from U(-k, k) with k =
            1/sqrt(out_channels / groups · kernel_size).
        bias: (out_channels,) or None, from the same.
    """

    dims = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images: (N, in_channels, height, width) -> (N, out_channels,
    height', width').

    Args:
        in_channels, out_channels: sizes of the channel axis of input and output.
        kernel_size: of the kernels; an integer or (height, width), as all that follow.
        stride, padding, output_padding, groups, dilation: as for
            :func:`tinytensor.conv_transpose2d`.
        bias: False leaves the bias out.

    Attributes:
        weight: (in_channels, out_channels / groups, kernel height, kernel width), from U(-k, k)
            with k = 1/sqrt(out_channels / groups · kernel height · kernel width).
        bias: (out_channels,) or None, from the same.
    """

    dims = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes (N, in_channels, depth, height, width): as
    :class:`ConvTranspose2d`, with integers or (depth, height, width) for arguments, and a kernel
    depth in ``weight``."""

    dims = 3


class Flatten(Module):
    """Axes ``start_dim`` to ``end_dim`` as one; by default all but the batch's."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim = whole("start_dim", start_dim)
        self.end_dim = whole("end_dim", end_dim)

    def forward(self, x: Tensor) -> Tensor:
        """(N, a, b, ...) -> (N, a · b · ...)."""
        return operations.flatten(x, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
