"""Scans: running sums and products, and the recurrence that their gradients are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients
from .test_reductions import no_warnings as no_warnings
from .test_reductions import slope

INF, NAN = math.inf, math.nan

pytestmark = pytest.mark.usefixtures("device", "no_warnings")

SCANS = [tt.cumsum, tt.cumprod, tt.logcumsumexp]


def plain(fn: Any, x: np.ndarray, axis: int) -> np.ndarray:
    """The same scan by NumPy's own means."""
    if fn is tt.logcumsumexp:
        return np.logaddexp.accumulate(x, axis)
    return {tt.cumsum: np.cumsum, tt.cumprod: np.cumprod}[fn](x, axis)


# -- axes -----------------------------------------------------------------------------------
@pytest.mark.parametrize("fn", SCANS)
def test_axes(fn: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 1, 5))
    for axis in (0, 1, 2, -1, -2, -3):
        close(fn(const(x), axis), plain(fn, x, axis))
    close(fn(const(x)), plain(fn, x.reshape(-1), 0))  # NumPy's: flattened without an axis
    close(fn(const(x), axis=None), plain(fn, x.reshape(-1), 0))
    assert slope(fn, x).shape == x.shape


@pytest.mark.parametrize("fn", SCANS)
def test_one_number_and_nothing(fn: Any) -> None:
    close(fn(const(3.0), 0), 3.0)
    close(fn(const(3.0), -1), 3.0)
    close(fn(const(3.0)), [3.0])
    close(slope(lambda x: fn(x, 0), 3.0), 1.0)
    assert slope(lambda x: fn(x, 1), np.zeros((2, 0))).shape == (2, 0)
    assert slope(lambda x: fn(x, 0), np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("fn", [*SCANS, tt.cummax, tt.cummin, tt.sort, tt.argsort])
def test_bad_axes(fn: Any) -> None:
    name = fn.__name__
    for axis in (2, -3):
        with pytest.raises(ValueError, match=rf"{name}: axis: expected -2 to 1 .*, got {axis}"):
            fn(const(np.ones((2, 3))), axis)
    with pytest.raises(ValueError, match=rf"{name}: axis: expected -1 to 0"):
        fn(const(1.0), 1)
    with pytest.raises(TypeError, match=rf"{name}: axis: expected an integer, got 0.5"):
        fn(const([1.0]), 0.5)


@pytest.mark.parametrize("fn", SCANS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
def test_gradients_at_all_lengths(fn: Any, n: int, rng: np.random.Generator) -> None:
    # doubling has its edges at powers of two
    x, weights = rng.uniform(0.5, 1.5, size=(2, n)), rng.normal(size=(2, n))
    (expected,) = numeric_gradients(lambda a: host(fn(const(a), 1)), [x], weights)
    np.testing.assert_allclose(slope(lambda x: fn(x, 1), x, weights), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_many_lines_side_by_side_give_the_same(axis: int, rng: np.random.Generator) -> None:
    # on the CPU these are taken step by step
    x, weights = rng.uniform(0.5, 1.5, size=(2, 9, 9))
    wide = [np.tile(np.moveaxis(a, axis, 0), 20) for a in (x, weights)]
    for fn in (tt.cumprod, tt.logcumsumexp, lambda x, axis: tt.cummax(x, axis)[0]):
        one = np.moveaxis(slope(lambda x, fn=fn: fn(x, axis), x, weights), axis, 0)
        close(slope(lambda x, fn=fn: fn(x, 0), *wide), np.tile(one, 20))
        close(slope(lambda x, fn=fn: fn(x, 1), *(w.T for w in wide)), np.tile(one, 20).T)


def test_integers_and_halves() -> None:
    counted = tt.cumsum(const([True, True, False, True], bool))
    assert counted.dtype == np.int64 and not counted.requires_grad
    close(counted, [1, 2, 2, 3])
    close(tt.cumprod(const([2, 3, 4], np.int64)), [2, 6, 24])
    log = tt.logcumsumexp(const([0, 0], np.int64))
    assert log.dtype == np.float32
    close(log.astype("float64"), [0, math.log(2)])
    # a float16 sum of ones stops at 2048
    half = tt.cumsum(const(np.ones(5000), np.float16))
    assert half.dtype == np.float16 and float(half[4095]) == 4096.0
    x = leaf(np.ones(5000), np.float16)
    tt.cumsum(x).backward(const(np.ones(5000), np.float16))
    assert float(grad_of(x)[5000 - 4096]) == 4096.0


# -- cumprod --------------------------------------------------------------------------------
def test_cumprod_with_zeros() -> None:
    # report C05: y = (0, 0, 0) with weights 1, 2, 3: dx₀ = 1 + 2·3 + 3·12
    close(slope(tt.cumprod, [0, 3, 4]), [43, 0, 0])
    close(slope(tt.cumprod, [0, 0, 5]), [1, 0, 0])
    close(slope(tt.cumprod, [2, 0, 5, 3]), [1, 4 + 30 + 120, 0, 0])


def test_second_derivative_of_cumprod_with_zeros() -> None:
    x = leaf([2, 0, 0, 3])

    def gradient(a: np.ndarray) -> np.ndarray:
        t = leaf(a)
        (g,) = tt.grad(tt.cumprod(t), t, const([1, 2, 3, 4]), create_graph=True)
        return host(g)

    weights = np.array([1.0, -2.0, 0.5, 3.0])
    (expected,) = numeric_gradients(gradient, [host(x)], weights)
    (g,) = tt.grad(tt.cumprod(x), x, const([1, 2, 3, 4]), create_graph=True)
    (gg,) = tt.grad(g, x, const(weights))
    np.testing.assert_allclose(host(gg), expected, 1e-6, 1e-6)
    assert np.abs(expected).max() > 1


def test_cumprod_stays_exact_where_the_product_underflows() -> None:
    # the whole product is 0 without a zero among its factors: dividing by them gives 0
    x = np.full(400, 0.1)
    g = slope(tt.cumprod, x, np.eye(400)[1])
    close(g[:3], [0.1, 0.1, 0])


def test_nan_reaches_what_depends_on_it() -> None:
    # the slope by an element has its own value in it nowhere: 2 (2 + 3·3) at the NaN itself
    close(slope(tt.cumprod, [2, NAN, 3]), [NAN, 22, NAN])
    close(slope(tt.prod, [2, NAN, 3]), [NAN, 6, NAN])
    close(tt.cumsum(const([1, NAN, 2])), [1, NAN, NAN])


# -- logcumsumexp -----------------------------------------------------------------------------
def test_logcumsumexp_neither_overflows_nor_loses_small_beginnings() -> None:
    x = [-1000.0, 0.0, 1000.0, 1000.0]
    close(tt.logcumsumexp(const(x)), [-1000, 0, 1000, 1000 + math.log(2)])
    close(slope(tt.logcumsumexp, x), [1, 2, 3 + 2, 2])
    close(tt.logcumsumexp(const([1000.0, 0.0, -1000.0])), [1000, 1000, 1000])


def test_logcumsumexp_of_minus_infinity() -> None:
    close(tt.logcumsumexp(const([-INF, -INF, 1.0, -INF])), [-INF, -INF, 1, 1])
    close(slope(tt.logcumsumexp, [-INF, -INF, 1.0, -INF]), [0, 0, 7, 0])
    close(tt.logcumsumexp(const([-INF, -1000.0])), [-INF, -1000])


def test_logcumsumexp_of_infinity_and_nan() -> None:
    close(tt.logcumsumexp(const([1.0, INF, 5.0])), [1, INF, INF])
    close(tt.logcumsumexp(const([1.0, NAN, 5.0])), [1, NAN, NAN])
    # weighted by 1, 2, 3, ...: from the first infinity on, infinities share what comes
    close(slope(tt.logcumsumexp, [1.0, INF]), [1, 2])
    close(slope(tt.logcumsumexp, [INF, 1.0]), [3, 0])
    close(slope(tt.logcumsumexp, [0.0, INF, -INF, INF, 3.0]), [1, 2 + 3 + 4.5, 0, 4.5, 0])


def test_second_derivative_of_logcumsumexp_beside_minus_infinity() -> None:
    x = leaf([-INF, 1.0, 2.0])
    (g,) = tt.grad(tt.logcumsumexp(x), x, const([1, 2, 3]), create_graph=True)
    (gg,) = tt.grad(g, x, const([5, 1, 0]))
    # of 3 ln(e^a + e^b) by a twice, and by a and b: ±3 p (1 - p)
    p = 1 / (1 + math.e)
    close(gg, [0, 3 * p * (1 - p), -3 * p * (1 - p)])


# -- linear_recurrence ------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrence_equals_a_loop(n: int, reverse: bool, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 3, n))
    state, expected = np.zeros(3), np.empty((3, n))
    for t in reversed(range(n)) if reverse else range(n):
        state = a[:, t] * state + b[:, t]
        expected[:, t] = state
    close(tt.linear_recurrence(const(a), const(b), axis=1, reverse=reverse), expected)


def test_discounted_return() -> None:
    rewards = const([[1, 0, 2]])
    out = tt.linear_recurrence(const([[0.5, 0.5, 0.5]]), rewards, -1, reverse=True)
    close(out, [[1.5, 1, 2]])


def test_recurrence_keeps_what_the_wanted_gradients_read() -> None:
    a, b = const([0.5, 0.5]), leaf([1, 2])
    tt.linear_recurrence(a, b).backward(const([1, 10]))
    close(b.grad, [6, 10])
    a = leaf([0.5, 0.5])
    tt.linear_recurrence(a, b.detach()).backward(const([1, 10]))
    close(a.grad, [0, 10])


def test_recurrence_refuses_other_shapes() -> None:
    with pytest.raises(ValueError, match=r"a: expected the shape of b, \(3,\), got \(2,\)"):
        tt.linear_recurrence(const([1, 2]), const([1, 2, 3]))
    with pytest.raises(ValueError, match=r"a: expected the shape of b, \(3,\), got \(\)"):
        tt.linear_recurrence(0.5, const([1, 2, 3]))
    with pytest.raises(ValueError, match="b: expected at least one axis"):
        tt.linear_recurrence(0.5, 1.0)
    with pytest.raises(ValueError, match=r"linear_recurrence: axis: expected -1 to 0"):
        tt.linear_recurrence(const([1, 2]), const([1, 2]), axis=1)


# -- diff -----------------------------------------------------------------------------------
def test_diff() -> None:
    x = np.array([[1.0, 4.0, 9.0, 16.0], [0.0, 1.0, 0.0, 1.0]])
    close(tt.diff(const(x)), np.diff(x))
    close(tt.diff(const(x), n=2), [[2, 2], [-2, 2]])
    close(tt.diff(const(x), axis=0), np.diff(x, axis=0))
    close(tt.diff(const(x), n=0), x)
    assert tt.diff(const(x), n=6).shape == (2, 0)
    assert slope(lambda x: tt.diff(x, n=6), x).shape == (2, 4)
    close(slope(tt.diff, [5, 7, 9]), [-1, -1, 2])
    close(slope(lambda x: tt.diff(x, n=2), [5, 7, 9]), [1, -2, 1])


def test_diff_with_ends() -> None:
    x = leaf([[1, 4], [9, 16]])
    start = leaf([[0], [5]])
    out = tt.diff(x, prepend=start, append=100)
    close(out, [[1, 3, 96], [4, 7, 84]])
    out.backward(const([[1, 10, 100], [2, 20, 200]]))
    close(x.grad, [[-9, -90], [-18, -180]])
    close(start.grad, [[-1], [-2]])
    close(tt.diff(const([1, 4]), prepend=0), [1, 3])
    close(tt.diff(const([1, 4]), n=0, prepend=0, append=5), [1, 4])


def test_diff_refuses() -> None:
    with pytest.raises(ValueError, match="diff: x: expected numbers along an axis"):
        tt.diff(const(1.0))
    with pytest.raises(TypeError, match=r"diff: x: .* got shape \(2,\) of bool"):
        tt.diff(const([True, False], bool))
    with pytest.raises(ValueError, match="diff: n: expected 0 or more, got -1"):
        tt.diff(const([1.0]), n=-1)
    with pytest.raises(ValueError, match="diff: axis: expected -1 to 0"):
        tt.diff(const([1.0]), axis=1)
