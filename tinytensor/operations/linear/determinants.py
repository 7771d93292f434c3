"""Determinants of square matrices, and their logarithms."""

from __future__ import annotations

import math
from functools import reduce as reduce_by
from typing import Any

from ...define.naming import anywhere, named
from ...define.op import op
from ...tensor.tensor import make
from ..elementwise.arithmetic import kink, mul
from ..elementwise.choosing import where
from ..reductions import sum_mean_max as reduce
from .solving import inv, mt, need_square, square_samples, without_nan


@op(
    "a",
    keeps="a out",
    formula="det a",
    gradient="da = g out a⁻ᵀ (the cofactors)",
    wide=True,
    samples=square_samples,
)
def det(xp, a):
    """Determinant of square matrices: (..., n, n) -> (...). That of no rows is 1.

    The gradient is the matrix of cofactors, for singular matrices too; it is 0 where the rank is
    below n - 1. (PyTorch 2 gives zeros for some matrices of rank n - 1.) Higher derivatives are
    right from rank n - 2 on.
    """
    need_square("a", a)
    a, broken = without_nan(xp, a)
    return xp.where(broken[..., 0, 0], math.nan, xp.linalg.det(a))


@det.vjp
def _det_vjp(xp: Any, g: Any, k: Any) -> Any:
    singular = (k.out == 0)[..., None, None]
    other = xp.tril(xp.ones_like(k.a))  # one that can be inverted
    inverse = k.run(inv, xp.where(singular, other, k.a))
    cofactors = mt(xp, inverse) * k.out[..., None, None]
    if xp.any(singular):
        # of u s v they are det(u) det(v) u p v, with p the products of all other values in s
        u, s, v = xp.linalg.svd(xp.where(singular, k.a, other))
        eye = xp.eye(s.shape[-1], dtype="bool")
        p = xp.prod(xp.where(eye, 1.0, s[..., None, :]), axis=-1)
        p = p * (xp.linalg.det(u) * xp.linalg.det(v))[..., None]
        cofactors = xp.where(singular, xp.matmul(u * p[..., None, :], v), cofactors)
    return (g[..., None, None] * cofactors,)


@det.reference_is
def _det(a: Any) -> Any:
    """By elimination; the pivots are the largest elements, so that rank n - 2 needs no 0 / 0."""
    factors = []
    while a.shape[-1] > 2:
        a, sign = _largest_first(a)
        pivot = a[..., :1, :1]
        factors += [pivot[..., 0, 0]] if sign is None else [pivot[..., 0, 0], sign]
        nothing = named("pivot is 0", pivot.detach() == 0)
        if anywhere(nothing):
            pivot = where(nothing, 1.0, pivot)  # all else is 0, too
        a = a[..., 1:, 1:] - a[..., 1:, :1] / pivot * a[..., :1, 1:]
    if a.shape[-1] == 2:
        factors.append(a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0])
        return reduce_by(mul, factors)
    return a[..., 0, 0] if a.shape[-1] else reduce.sum(a, (-1, -2)) + 1.0


def _largest_first(a: Any) -> tuple[Any, Any]:
    """Each matrix with its largest element brought to the corner, and the sign that this costs;
    None where it costs none."""
    xp, n = a.device.xp, a.shape[-1]
    flat = a.reshape(math.prod(a.shape[:-2]), n, n)
    at = xp.argmax(xp.abs(flat.data).reshape(len(flat), n * n), axis=1)
    if not at.any():
        return a, None
    order, row, column = xp.arange(n), at[:, None] // n, at[:, None] % n
    rows, columns = (xp.where(order == 0, i, xp.where(order == i, 0, order)) for i in (row, column))
    sign = xp.where((row == 0) == (column == 0), 1, -1).astype(a.dtype).reshape(a.shape[:-2])
    flat = flat[xp.arange(len(flat))[:, None, None], rows[:, :, None], columns[:, None, :]]
    return flat.reshape(a.shape), named("sign of the exchange", make(sign))


@op(
    "a",
    keeps="a sign",
    outputs=2,
    formula="the sign of det a, and ln |det a|",
    gradient="da = g a⁻ᵀ, for g of the logarithm",
    wide=True,
    samples=square_samples,
)
def slogdet(xp, a):
    """Sign (-1, 0 or 1) and logarithm of the magnitude of the determinant, which may be too large
    or too small a number itself: (..., n, n) -> (...), (...).

    A singular matrix gives (0, -inf) and an infinite gradient, whose own is NaN. The sign's
    gradient is 0.
    """
    need_square("a", a)
    a, broken = without_nan(xp, a)
    sign, logarithm = (xp.where(broken[..., 0, 0], math.nan, y) for y in xp.linalg.slogdet(a))
    return (sign, logarithm), sign


def _slogdet_da(xp: Any, g: Any, k: Any) -> Any:
    singular = (k.sign == 0)[..., None, None]
    other = xp.tril(xp.ones_like(k.a))  # one that can be inverted
    inverse = k.run(inv, xp.where(singular, other, k.a))
    slope = xp.where(singular, math.inf, mt(xp, inverse))
    return g[1][..., None, None] * (slope + kink(xp, k, xp.where(singular, 0.0 * k.a, 1.0)))


slogdet.vjp(a=_slogdet_da)
