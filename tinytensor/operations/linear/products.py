"""Products of matrices and vectors."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from ...tensor.axes import as_tensor
from ..elementwise.arithmetic import add
from ..shapes.reshaping import swapaxes


def as_rows(x: Any) -> Any:
    """x with all axes but the last as one; spelled out, for an axis of length 0 leaves -1 open."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def ones(n: int, dtype: Any) -> Any:
    """n ones, to be read only: as a product with them a sum takes a third of the time."""
    return _few_ones(n, dtype) if n <= 1 << 16 else np.ones(n, dtype)


@lru_cache(maxsize=64)
def _few_ones(n: int, dtype: Any) -> Any:
    return np.ones(n, dtype)


def column_sums(xp: Any, rows: Any, weight: Any = None) -> Any:
    """Σ weight rows over the first axis of (m, n), with ``weight`` (m,) or None for ones."""
    if weight is not None:
        return weight @ rows
    return ones(len(rows), rows.dtype) @ rows if xp is np else xp.sum(rows, axis=0)


def _times_one(x: Any, matrix: Any) -> Any:
    """x @ matrix, with a stack of matrices in x, as a single large product."""
    return (as_rows(x) @ matrix).reshape(*x.shape[:-1], matrix.shape[-1])


@op(
    "x y",
    keeps={"x": "y", "y": "x"},
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
        Sample(r(2, 0, 3), r(3, 2)),
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
            f"axis of y ({inner}) must be equal"
        )
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous:
        return _times_one(x, y)
    return xp.matmul(x, y)


def _matmul_dx(xp: Any, g: Any, k: Any) -> Any:
    y = k.y
    if y.ndim == 1:
        return g[..., None] * y
    if len(k.shape_of(0)) == 1:
        return xp.matmul(y, g[..., None])[..., 0]
    y = xp.swapaxes(y, -1, -2)
    return _times_one(g, y) if y.ndim == 2 and g.ndim > 2 else xp.matmul(g, y)


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
    keeps={"x": "weight", "weight": "x"},
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
        Sample(r(2, 3), r(0, 3), r(0)),
    ],
)
def linear(xp, x, weight, bias=None):
    """Affine map of the last axis.

    Args:
        x: (..., in). weight: (out, in). bias: (out,) or None.

    Returns:
        (..., out).
    """
    if weight.ndim != 2:
        raise ValueError(f"weight: expected shape (out, in), got {weight.shape}")
    if x.shape[-1:] != weight.shape[1:]:
        raise ValueError(
            f"x: expected shape (..., {weight.shape[1]}) for a weight of shape {weight.shape}, "
            f"got {x.shape}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"bias: expected shape {weight.shape[:1]}, got {bias.shape}")
    out = as_rows(x) @ weight.T
    if bias is not None:
        if out.dtype == bias.dtype:
            out += bias
        else:
            out = out + bias
    return out if x.ndim == 2 else out.reshape(*x.shape[:-1], weight.shape[0])


@linear.vjp
def _linear_vjp(xp: Any, g: Any, k: Any) -> Any:
    dx = dweight = dbias = None
    rows = as_rows(g)
    if k.needs[0]:
        dx = rows @ k.weight
        dx = dx if g.ndim == 2 else dx.reshape(k.shape_of(0))
    if k.needs[1]:
        dweight = rows.T @ as_rows(k.x)
    if k.needs[2]:
        dbias = column_sums(xp, rows)
    return dx, dweight, dbias


@linear.reference_is
def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    out = matmul(x, swapaxes(weight, 0, 1))
    return out if bias is None else add(out, bias)


def mv(x: Any, y: Any) -> Any:
    """Matrix times vector: (n, m), (m,) -> (n,)."""
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim != 2 or y.ndim != 1:
        raise ValueError(f"mv: expected x (n, m) and y (m,), got {x.shape} and {y.shape}")
    return matmul(x, y)


def bmm(x: Any, y: Any) -> Any:
    """Product of two stacks of matrices, one by one: (b, n, m), (b, m, p) -> (b, n, p).

    Nothing broadcasts; :func:`matmul` is the same with broadcasting.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0]:
        raise ValueError(f"bmm: expected x (b, n, m) and y (b, m, p), got {x.shape} and {y.shape}")
    return matmul(x, y)


def _vectors(r: Draw) -> list[Sample]:
    def three(*shape: int, axis: int = -1) -> Any:
        return np.stack([r(*shape) for _ in range(3)], axis=axis)

    return [
        Sample(three(), three()),
        Sample(three(2), three(2)),
        Sample(three(2, axis=0), three(2, axis=0), 0),
        Sample(three(4, 1), three(2)),
        Sample(three(2, 4, axis=1), three(1, 4, axis=1), -2),
        Sample(three(0), three(0)),
    ]


@op(
    "x y",
    keeps={"x": "y", "y": "x"},
    formula="x × y",
    gradient="dx = y × g, dy = g × x",
    samples=_vectors,
)
def cross(xp, x, y, axis=-1):
    """Cross product of vectors of length 3 along ``axis``; the other axes broadcast.

    Raises:
        ValueError: ``axis`` is not of length 3, or it counts from the front while the operands
            have different numbers of axes, so that it would name a different one in each.
    """
    for name, a in (("x", x), ("y", y)):
        if not -a.ndim <= axis < a.ndim or a.shape[axis] != 3:
            raise ValueError(f"{name}: expected length 3 along axis {axis}, got shape {a.shape}")
    if axis >= 0 and x.ndim != y.ndim:
        raise ValueError(
            f"axis: expected one that counts from the end (negative) for operands of {x.ndim} and "
            f"{y.ndim} axes, got {axis}"
        )
    return xp.cross(x, y, axis=axis)


cross.vjp(
    x=lambda xp, g, k: xp.cross(k.y, g, axis=k.axis),
    y=lambda xp, g, k: xp.cross(g, k.x, axis=k.axis),
)
