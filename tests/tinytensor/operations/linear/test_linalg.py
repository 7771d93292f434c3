"""Linear algebra: solving, inverting, Cholesky, powers and norms of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients

pytestmark = pytest.mark.usefixtures("device")

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]


def matrices(*shape: int, seed: int = 0) -> np.ndarray:
    """Far from singular."""
    return np.random.default_rng(seed).normal(size=shape) + 4 * np.eye(shape[-1])


# -- solve --------------------------------------------------------------------------------
def test_solve_of_a_worked_example() -> None:
    a, b = leaf([[2.0, 0.0], [1.0, 4.0]]), leaf([2.0, 9.0])
    x = tt.solve(a, b)
    close(x, [1, 2])
    x.backward(const([1.0, 4.0]))
    close(b.grad, [0, 1])
    close(a.grad, [[0, 0], [-1, -2]])


def test_only_a_b_of_one_axis_is_a_vector() -> None:
    a, b = matrices(3, 3, 3), np.random.default_rng(1).normal(size=(3, 3))
    close(tt.solve(const(a), const(b)), np.linalg.solve(a, b[None]), 1e-12)
    with pytest.raises(
        ValueError, match=r"got shape \(2, 3\); a stack of vectors is b\[\.\.\., None\]"
    ):
        tt.solve(const(matrices(2, 3, 3)), const(np.ones((2, 3))))
    close(tt.solve(const(matrices(2, 3, 3)), const(np.ones((2, 3)))[..., None]).shape, (2, 3, 1))


@pytest.mark.parametrize("kind", ["a", "b"])
def test_solve_with_one_constant(kind: str) -> None:
    a, b = matrices(3, 3), np.random.default_rng(1).normal(size=(3, 2))
    x, y = (leaf if kind == "a" else const)(a), (leaf if kind == "b" else const)(b)
    g = np.random.default_rng(2).normal(size=(3, 2))
    tt.solve(x, y).backward(const(g))
    db = np.linalg.solve(a.T, g)
    if kind == "b":
        close(y.grad, db)
    else:
        close(x.grad, -db @ np.linalg.solve(a, b).T)


def test_hilbert_matrix_in_float64() -> None:
    n = 8
    h = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1)
    x = tt.solve(const(h), const(h @ np.ones(n)))
    np.testing.assert_allclose(host(x), np.ones(n), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tt.solve(const(SINGULAR), const([1.0, 2.0])),
            r"solve\(a: \(2, 2\).*a: a singular matrix",
        ),
        (
            lambda: tt.solve(const([np.eye(2), SINGULAR]), const([1.0, 2.0])),
            r"a: a singular matrix",
        ),
        (lambda: tt.inv(const(SINGULAR)), r"inv\(.*a: a singular matrix, it has no inverse"),
        (lambda: tt.inv(const(np.zeros((1, 1)))), r"a: a singular matrix"),
        (
            lambda: tt.cholesky(const(INDEFINITE)),
            r"cholesky\(.*a: expected symmetric positive definite",
        ),
        (lambda: tt.cholesky(const([np.eye(2), INDEFINITE])), r"one is not positive definite"),
        (lambda: tt.cholesky(const(np.zeros((2, 2)))), r"not positive definite"),
        (
            lambda: tt.triangular_solve(const(np.diag([1.0, 0.0])), const([1.0, 1.0])),
            r"a: expected no 0 on the diagonal",
        ),
        (
            lambda: tt.solve(const(np.ones((2, 3))), const([1.0, 2.0])),
            r"a: expected square matrices \(\.\.\., n, n\), got shape \(2, 3\)",
        ),
        (
            lambda: tt.solve(const(np.ones(2)), const([1.0, 2.0])),
            r"a: expected square matrices.*got shape \(2,\)",
        ),
        (
            lambda: tt.solve(const(np.eye(2)), const([1.0, 2.0, 3.0])),
            r"b: expected a vector \(2,\) or matrices \(\.\.\., 2, k\).*got shape \(3,\)",
        ),
        (
            lambda: tt.solve(const(np.eye(2)), const(1.0)),
            r"b: expected a vector \(2,\).*got shape \(\)",
        ),
        (
            lambda: tt.solve(const(matrices(2, 2, 2)), const(np.ones((3, 2, 1)))),
            r"solve\(a: \(2, 2, 2\) float64, b: \(3, 2, 1\) float64\)",
        ),
        (lambda: tt.inv(const(np.ones((2, 3)))), r"a: expected square matrices"),
        (lambda: tt.det(const(np.ones((2, 3)))), r"a: expected square matrices"),
        (lambda: tt.slogdet(const(np.ones(3))), r"a: expected square matrices"),
        (lambda: tt.cholesky(const(np.ones((3, 2, 3)))), r"a: expected square matrices"),
        (
            lambda: tt.triangular_solve(const(np.ones((3, 2))), const(np.ones(3))),
            r"a: expected square matrices",
        ),
        (
            lambda: tt.triangular_solve(const(np.eye(2)), const(np.ones(3))),
            r"b: expected a vector \(2,\)",
        ),
        (
            lambda: tt.triangular_solve(const(np.eye(2)), const(np.ones(2)), left=False),
            r"b: expected matrices \(\.\.\., k, 2\) with left=False, got shape \(2,\)",
        ),
        (
            lambda: tt.triangular_solve(const(np.eye(2)), const(np.ones((2, 3))), left=False),
            r"b: expected matrices \(\.\.\., k, 2\).*got shape \(2, 3\)",
        ),
        (
            lambda: tt.matrix_power(const(np.ones((2, 3))), 2),
            r"matrix_power: a: expected square matrices",
        ),
        (lambda: tt.matrix_power(const(SINGULAR), -1), r"a: a singular matrix"),
        (
            lambda: tt.matrix_norm(const(np.eye(2)), 3),
            r"matrix_norm: ord: expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got 3",
        ),
        (lambda: tt.matrix_norm(const(np.eye(2)), "nuclear"), r"ord: expected .* got 'nuclear'"),
        (
            lambda: tt.matrix_norm(const(np.ones(2))),
            r"axis: expected two axes of an x of shape \(2,\)",
        ),
        (
            lambda: tt.matrix_norm(const(np.eye(2)), axis=(0, -2)),
            r"axis: expected two different axes, got \(0, -2\)",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_power_that_is_no_integer() -> None:
    with pytest.raises(TypeError, match=r"matrix_power: n: expected an integer, got 0\.5"):
        tt.matrix_power(const(np.eye(2)), 0.5)  # type: ignore[arg-type]


# -- triangles ----------------------------------------------------------------------------
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_every_kind_of_triangular_system(
    upper: bool, left: bool, transpose: bool, unit: bool
) -> None:
    a, b = matrices(2, 3, 3), np.random.default_rng(1).normal(size=(2, 3, 3))

    def by_hand(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        t = np.triu(a) if upper else np.tril(a)
        if unit:
            t = t - t * np.eye(3) + np.eye(3)
        t = np.swapaxes(t, -1, -2) if transpose else t
        return np.linalg.inv(t) @ b if left else b @ np.linalg.inv(t)

    x, y = leaf(a), leaf(b)
    out = tt.triangular_solve(x, y, upper, left, transpose, unit)
    close(out, by_hand(a, b), 1e-10)
    g = np.random.default_rng(2).normal(size=out.shape)
    out.backward(const(g))
    for t, want in zip((x, y), numeric_gradients(by_hand, [a, b], g), strict=True):
        close(t.grad, want, 1e-6)


@pytest.mark.parametrize("upper", [False, True])
def test_what_is_beyond_the_triangle_is_not_read(upper: bool) -> None:
    a = np.where(np.tri(3, k=-1, dtype=bool) if upper else ~np.tri(3, dtype=bool), np.nan, 2.0)
    x = leaf(a)
    out = tt.triangular_solve(x, const([2.0, 2.0, 2.0]), upper=upper)
    assert np.isfinite(host(out)).all()
    out.sum().backward()
    close(np.isnan(a) * grad_of(x), np.zeros((3, 3)))
    assert np.isfinite(grad_of(x)).all()


@pytest.mark.parametrize("n", [63, 64, 65, 130, 200])
@pytest.mark.parametrize("upper", [False, True])
def test_large_triangles_are_solved_by_halves(n: int, upper: bool) -> None:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n)) / n + 2 * np.eye(n)
    a = np.triu(a) if upper else np.tril(a)
    b = rng.normal(size=(n, 2))
    x = tt.triangular_solve(const(a), const(b), upper=upper)
    np.testing.assert_allclose(a @ host(x), b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
def test_substitution_is_exact_where_elimination_would_not_be(upper: bool) -> None:
    """Pivoting would exchange the rows of this triangle; substitution has no rounding here."""
    a = np.array([[2.0**-40, 0.0, 0.0], [1.0, 2.0**-30, 0.0], [3.0, 5.0, 2.0**-35]])
    a = a.T.copy() if upper else a
    want = np.array([1.0, 2.0, 4.0])
    x = tt.triangular_solve(const(a), const(a @ want), upper=upper)
    b = a @ want
    order = range(3) if not upper else reversed(range(3))
    by_hand = np.zeros(3)
    for i in order:
        by_hand[i] = (b[i] - a[i] @ by_hand) / a[i, i]
    np.testing.assert_array_equal(host(x), by_hand)


def test_both_names() -> None:
    assert tt.solve_triangular is tt.triangular_solve


# -- inverse ------------------------------------------------------------------------------
def test_inverse_of_a_worked_example() -> None:
    a = leaf([[2.0, 0.0], [0.0, 4.0]])
    out = tt.inv(a)
    close(out, [[0.5, 0], [0, 0.25]])
    out.backward(const([[1.0, 2.0], [0.0, 16.0]]))
    close(a.grad, [[-0.25, -0.25], [0, -1]])


@pytest.mark.parametrize("at", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "solve"])
def test_a_nan_gives_nan_wherever_it_is(name: str, at: tuple[int, int]) -> None:
    """LAPACK calls [[nan, 1], [1, 1]] singular, so NumPy's det is 0 and its inv raises."""
    a = np.stack([[[3.0, 1.0], [1.0, 2.0]]] * 2)
    a[0][at] = np.nan
    x = leaf(a)
    results: Any = tt.solve(x, const([1.0, 2.0])) if name == "solve" else getattr(tt, name)(x)
    out = results[1] if name == "slogdet" else results
    out.sum().backward()
    for array in (host(out), grad_of(x)):
        assert np.isnan(array[0]).any()
        assert np.isfinite(array[1]).all()


