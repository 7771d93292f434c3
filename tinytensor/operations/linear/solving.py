"""Linear algebra on the last two axes: solving, inverting, Cholesky and powers.

All leading axes are a stack of matrices. LAPACK does the work (on a GPU cuSOLVER and cuBLAS), in
float32 or float64 as the operands are; float16 is computed in float32. A matrix that has no
inverse, or is not positive definite, raises ValueError on every device; one with a NaN gives NaN.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from ...tensor.axes import as_tensor
from ...tensor.tensor import make
from .products import matmul


def need_square(name: str, a: Any) -> None:
    """Raise ValueError unless ``a`` is a square matrix or a stack of them."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected square matrices (..., n, n), got shape {a.shape}")


def without_nan(xp: Any, a: Any) -> tuple[Any, Any]:
    """``a`` with the identity for each matrix that holds a NaN, and (..., 1, 1) which those are.

    LAPACK takes a NaN for a 0 if it meets it as a pivot, and calls the matrix singular.
    """
    broken = xp.any(a != a, axis=(-2, -1), keepdims=True)
    if xp.any(broken):
        a = xp.where(broken, xp.eye(a.shape[-1], dtype=a.dtype), a)
    return a, broken


def factored(xp: Any, problem: str, routine: Callable[..., Any], a: Any, *rest: Any) -> Any:
    """``routine(a, *rest)``, with a failed factorisation as a ValueError that says ``problem``.

    CuPy notices one only where it is told to, because it has to wait for the GPU to know.
    """
    asked = xp.__name__ == "cupy"
    try:
        with importlib.import_module("cupyx").errstate(linalg="raise") if asked else nullcontext():
            return routine(a, *rest)
    except np.linalg.LinAlgError as error:
        a, broken = without_nan(xp, a)
        if not xp.any(broken):
            raise ValueError(f"a: {problem}") from error
    return xp.where(broken, math.nan, factored(xp, problem, routine, a, *rest))


def mt(xp: Any, a: Any) -> Any:
    """Each matrix transposed."""
    return xp.swapaxes(a, -1, -2)


def _regular(r: Draw, *shape: int) -> Any:
    """Matrices that are far from singular."""
    a = r(*shape)
    return 0.4 * a + 2 * np.eye(a.shape[-1])


def square_samples(r: Draw) -> list[Sample]:
    """One square matrix or a stack of them, none of them near a singular one."""
    shapes = [(3, 3), (2, 2), (1, 1), (2, 3, 3), (2, 1, 2, 2), (0, 0), (0, 2, 2)]
    return [Sample(_regular(r, *shape)) for shape in shapes] + [Sample(_regular(r, 4, 4)[::-1])]


# -- systems of equations -----------------------------------------------------------------


def _systems(r: Draw) -> list[tuple[Any, Any]]:
    return [
        (_regular(r, 3, 3), r(3)),
        (_regular(r, 3, 3), r(3, 2)),
        (_regular(r, 2, 3, 3), r(2, 3, 1)),
        (_regular(r, 2, 3, 3), r(3)),
        (_regular(r, 2, 3, 3), r(3, 2)),
        (_regular(r, 2, 2), r(3, 2, 2)),
        (_regular(r, 2, 1, 2, 2), r(3, 2, 1)),
        (_regular(r, 1, 1), r(1)),
        (_regular(r, 0, 0), r(0, 2)),
        (_regular(r, 0, 2, 2), r(2, 1)),
    ]


