# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Products of matrices, and linear algebra."""

from collections.abc import Sequence
from typing import Any

from ...define.operand import Operand
from ...tensor.tensor import Tensor

def matmul(x: Operand, y: Operand) -> Tensor:
    """Matrix product with NumPy's rules: 1-D operands are vectors, leading axes broadcast."""

def linear(x: Operand, weight: Operand, bias: Operand | None = None) -> Tensor:
    """Affine map of the last axis."""

def mv(x: Operand, y: Operand) -> Tensor:
    """Matrix times vector: (n, m), (m,) -> (n,)."""

def bmm(x: Operand, y: Operand) -> Tensor:
    """Product of two stacks of matrices, one by one: (b, n, m), (b, m, p) -> (b, n, p)."""

def cross(x: Operand, y: Operand, axis: int = -1) -> Tensor:
    """Cross product of vectors of length 3 along ``axis``; the other axes broadcast."""

def einsum(subscripts: str, *operands: Operand) -> Tensor:
    """Sum of products over named axes: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``."""

def tensordot(x: Operand, y: Operand, axes: int | Sequence[Any] = 2) -> Tensor:
    """Sum of products over axes of ``x`` and ``y``; the others stay, those of ``x`` first."""

def dot(x: Operand, y: Operand) -> Tensor:
    """NumPy's ``dot``: the sum of products over the last axis of ``x`` and the second last of ``y``
    (the only one of a vector). For vectors the scalar product, for matrices ``x @ y``, for a number
    the multiple. Unlike ``@`` it does not pair up the leading axes of stacks: all combine."""

def inner(x: Operand, y: Operand) -> Tensor:
    """Sum of products over the last axis of both; all other axes combine. A number multiplies."""

def vdot(x: Operand, y: Operand) -> Tensor:
    """Scalar product of all elements, in C order, of two tensors of the same size."""

def outer(x: Operand, y: Operand) -> Tensor:
    """Every element of ``x`` times every element of ``y``: (n,), (m,) -> (n, m)."""

def kron(x: Operand, y: Operand) -> Tensor:
    """Kronecker product: each element of ``x`` replaced by that element times ``y``."""

def solve(a: Operand, b: Operand) -> Tensor:
    """The x of ``a @ x = b``."""

def triangular_solve(
    a: Operand,
    b: Operand,
    upper: bool = False,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The x of ``a @ x = b`` for triangular a, by substitution."""

def solve_triangular(
    a: Operand,
    b: Operand,
    upper: bool = False,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The x of ``a @ x = b`` for triangular a, by substitution."""

def inv(a: Operand) -> Tensor:
    """Inverse of square matrices (..., n, n). To multiply by it, ``solve`` is the better way."""

def cholesky(a: Operand) -> Tensor:
    """Lower triangular L with ``L @ L.mT = a`` for symmetric positive definite a (..., n, n)."""

def matrix_power(a: Operand, n: int) -> Tensor:
    """``a @ a @ ... @ a``, n times, by repeated squaring."""

def det(a: Operand) -> Tensor:
    """Determinant of square matrices: (..., n, n) -> (...). That of no rows is 1."""

def slogdet(a: Operand) -> tuple[Tensor, Tensor]:
    """Sign (-1, 0 or 1) and logarithm of the magnitude of the determinant, which may be too large
    or too small a number itself: (..., n, n) -> (...), (...)."""

def svd(a: Operand, full_matrices: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Singular value decomposition: (..., m, n) -> u (..., m, k), s (..., k), vh (..., k, n), where
    k = min(m, n) and the singular values s go from the largest to the smallest."""

def svdvals(a: Operand) -> Tensor:
    """Singular values, from the largest to the smallest: (..., m, n) -> (..., min(m, n))."""

def eigh(a: Operand, UPLO: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues w (..., n), from the smallest to the largest, and eigenvectors v (..., n, n), one
    in each column, of symmetric matrices a (..., n, n)."""

def eigvalsh(a: Operand, UPLO: str | None = None) -> Tensor:
    """Eigenvalues of symmetric matrices, from the smallest to the largest: (..., n, n) -> (...,
    n)."""

def qr(a: Operand) -> tuple[Tensor, Tensor]:
    """QR decomposition: (..., m, n) -> q (..., m, k) with orthonormal columns and upper triangular
    r (..., k, n), where k = min(m, n)."""

def pinv(a: Operand, rtol: float | None = None) -> Tensor:
    """Moore-Penrose pseudoinverse: (..., m, n) -> (..., n, m), for matrices of any rank."""

def matrix_norm(
    x: Operand,
    ord: float | str | None = "fro",
    axis: tuple[int, int] = (-2, -1),
    keepdims: bool = False,
) -> Tensor:
    """Norm of the matrices that two axes span."""
