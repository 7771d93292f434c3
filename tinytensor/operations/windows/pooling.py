"""Pooling: the largest or the mean element of each window, for any number of spatial axes.

Maxima remember where they were found, as a position in the flattened spatial axes. Their gradient
puts numbers at positions, the gradient of that picks numbers from positions, and so on: two ops
for derivatives of any order. Means are linear, and each has its transpose as an op of its own.
"""

from __future__ import annotations

import math
from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample
from .window_positions import Ints, Windows, batched, count_windows, per_axis


# -- where maxima are -----------------------------------------------------------------------
def _flat(xp: Any, positions: Any, shape: Ints) -> Any:
    """Positions (N, C, ...) within each plane of an array of ``shape``, as positions in all of
    it, flattened."""
    planes, area = math.prod(shape[:2]), math.prod(shape[2:])
    within = positions.reshape(planes, math.prod(positions.shape[2:]))
    return (within + xp.arange(planes)[:, None] * area).reshape(-1)


@op(
    "g positions",
    keeps="positions",
    formula="zeros, with g added at positions of each plane",
    gradient="dg = the gradient at positions",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 2, 3), r.ints(5, 2, 2, 3), (2, 2, 5)),
        Sample(r(1, 2, 2, 2), r.ints(12, 1, 2, 2, 2), (1, 2, 3, 4)),
        Sample(r(0, 2, 2), r.ints(4, 0, 2, 2), (0, 2, 4)),
    ],
)
def pool_put(xp, g, positions, shape):
    """Zeros of ``shape`` (N, C, ...) with g (N, C, ...') added at ``positions``, integers of g's
    shape that count through the flattened spatial axes of each plane."""
    out = xp.zeros(math.prod(shape), dtype=g.dtype)
    xp.add.at(out, _flat(xp, positions, shape), g.reshape(-1))
    return out.reshape(shape)


@op(
    "x positions",
    keeps="positions",
    formula="x at positions of each plane",
    gradient="dx = zeros with g added at positions",
    samples=lambda r: [
        Sample(r(2, 2, 5), r.ints(5, 2, 2, 3)),
        Sample(r(1, 2, 3, 4), r.ints(12, 1, 2, 2, 2)),
        Sample(r(0, 2, 4), r.ints(4, 0, 2, 2)),
    ],
)
def pool_pick(xp, x, positions):
    """The elements of x (N, C, ...) at ``positions`` (N, C, ...') of :func:`pool_put`."""
    return x.reshape(-1)[_flat(xp, positions, x.shape)].reshape(positions.shape)


pool_put.vjp(g=lambda xp, g, k: k.run(pool_pick, g, k.positions))
pool_pick.vjp(x=lambda xp, g, k: k.run(pool_put, g, k.positions, shape=k.shape_of()))


def to_maxima(xp: Any, g: Any, k: Any) -> Any:
    """The VJP of an op with the outputs maxima and positions: g to where the maxima were."""
    return k.run(pool_put, g[0], k.positions, shape=k.shape_of())


# -- the largest ----------------------------------------------------------------------------
def _seen_positions(xp: Any, windows: Windows, spatial: Ints) -> Any:
    """Where each tap looks in each window, in the flattened spatial axes: (taps, windows).

    For a tap that looks into the padding it is the nearest element of x in the window: the one
    that PyTorch names where all of a window is -inf.
    """
    flat = xp.zeros((1, 1), dtype="int64")
    for k, s, p, d, m, n in zip(*windows, spatial, strict=True):
        seen = xp.arange(k)[:, None] * d + (xp.arange(m) * s - p)
        if p:
            seen = xp.maximum(seen, xp.min(xp.where(seen < 0, n, seen), axis=0))
        seen = xp.minimum(seen, n - 1)
        flat = flat[:, None, :, None] * n + seen[None, :, None, :]
        flat = flat.reshape(flat.shape[0] * k, flat.shape[2] * m)
    return flat


def _lowest(xp: Any, dtype: Any) -> float:
    return -math.inf if dtype.kind == "f" else int(xp.iinfo(dtype).min)


def _windows(kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, size: Ints) -> dict:
    return {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "size": size,
    }  # fmt: skip


@op(
    "x",
    name="max_pool",
    outputs=2,
    keeps="positions",
    formula="the largest x in each window, and its position",
    gradient="dx = g at the first maximum of each window",
    wide=True,
    samples=lambda r: [
        Sample(r.apart(2, 2, 6), **_windows((2,), (2,), (0,), (1,), (3,))),
        Sample(r.apart(1, 2, 5), **_windows((3,), (1,), (1,), (1,), (5,))),
        Sample(r.apart(1, 1, 4), **_windows((2,), (2,), (1,), (1,), (3,))),
        Sample(r.apart(1, 2, 4, 5), **_windows((2, 3), (2, 1), (1, 0), (1, 2), (3, 1))),
        Sample(r.apart(1, 1, 4, 4), **_windows((3, 3), (1, 1), (1, 1), (1, 1), (4, 4))),
        Sample(
            r.apart(1, 1, 2, 3, 2), **_windows((2, 2, 1), (1, 1, 1), (0,) * 3, (1,) * 3, (1, 2, 2))
        ),
        Sample(r.apart(0, 2, 4), **_windows((2,), (2,), (0,), (1,), (2,))),
    ],  # fmt: skip
)
def _max_pool(xp, x, *, kernel, stride, padding, dilation, size):
    """The largest element of each window of x (N, C, ...), and its position (int64) in the
    flattened spatial axes; of several equal ones the first, of several NaNs the last."""
    windows = Windows(kernel, stride, padding, dilation, size)
    taps, places = math.prod(kernel), math.prod(size)
    # the tap that won: in as few bytes as can be, for there is a pass over them per tap
    small = "uint8" if taps <= 256 else "int32"
    seen = windows.taps(windows.padded(xp, x, _lowest(xp, x.dtype)))
    best = next(seen).copy()
    winner = xp.zeros(best.shape, dtype=small)
    for tap, candidate in enumerate(seen, start=1):
        better = (candidate > best) | (candidate != candidate)
        xp.maximum(best, candidate, out=best)
        xp.maximum(winner, xp.multiply(better, tap, dtype=small), out=winner)
    table = _seen_positions(xp, windows, x.shape[2:]).reshape(-1)
    column = xp.arange(places).reshape(size)
    positions = table[winner.astype("int64") * places + column]
    return (best, positions), positions