# -- Cholesky -----------------------------------------------------------------------------
def test_cholesky_of_a_worked_example() -> None:
    a = leaf([[4.0, 2.0], [2.0, 5.0]])
    out = tt.cholesky(a)
    close(out, [[2, 0], [1, 2]])
    out.backward(const([[1.0, 7.0], [0.0, 0.0]]))  # what is above the diagonal does not count
    close(a.grad, [[0.25, 0], [0, 0]])
    a.grad = None
    tt.cholesky(a)[1, 1].backward()
    close(a.grad, [[0.0625, -0.125], [-0.125, 0.25]])
    assert np.array_equal(grad_of(a), grad_of(a).T)


def test_cholesky_reads_the_symmetric_part() -> None:
    close(tt.cholesky(const([[4.0, 0.0], [4.0, 5.0]])), [[2, 0], [1, 2]])


def test_a_log_likelihood_through_cholesky_equals_slogdet_and_solve() -> None:
    f = np.random.default_rng(0).normal(size=(4, 4))
    cov, y = leaf(f @ f.T + 4 * np.eye(4)), leaf(np.random.default_rng(1).normal(size=4))
    chol = tt.cholesky(cov)
    z = tt.triangular_solve(chol, y)
    one = (z * z).sum() + 2 * tt.log(tt.einsum("ii->i", chol)).sum()
    other = tt.dot(y, tt.solve(cov, y)) + tt.slogdet(cov)[1]
    close(one, host(other), 1e-12)
    for a, b in zip(tt.grad(one, [cov, y]), tt.grad(other, [cov, y]), strict=True):
        close(a, (host(b) + host(b).T) / 2 if b.ndim == 2 else host(b), 1e-10)


