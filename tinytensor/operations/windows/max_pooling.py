"""Pooling by the largest element of each window, for any number of spatial axes.

Maxima remember where they were found, as a position in the flattened spatial axes. Their gradient
puts numbers at positions, the gradient of that picks numbers from positions, and so on: two ops
for derivatives of any order.
"""

from __future__ import annotations

import math
from typing import Any

from ...define.op import op
from ...define.samples import Sample
from .pooling_settings import pooled, windows
from .window_positions import Ints, Windows


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


@op(
    "x",
    name="max_pool",
    outputs=2,
    keeps="positions",
    formula="the largest x in each window, and its position",
    gradient="dx = g at the first maximum of each window",
    wide=True,
    samples=lambda r: [
        Sample(r.apart(2, 2, 6), **windows((2,), (2,), (0,), (1,), (3,))),
        Sample(r.apart(1, 2, 5), **windows((3,), (1,), (1,), (1,), (5,))),
        Sample(r.apart(1, 1, 4), **windows((2,), (2,), (1,), (1,), (3,))),
        Sample(r.apart(1, 2, 4, 5), **windows((2, 3), (2, 1), (1, 0), (1, 2), (3, 1))),
        Sample(r.apart(1, 1, 4, 4), **windows((3, 3), (1, 1), (1, 1), (1, 1), (4, 4))),
        Sample(
            r.apart(1, 1, 2, 3, 2), **windows((2, 2, 1), (1, 1, 1), (0,) * 3, (1,) * 3, (1, 2, 2))
        ),
        Sample(r.apart(0, 2, 4), **windows((2,), (2,), (0,), (1,), (2,))),
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


def _max(name: str, dims: int, x: Any, *settings: Any, return_indices: bool) -> Any:
    x, had_batch, found = pooled(name, dims, x, *settings)
    out, positions = _max_pool(x, **found)
    if not had_batch:
        out, positions = out.squeeze(0), positions.squeeze(0)
    return (out, positions) if return_indices else out


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
