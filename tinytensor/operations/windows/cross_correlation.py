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
#: rows of windows that are shorter than this are copied slowly
_SHORT = 32


def _blocks(xp: Any, batch: int, each: int) -> Iterator[slice]:
    """The batch in parts, given how many elements the columns of one of its members have."""
    limit = _BLOCK if xp.__name__ == "numpy" else _BLOCK_ON_GPU
    step = max(1, limit // max(1, each))
    for start in range(0, batch, step):
        yield slice(start, min(batch, start + step))


def _batch_last(windows: Windows, batch: int, seen: int, others: int) -> bool:
    """Whether the members of the batch lie side by side in the columns, not the windows of a row.

    Copies and sums go along what lies side by side, and take as long for 4 numbers as for 60. So
    many small images are turned, what goes in and what comes out, if that is less than the columns.

    Args:
        seen: channels that the windows see. others: those on the other side.
    """
    copied, turned = seen * math.prod(windows.kernel), seen + others
    return windows.size[-1] < min(batch, _SHORT) and copied > 2 * turned


def _columns(
    xp: Any, x: Any, windows: Windows, groups: int, last: bool
) -> Iterator[tuple[slice, Any]]:
    """What the windows see, (groups, channels per group · taps, members · windows), by blocks; in
    the order windows · members where the batch is to be last."""
    padded = windows.padded(xp, x).swapaxes(0, 1)
    channels, batch = padded.shape[:2]
    taps, places = math.prod(windows.kernel), math.prod(windows.size)
    if last:
        padded = xp.moveaxis(xp.ascontiguousarray(xp.moveaxis(padded, 1, -1)), -1, 1)
    for block in _blocks(xp, batch, channels * taps * places):
        members = block.stop - block.start
        shape = (*windows.size, members) if last else (members, *windows.size)
        columns = xp.empty((channels, taps, *shape), dtype=x.dtype)
        into = xp.moveaxis(columns, -1, 2) if last else columns
        for tap, seen in enumerate(windows.taps(padded[:, block])):
            into[:, tap] = seen
        yield block, columns.reshape(groups, channels // groups * taps, members * places)


def _rows(xp: Any, x: Any, groups: int, last: bool) -> Any:
    """(N, C, ...) as (groups, channels per group, N · places), or places · N."""
    batch, channels = x.shape[:2]
    places = math.prod(x.shape[2:])
    turned = xp.moveaxis(x, 0, -1) if last else x.swapaxes(0, 1)
    return turned.reshape(groups, channels // groups, batch * places)


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
        # more members than windows in a row: see _batch_last
        Sample(r(4, 2, 3, 4), r(1, 2, 2, 3), r(1), **settings((2, 1), (1, 0), (1, 1), 1, (2, 2))),
        Sample(r(3, 4, 3, 3), r(2, 2, 2, 2), **settings((1, 1), (0, 0), (1, 1), 2, (2, 2))),
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
    last = _batch_last(windows, x.shape[0], x.shape[1], channels)
    for block, columns in _columns(xp, x, windows, groups, last):
        product, members = xp.matmul(filters, columns), block.stop - block.start
        if last:
            out[block] = xp.moveaxis(product.reshape(channels, *size, members), -1, 0)
        else:
            out[block] = product.reshape(channels, members, *size).swapaxes(0, 1)
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
        Sample(r(4, 1, 2, 2), r(1, 2, 2, 3), r(2), **settings((2, 1), (1, 0), (1, 1), 1, (2, 4))),
        Sample(r(3, 2, 2, 2), r(2, 2, 2, 2), **settings((1, 1), (0, 0), (1, 1), 2, (3, 3))),
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
    last = _batch_last(windows, batch, channels, x.shape[1])
    canvas, out = windows.canvas(
        xp, (batch, channels), size, xp.result_type(x, weight), batch_last=last
    )
    for block in _blocks(xp, batch, channels * taps * places):
        rows, members = _rows(xp, x[block], groups, last), block.stop - block.start
        # with one channel per group an outer product, for which matmul is slow
        columns = filters * rows if rows.shape[1] == 1 else xp.matmul(filters, rows)
        if last:
            columns = xp.moveaxis(columns.reshape(channels, taps, *windows.size, members), -1, 2)
        else:
            columns = columns.reshape(channels, taps, members, *windows.size)
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
        Sample(r(4, 2, 3, 4), r(4, 1, 2, 2), **settings((2, 1), (1, 0), (1, 1), 1, (2, 3))),
        Sample(r(3, 4, 3, 3), r(3, 2, 2, 2), **settings((1, 1), (0, 0), (1, 1), 2, (2, 2))),
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
    last = _batch_last(windows, x.shape[0], x.shape[1], channels)
    for block, columns in _columns(xp, x, windows, groups, last):
        total += xp.matmul(_rows(xp, g[block], groups, last), columns.swapaxes(1, 2))
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
