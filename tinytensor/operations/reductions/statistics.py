"""Reductions that take more than one pass: deviations, norms, the logarithm of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.naming import anywhere, named
from ...define.op import op
from ...define.samples import Draw, Sample
from ..elementwise.arithmetic import are_usual, kink, sqrt
from ..elementwise.choosing import all_finite, where
from .sum_mean_max import (
    Axis,
    all,
    axes_of,
    count,
    keepdims_shape,
    mean,
    over,
    reduced_shape,
    shared,
    spread,
    sum,
    with_empty,
)


def _as_floats(x: Any) -> Any:
    """x itself, or integers and booleans as float64."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _deviations(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(r(3, 4), -1, True, 1),
        Sample(r(2, 3, 4), (0, 2)),
        Sample(r(2, 3, 4), (-1, 0), True, 2),
        Sample(r(4), None, False, 1),
    ]


def _first(x: Any, axis: Axis) -> Any:
    """The first element of each reduced slice, with the reduced axes kept."""
    axes = axes_of(x.shape, axis)
    return x[(*(slice(0, 1) if i in axes else slice(None) for i in range(x.ndim)), ...)]


def _centred(xp: Any, x: Any, axis: Axis) -> Any:
    """x less its mean, by way of the differences to the first element.

    The mean of three times 0.1 is not 0.1: directly, equal elements would have a deviation of
    1e-17 whose gradient is as large as any. And an offset costs the mean its digits.
    """
    x = x - _first(x, axis)
    x -= xp.mean(x, axis=over(x, axis), keepdims=True)
    return x


def _freedom(shape: tuple[int, ...], axis: Axis, ddof: float) -> float:
    """n - ddof, but not below 0: with nothing left the variance is 0 / 0 or infinite."""
    n = count(shape, axis) - ddof
    return n if n > 0 else 0


@op(
    "x",
    keeps="x",
    formula="Σ (x - mean x)² / (n - ddof)",
    gradient="dx = g 2 (x - mean x) / (n - ddof)",
    wide=True,
    samples=lambda r: [*_deviations(r), Sample(r())],
)
def var(xp, x, axis=None, keepdims=False, ddof=0):
    """Variance over ``axis``, dividing by ``n - ddof``.

    NumPy's convention: ddof is 0 by default (PyTorch's ``correction`` is 1). Where ``ddof`` leaves
    nothing to divide by, the variance of equal elements is NaN with gradient NaN, as in PyTorch,
    and otherwise infinite; NumPy warns.
    """
    x, axis = _as_floats(x), over(x, axis)
    centred = _centred(xp, x, axis)
    centred *= centred
    return xp.sum(centred, axis=axis, keepdims=keepdims) / _freedom(x.shape, axis, ddof)


@var.vjp
def _var_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (_deviation(xp, k, g * 2 / _freedom(k.shape_of(), k.axis, k.ddof)),)


def _deviation(xp: Any, k: Any, scale: Any) -> Any:
    """(x - mean x) · scale, where scale has the shape of the output."""
    centred = _centred(xp, k.x, k.axis)
    centred *= xp.reshape(scale, keepdims_shape(k.shape_of(), k.axis))
    return centred


