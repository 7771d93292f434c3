"""Order: sorting, running extremes, the largest few, quantiles. Sorting takes NaN for largest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...define.op import OPS, op
from ...define.samples import Draw, Sample
from ...tensor.axes import at
from .cumulative import lines, on_axis, scan
from .sum_mean_max import Axis, count, from_rows, over, reduced_shape, to_rows


def _back_to_positions(xp: Any, g: Any, k: Any, indices: Any, axis: int, shape: Any) -> Any:
    """Zeros of ``shape`` with g added at ``indices`` along an axis: what taking there reverses to.

    By positions in the flattened array: NumPy adds at one index array ten times as fast as at
    several.
    """
    raw = indices.data if k.graph else indices
    host = device_of(raw).xp
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    position = raw * strides[axis]
    for i, n in enumerate(shape):
        if i != axis and n > 1:
            position += (host.arange(n) * strides[i]).reshape(
                tuple(n if i == j else 1 for j in range(len(shape)))
            )
    flat = k.run(
        OPS["getitem_grad"],
        xp.reshape(g, (-1,)),
        index=(position.reshape(-1),),
        shape=(math.prod(shape),),
    )
    return xp.reshape(flat, shape)


def _to_picked(xp: Any, g: Any, k: Any) -> Any:
    """The joint rule of ops that return (values, indices): g back to where the values came from."""
    shape = k.shape_of()
    return (_back_to_positions(xp, g[0], k, k.indices, k.axis % len(shape), shape),)


def _running_extreme(xp: Any, x: Any, axis: int, larger: Any) -> Any:
    """The running extreme and the position of the last element that reached it (or is NaN)."""
    axis = axis % x.ndim
    values = x.copy()
    scan(lambda early, late: (larger(early[0], late[0]),), (values,), axis)
    n = x.shape[axis]
    steps = xp.arange(n).reshape(tuple(n if i == axis else 1 for i in range(x.ndim)))
    indices = xp.where((x == values) | (x != x), steps, 0)
    scan(lambda early, late: (xp.maximum(early[0], late[0]),), (indices,), axis)
    return (values, indices), indices


@op(
    "x",
    name="cummax",
    outputs=2,
    keeps="indices",
    formula="yᵢ = max(x₀, …, xᵢ), and where it is",
    gradient="dx = zeros with gᵢ added where yᵢ came from",
    samples=lines,
)
def _cummax(xp, x, axis):
    """Running maximum along an axis, and its positions."""
    return _running_extreme(xp, x, axis, xp.maximum)


_cummax.vjp(_to_picked)


def cummax(x: Any, axis: int | None = None) -> tuple[Any, Any]:
    """Running maximum along ``axis`` (flattened without one): (values, indices).

    ``indices`` (int64) says where each value is, the last such place among ties; the gradient of
    a value goes there alone. From a NaN on values are NaN. As in PyTorch.
    """
    values, indices = on_axis(_cummax, x, axis)
    return values, indices


@op(
    "x",
    name="cummin",
    outputs=2,
    keeps="indices",
    formula="yᵢ = min(x₀, …, xᵢ), and where it is",
    gradient="dx = zeros with gᵢ added where yᵢ came from",
    samples=lines,
)
def _cummin(xp, x, axis):
    """Running minimum along an axis, and its positions."""
    return _running_extreme(xp, x, axis, xp.minimum)


_cummin.vjp(_to_picked)


def cummin(x: Any, axis: int | None = None) -> tuple[Any, Any]:
    """Running minimum along ``axis`` (flattened without one): (values, indices).

    ``indices`` (int64) says where each value is, the last such place among ties; the gradient of
    a value goes there alone. From a NaN on values are NaN. As in PyTorch.
    """
    values, indices = on_axis(_cummin, x, axis)
    return values, indices


def _positions(xp: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    """Positions that sort x along ``axis``."""
    kind = "stable" if stable else None
    if not descending:
        return xp.argsort(x, axis=axis, kind=kind)
    # backwards twice: ties keep their order, and there is no -x of unsigned integers to worry about
    turn = at(axis % x.ndim, slice(None, None, -1))
    return x.shape[axis] - 1 - xp.argsort(x[turn], axis=axis, kind=kind)[turn]


def _sortings(r: Draw) -> list[Sample]:
    return [
        Sample(r.apart(3, 4), 1),
        Sample(r.apart(3, 4), 0, True),
        Sample(r.apart(2, 5, 2), -2, True, True),
        Sample(r.apart(7), 0, False, True),
        Sample(r.apart(1, 3), 0),
        Sample(r.apart(0, 3), 0),
        Sample(r.apart(0, 3), 1, True),
    ]


@op(
    "x",
    name="sort",
    outputs=2,
    keeps="indices",
    formula="the elements in order, and where each was",
    gradient="dx = g back in the elements' places",
    samples=_sortings,
)
def _sort(xp, x, axis=-1, descending=False, stable=False):
    """Elements in order along an axis, and their positions."""
    indices = _positions(xp, x, axis, descending, stable)
    return (xp.take_along_axis(x, indices, axis), indices), indices


_sort.vjp(_to_picked)


def sort(
    x: Any, axis: int | None = -1, descending: bool = False, stable: bool = False
) -> tuple[Any, Any]:
    """Sort along ``axis`` (flattened where None): (values, indices), as in PyTorch.

    ``values`` is ``take_along_axis(x, indices, axis)``, and a value's gradient goes to where it
    was. NaN comes last, in descending order first. With ``stable`` equal elements keep their
    order; without, it is left open.
    """
    values, indices = on_axis(_sort, x, axis, descending=descending, stable=stable)
    return values, indices


@op("x", name="argsort", formula="the positions that sort x", samples=_sortings)
def _argsort(xp, x, axis=-1, descending=False, stable=False):
    """Positions that sort along an axis."""
    return _positions(xp, x, axis, descending, stable)


def argsort(x: Any, axis: int | None = -1, descending: bool = False, stable: bool = False) -> Any:
    """Positions (int64) that :func:`sort` would take the elements from; no gradient."""
    return on_axis(_argsort, x, axis, descending=descending, stable=stable)


@op(
    "x",
    name="topk",
    outputs=2,
    keeps="indices",
    formula="the k largest elements, and where they are",
    gradient="dx = zeros with g at the elements picked",
    samples=lambda r: [
        Sample(r.apart(3, 4), 2),
        Sample(r.apart(3, 4), 1, 0),
        Sample(r.apart(2, 5, 2), 3, 1, False),
        Sample(r.apart(7), 7),
        Sample(r.apart(7), 4, 0, False, True),
        Sample(r.apart(3, 4), 0),
    ],
)
def _topk(xp, x, k, axis=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along an axis, and their positions."""
    n = x.shape[axis]
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k: expected an integer, got {k!r}")
    if not 0 <= k <= n:
        raise ValueError(f"k: expected 0 to {n}, the length of axis {axis}, got {k}")
    rows = xp.swapaxes(x, axis, -1)
    if not 0 < k < n:
        indices = _positions(xp, rows, -1, largest, False)[..., :k]
    elif largest:
        indices = xp.argpartition(rows, n - k, axis=-1)[..., n - k :]
    else:
        indices = xp.argpartition(rows, k - 1, axis=-1)[..., :k]
    if sorted and k < n:
        picked = xp.take_along_axis(rows, indices, -1)
        order = _positions(xp, picked, -1, largest, False)
        indices = xp.take_along_axis(indices, order, -1)
    indices = xp.ascontiguousarray(xp.swapaxes(indices, axis, -1))
    return (xp.take_along_axis(x, indices, axis), indices), indices


