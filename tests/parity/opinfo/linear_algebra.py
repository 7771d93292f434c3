"""Linear algebra over PyTorch's samples."""

from __future__ import annotations

from typing import Any

import torch

import tinytensor as tt

from . import Choice, Entry, NotApplicable, through


def _scaled(product: Any) -> Any:
    """``torch.addmm`` and its kin: beta times the input plus alpha times a product."""

    def call(T: Any, s: Any) -> Any:
        beta, alpha = s.kwargs.get("beta", 1), s.kwargs.get("alpha", 1)
        return beta * T(s.input) + alpha * product(*T(s.args))

    return call


def _columns(a: Any, b: Any) -> Any:
    """PyTorch's stack of vectors, (..., n) beside (..., n, n), is a matrix of one column here."""
    stack_of_vectors = b.ndim > 1 and b.shape == a.shape[:-1]
    return tt.solve(a, b[..., None])[..., 0] if stack_of_vectors else tt.solve(a, b)


def _solve(T: Any, s: Any) -> Any:
    if not s.kwargs.get("left", True):  # x a = b
        return tt.solve(T(s.input).mT, T(s.args[0]).mT).mT
    return _columns(T(s.input), T(s.args[0]))


def _solve_triangular(T: Any, s: Any) -> Any:
    given = dict(s.kwargs)
    return tt.triangular_solve(
        T(s.input), T(s.args[0]), unit_diagonal=given.pop("unitriangular", False), **given
    )


def _old_triangular_solve(T: Any, s: Any) -> Any:
    """``torch.triangular_solve(b, a, upper=True)``; its second result is a copy of a."""
    names = {"unitriangular": "unit_diagonal"}
    given = {"upper": True, **{names.get(n, n): v for n, v in s.kwargs.items()}}
    return tt.triangular_solve(T(s.args[0]), T(s.input), **given)


def _cholesky(T: Any, s: Any) -> Any:
    lower = tt.cholesky(T(s.input))
    return lower.mT if s.kwargs.get("upper") or s.args == (True,) else lower


def _product(T: Any, factor: Any, s: Any) -> Any:
    """The matrix of a Cholesky factor; PyTorch's gradients go to all of the factor too."""
    factor = T(factor)
    return factor.mT @ factor if s.kwargs.get("upper") else factor @ factor.mT


def _cholesky_solve(T: Any, s: Any) -> Any:
    return tt.solve(_product(T, s.args[0], s), T(s.input))


def _cholesky_inverse(T: Any, s: Any) -> Any:
    return tt.inv(_product(T, s.input, s))


def _logdet(T: Any, s: Any) -> Any:
    sign, logarithm = tt.slogdet(T(s.input))
    return tt.where(sign < 0, float("nan"), logarithm)


def _matrix_norm(T: Any, s: Any) -> Any:
    return through(tt.matrix_norm, T, s)


def _linalg_norm(T: Any, s: Any) -> Any:
    """Of matrices if an order is given for two axes, else of the elements."""
    order = s.args[0] if s.args else s.kwargs.get("ord")
    axis = s.args[1] if len(s.args) > 1 else s.kwargs.get("dim")
    keepdims = s.kwargs.get("keepdim", False)
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    x = T(s.input)
    axes = axis if isinstance(axis, tuple) else (axis,) if axis is not None else None
    if order is None:
        return tt.norm(x, 2, axis, keepdims)
    if len(axes if axes is not None else x.shape) == 1:
        return tt.norm(x, order, axis, keepdims)
    return tt.matrix_norm(x, order, axes or (-2, -1), keepdims)


def _chain(T: Any, s: Any) -> Any:
    """``multi_dot``: a product of many matrices, the first and last may be vectors."""
    xs = T(list(s.input))
    letters = "abcdefgh"
    terms = [letters[i : i + 2] for i in range(len(xs))]
    terms[0] = terms[0][-xs[0].ndim :]
    terms[-1] = terms[-1][: xs[-1].ndim]
    return tt.einsum(",".join(terms), *xs)


def _bilinear(T: Any, s: Any) -> Any:
    x, y, weight, *bias = T((s.input, *s.args))
    out = tt.einsum("...i,oij,...j->...o", x, weight, y)
    return out + bias[0] if bias and bias[0] is not None else out


def _vecdot(T: Any, s: Any) -> Any:
    axis = s.kwargs.get("dim", -1)
    x, y = T(s.input), T(s.args[0])
    return (x * y).sum(axis)


def _cross(T: Any, s: Any) -> Any:
    axis = s.args[1] if len(s.args) > 1 else s.kwargs.get("dim")
    x, y = T(s.input), T(s.args[0])
    if axis is None:  # the first of length 3
        axis = x.shape.index(3)
    return tt.cross(x, y, axis=axis)


def _without_signs(out: Any) -> Any:
    """The factors of a decomposition, of whose columns PyTorch and we may choose other signs."""
    return tuple(part.abs() for part in out)


def _reduced(s: Any, full: bool) -> None:
    if full:
        raise NotApplicable("factors with arbitrary columns (full_matrices=True)")


def _svd(T: Any, s: Any) -> Any:
    _reduced(s, s.args[0] if s.args else s.kwargs.get("full_matrices", True))
    return _without_signs(tt.svd(T(s.input)))


