"""Convolution in one, two and three dimensions, and its transpose, as users call them.

Here everything is checked and spelled out for each axis; :mod:`.cross_correlation` computes.
"""

from __future__ import annotations

from typing import Any

from .cross_correlation import conv, conv_transpose, settings
from .window_positions import Ints, batched, count_windows, per_axis


def paddings(
    name: str, padding: Any, kernel: Ints, stride: Ints, dilation: Ints
) -> tuple[tuple[int, int], ...]:
    """Zeros in front of and behind each axis, from a number, several, "same" or "valid"."""
    dims = len(kernel)
    if not isinstance(padding, str):
        return tuple((p, p) for p in per_axis(f"{name}: padding", padding, dims, 0))
    if padding not in ("same", "valid"):
        raise ValueError(
            f"{name}: padding: expected integers >= 0, 'same' or 'valid', got {padding!r}"
        )
    if padding == "valid":
        return ((0, 0),) * dims
    if max(stride) > 1:
        raise ValueError(f"{name}: stride: expected 1 with padding='same', got {stride}")
    total = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    return tuple((t // 2, t - t // 2) for t in total)


def _checked(
    name: str, dims: int, x: Any, weight: Any, bias: Any, groups: Any, transposed: bool
) -> tuple[Any, bool]:
    """x with a batch axis, and whether it had one; the shapes fit together, or ValueError."""
    x, had_batch = batched(name, x, dims)
    (groups,) = per_axis(f"{name}: groups", groups, 1, 1)
    channels = x.shape[1]
    if channels % groups:
        raise ValueError(
            f"{name}: groups: expected a divisor of the {channels} channels of x, got {groups}"
        )
    shape: Any = getattr(weight, "shape", None)
    kernel = ", ".join(("kernel",) * dims)
    wanted = (
        f"({channels}, out / groups, {kernel})"
        if transposed
        else f"(out, {channels // groups}, {kernel})"
    )
    fits = (
        shape is not None
        and len(shape) == dims + 2
        and 0 not in shape[2:]
        and (shape[0] == channels if transposed else shape[1] == channels // groups)
    )
    if not fits:
        raise ValueError(
            f"{name}: weight: expected shape {wanted} for x of shape {x.shape} with "
            f"groups={groups}, got {shape if shape is not None else type(weight).__name__}"
        )
    if not transposed and shape[0] % groups:
        raise ValueError(
            f"{name}: groups: expected a divisor of the {shape[0]} outputs of weight {shape}, got "
            f"{groups}"
        )
    out = shape[1] * groups if transposed else shape[0]
    if bias is not None and getattr(bias, "shape", None) != (out,):
        raise ValueError(
            f"{name}: bias: expected shape ({out},), one number per output channel, got "
            f"{getattr(bias, 'shape', type(bias).__name__)}"
        )
    return x, had_batch


def _convolve(
    name: str, dims: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any,
) -> Any:  # fmt: skip
    """conv with everything checked and spelled out for each axis."""
    x, had_batch = _checked(name, dims, x, weight, bias, groups, transposed=False)
    kernel = weight.shape[2:]
    stride = per_axis(f"{name}: stride", stride, dims, 1)
    dilation = per_axis(f"{name}: dilation", dilation, dims, 1)
    pads = paddings(name, padding, kernel, stride, dilation)
    size = count_windows(name, x.shape[2:], kernel, stride, pads, dilation)
    front = tuple(before for before, _ in pads)
    out = conv(x, weight, bias, **settings(stride, front, dilation, int(groups), size))
    return out if had_batch else out.squeeze(0)


def _convolve_back(
    name: str, dims: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: Any, dilation: Any,
) -> Any:  # fmt: skip
    """conv_transpose with everything checked and spelled out for each axis."""
    x, had_batch = _checked(name, dims, x, weight, bias, groups, transposed=True)
    stride = per_axis(f"{name}: stride", stride, dims, 1)
    padding = per_axis(f"{name}: padding", padding, dims, 0)
    dilation = per_axis(f"{name}: dilation", dilation, dims, 1)
    extra = per_axis(f"{name}: output_padding", output_padding, dims, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ValueError(
            f"{name}: output_padding: expected less than stride {stride} or dilation {dilation} "
            f"on each axis, got {extra}"
        )
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, k, s, p, d, e in zip(
            x.shape[2:], weight.shape[2:], stride, padding, dilation, extra, strict=True
        )
    )
    if min(size) < 1:
        raise ValueError(
            f"{name}: padding: expected to leave an output of at least 1 on each axis, got "
            f"{padding}, which leaves {size}"
        )
    out = conv_transpose(x, weight, bias, **settings(stride, padding, dilation, int(groups), size))
    return out if had_batch else out.squeeze(0)


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Convolution along one axis: :func:`conv2d` without the height.

    Args:
        x: (N, C, length) or (C, length). weight: (out, C / groups, kernel). bias: (out,) or None.
        stride, padding, dilation, groups: as for :func:`conv2d`.

    Returns:
        (N, out, length') or (out, length').
    """
    return _convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Each output is the sum of a window of ``x`` times a kernel: LeCun et al. 1989.

    ``out[o, i, j] = bias[o] + Σ_{c,u,v} x[c, i·s - p + u·d, j·s - p + v·d] weight[o, c, u, v]``
    with zeros outside of x, and length' = (length + 2·padding - dilation·(kernel - 1) - 1) //
    stride + 1, as in PyTorch.

    Args:
        x: (N, C, height, width) or (C, height, width).
        weight: (out, C / groups, kernel height, kernel width).
        bias: (out,) or None.
        stride: steps between windows; an integer or one per axis.
        padding: zeros on both sides; an integer, one per axis, "valid" (none), or "same" (the
            output is as large as x; of an odd number of zeros the last stands behind; stride 1).
        dilation: steps between the elements of the kernel; an integer or one per axis.
        groups: the channels are cut into so many groups, each with kernels of its own.

    Returns:
        (N, out, height', width'), or without N where x has none.

    Raises:
        ValueError: shapes that do not fit together, a kernel larger than the padded x, or a
            setting out of range.
    """
    return _convolve("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """Transposed convolution along one axis: :func:`conv_transpose2d` without the height.

    Args:
        x: (N, C, length) or (C, length). weight: (C, out / groups, kernel). bias: (out,) or None.

    Returns:
        (N, out, length') or (out, length').
    """
    return _convolve_back(
        "conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The gradient of :func:`conv2d` as an operation of its own (Zeiler et al. 2010): each element
    of ``x`` adds its multiple of the kernel to the output, ``stride`` apart.

    length' = (length - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1, as in
    PyTorch.

    Args:
        x: (N, C, height, width) or (C, height, width).
        weight: (C, out / groups, kernel height, kernel width), as conv2d from the output to x has.
        bias: (out,) or None.
        stride: steps between neighbours of x in the output; an integer or one per axis.
        padding: what is cut from both sides of the output.
        output_padding: rows and columns more at the end, to choose between the sizes that conv2d
            with this stride makes into one; less than stride or dilation.
        groups, dilation: as for conv2d.

    Returns:
        (N, out, height', width'), or without N where x has none.

    Raises:
        ValueError: shapes that do not fit together, an output of nothing, or a setting out of
            range.
    """
    return _convolve_back(
        "conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolution of volumes: :func:`conv2d` with a depth in front of the height.

    Args:
        x: (N, C, depth, height, width) or (C, depth, height, width).
        weight: (out, C / groups, kernel depth, height, width). bias: (out,) or None.
        stride, padding, dilation, groups: as for :func:`conv2d`.

    Returns:
        (N, out, depth', height', width'), or without N where x has none.
    """
    return _convolve("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Transposed convolution of volumes: :func:`conv_transpose2d` with a depth in front.

    Args:
        x: (N, C, depth, height, width) or (C, depth, height, width).
        weight: (C, out / groups, kernel depth, height, width). bias: (out,) or None.
        stride, padding, output_padding, groups, dilation: as for :func:`conv_transpose2d`.

    Returns:
        (N, out, depth', height', width'), or without N where x has none.
    """
    return _convolve_back(
        "conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation
    )