@var.reference_is
def _var(x: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    if _is_flat(x, axis):  # without rounding of the mean: equal elements deviate by nothing
        x = x - named("first element", _first(x.detach(), axis))
    centred = x - mean(x, axis, True)
    return sum(centred * centred, axis, keepdims) / _freedom(x.shape, axis, ddof)


def _is_flat(x: Any, axis: Axis) -> bool:
    """Whether some slice has equal elements only."""
    return anywhere(all(x.detach() == _first(x.detach(), axis), axis))


@op(
    "x",
    keeps={"x": "x out"},
    formula="√(Σ (x - mean x)² / (n - ddof))",
    gradient="dx = g (x - mean x) / ((n - ddof) out)",
    wide=True,
    samples=_deviations,
)
def std(xp, x, axis=None, keepdims=False, ddof=0):
    """Standard deviation over ``axis``: the root of :func:`var`, which says what ``ddof`` does.

    Of equal elements it is 0, with gradient 0, as in PyTorch (the root's alone is infinite), and a
    second derivative that is NaN: ``std(x) ** 2`` has one, but none that a rule for std could give.
    """
    return xp.sqrt(var.forward(xp, x, axis, keepdims, ddof))


@std.vjp
def _std_vjp(xp: Any, g: Any, k: Any) -> Any:
    out = xp.where(k.out == 0, 1.0, k.out)  # all deviations are 0 there
    scale = g / (_freedom(k.shape_of(), k.axis, k.ddof) * out)
    if not k.graph:
        return (_deviation(xp, k, scale),)
    shape = keepdims_shape(k.shape_of(), k.axis)
    shifted = k.x - _first(k.x.detach(), k.axis)
    centred = shifted - mean(shifted, k.axis, True)
    return (centred * scale.reshape(shape) + (g * kink(xp, k, k.out)).reshape(shape),)


@std.reference_is
def _std(x: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    variance = _var(x, axis, keepdims, ddof)
    flat = named("variance is 0", variance.detach() == 0)
    if not anywhere(flat):
        return sqrt(variance)
    return where(flat, 0.0, sqrt(where(flat, 1.0, variance)))


@op(
    "x",
    keeps="x out",
    formula="ln Σ eˣ",
    gradient="dx = g e^(x - out)",
    wide=True,
    samples=with_empty,
)
def logsumexp(xp, x, axis=None, keepdims=False):
    """Logarithm of the sum of exponentials over ``axis``, without overflow.

    Of nothing, and of elements that are all -inf, it is -inf. In the latter case the gradient is 0
    (PyTorch: NaN), so that a row that is masked throughout contributes nothing, as in ``softmax``.
    Where an element is +inf so is the result, and the gradient is its own (PyTorch: NaN there);
    several share it evenly, as any that are equal.
    """
    x, axis = _as_floats(x), over(x, axis)
    shape = reduced_shape(x.shape, axis, keepdims)
    if not count(x.shape, axis):
        return xp.full(shape, -math.inf, dtype=x.dtype)
    largest = xp.max(x, axis=axis, keepdims=True)
    limit = float(np.finfo(x.dtype).max)
    exps = x - xp.clip(largest, -limit, limit)  # inf - inf would be NaN
    total = xp.sum(xp.exp(exps), axis=axis, keepdims=True)
    # where all is -inf: ln 1 - inf
    return xp.reshape(xp.log(total + (total == 0)) + largest, shape)


def _logsumexp_dx(xp: Any, g: Any, k: Any) -> Any:
    out = xp.reshape(k.out, keepdims_shape(k.shape_of(), k.axis))
    if all_finite(xp, k.out):
        return spread(xp, g, k) * xp.exp(k.x - out)
    endless, top = xp.isinf(out), k.x == math.inf
    shares = xp.exp(xp.where(endless, -math.inf, k.x) - xp.where(endless, 0.0, out))
    return spread(xp, g, k) * (shares + (top / _how_many(xp, top, k)).astype(out.dtype))


def _how_many(xp: Any, hit: Any, k: Any) -> Any:
    """How many elements of each reduced slice are ``hit``, and 1 where none is."""
    return xp.maximum(xp.sum(hit, axis=over(hit, k.axis), keepdims=True), 1)


logsumexp.vjp(x=_logsumexp_dx)


@op(
    "x",
    keeps="x out",
    formula="(Σ |x|ᵖ)^(1/p)",
    gradient="dx = g sign(x) (|x| / out)^(p-1)",
    wide=True,
    samples=lambda r: [
        Sample(r.apart(3, 4)),
        Sample(r.apart(3, 4), 1, 0),
        Sample(r.apart(3, 4), 2, -1, True),
        Sample(r.apart(2, 3, 4), 3, (0, 2)),
        Sample(r.apart(5), 2.5),
        Sample(r.apart(5), 0.5),
        Sample(r.apart(5), -1),
        Sample(r.apart(2, 3), -2.5, 1, True),
        Sample(r.apart(2, 3) + 0.05, math.inf, 1),
        Sample(r.apart(2, 3) + 0.05, -math.inf, 0, True),
        Sample(r.apart(4), 0),
        Sample(r.apart(), 2),
        Sample(r(0, 3), 2, 0),
    ],
)
def norm(xp, x, p=2, axis=None, keepdims=False):
    """The p-norm of the elements over ``axis``, as of one vector, without overflow in between.

    ``p`` is any number: 2 is the Euclidean norm, ``math.inf`` the largest and ``-math.inf`` the
    smallest magnitude, 0 counts the elements that are not 0. Where the norm has no gradient this
    is 0: at elements that are 0, and everywhere if the norm is 0; ties of the largest or smallest
    magnitude share evenly. All of that as in PyTorch's ``vector_norm``. Where the norm is 0 its
    second derivative is NaN. If the norm is infinite, its gradient is that of elements which are
    (PyTorch: NaN); n of them have n^(1/p - 1) each, as any that are equal.

    Raises:
        ValueError: no elements, and ``p`` is negative or infinite. TypeError: p is not a number.
    """
    if isinstance(p, str) or not isinstance(p, (int, float)):
        raise TypeError(f"p: expected a number, got {p!r}")
    if (p < 0 or p == math.inf) and not count(x.shape, axis):
        raise ValueError(f"x: expected at least one element for p = {p}, got shape {x.shape}")
    x, axis = _as_floats(x), over(x, axis)
    if p == 0:
        return xp.sum(x != 0, axis=axis, keepdims=keepdims).astype(x.dtype)
    size = xp.abs(x)
    if p == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    if p == math.inf:
        return xp.max(size, axis=axis, keepdims=keepdims)
    if p == -math.inf or not count(x.shape, axis):
        reduce = xp.min if p < 0 else xp.sum
        return reduce(size, axis=axis, keepdims=keepdims)
    # powers of numbers up to 1 (for p < 0: from 1): their sum is between 1 and n
    extreme = (xp.max if p > 0 else xp.min)(size, axis=axis, keepdims=True)
    size /= xp.where((extreme > 0) & (extreme < math.inf), extreme, 1.0)
    if p < 0:
        size = xp.where(size == 0, 1.0, size)  # the norm is 0 in any case, as extreme is
    total = xp.sum(size * size if p == 2 else size**p, axis=axis, keepdims=True)
    root = xp.sqrt(total) if p == 2 else total ** (1 / p)
    return xp.reshape(root * extreme, reduced_shape(x.shape, axis, keepdims))


def _norm_dx(xp: Any, g: Any, k: Any) -> Any:
    p, x = k.p, k.x
    if p == 0:
        return spread(xp, xp.zeros_like(g), k)
    if p == 1:
        return spread(xp, g, k) * (xp.sign(x) + kink(xp, k, x))
    shape = keepdims_shape(k.shape_of(), k.axis)
    out, g = xp.reshape(k.out, shape), xp.reshape(g, shape)
    if p in (math.inf, -math.inf):
        slope = shared(xp, g, k, (xp.abs(x) == out) | (x != x)) * xp.sign(x)
        return slope + g * kink(xp, k, out)
    if p == 2 and are_usual(xp, out):
        return x * (g / out)
    flat, endless = out == 0, xp.isinf(out)
    size = xp.where(flat | endless, 1.0, out)
    if p > 0 and p % 2 == 0:
        slope = (x / size) ** (p - 1) if p != 2 else x / size
    else:
        zero = flat | (x == 0)
        slope = xp.sign(x) * (xp.where(zero, 1.0, xp.abs(x)) / size) ** (p - 1)
        slope = xp.where(zero, 0.0, slope)
    infinite = xp.isinf(x)
    part = _how_many(xp, infinite, k).astype(out.dtype) ** (1 / p - 1)
    parts = xp.where(infinite, xp.sign(x) * part, 0.0)
    return g * (xp.where(endless, parts, slope) + kink(xp, k, out))


norm.vjp(x=_norm_dx)
