"""Adaptive pooling: the largest or the mean element of as many windows as one asks for.

Window i of n elements in m windows covers [floor(i n / m), ceil((i + 1) n / m)): evenly spread,
neighbours may share an element. Maximum and mean over several axes are those over one axis after
the other.
"""

from __future__ import annotations

import math
from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample
from .max_pooling import to_maxima
from .window_positions import batched, per_axis


def _cells(n: int, size: int) -> list[slice]:
    """The ``size`` windows that cover an axis of length n evenly; neighbours may share an end."""
    return [slice(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]


def _on(axis: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (part,)


def _adaptive_samples(draw: Any, r: Draw) -> list[Sample]:
    return [
        Sample(draw(2, 2, 6), (3,)),
        Sample(draw(1, 2, 5), (3,)),
        Sample(draw(1, 1, 3), (5,)),
        Sample(draw(1, 2, 4, 5), (1, 1)),
        Sample(draw(1, 1, 5, 4), (2, 3)),
        Sample(draw(0, 2, 4), (2,)),
    ]


@op(
    "x",
    name="adaptive_max_pool",
    outputs=2,
    keeps="positions",
    formula="the largest x in each of size windows per axis, and its position",
    gradient="dx = g at the first maximum of each window",
    wide=True,
    samples=lambda r: _adaptive_samples(r.apart, r),
)
def _adaptive_max_pool(xp, x, size):
    """As max_pool, with as many windows as ``size`` says; window i of an axis of length n covers
    [floor(i n / size), ceil((i + 1) n / size))."""
    best = x
    positions = xp.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    positions = xp.broadcast_to(positions, x.shape)
    for axis in range(x.ndim - 1, 1, -1):  # the last first: so the first in row-major order wins
        n, m = x.shape[axis], size[axis - 2]
        if n == m:
            continue
        found = [(best[_on(axis, slice(0))], positions[_on(axis, slice(0))])]
        for cell in _cells(n, m):
            part, where = best[_on(axis, cell)], positions[_on(axis, cell)]
            at = xp.argmax(part, axis=axis, keepdims=True)
            if x.dtype.kind == "f":
                nan = xp.flip(part != part, axis)
                last = part.shape[axis] - 1 - xp.argmax(nan, axis=axis, keepdims=True)
                at = xp.where(xp.any(nan, axis=axis, keepdims=True), last, at)
            pair = (xp.take_along_axis(a, at, axis) for a in (part, where))
            found.append(tuple(pair))
        best, positions = (xp.concatenate(parts, axis=axis) for parts in zip(*found, strict=True))
    if best is x:
        best, positions = x.copy(), positions.copy()
    return (best, positions), positions


_adaptive_max_pool.vjp(x=to_maxima)


@op(
    "x",
    name="adaptive_avg_pool",
    formula="the mean of x in each of size windows per axis",
    gradient="dx = g / n, added to each element of its window",
    wide=True,
    samples=lambda r: _adaptive_samples(r, r),
)
def _adaptive_avg_pool(xp, x, size):
    """The mean of each of ``size`` windows per axis of x (N, C, ...); see adaptive_max_pool."""
    out = x
    for axis in range(x.ndim - 1, 1, -1):  # a mean over axes is a mean over one after the other
        n, m = x.shape[axis], size[axis - 2]
        if n != m:
            none = out[_on(axis, slice(0))]
            means = [xp.mean(out[_on(axis, c)], axis=axis, keepdims=True) for c in _cells(n, m)]
            out = xp.concatenate([none, *means], axis=axis)
    return out.copy() if out is x else out


@op(
    "g",
    name="adaptive_avg_pool_grad",
    formula="g / n, added to each element of its window",
    gradient="dg = adaptive_avg_pool of the gradient",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 2, 3), (2, 2, 6)),
        Sample(r(1, 2, 3), (1, 2, 5)),
        Sample(r(1, 1, 2, 3), (1, 1, 5, 4)),
        Sample(r(1, 1, 5), (1, 1, 3)),
        Sample(r(0, 2, 2), (0, 2, 4)),
    ],
)
def _adaptive_avg_pool_grad(xp, g, shape):
    """The transpose of adaptive_avg_pool on an x of ``shape``."""
    out = g
    for axis in range(2, g.ndim):
        n, m = shape[axis], g.shape[axis]
        if n == m:
            continue
        given, out = out, xp.zeros((*out.shape[:axis], n, *out.shape[axis + 1 :]), dtype=g.dtype)
        for i, cell in enumerate(_cells(n, m)):
            out[_on(axis, cell)] += given[_on(axis, slice(i, i + 1))] / (cell.stop - cell.start)
    return out.copy() if out is g else out