# -- dtypes -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_float16_is_computed_in_float32(name: str) -> None:
    x = leaf([[4.0, 2.0], [2.0, 5.0]], np.float16)
    out = getattr(tt, name)(x)
    assert out.dtype == np.float16
    out.sum().backward()
    assert x.grad is not None and x.grad.dtype == np.float16
    assert np.isfinite(grad_of(x)).all()


def test_float16_systems() -> None:
    a, b = leaf([[4.0, 0.0], [2.0, 5.0]], np.float16), leaf([4.0, 12.0], np.float16)
    for op in (tt.solve, tt.triangular_solve):
        out = op(a, b)
        assert out.dtype == np.float16
        close(out, [1, 2])
        ga, gb = tt.grad(out.sum(), [a, b])
        assert ga is not None and gb is not None
        assert ga.dtype == gb.dtype == np.float16
    sign, logarithm = tt.slogdet(a)
    assert sign.dtype == logarithm.dtype == np.float16


@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_integers_give_float32(name: str) -> None:
    out = getattr(tt, name)(const([[4, 2], [2, 5]], np.int64))
    assert out.dtype == np.float32
    assert tt.solve(const([[2, 0], [0, 4]], np.int64), const([2, 4], np.int64)).dtype == np.float32


# -- powers and norms ---------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, -1, -3])
def test_matrix_power(n: int) -> None:
    a = matrices(2, 3, 3) / 4
    close(tt.matrix_power(const(a), n), np.linalg.matrix_power(a, n), 1e-8)
    if n:
        assert tt.gradcheck(lambda x: tt.matrix_power(x, n), [leaf(a)])
        assert tt.gradgradcheck(lambda x: tt.matrix_power(x, n), [leaf(a)])