def _old_svd(T: Any, s: Any) -> Any:
    """``torch.svd`` has v, not vh; its ``some`` is the opposite of ``full_matrices``."""
    _reduced(s, not s.kwargs.get("some", True))
    if not s.kwargs.get("compute_uv", True):
        raise NotApplicable("factors of zeros (compute_uv=False)")
    u, values, vh = tt.svd(T(s.input))
    return _without_signs((u, values, vh.mT))


def _of_triangle(fn: Any) -> Any:
    """PyTorch reads the lower triangle if nothing is said."""
    return lambda T, s: fn(T(s.input), UPLO=s.kwargs.get("UPLO", "L"))


def _eigh(T: Any, s: Any) -> Any:
    values, vectors = _of_triangle(tt.eigh)(T, s)
    return values, abs(vectors)


def _qr(T: Any, s: Any) -> Any:
    mode = s.args[0] if s.args else s.kwargs.get("mode", "reduced")
    if mode not in ("reduced", True):
        raise NotApplicable("another kind of QR decomposition than the reduced one")
    return tt.qr(T(s.input))


def _old_qr(T: Any, s: Any) -> Any:
    _reduced(s, not s.kwargs.get("some", True))
    return tt.qr(T(s.input))


def _pinv(T: Any, s: Any) -> Any:
    given = {"rtol": s.args[0] if s.args else None, **s.kwargs}
    if given.get("atol") is not None or isinstance(given["rtol"], torch.Tensor):
        raise NotApplicable("a cutoff for each matrix, or not relative to it (atol=)")
    return tt.pinv(T(s.input), given["rtol"])


def _of_factors(T: Any, s: Any) -> Any:
    """PyTorch's singular samples are products of two factors."""
    a, b = T(s.input), T(s.args[0])
    return tt.pinv(a @ b.mT)


def _power(T: Any, s: Any) -> Any:
    return tt.matrix_power(T(s.input), s.args[0] if s.args else s.kwargs["n"])


ENTRIES = [
    Entry("einsum", call=lambda T, s: tt.einsum(s.args[0], *T(list(s.input)))),
    Entry("einsum", "linalg.multi_dot", call=_chain),
    Entry("einsum", "nn.functional.bilinear", call=_bilinear),
    Entry("tensordot", rename={"dims": "axes"}),
    Entry("dot"),
    Entry("inner"),
    Entry("outer"),
    Entry("vdot"),
    Entry("kron"),
    Entry("bmm"),
    Entry("mv"),
    Entry("cross", call=_cross),
    Entry("cross", "linalg.cross", call=_cross),
    Entry("matmul", "addmm", call=_scaled(tt.matmul)),
    Entry("matmul", "linalg.vecdot", call=_vecdot),
    Entry("mv", "addmv", call=_scaled(tt.mv)),
    Entry("bmm", "baddbmm", call=_scaled(tt.bmm)),
    Entry("einsum", "addbmm", call=_scaled(lambda x, y: tt.einsum("bij,bjk->ik", x, y))),
    Entry("solve", "linalg.solve", call=_solve),
    Entry("solve", "linalg.solve_ex", call=_solve, take=lambda out: out[0]),
    Entry("triangular_solve", call=_old_triangular_solve, take=lambda out: out[0]),
    Entry("triangular_solve", "linalg.solve_triangular", call=_solve_triangular),
    Entry("solve", "cholesky_solve", call=_cholesky_solve),
    Entry("inv", "linalg.inv"),
    Entry("inv", "linalg.inv_ex", take=lambda out: out[0]),
    Entry("inv", "cholesky_inverse", call=_cholesky_inverse),
    Entry("det", "linalg.det"),
    Entry("slogdet", "linalg.slogdet"),
    Entry("slogdet", "logdet", call=_logdet),
    Entry("cholesky", call=_cholesky),
    Entry("cholesky", "linalg.cholesky", call=_cholesky),
    Entry("cholesky", "linalg.cholesky_ex", call=_cholesky, take=lambda out: out[0]),
    Entry("matrix_power", "linalg.matrix_power", call=_power),
    Entry("svd", "linalg.svd", call=_svd, take=_without_signs),
    Entry("svd", call=_old_svd, take=_without_signs),
    Entry("svdvals", "linalg.svdvals"),
    Entry("eigh", "linalg.eigh", call=_eigh, take=lambda out: (out[0], out[1].abs())),
    Entry("eigvalsh", "linalg.eigvalsh", call=_of_triangle(tt.eigvalsh)),
    Entry("qr", "linalg.qr", call=_qr),
    Entry("qr", call=_old_qr),
    Entry("pinv", "linalg.pinv", "", call=_pinv),
    Entry("pinv", "linalg.pinv", "singular", call=_of_factors),
    Entry("pinv", "pinverse", call=_pinv),
    Entry("matrix_norm", "linalg.matrix_norm", call=_matrix_norm),
    Entry("matrix_norm", "linalg.norm", call=_linalg_norm),
]

CHOICES = [
    Choice(
        name,
        lambda s: True,
        "only the triangle that is read gets a gradient, PyTorch's goes to both",
        gradient_only=True,
    )
    for name in ("eigh", "eigvalsh")
]
