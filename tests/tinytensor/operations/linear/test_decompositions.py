"""SVD, eigenvalues, QR and the pseudoinverse: values, gauges, equal values, lost rank, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")

SHAPES = [(4, 3), (3, 4), (3, 3), (2, 4, 3), (2, 1, 3, 4), (1, 1), (0, 3), (3, 0), (0, 2, 2)]


def random(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def symmetric(*shape: int) -> np.ndarray:
    a = random(*shape)
    return a + np.swapaxes(a, -1, -2)


# -- values -------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...]) -> None:
    a = random(*shape)
    u, s, vh = tt.svd(const(a))
    k = min(shape[-2:])
    assert u.shape == (*shape[:-1], k) and vh.shape == (*shape[:-2], k, shape[-1])
    close((u * s[..., None, :]) @ vh, a)
    close(u.mT @ u, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)))
    close(vh @ vh.mT, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)))
    assert (host(s) >= 0).all() and (np.diff(host(s), axis=-1) <= 0).all()
    close(tt.svdvals(const(a)), s)
    q, r = tt.qr(const(a))
    close(q @ r, a)
    close(r, np.triu(host(r)))
    close(q.mT @ q, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 3, 3), (1, 1), (0, 0), (0, 2, 2)])
def test_eigenvalues_and_vectors(shape: tuple[int, ...]) -> None:
    a = symmetric(*shape)
    w, v = tt.eigh(const(a))
    close((v * w[..., None, :]) @ v.mT, a)
    assert (np.diff(host(w), axis=-1) >= 0).all()
    close(tt.eigvalsh(const(a)), np.linalg.eigvalsh(a) if a.size else host(w))


def test_what_is_read_of_a_matrix_that_is_not_symmetric() -> None:
    a = random(3, 3)
    close(tt.eigvalsh(const(a)), np.linalg.eigvalsh((a + a.T) / 2))
    for triangle in ("L", "U"):
        close(tt.eigvalsh(const(a), triangle), np.linalg.eigvalsh(a, triangle))
        close(tt.eigh(const(a), UPLO=triangle)[0], np.linalg.eigvalsh(a, triangle))
        x = leaf(a)
        tt.eigvalsh(x, triangle)[0].backward()
        unread = np.triu(np.ones((3, 3)), 1) if triangle == "L" else np.tril(np.ones((3, 3)), -1)
        close(grad_of(x) * unread, np.zeros((3, 3)))


@pytest.mark.parametrize("shape", SHAPES)
def test_pinv_has_the_four_properties(shape: tuple[int, ...]) -> None:
    a = random(*shape)
    p = host(tt.pinv(const(a)))
    close(a @ p @ a, a)
    close(p @ a @ p, p)
    for product in (a @ p, p @ a):
        close(product, np.swapaxes(product, -1, -2))


def test_pinv_where_rank_is_lost() -> None:
    a = random(4, 2) @ random(2, 3, seed=1)
    close(tt.pinv(const(a)), np.linalg.pinv(a, rcond=1e-10), 1e-8)
    close(tt.pinv(const(np.zeros((2, 3)))), np.zeros((3, 2)))
    narrow = tt.pinv(const(a, np.float32))  # NumPy's own cutoff keeps rounding of float32
    assert narrow.dtype == np.float32
    close(narrow, np.linalg.pinv(a, rcond=1e-10), 1e-4)
    close(tt.pinv(const(np.diag([1.0, 0.1])), rtol=0.5), np.diag([1.0, 0.0]))


def test_norms_by_singular_values() -> None:
    a = random(2, 3, 4)
    for order in (2, -2, "nuc"):
        expected = np.linalg.norm(a, order, axis=(-2, -1))
        close(tt.matrix_norm(const(a), order), expected)
        kept = tt.matrix_norm(const(a), order, axis=(0, 2), keepdims=True)
        close(kept, np.linalg.norm(a, order, axis=(0, 2), keepdims=True))
        assert tt.gradcheck(lambda x, o=order: tt.matrix_norm(x, o), [leaf(a)])


# -- gradients ----------------------------------------------------------------------------
PROJECTIONS = {
    "svd, of the first part": lambda a: (tt.svd(a)[0][:, :1] * tt.svd(a)[1][:1]) @ tt.svd(a)[2][:1],
    "svd, of u": lambda a: tt.svd(a)[0][:, 0] ** 2,
    "svd, of vh": lambda a: tt.svd(a)[2][0] ** 2,
    "svdvals": lambda a: tt.svdvals(a) ** 3,
    "qr": lambda a: tt.qr(a)[0][:, 0] * tt.qr(a)[1][0, 1],
    "pinv": tt.pinv,
}


@pytest.mark.parametrize("name", PROJECTIONS)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_results_that_signs_do_not_change(name: str, shape: tuple[int, int]) -> None:
    x = leaf(random(*shape, seed=3))
    assert tt.gradcheck(PROJECTIONS[name], [x])
    assert tt.gradgradcheck(PROJECTIONS[name], [x])


def test_the_projection_onto_an_eigenvector() -> None:
    def projection(a: Any) -> Any:
        v = tt.eigh(a)[1]
        return v[:, :1] @ v[:, :1].mT

    x = leaf(symmetric(4, 4))
    assert tt.gradcheck(projection, [x]) and tt.gradgradcheck(projection, [x])


def test_pinv_along_changes_that_keep_the_rank() -> None:
    left, right = leaf(random(4, 2)), leaf(random(2, 3, seed=1))
    assert tt.gradcheck(lambda x, y: tt.pinv(x @ y), [left, right])
    assert tt.gradgradcheck(lambda x, y: tt.pinv(x @ y), [left, right])


def test_the_gradient_of_values_where_some_are_equal() -> None:
    """Each is one of the values' gradients; what is symmetric in them has the derivative."""
    for call in (tt.svdvals, lambda a: tt.svd(a)[1], tt.eigvalsh, lambda a: tt.eigh(a)[0]):
        x = leaf(2 * np.eye(3))
        (call(x) ** 2).sum().backward()
        close(grad_of(x), 4 * np.eye(3))  # of the sum of all squares of a
        y = leaf(np.diag([3.0, 1.0, 1.0]))
        call(y).sum().backward()
        close(grad_of(y), np.eye(3))


