"""Normalisation by statistics of the elements themselves."""

from __future__ import annotations

from typing import Any

from ..registry import op
from ..samples import Sample
from . import reduce
from .arithmetic import sqrt
from .products import as_rows

__all__ = ["layer_norm"]


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
    out = centred / sqrt(reduce.mean(centred * centred, -1, True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias
