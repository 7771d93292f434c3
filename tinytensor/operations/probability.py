"""Softmax, its logarithm, dropout, and draws from a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import random
from ..registry import op
from ..samples import Draw, Sample
from ..tensor import Tensor, make
from . import reduce
from .axes import as_tensor, whole
from .copying import copy
from .exponential import exp, log
from .naming import anywhere, named
from .reduce import keepdims_shape
from .select import where

__all__ = ["dropout", "log_softmax", "multinomial", "softmax"]

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


@op(
    "x keep",
    name="dropout",
    keeps="keep",
    formula="x · keep / (1 - p)",
    gradient="dx = g keep / (1 - p)",
    samples=lambda r: [
        Sample(r(3, 4), r.bools(3, 4), 0.5),
        Sample(r(6), r.bools(6), 0.1),
        Sample(r(0, 3), r.bools(0, 3), 0.5),
    ],
)
def _dropout(xp, x, keep, p):
    """Zero where ``keep`` is False, the rest scaled up by 1 / (1 - p)."""
    out = x * kept_scale(p)
    out *= keep
    return out


@_dropout.vjp
def _dropout_vjp(xp: Any, g: Any, k: Any) -> Any:
    return g * kept_scale(k.p) * k.keep, None


@_dropout.reference_is
def _dropout_reference(x: Any, keep: Any, p: float) -> Any:
    return where(keep, x * kept_scale(p), 0.0)


def kept_scale(p: float) -> float:
    """What the elements that dropout keeps are multiplied by; where p is 1 it keeps none."""
    return 1 / (1 - p) if p < 1 else 1.0


def keep_mask(x: Any, shape: tuple[int, ...], p: float, generator: random.Generator | None) -> Any:
    """A boolean tensor on x's device, each element True with probability ``1 - p``."""
    from ..tensor import make

    if not 0 <= p <= 1:
        raise ValueError(f"p: expected a probability 0 <= p <= 1, got {p}")
    return make(x.device.from_host(random.source(generator, "dropout").coins(shape, 1 - p)))


def dropout(
    x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None
) -> Any:
    """Inverted dropout (Srivastava et al. 2014): zero each element with probability ``p`` and scale
    the rest by ``1 / (1 - p)``; ``x`` itself where ``training`` is False or ``p`` is 0, and zeros
    where ``p`` is 1.

    ``generator`` defaults to the named generator "dropout".
    """
    x = as_tensor(x)
    if not (isinstance(p, (int, float, np.floating)) and 0 <= p <= 1):
        raise ValueError(f"dropout: p: expected a probability 0 <= p <= 1, got {p}")
    if not training or p == 0:
        return x
    return _dropout(x, keep_mask(x, x.shape, p, generator), p=p)


# -- draws ----------------------------------------------------------------------------------
def multinomial(
    probs: Any,
    num_samples: int,
    replacement: bool = False,
    generator: random.Generator | None = None,
) -> Tensor:
    """Indices drawn with given probabilities: (..., k) -> (..., num_samples), int64.

    Numbers are drawn on the host in float64, so a seed gives the same on every device. There is no
    gradient.

    Args:
        probs: (k,), or rows (..., k), of numbers >= 0; what counts is their share of a row's sum.
        num_samples: how many indices to draw for each row.
        replacement: whether an index may be drawn again. If not, each is drawn among those that
            are left, with their probabilities.
        generator: source of randomness, the one named "sample" if None.

    Raises:
        ValueError: a number is negative, NaN or infinite, all of a row are 0, or there are fewer
            above 0 than are to be drawn without replacement.
    """
    probs = as_tensor(probs)
    source = random.source(generator, "sample")
    n = whole("multinomial: num_samples", num_samples)
    if n < 1:
        raise ValueError(f"multinomial: num_samples: expected an integer >= 1, got {n}")
    if not probs.ndim or not probs.shape[-1]:
        raise ValueError(
            f"multinomial: probs: expected (..., k) with k >= 1 numbers, got shape {probs.shape}"
        )
    weights = np.asarray(probs.device.to_host(probs.data), dtype=np.float64)
    wrong = ~((weights >= 0) & (weights < math.inf))
    if wrong.any():
        raise ValueError(
            f"multinomial: probs: expected finite numbers >= 0, got {weights[wrong][0]} at "
            f"{tuple(int(i) for i in np.argwhere(wrong)[0])}"
        )
    least = 1 if replacement else n
    few = np.atleast_1d((weights > 0).sum(axis=-1) < least)
    if few.any():
        row = "" if probs.ndim == 1 else f" in row {tuple(int(i) for i in np.argwhere(few)[0])}"
        enough = "" if least == 1 else f", to draw {n} different indices (replacement=False)"
        raise ValueError(f"multinomial: probs: expected at least {least} above 0{row}{enough}")
    weights = weights / weights.max(axis=-1, keepdims=True)  # whose sum cannot overflow
    drawn = (source.categorical if replacement else source.distinct)(weights, n)
    return make(probs.device.from_host(drawn))