@pytest.mark.parametrize("ord", ["fro", 1, -1, math.inf, -math.inf])
@pytest.mark.parametrize("axis", [(-2, -1), (0, 2), (2, 0), (-1, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norm(ord: Any, axis: tuple[int, int], keepdims: bool) -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 4))
    out = tt.matrix_norm(leaf(a), ord, axis, keepdims)
    close(out, np.linalg.norm(a, ord, axis, keepdims), 1e-12)
    assert tt.gradcheck(lambda x: tt.matrix_norm(x, ord, axis, keepdims), [leaf(a)])
    assert tt.gradgradcheck(lambda x: tt.matrix_norm(x * x, ord, axis, keepdims), [leaf(a)])


@pytest.mark.parametrize("ord", ["fro", 1, -1, math.inf, -math.inf])
def test_the_norm_of_a_zero_matrix_has_gradient_zero(ord: Any) -> None:
    x = leaf(np.zeros((2, 2)))
    out = tt.matrix_norm(x, ord)
    close(out, 0)
    out.backward()
    close(x.grad, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("ord", "gradient"),
    [
        (1, [[0, 1], [0, 1]]),
        (-1, [[1, 0], [1, 0]]),
        (math.inf, [[0.5, 0.5], [0.5, 0.5]]),
        (-math.inf, [[0.5, 0.5], [0.5, 0.5]]),
    ],
)
def test_tied_rows_share_evenly(ord: Any, gradient: Any) -> None:
    x = leaf([[1.0, 2.0], [1.0, 2.0]])
    tt.matrix_norm(x, ord).backward()
    close(x.grad, gradient)


def test_norms_of_nothing() -> None:
    for shape in ((0, 0), (0, 3), (3, 0)):
        close(tt.matrix_norm(const(np.zeros(shape))), 0)
