"""Losses on how alike two vectors are, on margins, and likelihoods: values by hand, refusals."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf
from .test_losses import value_and_gradients

pytestmark = pytest.mark.usefixtures("device")


# -- how alike two vectors are ------------------------------------------------------------
def test_cosine_similarity_by_hand_and_at_zero() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, d1, d2 = value_and_gradients(
            tt.cosine_similarity, [[3, 4], [0, 0], [1, 0]], [[3, 4], [3, 4], [0, 2]]
        )
    np.testing.assert_allclose(value, [1, 0, 0])
    np.testing.assert_allclose(d1, [[0, 0], [0.6e8, 0.8e8], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(d2, [[0, 0], [0, 0], [0.5, 0]], atol=1e-12)


def test_cosine_similarity_of_short_vectors_is_their_scaled_product() -> None:
    a, b = leaf([[3.0, 0.0]]), leaf([[0.0, 2.0]])
    out = tt.cosine_similarity(a, b, axis=-1, eps=10.0)
    out.sum().backward()
    np.testing.assert_allclose(grad_of(a), [[0, 0.02]])
    np.testing.assert_allclose(grad_of(b), [[0.03, 0]])


def test_cosine_similarity_of_one_tensor_with_itself_and_of_float16() -> None:
    x = leaf([[3.0, 4.0]])
    tt.cosine_similarity(x, x).sum().backward()
    np.testing.assert_allclose(grad_of(x), [[0, 0]], atol=1e-12)
    big = tt.tensor(np.array([[300.0, 400.0]], np.float16), requires_grad=True)
    out = tt.cosine_similarity(big, tt.tensor(np.array([[400.0, 300.0]], np.float16)))
    assert out.item() == pytest.approx(0.96, abs=1e-3)  # 300 * 300 is out of float16's range
    with pytest.raises(ValueError, match=r"cosine_similarity.*\(2, 3\).*\(2, 4\)"):
        tt.cosine_similarity(leaf(np.ones((2, 3))), leaf(np.ones((2, 4))))
    with pytest.raises(ValueError, match="axis"):
        tt.cosine_similarity(leaf([1.0]), leaf([1.0]))


def test_triplets_by_hand() -> None:
    a, p, n = [[0.0, 0.0], [0.0, 0.0]], [[3.0, 4.0], [0.3, 0.4]], [[6.0, 8.0], [0.6, 0.8]]
    each = value_and_gradients(
        lambda *x: tt.triplet_margin_loss(*x, margin=1.0, eps=0.0, reduction="none"), a, p, n
    )
    np.testing.assert_allclose(each[0], [0, 0.5])
    np.testing.assert_allclose(each[1], [[0, 0], [0, 0]], atol=1e-15)
    np.testing.assert_allclose(each[2], [[0, 0], [0.6, 0.8]])
    np.testing.assert_allclose(each[3], [[0, 0], [-0.6, -0.8]])
    swapped = tt.triplet_margin_loss(
        leaf(a), leaf(p), leaf([[3.0, 5.0], [1, 1]]), margin=2.0, eps=0.0, swap=True, p=1
    )
    # distances: near 7 and 0.7; far 8 and 2, but from the positive 1 and 1.3
    close(swapped, ((7 - 1 + 2) + (0.7 - 1.3 + 2)) / 2)
    with pytest.raises(ValueError, match="margin: expected a number > 0, got 0"):
        tt.triplet_margin_loss(leaf(a), leaf(p), leaf(n), margin=0)
    with pytest.raises(ValueError, match=r"negative: expected .*\(2, 2\), got \(2,\)"):
        tt.triplet_margin_loss(leaf(a), leaf(p), leaf([1.0, 2.0]))


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_triplet_gradients(swap: bool, p: float, rng: np.random.Generator) -> None:
    xs = [leaf(rng.standard_normal((4, 3))) for _ in range(3)]
    assert tt.gradcheck(lambda *x: tt.triplet_margin_loss(*x, p=p, swap=swap, margin=3.0), xs)


def test_equal_vectors_have_a_finite_distance_and_gradient() -> None:
    x = leaf([[1.0, 2.0]])
    out = tt.pairwise_distance(x, const([[1.0, 2.0]]))
    out.sum().backward()
    close(out, [math.sqrt(2) * 1e-6], 1e-12)
    close(grad_of(x), [[math.sqrt(0.5), math.sqrt(0.5)]])
    y = leaf([[1.0, 2.0]])
    tt.pairwise_distance(y, y.detach(), eps=0.0, keepdims=True).sum().backward()
    np.testing.assert_array_equal(grad_of(y), [[0, 0]])


def test_margins_by_hand() -> None:
    y = const([1, 1, -1, -1], np.int64)
    got = value_and_gradients(
        lambda a, b: tt.margin_ranking_loss(a, b, y, 0.5, "none"), [1, 3, 1, 3], [3, 1, 3, 1]
    )
    np.testing.assert_allclose(got[0], [2.5, 0, 0, 2.5])
    np.testing.assert_allclose(got[1], [-1, 0, 0, 1])
    np.testing.assert_allclose(got[2], [1, 0, 0, -1])
    got = value_and_gradients(
        lambda x: tt.hinge_embedding_loss(x, y, 1.0, "none"), [0.25, 2.0, 0.25, 2.0]
    )
    np.testing.assert_allclose(got[0], [0.25, 2, 0.75, 0])
    np.testing.assert_allclose(got[1], [1, 1, -1, 0])
    a, b = [[1.0, 0.0]] * 4, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    got = value_and_gradients(lambda u, v: tt.cosine_embedding_loss(u, v, y, 0.25, "none"), a, b)
    np.testing.assert_allclose(got[0], [0, 1, 0.75, 0])
    np.testing.assert_allclose(got[1], [[0, 0], [0, -1], [0, 0], [0, 0]], atol=1e-12)
    for loss in (
        lambda: tt.margin_ranking_loss(leaf([1.0]), leaf([1.0]), y),
        lambda: tt.hinge_embedding_loss(leaf([1.0]), y),
        lambda: tt.cosine_embedding_loss(leaf([[1.0]]), leaf([[1.0]]), y),
    ):
        with pytest.raises(ValueError, match=r"y: expected .*\(1,\), got \(4,\)"):
            loss()
    with pytest.raises(ValueError, match=r"x2: expected the shape of x1, \(2,\), got \(1,\)"):
        tt.margin_ranking_loss(leaf([1.0, 2.0]), leaf([1.0]), 1)


def test_gradients_of_the_margin_losses(rng: np.random.Generator) -> None:
    a, b = (leaf(rng.standard_normal((5, 3))) for _ in range(2))
    y = const([1, -1, 1, -1, -1], np.int64)
    assert tt.gradcheck(lambda u, v: tt.cosine_embedding_loss(u, v, y, -0.9), [a, b])
    assert tt.gradcheck(lambda u, v: tt.margin_ranking_loss(u, v, y[:, None], 4.0), [a, b])
    assert tt.gradcheck(lambda u: tt.hinge_embedding_loss(u, y[:, None], 4.0), [a])


# -- likelihoods --------------------------------------------------------------------------
def test_soft_margin_far_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, dx, _ = value_and_gradients(
            lambda x, y: tt.soft_margin_loss(x, y, "none"),
            [0.0, 300.0, -300.0, 1.0],
            [1.0, -1.0, -1.0, 1.0],
        )
    np.testing.assert_allclose(value, [math.log(2), 300, 0, math.log1p(math.exp(-1))], atol=1e-99)
    np.testing.assert_allclose(dx, [-0.5, 1, 0, -1 / (1 + math.e)], atol=1e-99)


def test_poisson_by_hand() -> None:
    x, y = [0.5, 1.0, 2.0], [0.0, 1.0, 3.0]
    got = value_and_gradients(lambda a: tt.poisson_nll_loss(a, const(y), reduction="none"), x)
    np.testing.assert_allclose(got[0], np.exp(x) - np.multiply(y, x))
    np.testing.assert_allclose(got[1], np.exp(x) - y)
    plain = tt.poisson_nll_loss(leaf(x), const(y), log_input=False, eps=0.0, reduction="none")
    close(plain, x - y * np.log(x))
    full = tt.poisson_nll_loss(leaf(x), const(y), full=True, reduction="none")
    close(host(full) - got[0], [0, 0, 3 * math.log(3) - 3 + 0.5 * math.log(6 * math.pi)])


def test_gaussian_by_hand() -> None:
    x, y, var = [[1.0, 2.0], [3.0, 5.0]], [[0.0, 2.0], [1.0, 1.0]], [[4.0, 0.5], [1.0, 2.0]]
    value, dx, dy, dvar = value_and_gradients(
        lambda *a: tt.gaussian_nll_loss(*a, reduction="none"), x, y, var
    )
    np.testing.assert_allclose(
        value, 0.5 * (np.log(var) + np.subtract(x, y) ** 2 / np.array(var)), rtol=1e-12
    )
    np.testing.assert_allclose(dx, np.subtract(x, y) / var)
    np.testing.assert_allclose(dy, np.subtract(y, x) / var)
    v = np.array(var)
    np.testing.assert_allclose(dvar, 0.5 * (1 / v - np.subtract(x, y) ** 2 / v**2))
    rows = tt.gaussian_nll_loss(leaf(x), const(y), const([4.0, 2.0]), reduction="none", full=True)
    v = np.array([[4.0], [2.0]])
    close(rows, 0.5 * (np.log(2 * math.pi * v) + np.subtract(x, y) ** 2 / v), 1e-12)
    flat = leaf([[0.0, 0.0], [0.0, 0.0]])
    out = tt.gaussian_nll_loss(const(x), const(x), flat)
    out.backward()
    close(out, 0.5 * math.log(1e-6))
    np.testing.assert_array_equal(grad_of(flat), np.zeros((2, 2)))
    for words, args in (
        ("var: expected variances >= 0", (const([[1.0, -1.0], [1, 1]]),)),
        (r"var: .*broadcasts to \(2, 2\), or \(2,\), got \(3,\)", (const([1.0, 1, 1]),)),
        ("eps: expected a number > 0", (const(var), False, 0.0)),
        ("reduction: expected one of", (const(var), False, 1e-6, "avg")),
    ):
        with pytest.raises(ValueError, match=words):
            tt.gaussian_nll_loss(leaf(x), const(y), *args)
    for loss in (
        lambda a, b: tt.gaussian_nll_loss(a, b, 1.0),
        tt.poisson_nll_loss,
        tt.soft_margin_loss,
    ):
        with pytest.raises(ValueError, match=r"target: .*\(2, 1\), got \(2,\)"):  # report C13
            loss(leaf([[1.0], [2.0]]), const([1.0, 2.0]))


def test_gradients_of_the_likelihoods(rng: np.random.Generator) -> None:
    x, y = leaf(rng.standard_normal((3, 2))), leaf(rng.uniform(0.5, 3, (3, 2)) + 0.04)
    var = leaf(rng.uniform(0.5, 2, 3))
    assert tt.gradcheck(lambda a, b, v: tt.gaussian_nll_loss(a, b, v, True), [x, y, var])
    assert tt.gradcheck(lambda a, b: tt.poisson_nll_loss(a, b, full=True), [x, y])
    assert tt.gradcheck(lambda a, b: tt.soft_margin_loss(a, b), [x, y])