def test_vectors_of_a_square_matrix_that_lost_one_rank() -> None:
    def first(a: Any) -> Any:
        u, _, vh = tt.svd(a)
        return u[:, :1] @ vh[:1]

    assert tt.gradcheck(first, [leaf(random(3, 2) @ random(2, 3, seed=1))])


def test_vectors_of_equal_values_have_no_gradient_and_no_silent_zero() -> None:
    weights = const(random(3, 3))
    with np.errstate(all="ignore"):
        for call in (lambda a: tt.svd(a)[0], lambda a: tt.svd(a)[2], lambda a: tt.eigh(a)[1]):
            x = leaf(np.eye(3))
            (call(x) * weights).sum().backward()
            assert not np.isfinite(grad_of(x)).any()
        hessian = tt.hessian(lambda a: (tt.eigvalsh(a) ** 2).sum(), leaf(np.eye(2)))
        assert np.isnan(host(hessian)).any()


def test_second_derivative_of_the_spectral_norm() -> None:
    x = leaf(np.diag([2.0, 1.0]))
    hessian = host(tt.hessian(lambda a: tt.matrix_norm(a, 2), x))
    expected = np.zeros((2, 2, 2, 2))
    # s1 of [[2, b], [c, 1]] is 2 + (2 (b² + c²) + 2 b c) / (2 (4 - 1)) to second order
    expected[0, 1, 0, 1] = expected[1, 0, 1, 0] = 2 / 3
    expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = 1 / 3
    close(hessian, expected)


# -- special matrices ---------------------------------------------------------------------
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_nan_or_infinity_spoils_its_own_matrix_only(value: float) -> None:
    a = symmetric(2, 3, 3)
    a[0, 1, 1] = value
    parts = [*tt.svd(const(a)), tt.svdvals(const(a)), *tt.eigh(const(a)), tt.eigvalsh(const(a))]
    for part in (*parts, *tt.qr(const(a)), tt.pinv(const(a))):
        assert np.isnan(host(part)[0]).all()
        assert np.isfinite(host(part)[1]).all()


def test_integers_and_halves() -> None:
    whole = const([[2, 0], [0, 3]], np.int64)
    assert [x.dtype for x in tt.svd(whole)] == [np.float32] * 3
    close(tt.eigvalsh(whole), [2, 3])
    close(tt.pinv(whole), [[1 / 2, 0], [0, 1 / 3]])
    half = tt.tensor(const(symmetric(3, 3)), dtype="float16", requires_grad=True)
    w, v = tt.eigh(half)
    assert w.dtype == v.dtype == np.float16
    (w.sum() + (tt.svd(half)[0] ** 2)[:, 0].sum() + tt.pinv(half).sum()).backward()
    assert half.grad is not None and half.grad.dtype == np.float16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tt.svd(const(np.ones(3))), r"svd\(.*a: expected matrices \(\.\.\., m, n\)"),
        (lambda: tt.svdvals(const(1.0)), r"a: expected matrices"),
        (lambda: tt.qr(const(np.ones(3))), r"a: expected matrices"),
        (lambda: tt.pinv(const(np.ones(3))), r"a: expected matrices"),
        (lambda: tt.eigh(const(np.ones((2, 3)))), r"a: expected square matrices"),
        (lambda: tt.eigvalsh(const(np.ones((2, 3)))), r"a: expected square matrices"),
        (lambda: tt.eigh(const(np.eye(2)), "l"), r"UPLO: expected None, 'L' or 'U', got 'l'"),
        (
            lambda: tt.svd(const(np.eye(2)), full_matrices=True),
            r"full_matrices: expected False.*arbitrary.*np\.linalg\.svd\(a\.detach\(\)\.numpy",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
