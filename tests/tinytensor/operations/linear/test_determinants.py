"""Determinants and their logarithms, of singular matrices too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients

pytestmark = pytest.mark.usefixtures("device")

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def cofactors(a: np.ndarray) -> np.ndarray:
    n = len(a)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            out[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1.0)
    return out


DETERMINANTS = {
    "regular": [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 1.0]],
    "largest in the first row": [[1.0, 5.0, 2.0], [3.0, 0.0, 1.0], [0.0, 1.0, 2.0]],
    "largest in the first column": [[1.0, 3.0, 0.0], [5.0, 0.0, 1.0], [2.0, 1.0, 2.0]],
    "rank 2": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]],
    "rank 2, to rounding": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
    "rank 2, a row of zeros": [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 1.0, 1.0]],
    "rank 1": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]],
    "zeros": np.zeros((3, 3)),
    "one zero": [[0.0]],
    "zeros in the corner": [[0.0, 1.0], [0.0, 2.0]],
}


@pytest.mark.parametrize("a", DETERMINANTS.values(), ids=DETERMINANTS)
def test_the_gradient_of_a_determinant_is_its_cofactors(a: Any) -> None:
    x = leaf(a)
    (g,) = tt.grad(tt.det(x), [x])
    close(g, cofactors(host(x)), 1e-12)
    (g,) = tt.grad(tt.det(x), [x], create_graph=True)
    close(g, cofactors(host(x)), 1e-12)


@pytest.mark.parametrize("a", DETERMINANTS.values(), ids=DETERMINANTS)
def test_the_second_derivative_of_a_determinant(a: Any) -> None:
    x = leaf(a)
    v = np.random.default_rng(0).normal(size=x.shape)
    (g,) = tt.grad(tt.det(x), [x], create_graph=True)
    product = (g * const(v)).sum()
    got = tt.grad(product, [x], allow_unused=True)[0] if product.requires_grad else None
    # the determinant is a polynomial, so that differences over a long step have no error of order 1
    (want,) = numeric_gradients(lambda y: cofactors(y), [host(x)], v, eps=1e-3)
    close(np.zeros(x.shape) if got is None else got, want, 1e-4)


def test_a_stack_with_singular_and_regular_matrices() -> None:
    a = np.stack([np.asarray(DETERMINANTS[k], float) for k in ("regular", "rank 2", "zeros")])
    x = leaf(a)
    out = tt.det(x)
    close(out, [7, 0, 0], 1e-12)
    out.backward(const([1.0, 2.0, 3.0]))
    close(x.grad, np.stack([w * cofactors(m) for w, m in zip([1, 2, 3], a, strict=True)]), 1e-12)


def test_a_singular_matrix_in_float32() -> None:
    x = leaf(DETERMINANTS["rank 2"], np.float32)
    tt.det(x).backward()
    close(x.grad, cofactors(np.asarray(DETERMINANTS["rank 2"])), 1e-5)


def test_nan_beside_a_singular_matrix() -> None:
    x = leaf([[[np.nan, 1.0], [1.0, 1.0]], SINGULAR])
    tt.det(x).sum().backward()
    assert np.isnan(grad_of(x)[0]).any()
    close(grad_of(x)[1], [[4, -2], [-2, 1]], 1e-12)


def test_the_determinant_of_no_rows_is_one() -> None:
    x = leaf(np.zeros((2, 0, 0)))
    close(tt.det(x), [1, 1])
    sign, logarithm = tt.slogdet(x)
    close(sign, [1, 1])
    close(logarithm, [0, 0])


def test_the_logarithm_reaches_where_the_determinant_overflows() -> None:
    n = 200
    x = leaf(-1e10 * np.eye(n))
    sign, logarithm = tt.slogdet(x)
    close(sign, 1)
    close(logarithm, n * math.log(1e10))
    logarithm.backward()
    close(x.grad, -1e-10 * np.eye(n), 1e-16)


def test_slogdet_of_a_worked_example() -> None:
    x = leaf([[0.0, 2.0], [4.0, 0.0]])
    sign, logarithm = tt.slogdet(x)
    close(sign, -1)
    close(logarithm, math.log(8))
    (sign * logarithm).backward()
    close(x.grad, [[0, -0.5], [-0.25, 0]])


def test_slogdet_of_a_singular_matrix() -> None:
    x = leaf([SINGULAR, [[2.0, 0.0], [0.0, 1.0]]])
    sign, logarithm = tt.slogdet(x)
    close(sign, [0, 1])
    close(logarithm, [-np.inf, math.log(2)])
    logarithm.sum().backward()
    assert np.isinf(grad_of(x)[0]).all()
    close(grad_of(x)[1], [[0.5, 0], [0, 1]])


def test_the_logarithm_of_a_singular_determinant_has_no_silent_second_derivative() -> None:
    x = leaf([[1.0, 1.0], [1.0, 1.0]])
    with np.errstate(all="ignore"):
        (g,) = tt.grad(tt.slogdet(x)[1], x, create_graph=True)
        close(g, np.full((2, 2), np.inf))
        (gg,) = tt.grad(g[0, 0], x)
    assert np.isnan(host(gg)[0, 0])
