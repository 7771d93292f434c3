"""Normalisation of each row (the last axis) by its own statistics.

Sums over rows and columns are written as products with vectors (``rows @ ones``, ``ones @ rows``)
and dot products: on NumPy these are several times faster than ``sum`` over an axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Sample
from ..elementwise.arithmetic import sqrt
from ..linear.products import as_rows, column_sums, ones
from ..reductions import sum_mean_max as reduce

#: a product with ones adds up one by one; for rows longer than this ``sum``, which adds in pairs,
#: is as fast and more exact
_LONG = 4096


def row_dots(xp: Any, a: Any, b: Any) -> Any:
    """Σ a b over the last axis; short rows in one pass without an array of the products."""
    if a.shape[-1] > _LONG:
        return xp.sum(a * b, axis=-1)
    return np.vecdot(a, b) if xp is np else xp.einsum("...j,...j->...", a, b)


def row_sums(xp: Any, rows: Any, weight: Any = None) -> Any:
    """Σ rows weight over the last axis, with ``weight`` (n,) or None for ones."""
    if rows.shape[-1] > _LONG or (weight is None and xp is not np):
        return xp.sum(rows if weight is None else rows * weight, axis=-1)
    return xp.matmul(rows, ones(rows.shape[-1], rows.dtype) if weight is None else weight)


def _check(x: Any, **parameters: Any) -> None:
    """Raise unless x has a last axis and the parameters its length."""
    if not x.ndim:
        raise ValueError("x: expected at least one axis to normalise over, got a number")
    for name, p in parameters.items():
        if p is not None and p.dtype.kind == "i" and p.tolist() == list(x.shape[-p.size :]):
            raise TypeError(
                f"{name}: expected a tensor of shape {x.shape[-1:]}, got the numbers {p.tolist()}: "
                "there is no normalized_shape, it is always the last axis"
            )
        if p is not None and p.shape != x.shape[-1:]:
            raise ValueError(
                f"{name}: expected shape {x.shape[-1:]} for x of shape {x.shape}, got {p.shape}"
            )


def _scaled(out: Any, rstd: Any, weight: Any, bias: Any) -> Any:
    """out · rstd · weight + bias; in place where that keeps the dtype that it should have."""
    out *= rstd[:, None]
    if weight is not None:
        if weight.dtype == out.dtype:
            out *= weight
        else:
            out = out * weight
    if bias is not None:
        if bias.dtype == out.dtype:
            out += bias
        else:
            out = out + bias
    return out


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
        Sample(r(3, 4), None, r(4)),
        Sample(r(4), r(4), r(4)),
        Sample(r(0, 4), r(4), r(4)),
        Sample(r(2, 0), r(0), r(0)),
    ],
)
def layer_norm(xp, x, weight=None, bias=None, eps=1e-5):
    """Layer normalisation over the last axis (Ba et al. 2016, arXiv:1607.06450).

    The variance divides by n, ``eps`` is inside the root, and the mean is subtracted before
    squaring, so that a large common offset does not cancel the variance away.

    Args:
        x: (..., n). weight, bias: (n,) or None. eps: added to the variance.
    """
    _check(x, weight=weight, bias=bias)
    rows = as_rows(x)
    per_n = 1 / max(1, rows.shape[1])
    mean = row_sums(xp, rows) * per_n
    out = rows - mean[:, None]
    rstd = 1 / xp.sqrt(row_dots(xp, out, out) * per_n + eps)
    return _scaled(out, rstd, weight, bias).reshape(x.shape), mean, rstd


@layer_norm.vjp
def _layer_norm_vjp(xp: Any, g: Any, k: Any) -> Any:
    weight, rstd, shape = k.weight, k.rstd, g.shape
    g = as_rows(g)
    centred = as_rows(k.x) - k.mean[:, None]
    dx = dweight = dbias = None
    if k.needs[2]:
        dbias = column_sums(xp, g)
    if k.needs[0] or k.needs[1]:
        product = g * centred
        dweight = column_sums(xp, product, rstd)
    if k.needs[0]:
        # Σ h and Σ h x̂ are products with the weight: h = g weight itself is not needed for them
        per_n = 1 / max(1, g.shape[1])
        mean = row_sums(xp, g, weight) * per_n
        slope = row_sums(xp, product, weight) * (rstd * rstd) * per_n
        dx = g.copy() if weight is None else g * weight
        dx -= mean[:, None]
        centred *= slope[:, None]
        dx -= centred
        dx *= rstd[:, None]
        dx = dx.reshape(shape)
    return dx, dweight, dbias


@layer_norm.reference_is
def _layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    if not x.size:
        return x * 1.0 if weight is None else x * weight + (0.0 if bias is None else bias)
    centred = x - reduce.mean(x, -1, True)
    out = centred / sqrt(reduce.mean(centred * centred, -1, True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@op(
    "x weight",
    keeps="x weight rstd",
    formula="x / √(mean x² + eps) · weight",
    gradient="dx = rstd (h - x̂ mean(h x̂)) with h = g weight, x̂ = x rstd; dweight = Σ g x̂",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r(4)),
        Sample(r(2, 3, 5), r(5), 1e-3),
        Sample(r(3, 4)),
        Sample(r(4), r(4)),
        Sample(r(0, 4), r(4)),
        Sample(r(2, 0), r(0)),
    ],
)
def rms_norm(xp, x, weight=None, eps=None):
    """Normalisation by the root mean square of the last axis (Zhang and Sennrich 2019,
    arXiv:1910.07467).

    Args:
        x: (..., n). weight: (n,) or None.
        eps: added to the mean square, inside the root; None is the machine epsilon of the dtype
            (float32's for float16), as in PyTorch.
    """
    _check(x, weight=weight)
    rows = as_rows(x)
    square = row_dots(xp, rows, rows) * (1 / max(1, rows.shape[1]))
    rstd = 1 / xp.sqrt(square + _epsilon(x, eps))
    return _scaled(rows * 1, rstd, weight, None).reshape(x.shape), rstd


def _epsilon(x: Any, eps: float | None) -> float:
    return float(np.finfo(x.dtype).eps) if eps is None else eps


@rms_norm.vjp
def _rms_norm_vjp(xp: Any, g: Any, k: Any) -> Any:
    weight, rstd, shape = k.weight, k.rstd, g.shape
    g, rows = as_rows(g), as_rows(k.x)
    product = g * rows
    dx = None
    if k.needs[0]:
        slope = row_sums(xp, product, weight) * (rstd * rstd) * (1 / max(1, g.shape[1]))
        dx = g.copy() if weight is None else g * weight
        dx -= rows * slope[:, None]
        dx *= rstd[:, None]
        dx = dx.reshape(shape)
    return dx, column_sums(xp, product, rstd) if k.needs[1] else None


@rms_norm.reference_is
def _rms_norm(x: Any, weight: Any = None, eps: float | None = None) -> Any:
    if not x.size:
        return x * 1.0 if weight is None else x * weight
    out = x / sqrt(reduce.mean(x * x, -1, True) + _epsilon(x, eps))
    return out if weight is None else out * weight
