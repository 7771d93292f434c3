"""Matrices as products: singular values, eigenvalues, QR, and the pseudoinverse made of them.

All leading axes are a stack of matrices; one with a NaN or an infinity gives NaN. The columns of
the factors are determined up to their sign only (up to a rotation where values are equal), so only
a result that does not depend on that choice, such as ``(u * s) @ vh`` or ``u[:, 0] ** 2``, has a
gradient that means something.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from .solving import factored, mt, need_square, triangular_solve


def _need_matrices(a: Any) -> None:
    if a.ndim < 2:
        raise ValueError(f"a: expected matrices (..., m, n), got shape {a.shape}")


def _apart(r: Draw, *shape: int) -> Any:
    """Matrices whose singular values are well apart from each other and from 0."""
    u, _, vh = np.linalg.svd(r(*shape), full_matrices=False)
    k = min(shape[-2:])
    return (u * (0.8 + 0.7 * np.arange(k, 0, -1))) @ vh


_SHAPES = [(3, 2), (2, 3), (3, 3), (1, 1), (2, 3, 2), (2, 1, 2, 2), (0, 2), (3, 0), (0, 2, 2)]


def _matrices(r: Draw) -> list[Sample]:
    return [Sample(_apart(r, *shape)) for shape in _SHAPES]


def _parts(xp: Any, routine: Callable[..., Any], a: Any) -> tuple[Any, ...]:
    """The factors of ``a`` by ``routine``, NaN for matrices with a NaN or an infinity, of which
    LAPACK makes one thing or the other."""
    broken = ~xp.all(xp.isfinite(a), axis=(-2, -1), keepdims=True)
    some = bool(xp.any(broken))
    if some:
        a = xp.where(broken, xp.eye(*a.shape[-2:], dtype=a.dtype), a)
    parts = factored(xp, "the iteration did not converge", routine, a)
    if some:
        masks = (broken if p.ndim == broken.ndim else broken[..., 0] for p in parts)
        parts = tuple(xp.where(mask, math.nan, p) for mask, p in zip(masks, parts, strict=True))
    return tuple(parts)


def _asymmetry(xp: Any, x: Any) -> Any:
    return x - mt(xp, x)


def _spread(xp: Any, values: Any) -> tuple[Any, Any]:
    """In row i and column j: valueⱼ - valueᵢ (1 on the diagonal), and valueⱼ + valueᵢ; of values
    (..., k) two arrays (..., k, k)."""
    column, row = values[..., None, :], values[..., :, None]
    return column - row + xp.eye(values.shape[-1], dtype=values.dtype), column + row


def _came(xp: Any, *gradients: Any) -> bool:
    """Whether any gradient came in: of an output that nobody used it is zeros, which must not be
    divided by the difference of equal values."""
    return any(getattr(g, "requires_grad", False) or bool(xp.any(g != 0)) for g in gradients)


# -- singular values ------------------------------------------------------------------------
@op(
    "a",
    keeps="a u s vh",
    outputs=3,
    formula="u, s, vh with a = u diag(s) vh",
    gradient="da = u (M + diag(gs)) vh + (1 - u uᵀ) gu s⁻¹ vh + u s⁻¹ gvh (1 - vhᵀ vh), with "
    "M = ½ ((P + Q) / (sⱼ - sᵢ) + (P - Q) / (sⱼ + sᵢ)), P = uᵀ gu - guᵀ u, Q = vh gvhᵀ - gvh vhᵀ",
    wide=True,
    samples=_matrices,
)
def svd(xp, a, full_matrices=False):
    """Singular value decomposition: (..., m, n) -> u (..., m, k), s (..., k), vh (..., k, n), where
    k = min(m, n) and the singular values s go from the largest to the smallest.

    The third is V transposed, as ``torch.linalg.svd`` and NumPy give it; ``torch.svd`` gives V.

    The signs of a column of u and the same row of vh are arbitrary. The gradient is that of
    Townsend, "Differentiating the singular value decomposition" (2016); where two singular
    values are equal (and one is 0, where a is not square) those of u and vh do not exist, and come
    out as NaN or infinity. That of s always exists: :func:`svdvals`.

    Args:
        full_matrices: True (NumPy's and PyTorch's default) is an error: the other columns of u or
            rows of vh may be any that complete the basis, and have no gradient.

    Raises:
        ValueError: ``full_matrices`` is True.
    """
    _need_matrices(a)
    if full_matrices:
        raise ValueError(
            "full_matrices: expected False: the columns beyond the singular values are arbitrary "
            "and have no gradient; np.linalg.svd(a.detach().numpy()) gives them"
        )
    if not a.size:
        k = min(a.shape[-2:])
        shapes = ((*a.shape[:-1], k), (*a.shape[:-2], k), (*a.shape[:-2], k, a.shape[-1]))
        u, s, vh = (xp.zeros(shape, dtype=a.dtype) for shape in shapes)
    else:
        u, s, vh = _parts(xp, lambda a: xp.linalg.svd(a, full_matrices=False), a)
    return (u, s, vh), u, s, vh


@svd.vjp
def _svd_vjp(xp: Any, g: Any, k: Any) -> Any:
    gu, gs, gvh = g
    u, s, vh = svd(k.a) if k.graph else (k.u, k.s, k.vh)
    eye = xp.eye(s.shape[-1], dtype=s.dtype)
    middle = eye * gs[..., None, :]
    if not _came(xp, gu, gvh):
        return (xp.matmul(xp.matmul(u, middle), vh),)
    uu, vv = xp.matmul(mt(xp, u), gu), xp.matmul(gvh, mt(xp, vh))
    p, q = _asymmetry(xp, uu), _asymmetry(xp, mt(xp, vv))
    minus, plus = _spread(xp, s)
    middle = middle + 0.5 * ((p + q) / minus + (p - q) / (plus + eye))
    da = xp.matmul(xp.matmul(u, middle), vh)
    if u.shape[-2] > u.shape[-1]:
        beyond = gu - xp.matmul(u, uu)
        da = da + xp.matmul(beyond / s[..., None, :], vh)
    if vh.shape[-1] > vh.shape[-2]:
        beyond = gvh - xp.matmul(vv, vh)
        da = da + xp.matmul(u, beyond / s[..., :, None])
    return (da,)


@op(
    "a",
    keeps="a u vh",
    formula="the singular values of a",
    gradient="da = u diag(g) vh",
    wide=True,
    samples=_matrices,
)
def svdvals(xp, a, recording=False):
    """Singular values, from the largest to the smallest: (..., m, n) -> (..., min(m, n)).

    Where several are equal, or one is 0, the gradient is one of those that there are (a
    subgradient), and the second derivative is NaN or infinite.
    """
    _need_matrices(a)
    if recording or not a.size:
        (u, s, vh), *_ = svd.forward(xp, a)
        return s, u, vh
    (s,) = _parts(xp, lambda a: (xp.linalg.svd(a, compute_uv=False),), a)
    return s, None, None


@svdvals.vjp
def _svdvals_vjp(xp: Any, g: Any, k: Any) -> Any:
    u, vh = svd(k.a)[::2] if k.graph else (k.u, k.vh)
    return (xp.matmul(u * g[..., None, :], vh),)


# -- eigenvalues of symmetric matrices --------------------------------------------------------
def _symmetric(r: Draw) -> list[Sample]:
    """Eigenvalues of both signs, at least 0.7 apart; then triangles beside numbers not read."""
    made = []
    for shape in [(3, 3), (1, 1), (2, 2, 2), (2, 1, 3, 3), (0, 0), (0, 2, 2)]:
        q, _ = np.linalg.qr(r(*shape))
        n = shape[-1]
        values = 0.7 * (np.arange(n) - n // 2) + 0.3
        made.append(Sample((q * values) @ q.swapaxes(-1, -2)))
    full = made[3].args[0]
    lower, upper = full + np.triu(r(3, 3), 1), full + np.tril(r(3, 3), -1)
    return [*made, Sample(lower, "L"), Sample(upper, UPLO="U"), Sample(full + 0.01 * r(3, 3))]


def _symmetrised(xp: Any, a: Any, UPLO: str | None) -> Any:
    """The symmetric matrix that ``a`` stands for."""
    need_square("a", a)
    if UPLO is None:
        return 0.5 * a + 0.5 * mt(xp, a)
    if UPLO not in ("L", "U"):
        raise ValueError(f"UPLO: expected None, 'L' or 'U', got {UPLO!r}")
    if UPLO == "L":
        return xp.tril(a) + mt(xp, xp.tril(a, -1))
    return xp.triu(a) + mt(xp, xp.triu(a, 1))


def _back(xp: Any, da: Any, UPLO: str | None) -> Any:
    """The transpose of :func:`_symmetrised`, on a symmetric gradient."""
    if UPLO is None:
        return da
    return xp.tril(da) + xp.tril(da, -1) if UPLO == "L" else xp.triu(da) + xp.triu(da, 1)


@op(
    "a",
    keeps="a w v",
    outputs=2,
    formula="w, v with a = v diag(w) vᵀ",
    gradient="da = v (½ (vᵀ gv - gvᵀ v) / (wⱼ - wᵢ) + diag(gw)) vᵀ",
    wide=True,
    samples=_symmetric,
)
def eigh(xp, a, UPLO=None):
    """Eigenvalues w (..., n), from the smallest to the largest, and eigenvectors v (..., n, n), one
    in each column, of symmetric matrices a (..., n, n).

    The signs of the eigenvectors are arbitrary. Where two eigenvalues are equal, the gradient of
    the eigenvectors does not exist, and comes out as NaN or infinity; that of the eigenvalues
    alone always does: :func:`eigvalsh`.

    Args:
        UPLO: None takes the symmetric part, (a + aᵀ) / 2, as :func:`cholesky` does, so that the
            gradient is symmetric (PyTorch gives the same gradient, but reads the lower triangle).
            ``"L"`` or ``"U"`` reads the lower or upper triangle, and only that gets a gradient.

    Raises:
        ValueError: a matrix is not square, or ``UPLO`` is something else.
    """
    symmetric = _symmetrised(xp, a, UPLO)
    if not a.size:
        w, v = xp.zeros(a.shape[:-1], dtype=a.dtype), symmetric
    else:
        w, v = _parts(xp, xp.linalg.eigh, symmetric)
    return (w, v), w, v


@eigh.vjp
def _eigh_vjp(xp: Any, g: Any, k: Any) -> Any:
    gw, gv = g
    w, v = eigh(k.a, UPLO=k.UPLO) if k.graph else (k.w, k.v)
    middle = xp.eye(w.shape[-1], dtype=w.dtype) * gw[..., None, :]
    if _came(xp, gv):
        turned = _asymmetry(xp, xp.matmul(mt(xp, v), gv))
        middle = middle + 0.5 * turned / _spread(xp, w)[0]
    return (_back(xp, xp.matmul(xp.matmul(v, middle), mt(xp, v)), k.UPLO),)


@op(
    "a",
    keeps="a v",
    formula="the eigenvalues of symmetric a",
    gradient="da = v diag(g) vᵀ",
    wide=True,
    samples=_symmetric,
)
def eigvalsh(xp, a, UPLO=None, recording=False):
    """Eigenvalues of symmetric matrices, from the smallest to the largest: (..., n, n) -> (..., n).

    See :func:`eigh` for what is read of ``a``. Where several are equal, the gradient is one of
    those that there are, and the second derivative is NaN or infinite.

    Raises:
        ValueError: a matrix is not square, or ``UPLO`` is something else.
    """
    if recording or not a.size:
        (w, v), *_ = eigh.forward(xp, a, UPLO)
        return w, v
    (w,) = _parts(xp, lambda a: (xp.linalg.eigvalsh(a),), _symmetrised(xp, a, UPLO))
    return w, None


@eigvalsh.vjp
def _eigvalsh_vjp(xp: Any, g: Any, k: Any) -> Any:
    v = eigh(k.a, UPLO=k.UPLO)[1] if k.graph else k.v
    return (_back(xp, xp.matmul(v * g[..., None, :], mt(xp, v)), k.UPLO),)


# -- QR ---------------------------------------------------------------------------------------
@op(
    "a",
    keeps="a q r",
    outputs=2,
    formula="q, r with a = q r, qᵀ q = 1, r upper triangular",
    gradient="da = (gq + q sym(triu(gr rᵀ - qᵀ gq))) r⁻ᵀ, sym: the upper triangle mirrored",
    wide=True,
    samples=_matrices,
)
def qr(xp, a):
    """QR decomposition: (..., m, n) -> q (..., m, k) with orthonormal columns and upper triangular
    r (..., k, n), where k = min(m, n).

    The signs of the diagonal of r are LAPACK's. There is a gradient where the first k columns are
    independent (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions",
    2018).
    """
    _need_matrices(a)
    if not a.size:
        k = min(a.shape[-2:])
        shapes = ((*a.shape[:-1], k), (*a.shape[:-2], k, a.shape[-1]))
        q, r = (xp.zeros(shape, dtype=a.dtype) for shape in shapes)
    else:
        q, r = _parts(xp, xp.linalg.qr, a)
    return (q, r), q, r


@qr.vjp
def _qr_vjp(xp: Any, g: Any, k: Any) -> Any:
    gq, gr = g
    q, r = qr(k.a) if k.graph else (k.q, k.r)
    n = q.shape[-1]
    right = None
    if r.shape[-1] > n:  # of the columns behind the first square, r is qᵀ a
        rest, r = gr[..., n:], r[..., :n]
        right = xp.matmul(q, rest)
        gq, gr = gq + xp.matmul(k.a[..., n:], mt(xp, rest)), gr[..., :n]
    inner = xp.triu(xp.matmul(gr, mt(xp, r)) - xp.matmul(mt(xp, q), gq))
    inner = inner + mt(xp, xp.triu(inner, 1))
    da = gq + xp.matmul(q, inner)
    if q.size:
        # da = ... r⁻ᵀ, the solution of da rᵀ = ...
        da = k.run(triangular_solve, r, da, upper=True, left=False, transpose=True)
    return (da if right is None else xp.concatenate([da, right], axis=-1),)


# -- pseudoinverse ----------------------------------------------------------------------------
def _pinv_samples(r: Draw) -> list[Sample]:
    return [*_matrices(r), Sample(_apart(r, 3, 2), 0.01)]


@op(
    "a",
    keeps="a out",
    formula="a⁺",
    gradient="da = -outᵀ g outᵀ + (1 - a out) gᵀ out outᵀ + outᵀ out gᵀ (1 - out a)",
    wide=True,
    samples=_pinv_samples,
)
def pinv(xp, a, rtol=None):
    """Moore-Penrose pseudoinverse: (..., m, n) -> (..., n, m), for matrices of any rank.

    ``pinv(a) @ b`` is the shortest of the x with the smallest ``norm(a @ x - b)``. The gradient is
    that of Golub and Pereyra (1973), along changes of ``a`` that keep its rank; across a change of
    rank the pseudoinverse jumps.

    Args:
        rtol: singular values up to this fraction of a matrix's largest count as 0; by default
            max(m, n) times the dtype's epsilon, as in PyTorch.
    """
    _need_matrices(a)
    if not a.size:
        return mt(xp, a).copy()
    (u, s, vh), *_ = svd.forward(xp, a)
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(np.finfo(s.dtype.name).eps)
    small = s <= rtol * s[..., :1]
    inverse = xp.where(small, 0.0, 1 / xp.where(small, 1.0, s))
    return xp.matmul(mt(xp, vh) * inverse[..., None, :], mt(xp, u))


@pinv.vjp
def _pinv_vjp(xp: Any, g: Any, k: Any) -> Any:
    a, out, gt = k.a, k.out, mt(xp, g)
    out = out if out.dtype == g.dtype else out.astype(g.dtype)  # float16 is kept as such
    outt = mt(xp, out)
    rows = xp.matmul(gt, xp.matmul(out, outt))  # (m, n)
    columns = xp.matmul(xp.matmul(outt, out), gt)
    da = -xp.matmul(xp.matmul(outt, g), outt)
    da = da + rows - xp.matmul(a, xp.matmul(out, rows))
    return (da + columns - xp.matmul(xp.matmul(columns, out), a),)