_topk.vjp(_to_picked)


def topk(
    x: Any, k: int, axis: int | None = -1, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    """The ``k`` largest elements along ``axis`` (flattened where None): (values, indices).

    From the largest on; from the smallest on with ``largest=False``; in any order with
    ``sorted=False``. NaN counts as the largest. Which of equal elements are picked is left open.

    Raises:
        ValueError: k is negative or exceeds the length of the axis. TypeError: k is no integer.
    """
    values, indices = on_axis(_topk, x, axis, k=k, largest=largest, sorted=sorted)
    return values, indices


_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _neighbours(q: float, n: int, interpolation: str) -> tuple[int, int, float]:
    """Quantile q of n sorted elements: which two it lies between, and the weight of the second.

    Where it is an element itself, that is both of them with weight 1/2: no weight is ever 0, which
    would make NaN of an infinite neighbour.
    """
    place = q * (n - 1)
    low, high = math.floor(place), math.ceil(place)
    if interpolation == "lower":
        high = low
    elif interpolation == "higher":
        low = high
    elif interpolation == "nearest":
        low = high = round(place)
    return low, high, 0.5 if low == high or interpolation == "midpoint" else place - low


@op(
    "x",
    keeps="indices",
    formula="the value that a fraction q of the elements lies below",
    gradient="dx = g, by their weights to the one or two elements it lies between",
    samples=lambda r: [
        Sample(r.apart(3, 4), 0.5),
        Sample(r.apart(3, 5), 0.5, 1),
        Sample(r.apart(3, 4), 0.3, 0, True),
        Sample(r.apart(2, 3, 4), (0.0, 0.25, 0.9, 1.0), (0, 2)),
        Sample(r.apart(2, 4), (0.6,), -1, True),
        Sample(r.apart(6), 0.3, None, False, "lower"),
        Sample(r.apart(6), 0.3, None, False, "higher"),
        Sample(r.apart(6), (0.3, 0.5), None, False, "nearest"),
        Sample(r.apart(2, 4), 0.3, 1, False, "midpoint"),
        Sample(r.apart(), 0.2),
        Sample(r.apart(0, 3), 0.5, 1),
    ],
)
def quantile(xp, x, q, axis=None, keepdims=False, interpolation="linear"):
    """The values that fractions ``q`` of the elements over ``axis`` lie below, as in NumPy.

    Args:
        x: any shape; NaN among the elements gives NaN (and that NaN the gradient).
        q: a number from 0 to 1, or a tuple of them for a leading axis of that length.
        axis: None (all), an integer or a tuple.
        keepdims: keep the reduced axes with length 1.
        interpolation: where q falls between two elements: "linear" (by distance), "lower",
            "higher", "nearest" (the even one of two as near) or "midpoint".

    Raises:
        ValueError: q is out of range, nothing to reduce, or an unknown interpolation.
    """
    qs = q if isinstance(q, tuple) else (q,)
    for value in qs:
        if not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ValueError(f"q: expected numbers from 0 to 1, got {value!r}")
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"interpolation: expected one of {', '.join(_INTERPOLATIONS)}, got {interpolation!r}"
        )
    axis = over(x, axis)
    n = count(x.shape, axis)
    if not n:
        raise ValueError(f"x: expected elements along axis {axis}, got shape {x.shape}")
    rows = to_rows(xp, x if x.dtype.kind == "f" else x.astype(np.float64), axis)
    order = xp.argsort(rows, axis=-1)
    low, high, weights = zip(*(_neighbours(value, n, interpolation) for value in qs), strict=True)
    indices = order[..., xp.asarray(low + high)]
    # NaN is sorted to the end; where there is one, it is what every quantile is
    last = order[..., -1:]
    indices = xp.where(xp.isnan(xp.take_along_axis(rows, last, -1)), last, indices)
    pair = xp.take_along_axis(rows, indices, -1)
    weight = xp.asarray(weights, dtype=rows.dtype)
    m = len(qs)
    out = xp.moveaxis(pair[..., :m] * (1 - weight) + pair[..., m:] * weight, -1, 0)
    shape = reduced_shape(x.shape, axis, keepdims)
    return xp.reshape(out, (m, *shape) if isinstance(q, tuple) else shape), indices


@quantile.vjp
def _quantile_vjp(xp: Any, g: Any, k: Any) -> Any:
    shape, raw = k.shape_of(), k.indices.data if k.graph else k.indices
    n, m = count(shape, k.axis), raw.shape[-1] // 2
    qs = k.q if isinstance(k.q, tuple) else (k.q,)
    weight = device_of(raw).xp.asarray(
        [_neighbours(value, n, k.interpolation)[2] for value in qs], dtype=g.dtype
    )
    kept = raw.shape[:-1]
    g = xp.reshape(g, (m, math.prod(kept)))
    g = xp.reshape(xp.transpose(g, (1, 0)), (*kept, m))
    parts = xp.concatenate([g * (1 - weight), g * weight], axis=-1)
    rows = _back_to_positions(xp, parts, k, k.indices, len(kept), (*kept, n))
    return (from_rows(xp, rows, shape, k.axis),)


def median(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The middle element over ``axis``, of an even number the mean of the middle two, as in NumPy.

    The gradient goes to the middle element, half to each of two. PyTorch's ``median`` is the lower
    of the two: ``quantile(x, 0.5, axis, interpolation="lower")``. NaN among the elements gives NaN.
    """
    return quantile(x, 0.5, axis, keepdims)