def _aligned(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """a and b (..., n, k) with the same leading axes, which CuPy does not do itself."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return xp.broadcast_to(a, stack + a.shape[-2:]), xp.broadcast_to(b, stack + b.shape[-2:])


def _need_rows(b: Any, n: int) -> None:
    rows = b.shape[-1 if b.ndim == 1 else -2] if b.ndim else None
    if rows != n:
        raise ValueError(
            f"b: expected a vector ({n},) or matrices (..., {n}, k) for matrices a with {n} rows, "
            f"got shape {b.shape}" + ("; a stack of vectors is b[..., None]" if b.ndim > 1 else "")
        )


@op(
    "a b",
    keeps={"a": "a out", "b": "a"},
    formula="a⁻¹ b",
    gradient="db = a⁻ᵀ g, da = -db outᵀ",
    wide=True,
    samples=lambda r: [Sample(a, b) for a, b in _systems(r)],
)
def solve(xp, a, b):
    """The x of ``a @ x = b``.

    Args:
        a: (..., n, n), invertible. b: (n,), or (..., n, k) whose leading axes broadcast with a's.

    Returns:
        (..., n) for a vector b, else (..., n, k).

    Only a ``b`` of one axis is a vector, as in NumPy 2. PyTorch also reads (2, 3) beside a
    (2, 3, 3) as two vectors, which changes its meaning where the lengths happen to agree; here
    write ``b[..., None]``.

    Raises:
        ValueError: a matrix is singular, or the shapes do not fit.
    """
    need_square("a", a)
    _need_rows(b, a.shape[-1])
    columns = b[:, None] if b.ndim == 1 else b
    problem = "a singular matrix, the equations have no unique solution"
    x = factored(xp, problem, xp.linalg.solve, *_aligned(xp, a, columns))
    return x[..., 0] if b.ndim == 1 else x


@solve.vjp
def _solve_vjp(xp: Any, g: Any, k: Any) -> Any:
    vector = len(k.shape_of(1)) == 1
    db = k.run(solve, mt(xp, k.a), g[..., None] if vector else g)
    da = None
    if k.needs[0]:
        da = -xp.matmul(db, mt(xp, k.out[..., None] if vector else k.out))
    return da, db[..., 0] if vector else db


#: triangles up to this size are solved by the library, larger ones by halves
_LEAF = 64


def _substituted(xp: Any, a: Any, b: Any) -> Any:
    """The x of ``a @ x = b`` for upper triangles ``a``: the lower half first, then the upper.

    So most of the work is in products of matrices. The triangles left over are given to LAPACK's
    general solver, which NumPy and CuPy have for stacks: on an upper triangle it finds nothing to
    eliminate and substitutes back.
    """
    n = a.shape[-1]
    if n <= _LEAF:
        return factored(xp, "expected no 0 on the diagonal", xp.linalg.solve, a, b)
    h = n // 2
    low = _substituted(xp, a[..., h:, h:], b[..., h:, :])
    top = b[..., :h, :] - xp.matmul(a[..., :h, h:], low)
    return xp.concatenate((_substituted(xp, a[..., :h, :h], top), low), axis=-2)


def _triangles(r: Draw) -> list[Sample]:
    made = [
        Sample(a, b, i % 2 == 0, True, i % 3 == 0, i % 4 == 0)
        for i, (a, b) in enumerate(_systems(r))
    ]
    a = _regular(r, 2, 3, 3)
    sides = [Sample(a, r(2, 4, 3), u, False, t, u) for u in (True, False) for t in (True, False)]
    return [*made, *sides, Sample(a, r(3, 2)), Sample(a, r(3), upper=True, unit_diagonal=True)]


@op(
    "a b",
    keeps={"a": "a out", "b": "a"},
    formula="a⁻¹ b, or b a⁻¹, for triangular a",
    gradient="db = a⁻ᵀ g, da = the triangle of -db outᵀ",
    wide=True,
    samples=_triangles,
)
def triangular_solve(xp, a, b, upper=False, left=True, transpose=False, unit_diagonal=False):
    """The x of ``a @ x = b`` for triangular a, by substitution.

    Args:
        a: (..., n, n); of each matrix only the lower triangle is read (``upper``: the upper one),
            and only that gets a gradient.
        b: (n,), or (..., n, k) whose leading axes broadcast with a's; (..., k, n) if not ``left``.
        left: False solves ``x @ a = b``.
        transpose: the transpose of the triangle takes the place of a.
        unit_diagonal: the diagonal counts as ones and is not read.

    A NaN or infinity in ``b`` may make all of its column NaN.

    Raises:
        ValueError: a 0 on the diagonal (PyTorch: infinities), or the shapes do not fit.
    """
    need_square("a", a)
    if left:
        _need_rows(b, a.shape[-1])
    elif b.ndim < 2 or b.shape[-1] != a.shape[-1]:
        raise ValueError(
            f"b: expected matrices (..., k, {a.shape[-1]}) with left=False, got shape {b.shape}"
        )
    columns = b[:, None] if b.ndim == 1 else b if left else mt(xp, b)
    a = _triangle(xp, a, upper, unit_diagonal)
    if unit_diagonal:
        a = a + xp.eye(a.shape[-1], dtype=a.dtype)
    if transpose == left:  # x a = b is aᵀ xᵀ = bᵀ
        a, upper = mt(xp, a), not upper
    a, columns = _aligned(xp, a, columns)
    if upper:
        x = _substituted(xp, a, columns)
    else:  # from below and from the right, a lower triangle is an upper one
        x = _substituted(xp, a[..., ::-1, ::-1], columns[..., ::-1, :])[..., ::-1, :]
    return x[..., 0] if b.ndim == 1 else x if left else mt(xp, x)


def _triangle(xp: Any, a: Any, upper: bool, unit_diagonal: bool) -> Any:
    return xp.triu(a, int(unit_diagonal)) if upper else xp.tril(a, -int(unit_diagonal))


@triangular_solve.vjp
def _triangular_solve_vjp(xp: Any, g: Any, k: Any) -> Any:
    vector = len(k.shape_of(1)) == 1
    g, out = (g[..., None], k.out) if vector else (g, k.out)
    how = {"upper": k.upper, "left": k.left, "unit_diagonal": k.unit_diagonal}
    db = k.run(triangular_solve, k.a, g, transpose=not k.transpose, **how)
    da = None
    if k.needs[0]:
        out = out[..., None] if vector else out
        da = xp.matmul(db, mt(xp, out)) if k.left else xp.matmul(mt(xp, out), db)
        da = -_triangle(xp, mt(xp, da) if k.transpose else da, k.upper, k.unit_diagonal)
    return da, db[..., 0] if vector else db


solve_triangular = triangular_solve


@op(
    "a", keeps="out", formula="a⁻¹", gradient="da = -outᵀ g outᵀ", wide=True, samples=square_samples
)
def inv(xp, a):
    """Inverse of square matrices (..., n, n). To multiply by it, ``solve`` is the better way.

    Raises:
        ValueError: a matrix is singular, or not square.
    """
    need_square("a", a)
    return factored(xp, "a singular matrix, it has no inverse", xp.linalg.inv, a)


def _inv_da(xp: Any, g: Any, k: Any) -> Any:
    out = mt(xp, k.out)
    return -xp.matmul(xp.matmul(out, g), out)


inv.vjp(a=_inv_da)


# -- Cholesky -----------------------------------------------------------------------------


def _positive_definite(r: Draw) -> list[Sample]:
    shapes = [(3, 3), (1, 1), (2, 2), (2, 3, 3), (2, 1, 2, 2), (0, 0), (0, 2, 2)]
    factors = [r(*shape) for shape in shapes]
    return [Sample(f @ f.swapaxes(-1, -2) + 2 * np.eye(f.shape[-1])) for f in factors]


@op(
    "a",
    keeps="out",
    formula="lower triangular L with L Lᵀ = a",
    gradient="da = (S + Sᵀ) / 2, S = L⁻ᵀ Φ(Lᵀ g) L⁻¹ (Φ: the lower triangle, half the diagonal)",
    wide=True,
    samples=_positive_definite,
)
def cholesky(xp, a):
    """Lower triangular L with ``L @ L.mT = a`` for symmetric positive definite a (..., n, n).

    What counts is the symmetric part, (a + aᵀ) / 2, so that the gradient is symmetric and the
    function's derivative (as JAX; PyTorch gives the same gradient but reads the lower triangle).
    The rule is that of Murray, "Differentiation of the Cholesky decomposition" (2016).

    Raises:
        ValueError: a matrix is not positive definite, or not square.
    """
    need_square("a", a)
    if not a.size:
        return a.copy()
    problem = "expected symmetric positive definite matrices, one is not positive definite"
    return factored(xp, problem, xp.linalg.cholesky, 0.5 * a + 0.5 * mt(xp, a))


def _cholesky_da(xp: Any, g: Any, k: Any) -> Any:
    out = k.out if k.out.dtype == g.dtype else k.out.astype(g.dtype)  # float16 is kept as such
    product = xp.matmul(mt(xp, out), g)
    half = xp.tril(product) + xp.tril(product, -1)  # 2 Φ
    middle = 0.25 * (half + mt(xp, half))
    once = k.run(triangular_solve, out, middle, transpose=True)
    return k.run(triangular_solve, out, once, left=False)


cholesky.vjp(a=_cholesky_da)


# -- composed from other ops --------------------------------------------------------------


def matrix_power(a: Any, n: int) -> Any:
    """``a @ a @ ... @ a``, n times, by repeated squaring.

    Args:
        a: square matrices (..., k, k).
        n: an integer; below 0 it is the power of the inverse, and 0 gives identity matrices, which
            have no gradient.
    """
    a = as_tensor(a)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"matrix_power: n: expected an integer, got {n!r}")
    need_square("matrix_power: a", a)
    if n == 0:
        xp = a.device.xp
        return make(xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape).copy())
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return result
