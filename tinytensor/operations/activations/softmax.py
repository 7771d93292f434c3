"""Softmax and its logarithm."""

from __future__ import annotations

import math
from typing import Any

from ...define.naming import anywhere, named
from ...define.op import op
from ...define.samples import Draw, Sample
from ..elementwise.choosing import where
from ..elementwise.conversion import copy
from ..elementwise.exponential import exp, log
from ..reductions import sum_mean_max as reduce
from ..reductions.sum_mean_max import keepdims_shape

_INF = math.inf


def _rows(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(3 * r(2, 3, 4), 1),
        Sample(r(5)),
        Sample(r(2, 1), 0),
        Sample(r(0, 3)),
        Sample(r()),
    ]


def stable_exp(xp: Any, x: Any, axis: int, out: Any = None) -> tuple[Any, Any, Any]:
    """exp(x - m) with m the maximum along ``axis``, its sum, and m; written to ``out`` if given.

    A slice that is -inf throughout (all of it masked) has m = 0, so that its exponentials are 0;
    its sum is given as 1, so that dividing by it leaves zeros. So it is for a slice of nothing.
    """
    if x.shape[axis]:
        m = xp.max(x, axis=axis, keepdims=True)
    else:
        m = xp.full(keepdims_shape(x.shape, axis), -_INF, dtype=x.dtype)
    empty = m == -_INF
    m = xp.where(empty, 0.0, m)
    out = xp.subtract(x, m, out=out)
    xp.exp(out, out=out)
    return out, xp.sum(out, axis=axis, keepdims=True) + empty, m


def _rows_along(x: Any, axis: int) -> Any:
    """x in a floating dtype; ValueError where it has no such axis. A number has one of length 1, as
    for the reductions."""
    x = x if x.dtype.kind == "f" else x.astype("float32")
    if not x.ndim and axis in (0, -1):
        return x[None]
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis: expected one of the {x.ndim} axes of x {x.shape}, got {axis!r}")
    return x


@op(
    "x",
    keeps="out",
    formula="eˣ / Σ eˣ",
    gradient="dx = out (g - Σ g out)",
    wide=True,
    samples=_rows,
)
def softmax(xp, x, axis=-1):
    """Positive weights that add up to 1 along ``axis``, computed without overflow.

    A slice that is -inf throughout gives zeros (PyTorch: NaN), so that an attention row with
    everything masked contributes nothing, neither forward nor backward. One with +inf gives NaN, as
    in PyTorch: which part of the whole ∞ of several ∞ is, nobody knows. A number gives 1.
    """
    out, total, _ = stable_exp(xp, _rows_along(x, axis), axis)
    out /= total
    return out.reshape(x.shape)


@softmax.vjp
def _softmax_vjp(xp: Any, g: Any, k: Any) -> Any:
    weighted = g * k.out
    total = xp.sum(weighted, axis=reduce.over(g, k.axis), keepdims=True)
    return (weighted - k.out * total,)


def _shifted_exp(x: Any, axis: int) -> tuple[Any, Any, Any]:
    """Primitives only: x less its maximum, the exponentials of that, and their sum.

    The maximum keeps the exponentials from overflowing and falls out of every ratio of them: a
    constant. In a slice that is -inf throughout it counts as 0, and the sum as 1.
    """
    m = named(f"max over axis {axis}", reduce.max(x.detach(), axis, True))
    empty = named("all is -inf", m == -_INF)
    if anywhere(empty):
        m = named("max, or 0", where(empty, 0.0, m))
    shifted = x - m
    exps = exp(shifted)
    total = reduce.sum(exps, axis, True)
    return shifted, exps, total + empty if anywhere(empty) else total


@softmax.reference_is
def _softmax(x: Any, axis: int = -1) -> Any:
    if not x.size:
        return copy(x)
    _, exps, total = _shifted_exp(x, axis)
    return exps / total


@op("x", keeps="out", formula="x - ln Σ eˣ", gradient="dx = g - eᵒᵘᵗ Σ g", wide=True, samples=_rows)
def log_softmax(xp, x, axis=-1):
    """Logarithm of the softmax along ``axis``, computed without overflow or log 0.

    A slice that is -inf throughout gives -inf, and one with +inf NaN there. A number gives 0.
    """
    rows = _rows_along(x, axis)
    _, total, m = stable_exp(xp, rows, axis)
    return ((rows - m) - xp.log(total)).reshape(x.shape)  # in this order: m may be large


@log_softmax.vjp
def _log_softmax_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (g - xp.exp(k.out) * xp.sum(g, axis=reduce.over(g, k.axis), keepdims=True),)


@log_softmax.reference_is
def _log_softmax(x: Any, axis: int = -1) -> Any:
    if not x.size:
        return copy(x)
    shifted, _, total = _shifted_exp(x, axis)
    return shifted - log(total)
