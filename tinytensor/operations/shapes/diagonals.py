"""Diagonals of matrices, and the triangles that they bound."""

from __future__ import annotations

from typing import Any

from ...define.op import OPS, op
from ...define.samples import Draw, Sample
from ...tensor.axes import as_tensor, axes_of, axis_of, whole


def _triangles(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 1),
        Sample(r(2, 3, 3), -1),
        Sample(r(1, 1)),
        Sample(r(3, 4), -7),
        Sample(r(0, 3)),
    ]


def _need_matrix(x: Any) -> None:
    if x.ndim < 2:  # NumPy would make a matrix of a vector here, with each row a copy of it
        raise ValueError(f"x: expected a matrix or a batch of them, got shape {x.shape}")


@op("x", formula="x on and below diagonal k, else 0", gradient="dx = tril(g)", samples=_triangles)
def tril(xp, x, k=0):
    """Lower triangle of the last two axes: 0 above diagonal ``k``."""
    _need_matrix(x)
    return xp.tril(x, whole("k", k))


tril.vjp(x=lambda xp, g, k: xp.tril(g, k.k))


@op("x", formula="x on and above diagonal k, else 0", gradient="dx = triu(g)", samples=_triangles)
def triu(xp, x, k=0):
    """Upper triangle of the last two axes: 0 below diagonal ``k``."""
    _need_matrix(x)
    return xp.triu(x, whole("k", k))


triu.vjp(x=lambda xp, g, k: xp.triu(g, k.k))


def _matrices(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4)),
        Sample(r(3, 4), 2),
        Sample(r(4, 3), -1),
        Sample(r(2, 3, 4), 1, -2, -1),
        Sample(r(2, 3, 4), 0, 2, 0),
        Sample(r(2, 3, 2, 2), -1, 1, -1),
        Sample(r(1, 1)),
        Sample(r(3, 2), 5),
        Sample(r(0, 3)),
        Sample(r(0, 2, 2), 0, 1, 2),
    ]


@op(
    "x",
    view=True,
    formula="out[..., i] = x[..., i, i + offset]",
    gradient="dx = zeros with g on the diagonal",
    samples=_matrices,
)
def diagonal(xp, x, offset=0, axis1=0, axis2=1):
    """The diagonal of the matrices that ``axis1`` (rows) and ``axis2`` (columns) span, as the last
    axis of the result. A view.

    ``offset`` > 0 is above the main diagonal, < 0 below; one beyond the matrix has no elements.
    """
    out = xp.diagonal(x, offset, *axes_of("axis1 and axis2", (axis1, axis2), x.shape))
    if getattr(x.flags, "writeable", False):  # NumPy gives a view that is read-only, CuPy does not
        out.flags.writeable = True
    return out


diagonal.vjp(
    x=lambda xp, g, k: k.run(
        OPS["diag_embed"], g, shape=k.shape_of(), offset=k.offset, axis1=k.axis1, axis2=k.axis2
    )
)


@op(
    "x",
    name="diag_embed",
    formula="zeros with out[..., i, i + offset] = x[..., i]",
    gradient="dx = the diagonal of g",
    samples=lambda r: [
        Sample(r(3), (3, 3)),
        Sample(r(3), (4, 4), 1, 0, 1),
        Sample(r(2, 3), (2, 4, 4), -1),
        Sample(r(4, 2), (2, 4, 5), 1, 0, -1),
        Sample(r(2, 3), (3, 2, 4), 0, 0, 2),
        Sample(r(0), (0, 0)),
        Sample(r(0), (2, 2), 2),
    ],
)
def _diag_embed(xp, x, shape, offset=0, axis1=-2, axis2=-1):
    """Zeros of ``shape`` with the last axis of ``x`` on a diagonal."""
    rows, columns = shape[axis1], shape[axis2]
    flat = xp.zeros((*x.shape[:-1], rows * columns), dtype=x.dtype)
    start = offset if offset >= 0 else -offset * columns
    step = columns + 1  # from one element of a diagonal to the next, row by row
    flat[..., start : start + step * x.shape[-1] : step] = x
    out = flat.reshape(*x.shape[:-1], rows, columns)
    return xp.moveaxis(out, (-2, -1), (axis1, axis2))


_diag_embed.vjp(x=lambda xp, g, k: xp.diagonal(g, k.offset, k.axis1, k.axis2))


def diag_embed(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Square matrices with the last axis of ``x`` (..., n) on a diagonal, 0 elsewhere.

    The matrices have n + |offset| rows and columns, at the axes ``axis1`` (rows) and ``axis2``
    (columns) of the result; above the main diagonal where ``offset`` > 0.

    Raises:
        ValueError: ``x`` is 0-d, or the axes are equal. AxisError: there is no such axis.
    """
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError("diag_embed: x: expected at least one axis, got shape ()")
    side = x.shape[-1] + abs(whole("diag_embed: offset", offset))
    batch = x.shape[:-1]
    first = axis_of("diag_embed: axis1", axis1, (*batch, side, side))
    second = axis_of("diag_embed: axis2", axis2, (*batch, side, side))
    if first == second:
        raise ValueError(
            f"diag_embed: axis1 and axis2: expected two different axes of the {x.ndim + 1} of the "
            f"result, got {axis1} and {axis2}"
        )
    rest = iter(batch)
    shape = tuple(side if i in (first, second) else next(rest) for i in range(x.ndim + 1))
    return _diag_embed(x, shape=shape, offset=offset, axis1=first, axis2=second)


def diag(x: Any, k: int = 0) -> Any:
    """A square matrix with the vector ``x`` on diagonal ``k``, or diagonal ``k`` of the matrix
    ``x`` (a view).

    Raises:
        ValueError: ``x`` is neither; :func:`diagonal` and :func:`diag_embed` take batches.
    """
    x = as_tensor(x)
    if x.ndim == 1:
        return diag_embed(x, k)
    if x.ndim == 2:
        return diagonal(x, k)
    raise ValueError(
        f"diag: x: expected a vector or a matrix, got shape {x.shape}; diagonal and diag_embed "
        "take batches"
    )


@op(
    "x",
    wide=True,
    formula="Σᵢ x[..., i, i + offset]",
    gradient="dx = zeros with g all along the diagonal",
    samples=_matrices,
)
def trace(xp, x, offset=0, axis1=0, axis2=1):
    """Sum of the diagonal of the matrices that ``axis1`` (rows) and ``axis2`` (columns) span; of a
    diagonal without elements it is 0."""
    return xp.trace(x, offset, *axes_of("axis1 and axis2", (axis1, axis2), x.shape))


def _trace_dx(xp: Any, g: Any, k: Any) -> Any:
    shape = k.shape_of()
    rows, columns = shape[k.axis1], shape[k.axis2]
    length = max(0, min(rows + min(k.offset, 0), columns - max(k.offset, 0)))
    along = xp.broadcast_to(g[..., None], (*g.shape, length))
    return k.run(_diag_embed, along, shape=shape, offset=k.offset, axis1=k.axis1, axis2=k.axis2)


trace.vjp(x=_trace_dx)
