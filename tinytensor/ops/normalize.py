"""Softmax, log-softmax, layer normalisation and dropout."""

from __future__ import annotations

import math
from typing import Any

from .. import random
from ..registry import op
from ..samples import Draw, Sample
from . import elementwise as e
from . import reduce
from .linalg import as_rows

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
    its sum is given as 1, so that dividing by it leaves zeros.
    """
    m = xp.max(x, axis=axis, keepdims=True)
    empty = m == -_INF
    m = xp.where(empty, 0.0, m)
    out = xp.subtract(x, m, out=out)
    xp.exp(out, out=out)
    return out, xp.sum(out, axis=axis, keepdims=True) + empty, m


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
    if not x.shape[axis]:
        return x.copy()
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
    shifted = x - e.where(empty, 0.0, m)
    exps = e.exp(shifted)
    return shifted, exps, e.add(reduce.sum(exps, axis, True), empty)


@softmax.reference_is
def _softmax(x: Any, axis: int = -1) -> Any:
    if not x.size:
        return e.copy(x)
    _, exps, total = _shifted_exp(x, axis)
    return exps / total


@op("x", keeps="out", formula="x - ln Σ eˣ", gradient="dx = g - eᵒᵘᵗ Σ g", wide=True, samples=_rows)
def log_softmax(xp, x, axis=-1):
    """Logarithm of the softmax along ``axis``, computed without overflow or log 0.

    A slice that is -inf throughout gives -inf.
    """
    if not x.shape[axis]:
        return x.copy()
    _, total, m = stable_exp(xp, x, axis)
    return (x - m) - xp.log(total)  # in this order: m may be large


@log_softmax.vjp
def _log_softmax_vjp(xp: Any, g: Any, k: Any) -> Any:
    return (g - xp.exp(k.out) * xp.sum(g, axis=k.axis, keepdims=True),)


@log_softmax.reference_is
def _log_softmax(x: Any, axis: int = -1) -> Any:
    if not x.size:
        return e.copy(x)
    shifted, _, total = _shifted_exp(x, axis)
    return shifted - e.log(total)


@op(
    "x weight bias",
    keeps="x weight bias mean rstd",
    formula="(x - mean) / √(var + eps) · weight + bias",
    gradient="dx = rstd (h - mean h - x̂ mean(h x̂)) with h = g weight; dweight = Σ g x̂; dbias = Σ g",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r(4), r(4)),
        Sample(r(2, 3, 5), r(5), r(5), 1e-3),
        Sample(r(3, 4)),
        Sample(r(3, 4), r(4)),
        Sample(r(4), r(4), r(4)),
        Sample(r(0, 4), r(4), r(4)),
    ],
)
def layer_norm(xp, x, weight=None, bias=None, eps=1e-5):
    """Layer normalisation over the last axis (Ba et al. 2016, arXiv:1607.06450).

    The variance divides by n, ``eps`` is inside the root, and the mean is subtracted before
    squaring, so that a large common offset does not cancel the variance away.

    Args:
        x: (..., n). weight, bias: (n,) or None. eps: added to the variance.
    """
    n = x.shape[-1] if x.ndim else 0
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != (n,):
            raise ValueError(
                f"{name}: expected shape ({n},) for x of shape {x.shape}, got {p.shape}"
            )
    mean = xp.mean(x, axis=-1, keepdims=True)
    out = x - mean
    rstd = 1 / xp.sqrt(xp.mean(out * out, axis=-1, keepdims=True) + eps)
    out *= rstd
    if weight is not None:
        out = xp.multiply(out, weight, out=out) if weight.dtype == out.dtype else out * weight
    if bias is not None:
        out = xp.add(out, bias, out=out) if bias.dtype == out.dtype else out + bias
    return out, mean, rstd


@layer_norm.vjp
def _layer_norm_vjp(xp: Any, g: Any, k: Any) -> Any:
    hat = k.x - k.mean
    hat *= k.rstd
    dx = dweight = dbias = None
    if k.needs[1]:
        dweight = xp.sum(as_rows(g * hat), axis=0)
    if k.needs[2]:
        dbias = xp.sum(as_rows(g), axis=0)
    if k.needs[0]:
        dx = g * k.weight if k.weight is not None else g.copy()
        slope = xp.mean(dx * hat, axis=-1, keepdims=True)
        dx -= xp.mean(dx, axis=-1, keepdims=True)
        hat *= slope
        dx -= hat
        dx *= k.rstd
    return dx, dweight, dbias


@layer_norm.reference_is
def _layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    centred = x - reduce.mean(x, -1, True)
    out = centred / e.sqrt(reduce.mean(centred * centred, -1, True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


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
    return x * keep * (1 / (1 - p))


@_dropout.vjp
def _dropout_vjp(xp: Any, g: Any, k: Any) -> Any:
    return g * k.keep * (1 / (1 - k.p)), None


@_dropout.reference_is
def _dropout_reference(x: Any, keep: Any, p: float) -> Any:
    return e.where(keep, x / (1 - p), 0.0)


def keep_mask(x: Any, shape: tuple[int, ...], p: float, generator: random.Generator | None) -> Any:
    """A boolean tensor on x's device, each element True with probability ``1 - p``."""
    from ..tensor import make

    if not 0 <= p < 1:
        raise ValueError(f"p: expected a probability 0 <= p < 1, got {p}")
    drawn = random.source(generator, "dropout").random(shape, dtype="float32")
    return make(x.device.from_host(drawn >= p))


def dropout(
    x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None
) -> Any:
    """Inverted dropout (Srivastava et al. 2014): zero each element with probability ``p`` and scale
    the rest by ``1 / (1 - p)``; ``x`` itself where ``training`` is False or ``p`` is 0.

    ``generator`` defaults to the named generator "dropout".
    """
    if not 0 <= p < 1:
        raise ValueError(f"dropout: p: expected a probability 0 <= p < 1, got {p}")
    if not training or p == 0:
        return x
    return _dropout(x, keep_mask(x, x.shape, p, generator), p=p)