_max_pool.vjp(x=to_maxima)


# -- the mean -------------------------------------------------------------------------------
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
        ((2, 2, 6), _windows((2,), (2,), (0,), (1,), (3,)), True, None),
        ((1, 2, 5), _windows((3,), (1,), (1,), (1,), (5,)), False, None),
        ((1, 1, 6), _windows((3,), (2,), (1,), (1,), (4,)), True, None),
        ((1, 2, 4, 5), _windows((2, 3), (2, 1), (1, 0), (1, 1), (3, 3)), True, None),
        ((1, 1, 4, 4), _windows((3, 3), (2, 2), (1, 1), (1, 1), (3, 3)), False, None),
        ((1, 1, 4, 4), _windows((2, 2), (2, 2), (0, 0), (1, 1), (2, 2)), True, 3),
        ((0, 2, 4), _windows((2,), (2,), (0,), (1,), (2,)), True, None),
    ]

    def samples(r: Draw) -> list[Sample]:
        made = []
        for shape, windows, include, override in shapes:
            settings = {**windows, "count_include_pad": include, "divisor_override": override}
            if x_first:
                made.append(Sample(r(*shape), **settings))
            else:
                made.append(Sample(r(*shape[:2], *windows["size"]), shape=shape, **settings))
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
        **_windows(k.kernel, k.stride, k.padding, k.dilation, k.size),
        "count_include_pad": k.count_include_pad,
        "divisor_override": k.divisor_override,
    }


_avg_pool.vjp(x=lambda xp, g, k: k.run(_avg_pool_grad, g, shape=k.shape_of(), **_avg_settings(k)))
_avg_pool_grad.vjp(g=lambda xp, g, k: k.run(_avg_pool, g, **_avg_settings(k)))


# -- what users call ------------------------------------------------------------------------
def _pooled(
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
    settings = _windows(kernel, stride, padding, dilation, size)
    for n, k, s, p, d, m in zip(x.shape[2:], *settings.values(), strict=True):
        if d > 1 and any(all(not 0 <= i * s - p + t * d < n for t in range(k)) for i in range(m)):
            raise ValueError(
                f"{name}: dilation: expected every window to see an element of x {x.shape}, got "
                f"{dilation} with a kernel of {kernel} and padding {padding}: one sees padding only"
            )
    return x, had_batch, settings


def _max(name: str, dims: int, x: Any, *settings: Any, return_indices: bool) -> Any:
    x, had_batch, found = _pooled(name, dims, x, *settings)
    out, positions = _max_pool(x, **found)
    if not had_batch:
        out, positions = out.squeeze(0), positions.squeeze(0)
    return (out, positions) if return_indices else out


def _avg(
    name: str, dims: int, x: Any, *settings: Any, count_include_pad: bool, override: Any = None
) -> Any:
    kernel, stride, padding, ceil_mode = settings
    x, had_batch, found = _pooled(name, dims, x, kernel, stride, padding, 1, ceil_mode)
    if override is not None and (isinstance(override, bool) or not override):
        raise ValueError(
            f"{name}: divisor_override: expected a number other than 0, got {override!r}"
        )
    out = _avg_pool(
        x, count_include_pad=bool(count_include_pad), divisor_override=override, **found
    )
    return out if had_batch else out.squeeze(0)


def max_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window along the last axis: :func:`max_pool2d` without the
    height, for x (N, C, length) or (C, length)."""
    return _max(
        "max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode,
        return_indices=return_indices,
    )  # fmt: skip


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window.

    All of a window's gradient goes to the first of its largest elements in row-major order, as in
    PyTorch (:func:`max` shares it among equals instead); a window with NaN gives NaN, and its
    gradient goes to the last NaN.

    Args:
        x: (N, C, height, width) or (C, height, width).
        kernel_size: of the windows; an integer or one per axis, as all that follow.
        stride: steps between windows; the kernel's size if None.
        padding: -inf on both sides, at most half of the kernel.
        dilation: steps between the elements of a window.
        ceil_mode: one window more where the last one would reach beyond the end.
        return_indices: return where the maxima were, too.

    Returns:
        (N, C, height', width') or without N, with length' = (length + 2·padding - dilation·(kernel
        - 1) - 1) // stride + 1. With ``return_indices`` a second tensor (int64) of the same shape:
        row · width + column in x.

    Raises:
        ValueError: a kernel larger than the padded x, or a setting out of range.
    """
    return _max(
        "max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode,
        return_indices=return_indices,
    )  # fmt: skip


def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of volumes: :func:`max_pool2d` with a depth in front of
    the height, for x (N, C, depth, height, width) or (C, depth, height, width)."""
    return _max(
        "max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode,
        return_indices=return_indices,
    )  # fmt: skip


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
