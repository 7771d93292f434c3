"""Rows of a table by number, and numbers as one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.rows import Rows
from ...define.op import op
from ...define.samples import Sample
from ...tensor.tensor import Tensor
from ..elementwise.choosing import all_finite
from .indices import add_at, check_range

#: up to this many rows the gradient of a table is a product with a one-hot matrix: as fast as
#: adding row by row, and on a GPU, where additions come in any order, the same on every run
_ONE_HOT_ROWS = 128


@op(
    "g ids",
    keeps={"g": "ids"},
    arrays="ids",
    formula="rows of g added into a table at ids",
    gradient="dg = the rows of the gradient at ids",
    samples=lambda r: [
        Sample(r(2, 3, 4), r.ints(5, 2, 3), 5),
        Sample(r(6, 2), r.ints(3, 6), 2000),
        Sample(r(4), r.ints(3), 3),
        Sample(r(0, 2), r.ints(3, 0), 3),
    ],
)
def embedding_grad(xp, g, ids, rows, padding_idx=None):
    """A table of ``rows`` rows, each row of ``g`` added at its id; that of ``padding_idx`` is 0.

    float16 is added up in float32.
    """
    width = g.shape[-1]
    flat_ids = ids.reshape(-1)
    flat_g = g.reshape(ids.size, width)
    if g.dtype == np.float16:
        flat_g = flat_g.astype(np.float32)
    if rows <= _ONE_HOT_ROWS:
        one_hot = (xp.arange(rows)[:, None] == flat_ids[None, :]).astype(flat_g.dtype)
        usual = all_finite(xp, flat_g)
        finite = flat_g if usual else xp.where(xp.isfinite(flat_g), flat_g, 0)
        table = one_hot @ finite
        if not usual:  # an infinity or NaN of one row would be in all, as 0 · ∞
            add_at(xp, table, (flat_ids,), xp.where(xp.isfinite(flat_g), 0, flat_g))
    else:
        table = xp.zeros((rows, width), dtype=flat_g.dtype)
        add_at(xp, table, (flat_ids,), flat_g)
    if padding_idx is not None:
        table[padding_idx] = 0
    return table.astype(g.dtype, copy=False)


def _embedding_grad_vjp(xp: Any, g: Any, k: Any) -> Any:
    rows = k.run(embedding, k.ids, g)
    if k.padding_idx is None:
        return rows
    return rows * (k.ids != k.padding_idx % k.rows)[..., None]


embedding_grad.vjp(g=_embedding_grad_vjp)


@op(
    "ids weight",
    keeps={"weight": "ids"},
    arrays="ids",
    formula="weight[ids]",
    gradient="dweight = rows of g added up per id",
    samples=lambda r: [
        Sample(r.ints(5, 2, 3), r(5, 4)),
        Sample(r.ints(5, 6), r(5, 2)),
        Sample(np.array([2, 0, 2, 0]), r(3, 2), 1),
        Sample(np.array([2, 0, 2, 0]), r(3, 2), -1),
        Sample(np.array(2), r(3, 4)),
        Sample(r.ints(3, 0), r(3, 4)),
        Sample(r.ints(5, 6), r(5, 2), 1, True),
    ],
)
def embedding(xp, ids, weight, padding_idx=None, sparse=False):
    """Rows of the table ``weight`` (rows, width) at ``ids`` (any shape, integers).

    The row ``padding_idx`` gets no gradient; a negative one counts from the end. With ``sparse``
    the ``grad`` of a leaf is a ``RowGrad``: only the rows that were read, so that neither backward
    nor an optimiser's step takes longer for a larger table. A table that was itself computed,
    ``tt.grad`` and ``create_graph`` have the usual gradient.

    Raises:
        TypeError: ids are not integers. IndexError: an id is not in [0, rows). ValueError:
        ``padding_idx`` is not in [-rows, rows).
    """
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got {ids.dtype}")
    if weight.ndim != 2:
        raise ValueError(f"weight: expected shape (rows, width), got {weight.shape}")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(
            f"padding_idx: expected {-rows} to {rows - 1} for a table of {rows} rows, got "
            f"{padding_idx}"
        )
    check_range("ids", ids, 0, rows, f"a table of {rows} rows")
    return weight[ids]


def _embedding_vjp(xp: Any, g: Any, k: Any) -> Any:
    shape = k.shape_of(1)
    if k.sparse and not k.graph and isinstance(k.node.parents[1], Tensor):
        return _rows_read(k.ids.reshape(-1), g.reshape(-1, shape[1]), shape, k.padding_idx)
    return k.run(embedding_grad, g, k.ids, rows=shape[0], padding_idx=k.padding_idx)


def _rows_read(ids: Any, g: Any, shape: tuple[int, ...], padding_idx: int | None) -> Rows:
    """What :data:`embedding_grad` computes, without the rows that no id names."""
    if padding_idx is not None:
        counts = ids != padding_idx % shape[0]
        ids, g = ids[counts], g[counts]
    return Rows.added_up(ids, g, shape)


embedding.vjp(weight=_embedding_vjp)


@op(
    "ids",
    name="one_hot",
    casts=True,
    formula="1 at position id of a new last axis, else 0",
    samples=lambda r: [Sample(r.ints(5, 2, 3), 5), Sample(np.array(1), 3), Sample(r.ints(4, 0), 4)],
)
def _one_hot(xp, ids, num_classes, dtype="float32"):
    """One-hot vectors of integer ids."""
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got {ids.dtype}")
    check_range("ids", ids, 0, num_classes, f"{num_classes} classes")
    return (ids[..., None] == xp.arange(num_classes)).astype(dtype)


def one_hot(ids: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """``ids`` (...) integers to (..., num_classes): 1 at the id, 0 elsewhere; no gradient.

    ``num_classes`` defaults to the largest id + 1.
    """
    ids = ids if isinstance(ids, Tensor) else Tensor(ids)
    if num_classes is None:
        if not ids.size:
            raise ValueError("one_hot: num_classes: expected a number, since ids is empty")
        num_classes = int(ids.data.max()) + 1
    return _one_hot(ids, num_classes=num_classes, dtype=dtype)
