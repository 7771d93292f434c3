"""PyTorch's counterparts of the ops of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

L = torch.linalg


def _solve(a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return L.solve(a, b.expand(a.shape[:-1]))
    stack = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return L.solve(a.expand(*stack, *a.shape[-2:]), b.expand(*stack, *b.shape[-2:]))


def _triangular_solve(
    a: Any,
    b: Any,
    upper: bool = False,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    columns = b[:, None] if b.ndim == 1 else b
    if transpose:
        a, upper = a.mT, not upper
    x = L.solve_triangular(a, columns, upper=upper, left=left, unitriangular=unit_diagonal)
    return x[..., 0] if b.ndim == 1 else x


def _eigvalsh(a: Any, UPLO: str | None = None) -> Any:
    """PyTorch's gradient goes to both triangles, also to that which is not read."""
    if UPLO is None:
        return L.eigvalsh((a + a.mT) / 2)
    half = a.tril(-1) if UPLO == "L" else a.triu(1)
    return L.eigvalsh(half + half.mT + torch.diag_embed(torch.diagonal(a, 0, -2, -1)))


TORCH: dict[str, Callable[..., Any]] = {
    "einsum": lambda x, y, subscripts: torch.einsum(subscripts, x, y),
    "cross": lambda x, y, axis=-1: L.cross(
        x[(None,) * (y.ndim - x.ndim)], y[(None,) * (x.ndim - y.ndim)], dim=axis
    ),
    "solve": _solve,
    "triangular_solve": _triangular_solve,
    "inv": L.inv,
    "det": L.det,
    "slogdet": lambda a: tuple(L.slogdet(a)),
    "cholesky": L.cholesky,
    "svdvals": L.svdvals,
    "eigvalsh": _eigvalsh,
    "pinv": lambda a, rtol=None: L.pinv(a, rtol=rtol),
    "qr": lambda a: tuple(L.qr(a)),
}

WITHOUT: dict[str, str] = {
    "svd": "signs may differ; opinfo/ and test_decompositions.py compare it",
    "eigh": "signs may differ; opinfo/ and test_decompositions.py compare it",
}