_adaptive_avg_pool.vjp(x=lambda xp, g, k: k.run(_adaptive_avg_pool_grad, g, shape=k.shape_of()))
_adaptive_avg_pool_grad.vjp(g=lambda xp, g, k: k.run(_adaptive_avg_pool, g, size=k.shape_of()[2:]))


# -- what users call ------------------------------------------------------------------------
def _spread(name: str, dims: int, x: Any, output_size: Any) -> tuple[Any, bool, tuple[int, ...]]:
    """x with a batch axis, whether it had one, and how many windows on each axis."""
    x, had_batch = batched(name, x, dims)
    if 0 in x.shape[2:]:
        raise ValueError(f"{name}: x: expected elements to pool over, got shape {x.shape}")
    if output_size is None:
        output_size = (None,) * dims
    if isinstance(output_size, (tuple, list)) and len(output_size) == dims:
        output_size = tuple(
            n if m is None else m for m, n in zip(output_size, x.shape[2:], strict=True)
        )
    return x, had_batch, per_axis(f"{name}: output_size", output_size, dims, 0)


def _adaptive_max(name: str, dims: int, x: Any, output_size: Any, return_indices: bool) -> Any:
    x, had_batch, size = _spread(name, dims, x, output_size)
    out, positions = _adaptive_max_pool(x, size)
    if not had_batch:
        out, positions = out.squeeze(0), positions.squeeze(0)
    return (out, positions) if return_indices else out


def _adaptive_avg(name: str, dims: int, x: Any, output_size: Any) -> Any:
    x, had_batch, size = _spread(name, dims, x, output_size)
    out = _adaptive_avg_pool(x, size)
    return out if had_batch else out.squeeze(0)


def adaptive_max_pool1d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of each of ``output_size`` windows along the last axis: see
    :func:`adaptive_max_pool2d`; x is (N, C, length) or (C, length)."""
    return _adaptive_max("adaptive_max_pool1d", 1, x, output_size, return_indices)


def adaptive_max_pool2d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of ``output_size`` windows that cover ``x`` evenly.

    Window i of an axis of length n covers [floor(i n / size), ceil((i + 1) n / size)). Equal
    elements and NaN are treated as in :func:`max_pool2d`.

    Args:
        x: (N, C, height, width) or (C, height, width).
        output_size: how many windows; an integer or one per axis, None for as many as x has.
        return_indices: return where the maxima were, too: row · width + column in x (int64).

    Returns:
        (N, C, *output_size) or without N, and the positions, if asked for.
    """
    return _adaptive_max("adaptive_max_pool2d", 2, x, output_size, return_indices)


def adaptive_max_pool3d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of each of ``output_size`` windows of volumes: see :func:`adaptive_max_pool2d`;
    x is (N, C, depth, height, width) or (C, depth, height, width)."""
    return _adaptive_max("adaptive_max_pool3d", 3, x, output_size, return_indices)


def adaptive_avg_pool1d(x: Any, output_size: Any) -> Any:
    """The mean of each of ``output_size`` windows along the last axis: see
    :func:`adaptive_avg_pool2d`; x is (N, C, length) or (C, length)."""
    return _adaptive_avg("adaptive_avg_pool1d", 1, x, output_size)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    """The mean of each of ``output_size`` windows that cover ``x`` evenly; with 1, of each channel.

    Args:
        x: (N, C, height, width) or (C, height, width).
        output_size: how many windows; an integer or one per axis, None for as many as x has.

    Returns:
        (N, C, *output_size), or without N where x has none.
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, x, output_size)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Any:
    """The mean of each of ``output_size`` windows of volumes: see :func:`adaptive_avg_pool2d`;
    x is (N, C, depth, height, width) or (C, depth, height, width)."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, x, output_size)
