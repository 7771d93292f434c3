"""Products of matrices."""

from __future__ import annotations

import math
from typing import Any

from ..registry import op
from ..samples import Sample
from .arithmetic import add
from .shape import swapaxes

__all__ = ["linear", "matmul"]


def as_rows(x: Any) -> Any:
    """x with all axes but the last as one; spelled out, for an axis of length 0 leaves -1 open."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _product(xp: Any, x: Any, y: Any) -> Any:
    """x @ y, with a stack of matrices times one matrix as a single large product."""
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous and x.size:
        return (as_rows(x) @ y).reshape(*x.shape[:-1], y.shape[-1])
    return xp.matmul(x, y)


@op(
    "x y",
    keeps="x y",
    formula="x @ y",
    gradient="dx = g yᵀ, dy = xᵀ g",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r(4, 2)),
        Sample(r(4), r(4)),
        Sample(r(3, 4), r(4)),
        Sample(r(4), r(4, 2)),
        Sample(r(2, 3, 4), r(4)),
        Sample(r(4), r(2, 4, 3)),
        Sample(r(2, 3, 4), r(4, 5)),
        Sample(r(2, 3, 4), r(2, 4, 5)),
        Sample(r(3, 4), r(2, 4, 5)),
        Sample(r(2, 1, 3, 4), r(3, 4, 2)),
        Sample(r(1, 1), r(1, 1)),
        Sample(r(0, 3), r(3, 2)),
        Sample(r(2, 0), r(0, 3)),
    ],
)
def matmul(xp, x, y):
    """Matrix product with NumPy's rules: 1-D operands are vectors, leading axes broadcast."""
    for name, a in (("x", x), ("y", y)):
        if not getattr(a, "ndim", 0):
            raise ValueError(f"{name}: expected at least one axis, got a number; use * to scale")
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise ValueError(
            f"the last axis of x ({x.shape[-1]}) and the {'second last' if y.ndim > 1 else 'only'} "
            "axis of y "
            f"({inner}) must be equal"
        )
    return _product(xp, x, y)


def _matmul_dx(xp: Any, g: Any, k: Any) -> Any:
    y = k.y
    if y.ndim == 1:
        return g[..., None] * y
    if len(k.shape_of(0)) == 1:
        return xp.matmul(y, g[..., None])[..., 0]
    return xp.matmul(g, xp.swapaxes(y, -1, -2))


def _matmul_dy(xp: Any, g: Any, k: Any) -> Any:
    x = k.x
    if x.ndim == 1:
        return x[:, None] * g[..., None, :] if len(k.shape_of(1)) > 1 else x * g
    if len(k.shape_of(1)) == 1:
        return xp.matmul(xp.swapaxes(x, -1, -2), g[..., None])[..., 0]
    if x.ndim > 2 and len(k.shape_of(1)) == 2:
        # the sum over the stack is part of one product
        return xp.matmul(as_rows(x).T, as_rows(g))
    return xp.matmul(xp.swapaxes(x, -1, -2), g)


matmul.vjp(x=_matmul_dx, y=_matmul_dy)


@op(
    "x weight bias",
    keeps="x weight bias",
    formula="x @ weightᵀ + bias",
    gradient="dx = g weight, dweight = gᵀ x, dbias = Σ g",
    wide=True,
    samples=lambda r: [
        Sample(r(3, 4), r(2, 4), r(2)),
        Sample(r(2, 3, 4), r(5, 4), r(5)),
        Sample(r(4), r(2, 4), r(2)),
        Sample(r(3, 4), r(2, 4)),
        Sample(r(0, 4), r(2, 4), r(2)),
        Sample(r(1, 1), r(1, 1), r(1)),
    ],
)
def linear(xp, x, weight, bias=None):
    """Affine map of the last axis.

    Args:
        x: (..., in). weight: (out, in). bias: (out,) or None.

    Returns:
        (..., out).
    """
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"weight: expected shape (out, {x.shape[-1] if x.ndim else '?'}) for x of shape "
            f"{x.shape}, got {weight.shape}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"bias: expected shape {weight.shape[:1]}, got {bias.shape}")
    out = as_rows(x) @ weight.T
    if bias is not None:
        if out.dtype == bias.dtype:
            out += bias
        else:
            out = out + bias
    return out.reshape(*x.shape[:-1], weight.shape[0])


@linear.vjp
def _linear_vjp(xp: Any, g: Any, k: Any) -> Any:
    x, weight = k.x, k.weight
    dx = dweight = dbias = None
    flat = as_rows(g)
    if k.needs[0]:
        dx = (flat @ weight).reshape(x.shape)
    if k.needs[1]:
        dweight = flat.T @ as_rows(x)
    if k.needs[2]:
        dbias = flat.sum(axis=0)
    return dx, dweight, dbias


@linear.reference_is
def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    out = matmul(x, swapaxes(weight, 0, 1))
    return out if bias is None else add(out, bias)
