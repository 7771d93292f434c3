"""Softmax, its logarithm, and dropout."""

from __future__ import annotations

import math
from typing import Any

from .. import random
from ..registry import op
from ..samples import Draw, Sample
from . import reduce
from .arithmetic import add
from .axes import as_tensor
from .copying import copy
from .exponential import exp, log
from .reduce import keepdims_shape
from .select import where

__all__ = ["dropout", "log_softmax", "softmax"]

_INF = math.inf


def _rows(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(3 * r(2, 3, 4), 1),
        Sample(r(5)),
        Sample(r(2, 1), 0),
        Sample(r(0, 3)),
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
    """x in a floating dtype; ValueError where it has no such axis."""
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis: expected one of the {x.ndim} axes of x {x.shape}, got {axis!r}")
    return x if x.dtype.kind == "f" else x.astype("float32")


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
    everything masked contributes nothing, neither forward nor backward.
    """
    x = _rows_along(x, axis)
    out, total, _ = stable_exp(xp, x, axis)
    out /= total
    return out


@softmax.vjp
def _softmax_vjp(xp: Any, g: Any, k: Any) -> Any:
    weighted = g * k.out
    return (weighted - k.out * xp.sum(weighted, axis=k.axis, keepdims=True),)


def _shifted_exp(x: Any, axis: int) -> tuple[Any, Any, Any]:
    """Primitives only: x less its maximum, the exponentials of that, and their sum."""
    m = reduce.max(x.detach(), axis, True)
    empty = m == -_INF
    shifted = x - where(empty, 0.0, m)
    exps = exp(shifted)
    return shifted, exps, add(reduce.sum(exps, axis, True), empty)


@softmax.reference_is
def _softmax(x: Any, axis: int = -1) -> Any:
    if not x.size:
        return copy(x)
    _, exps, total = _shifted_exp(x, axis)
    return exps / total


@op("x", keeps="out", formula="x - ln Σ eˣ", gradient="dx = g - eᵒᵘᵗ Σ g", wide=True, samples=_rows)
def log_softmax(xp, x, axis=-1):
    """Logarithm of the softmax along ``axis``, computed without overflow or log 0.

    A slice that is -inf throughout gives -inf.
    """
    x = _rows_along(x, axis)
    _, total, m = stable_exp(xp, x, axis)
    return (x - m) - xp.log(total)  # in this order: m may be large


@log_softmax.vjp
def _log_softmax_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (g - xp.exp(k.out) * xp.sum(g, axis=k.axis, keepdims=True),)


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
    out = x * (1 / (1 - p))
    out *= keep
    return out


@_dropout.vjp
def _dropout_vjp(xp: Any, g: Any, k: Any) -> Any:
    return g * (1 / (1 - k.p)) * k.keep, None


@_dropout.reference_is
def _dropout_reference(x: Any, keep: Any, p: float) -> Any:
    return where(keep, x / (1 - p), 0.0)


def keep_mask(x: Any, shape: tuple[int, ...], p: float, generator: random.Generator | None) -> Any:
    """A boolean tensor on x's device, each element True with probability ``1 - p``."""
    from ..tensor import make

    if not 0 <= p < 1:
        raise ValueError(f"p: expected a probability 0 <= p < 1, got {p}")
    return make(x.device.from_host(random.source(generator, "dropout").coins(shape, 1 - p)))


def dropout(
    x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None
) -> Any:
    """Inverted dropout (Srivastava et al. 2014): zero each element with probability ``p`` and scale
    the rest by ``1 / (1 - p)``; ``x`` itself where ``training`` is False or ``p`` is 0.

    ``generator`` defaults to the named generator "dropout".
    """
    x = as_tensor(x)
    if not (isinstance(p, (int, float)) and 0 <= p < 1):
        raise ValueError(f"dropout: p: expected a probability 0 <= p < 1, got {p}")
    if not training or p == 0:
        return x
    return _dropout(x, keep_mask(x, x.shape, p, generator), p=p)
