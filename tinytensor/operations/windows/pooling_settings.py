"""What both kinds of pooling take."""

from __future__ import annotations

from typing import Any

from .window_positions import Ints, batched, count_windows, per_axis


def windows(kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, size: Ints) -> dict:
    return {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "size": size,
    }  # fmt: skip


def pooled(
    name: str, dims: int, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Any, bool, dict[str, Any]]:  # fmt: skip
    """x with a batch axis, whether it had one, and the settings of a pooling, all checked."""
    x, had_batch = batched(name, x, dims)
    if 0 in x.shape[2:]:
        raise ValueError(f"{name}: x: expected elements to pool over, got shape {x.shape}")
    kernel = per_axis(f"{name}: kernel_size", kernel, dims, 1)
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        stride = kernel  # PyTorch takes an empty list for it, too
    stride = per_axis(f"{name}: stride", stride, dims, 1)
    padding = per_axis(f"{name}: padding", padding, dims, 0)
    dilation = per_axis(f"{name}: dilation", dilation, dims, 1)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ValueError(
            f"{name}: padding: expected at most half of the kernel {kernel}, got {padding}"
        )
    size = count_windows(
        name, x.shape[2:], kernel, stride, [(p, p) for p in padding], dilation, ceil_mode
    )
    settings = windows(kernel, stride, padding, dilation, size)
    for n, k, s, p, d, m in zip(x.shape[2:], *settings.values(), strict=True):
        if d > 1 and any(all(not 0 <= i * s - p + t * d < n for t in range(k)) for i in range(m)):
            raise ValueError(
                f"{name}: dilation: expected every window to see an element of x {x.shape}, got "
                f"{dilation} with a kernel of {kernel} and padding {padding}: one sees padding only"
            )
    return x, had_batch, settings
