"""Pooling by the mean of each window. It is linear, and its transpose is an op of its own."""

from __future__ import annotations

import math
from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample
from .pooling_settings import pooled, windows
from .window_positions import Ints, Windows


def _divisor(
    xp: Any, windows: Windows, spatial: Ints, count_include_pad: bool, override: Any, dtype: Any
) -> Any:
    """What the sum of each window is divided by: a number, or an array of shape ``size``."""
    if override is not None:
        return override
    if all(
        (count_include_pad or not p) and (m - 1) * s - p + k <= n + p
        for k, s, p, _, m, n in zip(*windows, spatial, strict=True)
    ):
        return math.prod(windows.kernel)
    counts: Any = 1
    for i, (k, s, p, _, m, n) in enumerate(zip(*windows, spatial, strict=True)):
        start = xp.arange(m) * s - p
        stop = xp.minimum(start + k, n + p)
        if not count_include_pad:
            start, stop = xp.maximum(start, 0), xp.minimum(stop, n)
        counts = counts * (stop - start).reshape(-1, *(1,) * (len(spatial) - 1 - i))
    return counts.astype(dtype)


def _avg_samples(x_first: bool) -> Any:
    shapes: list[tuple[Ints, dict[str, Any], bool, int | None]] = [
        ((2, 2, 6), windows((2,), (2,), (0,), (1,), (3,)), True, None),
        ((1, 2, 5), windows((3,), (1,), (1,), (1,), (5,)), False, None),
        ((1, 1, 6), windows((3,), (2,), (1,), (1,), (4,)), True, None),
        ((1, 2, 4, 5), windows((2, 3), (2, 1), (1, 0), (1, 1), (3, 3)), True, None),
        ((1, 1, 4, 4), windows((3, 3), (2, 2), (1, 1), (1, 1), (3, 3)), False, None),
        ((1, 1, 4, 4), windows((2, 2), (2, 2), (0, 0), (1, 1), (2, 2)), True, 3),
        ((0, 2, 4), windows((2,), (2,), (0,), (1,), (2,)), True, None),
    ]

    def samples(r: Draw) -> list[Sample]:
        made = []
        for shape, window, include, override in shapes:
            settings = {**window, "count_include_pad": include, "divisor_override": override}
            if x_first:
                made.append(Sample(r(*shape), **settings))
            else:
                made.append(Sample(r(*shape[:2], *window["size"]), shape=shape, **settings))
        return made

    return samples


@op(
    "x",
    name="avg_pool",
    formula="Σ x / n over each window",
    gradient="dx = g / n, added to each element of its window",
    wide=True,
    samples=_avg_samples(True),
)
def _avg_pool(
    xp, x, *, kernel, stride, padding, dilation, size, count_include_pad, divisor_override
):
    """The mean of each window of x (N, C, ...)."""
    windows = Windows(kernel, stride, padding, dilation, size)
    seen = windows.taps(windows.padded(xp, x))
    total = next(seen).copy()
    for part in seen:
        total += part
    return total / _divisor(
        xp, windows, x.shape[2:], count_include_pad, divisor_override, total.dtype
    )


@op(
    "g",
    name="avg_pool_grad",
    formula="g / n, added to each element of its window",
    gradient="dg = avg_pool of the gradient",
    wide=True,
    samples=_avg_samples(False),
)
def _avg_pool_grad(
    xp, g, *, shape, kernel, stride, padding, dilation, size, count_include_pad, divisor_override
):
    """The transpose of avg_pool on an x of ``shape``."""
    windows = Windows(kernel, stride, padding, dilation, size)
    share = g / _divisor(xp, windows, shape[2:], count_include_pad, divisor_override, g.dtype)
    canvas, out = windows.canvas(xp, shape[:2], shape[2:], g.dtype)
    for target in windows.taps(canvas):
        target += share
    return xp.ascontiguousarray(out)


def _avg_settings(k: Any) -> dict[str, Any]:
    return {
        **windows(k.kernel, k.stride, k.padding, k.dilation, k.size),
        "count_include_pad": k.count_include_pad,
        "divisor_override": k.divisor_override,
    }


_avg_pool.vjp(x=lambda xp, g, k: k.run(_avg_pool_grad, g, shape=k.shape_of(), **_avg_settings(k)))
_avg_pool_grad.vjp(g=lambda xp, g, k: k.run(_avg_pool, g, **_avg_settings(k)))


def _avg(
    name: str, dims: int, x: Any, *settings: Any, count_include_pad: bool, override: Any = None
) -> Any:
    kernel, stride, padding, ceil_mode = settings
    x, had_batch, found = pooled(name, dims, x, kernel, stride, padding, 1, ceil_mode)
    if override is not None and (isinstance(override, bool) or not override):
        raise ValueError(
            f"{name}: divisor_override: expected a number other than 0, got {override!r}"
        )
    out = _avg_pool(
        x, count_include_pad=bool(count_include_pad), divisor_override=override, **found
    )
    return out if had_batch else out.squeeze(0)


def avg_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window along the last axis: :func:`avg_pool2d` without the height, for x
    (N, C, length) or (C, length)."""
    return _avg(
        "avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad=count_include_pad,
    )  # fmt: skip


def avg_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window.

    Args:
        x: (N, C, height, width) or (C, height, width).
        kernel_size, stride, ceil_mode: as for :func:`max_pool2d`.
        padding: zeros on both sides, at most half of the kernel.
        count_include_pad: whether the zeros count as elements of the mean. What lies beyond the
            padding, where ``ceil_mode`` reaches, never does.
        divisor_override: what to divide each sum by, instead of the number of elements.

    Returns:
        (N, C, height', width'), or without N where x has none.

    Raises:
        ValueError: a kernel larger than the padded x, or a setting out of range.
    """
    return _avg(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad=count_include_pad, override=divisor_override,
    )  # fmt: skip


def avg_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of volumes: :func:`avg_pool2d` with a depth in front of the height,
    for x (N, C, depth, height, width) or (C, depth, height, width)."""
    return _avg(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode,
        count_include_pad=count_include_pad, override=divisor_override,
    )  # fmt: skip
