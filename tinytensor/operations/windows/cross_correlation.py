"""The three ops behind convolution, which in deep learning means cross-correlation.

They work on any number of spatial axes, and each one's gradients are the other two, so that
derivatives of any order are the same three again::

    conv              out[i] = Σ_t  x[i · stride - padding + t · dilation]  weight[t]
    conv_transpose    the gradient of conv with respect to x
    conv_weight_grad  the gradient of conv with respect to weight

Each is one matrix product with what the windows see, copied out as columns ("im2col":
Chellapilla et al. 2006). The copies are made for a part of the batch at a time, so that the memory
they take does not grow with the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...define.op import op
from ...define.samples import Draw, Sample
from .window_positions import Ints, Windows

#: columns made at a time, as a number of elements: on a CPU what its cache holds; a GPU has room
#: for more, and wants few large products
_BLOCK, _BLOCK_ON_GPU = 1 << 19, 1 << 26


def _blocks(xp: Any, batch: int, each: int) -> Iterator[slice]:
    """The batch in parts, given how many elements the columns of one of its members have."""
    limit = _BLOCK if xp.__name__ == "numpy" else _BLOCK_ON_GPU
    step = max(1, limit // max(1, each))
    for start in range(0, batch, step):
        yield slice(start, min(batch, start + step))


def _columns(xp: Any, x: Any, windows: Windows, groups: int) -> Iterator[tuple[slice, Any]]:
    """What the windows see, (groups, channels per group · taps, members · windows), by blocks."""
    padded = windows.padded(xp, x).swapaxes(0, 1)
    channels, batch = padded.shape[:2]
    taps, places = math.prod(windows.kernel), math.prod(windows.size)
    for block in _blocks(xp, batch, channels * taps * places):
        members = block.stop - block.start
        columns = xp.empty((channels, taps, members, *windows.size), dtype=x.dtype)
        for tap, seen in enumerate(windows.taps(padded[:, block])):
            columns[:, tap] = seen
        yield block, columns.reshape(groups, channels // groups * taps, members * places)


def _rows(x: Any, groups: int) -> Any:
    """(N, C, ...) as (groups, channels per group, N · places)."""
    batch, channels = x.shape[:2]
    places = math.prod(x.shape[2:])
    return x.swapaxes(0, 1).reshape(groups, channels // groups, batch * places)


def _filters(weight: Any, groups: int) -> Any:
    """(out, in, ...) as (groups, out per group, in · taps)."""
    out = weight.shape[0]
    return weight.reshape(groups, out // groups, math.prod(weight.shape[1:]))


def _plus(out: Any, bias: Any) -> Any:
    """``out`` with a number per channel added, in its own memory where the dtypes allow it."""
    if bias is None:
        return out
    bias = bias.reshape(-1, *(1,) * (out.ndim - 2))
    if bias.dtype != out.dtype:
        return out + bias
    out += bias
    return out


def _sum_bias(xp: Any, g: Any, k: Any) -> Any:
    return xp.sum(g, axis=(0, *range(2, g.ndim)))


def _geometry(k: Any) -> dict[str, Any]:
    """The settings that an op of this file shares with its gradients."""
    return {
        "stride": k.stride, "padding": k.padding, "dilation": k.dilation, "groups": k.groups,
    }  # fmt: skip


def settings(
    stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints
) -> dict[str, Any]:
    """What the ops of this file take as keywords."""
    return {
        "stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "size": size,
    }  # fmt: skip


def _conv_samples(r: Draw) -> list[Sample]:
    one = settings((1,), (0,), (1,), 1, (3,))
    return [
        Sample(r(2, 2, 5), r(3, 2, 3), r(3), **one),
        Sample(r(1, 1, 4), r(1, 1, 2), **one),
        Sample(r(1, 2, 4), r(2, 1, 2), r(2), **settings((2,), (1,), (1,), 2, (3,))),
        Sample(r(2, 1, 3, 4), r(2, 1, 2, 3), r(2), **settings((1, 1), (1, 1), (1, 1), 1, (4, 4))),
        Sample(r(1, 2, 5, 4), r(2, 2, 2, 2), **settings((2, 1), (0, 1), (2, 3), 1, (2, 3))),
        Sample(r(1, 4, 3, 3), r(6, 2, 2, 2), r(6), **settings((2, 2), (1, 1), (1, 1), 2, (2, 2))),
        Sample(r(1, 2, 3, 3), r(2, 2, 1, 1), **settings((2, 2), (0, 0), (1, 1), 1, (2, 2))),
        Sample(r(0, 2, 5), r(3, 2, 3), r(3), **one),
        Sample(r(1, 1, 2, 3, 2), r(1, 1, 2, 2, 1),
               **settings((1,) * 3, (0, 1, 0), (1,) * 3, 1, (1, 4, 2))),
    ]  # fmt: skip


@op(
    "x weight bias",
    keeps={"x": "weight", "weight": "x"},
    formula="out[i] = Σ x[i · stride - padding + t · dilation] weight[t] + bias",
    gradient="dx = conv_transpose(g, weight), dweight = conv_weight_grad(x, g), dbias = Σ g",
    wide=True,
    samples=_conv_samples,
)
def conv(xp, x, weight, bias=None, *, stride, padding, dilation, groups, size):
    """Convolution of x (N, C, ...) with weight (out, C / groups, kernel ...).

    ``padding`` is that in front of each spatial axis, ``size`` the lengths of the output's: as
    many zeros stand behind ``x`` as the windows reach over.
    """
    windows = Windows(weight.shape[2:], stride, padding, dilation, size)
    filters = _filters(weight, groups)
    channels = weight.shape[0]
    out = xp.empty((x.shape[0], channels, *size), dtype=xp.result_type(x, weight))
    for block, columns in _columns(xp, x, windows, groups):
        product = xp.matmul(filters, columns)
        shape = (channels, block.stop - block.start, *size)
        out[block] = product.reshape(shape).swapaxes(0, 1)
    return _plus(out, bias)


def _transpose_samples(r: Draw) -> list[Sample]:
    one = settings((1,), (0,), (1,), 1, (5,))
    return [
        Sample(r(2, 3, 3), r(3, 2, 3), r(2), **one),
        Sample(r(1, 1, 4), r(1, 1, 2), **one),
        Sample(r(1, 2, 3), r(2, 1, 2), r(2), **settings((2,), (1,), (1,), 2, (5,))),
        Sample(r(1, 2, 2, 3), r(2, 1, 2, 2), **settings((2, 1), (0, 1), (2, 3), 1, (5, 4))),
        Sample(r(1, 4, 2, 2), r(4, 3, 2, 2), r(6), **settings((2, 2), (1, 1), (1, 1), 2, (2, 2))),
        Sample(r(1, 2, 2, 2), r(2, 1, 1, 1), **settings((3, 3), (0, 0), (1, 1), 1, (6, 4))),
        Sample(r(0, 3, 3), r(3, 2, 3), r(2), **one),
        Sample(r(1, 1, 1, 1, 2), r(1, 1, 1, 2, 2),
               **settings((1,) * 3, (0,) * 3, (1,) * 3, 1, (1, 2, 3))),
    ]  # fmt: skip


@op(
    "x weight bias",
    keeps={"x": "weight", "weight": "x"},
    formula="out[i] = Σ x[j] weight[t] + bias over all j · stride - padding + t · dilation = i",
    gradient="dx = conv(g, weight), dweight = conv_weight_grad(g, x), dbias = Σ g",
    wide=True,
    samples=_transpose_samples,
)
def conv_transpose(xp, x, weight, bias=None, *, stride, padding, dilation, groups, size):
    """Each element of x (N, C, ...) adds its multiple of weight (C, out / groups, kernel ...) to
    the output, whose spatial shape is ``size``."""
    windows = Windows(weight.shape[2:], stride, padding, dilation, x.shape[2:])
    filters = _filters(weight, groups).swapaxes(1, 2)
    batch, channels = x.shape[0], weight.shape[1] * groups
    taps, places = math.prod(windows.kernel), math.prod(windows.size)
    canvas, out = windows.canvas(xp, (batch, channels), size, xp.result_type(x, weight))
    for block in _blocks(xp, batch, channels * taps * places):
        rows = _rows(x[block], groups)
        # with one channel per group an outer product, for which matmul is slow
        columns = filters * rows if rows.shape[1] == 1 else xp.matmul(filters, rows)
        columns = columns.reshape(channels, taps, block.stop - block.start, *windows.size)
        for tap, target in enumerate(windows.taps(canvas[block].swapaxes(0, 1))):
            target += columns[:, tap]
    return _plus(xp.ascontiguousarray(out), bias)


@op(
    "x g",
    keeps={"x": "g", "g": "x"},
    formula="out[t] = Σ x[i · stride - padding + t · dilation] g[i]",
    gradient="dx = conv_transpose(g, out's gradient), dg = conv(x, out's gradient)",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 2, 5), r(2, 3, 3), **settings((1,), (0,), (1,), 1, (3,))),
        Sample(r(1, 2, 4), r(1, 2, 3), **settings((2,), (1,), (1,), 2, (2,))),
        Sample(r(1, 2, 5, 4), r(1, 2, 2, 3), **settings((2, 1), (0, 1), (2, 3), 1, (2, 2))),
        Sample(r(2, 4, 3, 3), r(2, 2, 2, 2), **settings((2, 2), (1, 1), (1, 1), 2, (2, 2))),
        Sample(r(0, 2, 5), r(0, 3, 3), **settings((1,), (0,), (1,), 1, (3,))),
    ],
)
def conv_weight_grad(xp, x, g, *, stride, padding, dilation, groups, size):
    """What each element of a kernel of lengths ``size`` meets: x (N, C, ...) where the windows lie
    times g (N, out, ...), added up to (out, C / groups, size ...)."""
    windows = Windows(size, stride, padding, dilation, g.shape[2:])
    channels, given = g.shape[1], x.shape[1] // groups
    taps = math.prod(size)
    shape = (groups, channels // groups, given * taps)
    total = xp.zeros(shape, dtype=xp.result_type(x, g))
    for block, columns in _columns(xp, x, windows, groups):
        total += xp.matmul(_rows(g[block], groups), columns.swapaxes(1, 2))
    return total.reshape(channels, given, *size)


conv.vjp(
    x=lambda xp, g, k: k.run(conv_transpose, g, k.weight, size=k.shape_of(0)[2:], **_geometry(k)),
    weight=lambda xp, g, k: k.run(conv_weight_grad, k.x, g, size=k.shape_of(1)[2:], **_geometry(k)),
    bias=_sum_bias,
)
conv_transpose.vjp(
    x=lambda xp, g, k: k.run(conv, g, k.weight, size=k.shape_of(0)[2:], **_geometry(k)),
    weight=lambda xp, g, k: k.run(conv_weight_grad, g, k.x, size=k.shape_of(1)[2:], **_geometry(k)),
    bias=_sum_bias,
)
conv_weight_grad.vjp(
    x=lambda xp, g, k: k.run(conv_transpose, k.g, g, size=k.shape_of(0)[2:], **_geometry(k)),
    g=lambda xp, g, k: k.run(conv, k.x, g, size=k.shape_of(1)[2:], **_geometry(k)),
)
