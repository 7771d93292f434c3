"""Padding, and windows that slide along an axis.

Both are linear and read one element several times, so their gradients are sums. Each has its
transpose as an op of its own, and each is the gradient of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...define.op import OPS, op
from ...define.samples import Draw, Sample
from ...hints.finding import kind_of
from ...tensor.axes import as_tensor, at, axis_of, whole, wholes

Widths = tuple[tuple[int, int], ...]

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


# -- padding ------------------------------------------------------------------------------------
def _runs(n: int, start: int, stop: int, mode: str) -> Iterator[tuple[slice, slice]]:
    """The padding at ``start`` to ``stop`` of an axis of length ``n``, in runs of neighbours that
    are copied from neighbours: (where they are, where they come from).

    Positions are those of the axis before padding, so < 0 and >= n are in the padding. However
    wide it is, it goes on back and forth over the axis, or round.
    """
    if mode == "edge" or (mode == "reflect" and n == 1):
        if start < stop:
            yield slice(start, stop), slice(0, 1) if start < 0 else slice(n - 1, n)
        return
    length = n - 1 if mode == "reflect" else n  # reflect does not repeat the last element
    while start < stop:
        lap, first = divmod(start, length)
        end = min(stop, (lap + 1) * length)
        last = first + end - start - 1
        if mode != "wrap" and lap % 2:
            yield slice(start, end), slice(n - 1 - first, n - 2 - last, -1)
        else:
            yield slice(start, end), slice(first, last + 1)
        start = end


def _moved(axis: int, part: slice, by: int) -> tuple[Any, ...]:
    """The index of a part of an axis that begins ``by`` later."""
    stop = part.stop + by
    return at(axis, slice(part.start + by, None if stop < 0 else stop, part.step))


def _copies(n: int, before: int, after: int, mode: str) -> Iterator[tuple[slice, slice]]:
    """The runs on both sides of an axis; none where the padding is a constant."""
    if mode != "constant":
        yield from _runs(n, -before, 0, mode)
        yield from _runs(n, n, n + after, mode)


def _paddings(r: Draw) -> list[Sample]:
    return [Sample(r(3, 4), ((1, 2), (0, 3)), mode) for mode in MODES] + [
        Sample(r(2, 3), ((0, 0), (7, 6)), "reflect"),
        Sample(r(2, 3), ((0, 0), (7, 9)), "symmetric"),
        Sample(r(2, 3), ((0, 0), (7, 4)), "wrap"),
        Sample(r(1, 2), ((2, 1), (1, 1)), "reflect"),
        Sample(r(2, 3, 2), ((1, 0), (1, 1), (0, 1)), "edge"),
        Sample(r(3), ((0, 0),), "edge"),
        Sample(r(0, 3), ((0, 0), (1, 1)), "reflect"),
        Sample(r(3), ((2, 1),), "constant", -1.5),
        Sample(r(0), ((2, 1),), "constant", 1.0),
        Sample(r(), (), "constant"),
    ]


@op(
    "x",
    name="pad",
    wide=True,
    formula="x with elements in front and behind along each axis",
    gradient="dx = g without the padding; a padding copied from x is added to where it came from",
    samples=_paddings,
)
def _pad(xp, x, pad_width, mode="constant", value=0.0):
    """Padded by ``pad_width``, a pair per axis."""
    shape = tuple(b + n + a for n, (b, a) in zip(x.shape, pad_width, strict=True))
    inside = tuple(slice(b, b + n) for n, (b, _) in zip(x.shape, pad_width, strict=True))
    constant = mode == "constant"
    out = xp.full(shape, value, dtype=x.dtype) if constant else xp.empty(shape, dtype=x.dtype)
    out[inside] = x
    # axis by axis: the padding of a later axis is copied from rows that are padded already
    for axis, (n, (before, after)) in enumerate(zip(x.shape, pad_width, strict=True)):
        for place, source in _copies(n, before, after, mode):
            out[_moved(axis, place, before)] = out[_moved(axis, source, before)]
    return out


_pad.vjp(x=lambda xp, g, k: k.run(OPS["pad_grad"], g, pad_width=k.pad_width, mode=k.mode))


def _paddings_of_gradients(r: Draw) -> list[Sample]:
    padded = [s for s in _paddings(r) if s.args[0].size]
    return [
        Sample(
            r(*(b + n + a for n, (b, a) in zip(s.args[0].shape, s.args[1], strict=True))),
            *s.args[1:3],
        )
        for s in padded
    ]


@op(
    "g",
    wide=True,
    formula="each element, plus its copies in the padding; the padding removed",
    gradient="dg = the gradient, padded",
    samples=_paddings_of_gradients,
)
def pad_grad(xp, g, pad_width, mode="constant"):
    """The transpose of :func:`pad`: what lies in the padding is added to where pad copied it from,
    and the padding is removed. ``pad_width`` is a pair (before, after) per axis.
    """
    for axis, (before, after) in enumerate(pad_width):
        n = g.shape[axis] - before - after
        padded, g = g, g[at(axis, slice(before, before + n))]
        if mode == "constant" or not before + after:
            continue
        g = g.copy()
        for place, source in _copies(n, before, after, mode):
            part = padded[_moved(axis, place, before)]
            if part.shape[axis] > 1 and source.stop - source.start == 1:  # all from one element
                part = xp.sum(part, axis=axis, keepdims=True)
            g[_moved(axis, source, 0)] += part
    return g


pad_grad.vjp(g=lambda xp, g, k: k.run(_pad, g, pad_width=k.pad_width, mode=k.mode, value=0.0))


def _pairs(pad_width: Any, shape: tuple[int, ...]) -> Widths:
    """``pad_width`` in any of its forms as one pair (before, after) per axis."""
    ndim = len(shape)
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis_of("pad: pad_width", axis, shape)] = _pairs(width, (1,))[0]
        return tuple(pairs)
    if not ndim:
        return ()
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()
    except ValueError:
        raise ValueError(
            "pad: pad_width: expected an integer, a pair (before, after), a list with a pair for "
            f"each of the {ndim} axes of shape {shape}, or a dict of pairs by axis; got {pad_width}"
        ) from None
    found = tuple((whole("pad: pad_width", b), whole("pad: pad_width", a)) for b, a in widths)
    if min(map(min, found)) < 0:
        raise ValueError(
            f"pad: pad_width: expected widths >= 0, got {pad_width}; cut with x[a:b] instead"
        )
    return found


def pad(x: Any, pad_width: Any, mode: str = "constant", value: float = 0.0) -> Any:
    """Add elements in front and behind along the axes.

    Args:
        pad_width: as NumPy's: an integer (the same everywhere), a pair (before, after) for every
            axis, a list with one pair per axis, or a dict ``{axis: pair or integer}`` that leaves
            the other axes alone. PyTorch's flat list, last axis first, is none of these.
        mode: where the new elements come from; for ``[a, b, c]`` and 3 on either side:
            "constant" (``v v v | a b c | v v v``, the default),
            "edge" (``a a a | a b c | c c c``, PyTorch's "replicate"),
            "reflect" (``b c b | a b c | b a b``),
            "symmetric" (``c b a | a b c | c b a``),
            "wrap" (``a b c | a b c | a b c``, PyTorch's "circular").
            As in NumPy, a reflection or wrap wider than the axis goes on back and forth, or round
            (PyTorch refuses); reflecting an axis of length 1 repeats its element.
        value: the number ``v``.

    Its gradient adds up over all copies of an element.

    Raises:
        ValueError: an unknown mode; widths that are negative or do not fit the axes; elements to
            be copied from an axis of length 0; a ``value`` without "constant".
        TypeError: widths that are no integers; a ``value`` that the dtype of ``x`` cannot hold.
    """
    x = as_tensor(x)
    widths = _pairs(pad_width, x.shape)
    if mode not in MODES:
        raise ValueError(f"pad: mode: expected one of {', '.join(MODES)}, got {mode!r}")
    if not isinstance(value, (int, float, np.number)):
        raise TypeError(f"pad: value: expected a number, got {kind_of(value)}")
    if mode != "constant":
        if value != 0:
            raise ValueError(
                f"pad: value: only mode 'constant' takes one, got {value} for {mode!r}"
            )
        for axis, (n, width) in enumerate(zip(x.shape, widths, strict=True)):
            if not n and any(width):
                raise ValueError(
                    f"pad: pad_width: axis {axis} of shape {x.shape} has no element for mode "
                    f"{mode!r} to copy; expected (0, 0) there, got {width}"
                )
        return _pad(x, pad_width=widths, mode=mode)
    if x.dtype.kind != "f" and not float(value).is_integer():
        raise TypeError(f"pad: value: expected an integer for x of dtype {x.dtype}, got {value}")
    return _pad(x, pad_width=widths, value=value if x.dtype.kind == "f" else int(value))


# -- windows ------------------------------------------------------------------------------------
def _shifts(axis: int, size: int, step: int, count: int) -> list[tuple[Any, ...]]:
    """For each place in a window, the index of the elements that are there, window by window."""
    return [at(axis, slice(j, j + step * count, step)) for j in range(size)]


@op(
    "x",
    wide=True,
    formula="out[..., i, ..., j] = x[..., i · step + j, ...]",
    gradient="dx = the windows of g, added where they overlap",
    samples=lambda r: [
        Sample(r(7), 0, 3),
        Sample(r(7), 0, 3, 2),
        Sample(r(2, 8), -1, 2, 3),
        Sample(r(5, 2, 3), 0, 2),
        Sample(r(2, 4, 3), 1, 4),
        Sample(r(5), 0, 1),
        Sample(r(3, 0), 0, 2),
        Sample(r(4), 0, 0, 2),
    ],
)
def unfold(xp, x, axis, size, step=1):
    """Windows of ``size`` elements along ``axis``, one every ``step``: PyTorch's ``x.unfold``.

    The axis becomes the number of windows, (n - size) // step + 1, and a new last axis holds the
    ``size`` elements of each. A copy, unlike PyTorch's, so that it can be written to.

    Raises:
        ValueError: the axis is shorter than ``size``, or ``step`` is less than 1.
    """
    axis = axis_of("axis", axis, x.shape)
    n = x.shape[axis]
    if not 0 <= whole("size", size) <= n:
        raise ValueError(f"size: expected 0 to {n}, the length of axis {axis}, got {size}")
    if whole("step", step) < 1:
        raise ValueError(f"step: expected at least 1, got {step}")
    count = (n - size) // step + 1
    # written place by place, which is far faster than window by window
    out = xp.empty((size, *x.shape[:axis], count, *x.shape[axis + 1 :]), dtype=x.dtype)
    for j, elements in enumerate(_shifts(axis, size, step, count)):
        out[j] = x[elements]
    return xp.moveaxis(out, 0, -1)


unfold.vjp(
    x=lambda xp, g, k: k.run(
        OPS["overlap_add"], g, axis=k.axis, length=k.shape_of()[k.axis], step=k.step
    )
)


@op(
    "x",
    wide=True,
    formula="windows added up where they overlap",
    gradient="dx = the windows of g",
    samples=lambda r: [
        Sample(r(5, 3), 0, 7),
        Sample(r(3, 3), 0, 7, 2),
        Sample(r(2, 3, 2), -1, 8, 3),
        Sample(r(4, 2, 3, 2), 0, 5),
        Sample(r(1, 4), 0, 4),
        Sample(r(3, 0), 0, 2),
    ],
)
def overlap_add(xp, x, axis, length, step=1):
    """The transpose of :func:`unfold`: windows (..., count, ..., size) laid along ``axis`` every
    ``step`` elements and added up where they overlap, over ``length`` elements in all.

    ``axis`` counts the axes of the result, which lacks the last one of ``x``.

    Raises:
        ValueError: the windows do not fit into ``length``.
    """
    shape = x.shape[:-1]
    axis = axis_of("axis", axis, shape)
    count, size = shape[axis], x.shape[-1]
    if whole("step", step) < 1:
        raise ValueError(f"step: expected at least 1, got {step}")
    if not size <= whole("length", length) or count != (length - size) // step + 1:
        raise ValueError(
            f"length: expected one with {count} windows of {size} every {step} elements, got "
            f"{length}"
        )
    out = xp.zeros((*shape[:axis], length, *shape[axis + 1 :]), dtype=x.dtype)
    for j, elements in enumerate(_shifts(axis, size, step, count)):
        out[elements] += x[..., j]
    return out


overlap_add.vjp(
    x=lambda xp, g, k: k.run(unfold, g, axis=k.axis, size=k.shape_of()[-1], step=k.step)
)


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """NumPy's words for windows one element apart: the axes ``axis`` (all by default) become the
    numbers of windows, and new last axes of lengths ``window_shape`` hold them.

    A copy, unlike NumPy's read-only view. See :func:`unfold` for other steps.

    Raises:
        ValueError: not one length per axis, or an axis is shorter than its window.
    """
    x = as_tensor(x)
    lengths = wholes("sliding_window_view: window_shape", window_shape)
    where = tuple(range(x.ndim)) if axis is None else wholes("sliding_window_view: axis", axis)
    if len(lengths) != len(where):
        raise ValueError(
            "sliding_window_view: window_shape: expected one length for each of the axes "
            f"{where} of shape {x.shape}, got {window_shape}"
        )
    axes = [axis_of("sliding_window_view: axis", a, x.shape) for a in where]
    for a, size in zip(axes, lengths, strict=True):
        x = unfold(x, a, size)
    return x
