"""Reductions at the points where they go wrong: zeros, ties, infinities, NaN, nothing at all."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, leaf

INF, NAN = math.inf, math.nan

pytestmark = pytest.mark.usefixtures("device", "no_warnings")


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """Whatever overflows or divides by zero on the way to a finite result is a fault."""
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        yield


def slope(fn: Any, values: Any, weights: Any = None, dtype: Any = np.float64) -> np.ndarray:
    """The gradient of fn's result, weighted by 1, 2, 3 ... (never ones) or by `weights`."""
    x = leaf(values, dtype)
    out = fn(x)
    if weights is None:
        weights = np.arange(1.0, out.size + 1).reshape(out.shape)
    out.backward(const(weights, dtype))
    return grad_of(x)


# -- prod -----------------------------------------------------------------------------------
def test_product_with_zeros_among_the_factors() -> None:
    # report C05
    close(slope(tt.prod, [0, 3, 4]), [12, 0, 0])
    close(slope(tt.prod, [0, 0, 5]), [0, 0, 0])
    m = leaf([[6, 0, -3], [2, 1, 4]])
    (tt.prod(m, axis=1) * const([1, 10])).sum().backward()
    close(m.grad, [[0, -18, 0], [40, 80, 20]])


def test_product_over_several_axes_with_zeros() -> None:
    m = [[[2, 0], [3, 4]], [[1, 5], [0, 0]]]
    close(tt.prod(const(m), axis=(0, 2)), [0, 0])
    # column 0: 2 0 1 5, one zero; column 1: 3 4 0 0, two
    close(slope(lambda x: tt.prod(x, axis=(0, 2)), m), [[[0, 10], [0, 0]], [[0, 0], [0, 0]]])
    close(slope(lambda x: tt.prod(x, (2, 0), True), m), [[[0, 10], [0, 0]], [[0, 0], [0, 0]]])


def test_second_derivative_of_a_product_with_a_zero() -> None:
    # d² / dxᵢ dxⱼ is the product of the third; a rule that only masks the zero gives 0 here
    x = leaf([0, 3, 4])
    (g,) = tt.grad(tt.prod(x), x, create_graph=True)
    (gg,) = tt.grad(g, x, const([1, 10, 100]))
    close(gg, [10 * 4 + 100 * 3, 1 * 4 + 100 * 0, 1 * 3 + 10 * 0])


def test_product_of_nothing_and_of_integers() -> None:
    close(tt.prod(const(np.zeros((0, 3))), axis=0), [1, 1, 1])
    assert slope(tt.prod, np.zeros((0, 3))).shape == (0, 3)
    counted = tt.prod(const([2, 3, 4], np.int64))
    assert counted.dtype == np.int64 and int(counted) == 24
    close(slope(tt.prod, 7.0), 1.0)


def test_product_passes_over_the_range_of_float16() -> None:
    values = np.array([300, 300, 0.001], np.float16)
    out = tt.prod(const(values, np.float16))
    assert out.dtype == np.float16
    close(out.astype("float64"), values.astype(np.float64).prod(), 1e-3)


# -- max and min --------------------------------------------------------------------------
def test_ties_share_evenly_under_either_name() -> None:
    # report C01
    assert tt.amax is tt.max and tt.amin is tt.min
    close(slope(tt.amax, [5, 1, 5]), [0.5, 0, 0.5])
    close(slope(lambda x: tt.amin(x, axis=0), np.full((3, 2), 7.0)), [[1 / 3, 2 / 3]] * 3)


@pytest.mark.parametrize("fn", [tt.max, tt.min])
def test_nan_is_the_extreme_and_takes_the_gradient(fn: Any) -> None:
    close(fn(const([1, NAN, 3, NAN])), NAN)
    close(slope(fn, [1, NAN, 3, NAN]), [0, 0.5, 0, 0.5])
    rows = slope(lambda x: fn(x, axis=1, keepdims=True), [[1, NAN], [2, 2]])
    close(rows, [[0, 1], [1, 1]])


def test_infinite_extremes() -> None:
    close(slope(tt.max, [-INF, -INF]), [0.5, 0.5])
    close(slope(tt.max, [INF, 1, INF]), [0.5, 0, 0.5])
    close(slope(tt.min, [INF, -INF]), [0, 1])


def test_extreme_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"max\(x: \(0, 3\)"):
        tt.max(const(np.zeros((0, 3))), axis=0)


# -- sums, counts, means --------------------------------------------------------------------
def test_means_and_sums_of_float16_pass_over_its_range() -> None:
    x = leaf(np.full(70000, 2.0), np.float16)
    out = tt.mean(x)
    out.backward()
    assert out.dtype == np.float16 and float(out) == 2.0
    close(grad_of(x).astype(np.float64), np.full(70000, 1 / 70000), 1e-7)
    assert float(tt.sum(const(np.full(4096, 1.0), np.float16))) == 4096.0
    assert float(tt.mean(const([60000, 60000], np.float16))) == 60000.0
    assert float(tt.norm(const([300, 400], np.float16))) == 500.0


def test_count_nonzero() -> None:
    m = const([[0, -1, NAN], [0, 0, INF]])
    out = tt.count_nonzero(m)
    assert out.dtype == np.int64 and int(out) == 3 and not out.requires_grad
    close(tt.count_nonzero(m, axis=0, keepdims=True), [[0, 1, 2]])
    assert int(tt.count_nonzero(const([True, False, True], bool))) == 2
    assert not tt.count_nonzero(leaf([1.0])).requires_grad


def test_nan_aware_sum_and_mean() -> None:
    m = [[1, NAN, 3], [NAN, 5, 6]]
    close(tt.nansum(const(m), axis=1), [4, 11])
    close(slope(lambda x: tt.nansum(x, 1), m), [[1, 0, 1], [0, 2, 2]])
    close(tt.nanmean(const(m), axis=1), [2, 5.5])
    close(slope(lambda x: tt.nanmean(x, 1, True), m), [[0.5, 0, 0.5], [0, 1, 1]])
    close(tt.nanmean(const(m)), 15 / 4)


def test_mean_of_nothing_has_an_empty_gradient() -> None:
    x = leaf(np.zeros((0, 3)))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says so even then
        out = tt.mean(x)
    out.backward()
    close(out, NAN)
    assert grad_of(x).shape == (0, 3)


# -- var and std ----------------------------------------------------------------------------
def test_variance_with_ddof() -> None:
    x = np.array([[1.0, 4.0, 7.0], [2.0, 2.0, 5.0]])
    for ddof in (0, 1, 2):
        close(tt.var(const(x), 1, ddof=ddof), x.var(1, ddof=ddof))
        close(tt.std(const(x), 0, True, ddof=0.5), x.std(0, keepdims=True, ddof=0.5))
    close(slope(lambda x: tt.var(x, ddof=1), [1, 2]), [-1, 1])
    close(slope(lambda x: tt.std(x, ddof=1), [1, 2]), [-(0.5**0.5), 0.5**0.5])


@pytest.mark.parametrize("fn", [tt.var, tt.std])
def test_no_degree_of_freedom_left(fn: Any) -> None:
    with np.errstate(all="ignore"):
        close(fn(const([3.0]), ddof=1), NAN)
        close(slope(lambda x: fn(x, ddof=1), [3.0]), [NAN])
        close(fn(const([[3.0], [4.0]]), axis=1, ddof=2), [NAN, NAN])
        close(fn(const([1.0, 2.0]), ddof=2), INF)
        x = leaf([3.0])
        (g,) = tt.grad(fn(x, ddof=1), x, create_graph=True)
        close(g, [NAN])


def test_standard_deviation_of_equal_elements() -> None:
    # the root alone has an infinite slope at 0, and 0 · inf is NaN
    close(tt.std(const([2, 2, 2])), 0.0)
    close(slope(tt.std, [2, 2, 2]), [0, 0, 0])
    m = [[2, 2, 2], [1, 2, 3]]
    by_hand = 2 * np.array([-1, 0, 1]) / (3 * math.sqrt(2 / 3))
    close(slope(lambda x: tt.std(x, axis=1), m), [[0, 0, 0], by_hand])
    x = leaf(m)
    (g,) = tt.grad(tt.std(x, axis=1).sum(), x, create_graph=True)
    close(g, [[0, 0, 0], by_hand / 2])
    with np.errstate(invalid="ignore"):
        g[0].sum().backward()
    # there is no second derivative, and std² has one: 0 would be wrong for it
    close(x.grad, [[NAN] * 3, [0, 0, 0]])


@pytest.mark.parametrize("value", [0.1, 1e-30, 1 / 3, 123456.7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_elements_have_no_deviation_whatever_their_value(value: float, dtype: Any) -> None:
    # the mean of three times 0.1 is not 0.1
    for n in (3, 7, 1000):
        assert float(tt.std(const(np.full(n, value), dtype))) == 0.0
        close(slope(tt.std, np.full(n, value), dtype=dtype), np.zeros(n))
    x = leaf(np.full((2, 3), value), dtype)
    (g,) = tt.grad(tt.std(x, axis=1).sum(), x, create_graph=True)
    close(g, np.zeros((2, 3)))
    with np.errstate(invalid="ignore"):
        (gg,) = tt.grad(g, x, const([[1, 10, 100]] * 2, dtype))
    close(gg, np.full((2, 3), NAN))


def test_variance_at_a_large_offset_and_of_integers() -> None:
    x = 1e8 + np.array([0.0, 1.0, 2.0])
    close(tt.var(const(x)), 2 / 3)
    narrow = const(1e8 + np.array([0.0, 8.0, 16.0]), np.float32)  # the mean of 1e8 + 8 is rounded
    close(tt.var(narrow).astype("float64"), 128 / 3)
    ints = tt.var(const([1, 2, 3, 4], np.int64))
    assert ints.dtype == np.float32
    close(ints.astype("float64"), 1.25)
    close(tt.std(const([100, 300], np.float16)).astype("float64"), 100.0)
    close(tt.var(const([NAN, 1.0])), NAN)


def test_nothing_has_an_empty_variance() -> None:
    assert tt.var(leaf(np.zeros((0, 3))), axis=1).shape == (0,)
    assert slope(lambda x: tt.std(x, axis=1), np.zeros((0, 3))).shape == (0, 3)


# -- logsumexp ------------------------------------------------------------------------------
def test_logsumexp_neither_overflows_nor_takes_the_logarithm_of_zero() -> None:
    x = np.array([[1000.0, 1000.0], [-1000.0, -1000.0]])
    close(tt.logsumexp(const(x), axis=1), x[:, 0] + math.log(2))
    close(tt.logsumexp(const(x), axis=None), 1000 + math.log(2))
    close(slope(lambda x: tt.logsumexp(x, axis=(0, 1)), x), [[0.5, 0.5], [0, 0]])
    close(slope(lambda x: tt.logsumexp(x, 0, True), x), [[1, 2], [0, 0]])


def test_logsumexp_of_minus_infinity() -> None:
    rows = [[-INF, -INF], [-INF, 2.0]]
    close(tt.logsumexp(const(rows), axis=1), [-INF, 2.0])
    close(slope(lambda x: tt.logsumexp(x, axis=1), rows), [[0, 0], [0, 2]])
    close(tt.logsumexp(const(np.zeros((0, 2))), axis=0), [-INF, -INF])
    assert tt.logsumexp(const(np.zeros((0, 2))), axis=(0, 1), keepdims=True).shape == (1, 1)


def test_logsumexp_of_infinity_and_nan() -> None:
    close(tt.logsumexp(const([[INF, 1000.0], [INF, -INF]]), axis=1), [INF, INF])
    close(tt.logsumexp(const([1.0, NAN])), NAN)
    close(slope(tt.logsumexp, [INF, 1.0]), [1, 0])
    close(slope(tt.logsumexp, [-INF, INF]), [0, 1])
    close(slope(tt.logsumexp, [INF, 1e300, INF]), [0.5, 0, 0.5])
    close(slope(lambda x: tt.logsumexp(x, 0), [[INF, 0.0], [1, 0]]), [[1, 1], [0, 1]])
    columns = [[INF, 1.0], [INF, -INF], [0, INF]]
    close(slope(lambda x: tt.logsumexp(x, 0), columns), [[0.5, 0], [0.5, 0], [0, 2]])
    rows = [[INF, INF, 1.0], [INF, 0, 0], [0, 0, -INF]]
    close(slope(lambda x: tt.logsumexp(x, 1), rows), [[0.5, 0.5, 0], [2, 0, 0], [1.5, 1.5, 0]])
    close(slope(tt.logsumexp, [1.0, NAN]), [NAN, NAN])


def test_logsumexp_of_integers_and_halves() -> None:
    ints = tt.logsumexp(const([0, 0], np.int64))
    assert ints.dtype == np.float32
    close(ints.astype("float64"), math.log(2))
    half = tt.logsumexp(const(np.zeros(100000), np.float16))
    close(half.astype("float64"), math.log(100000), 1e-3)


# -- norm -----------------------------------------------------------------------------------
def test_infinite_elements_share_the_gradient_of_their_norm() -> None:
    half = math.sqrt(0.5)
    columns = [[INF, 1.0], [-INF, 3.0], [0, INF]]
    close(slope(lambda x: tt.norm(x, 2, axis=0), columns), [[half, 0], [-half, 0], [0, 2]])
    rows = [[INF, INF, 1.0], [-INF, 0, 0]]
    close(slope(lambda x: tt.norm(x, 2, axis=1), rows), [[half, half, 0], [-2, 0, 0]])


ORDERS = [0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, -2.5]


@pytest.mark.parametrize("p", ORDERS)
def test_norm_is_right_and_has_gradient_zero_at_zero(p: float) -> None:
    close(tt.norm(const([0.0, 0.0]), p), 0.0)
    close(slope(lambda x: tt.norm(x, p), [0.0, 0.0]), [0, 0])
    x = leaf([[0.0, 0.0], [3.0, -4.0]])
    (g,) = tt.grad(tt.norm(x, p, axis=1).sum(), x, create_graph=True)
    close(g[0], [0, 0])
    if p:  # of order 0 it is a constant. Else |x| has no second derivative at 0, but |x|² has
        with np.errstate(invalid="ignore"):
            g[0].sum().backward()
        close(x.grad, [[NAN, NAN], [0, 0]])
    with np.errstate(divide="ignore"):
        close(tt.norm(const([3.0, -4.0]), p), np.linalg.norm([3.0, -4.0], p))


@pytest.mark.parametrize(
    "p, value, gradient",
    [
        (0, 1, [0, 0]),
        (0.5, 3, [0, 1]),
        (1, 3, [0, 1]),
        (1.5, 3, [0, 1]),
        (2, 3, [0, 1]),
        (3, 3, [0, 1]),
        (INF, 3, [0, 1]),
        (-INF, 0, [0, 0]),
        (-1, 0, [0, 0]),
    ],
)
def test_norm_beside_a_zero(p: float, value: float, gradient: list[float]) -> None:
    close(tt.norm(const([0.0, 3.0]), p), value)
    close(slope(lambda x: tt.norm(x, p), [0.0, 3.0]), gradient)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, INF, -INF, -1, -3])
def test_norm_does_not_overflow_in_between(p: float, scale: float) -> None:
    # squares of 1e200 are infinite, those of 1e-200 are 0
    close(tt.norm(const([3 * scale, -4 * scale]), p).data / scale, np.linalg.norm([3.0, -4.0], p))
    plain = slope(lambda x: tt.norm(x, p), [3.0, -4.0])
    if not math.isinf(p):
        close(plain, np.array([3 ** (p - 1), -(4 ** (p - 1))]) / (3**p + 4**p) ** (1 - 1 / p))
    close(slope(lambda x: tt.norm(x, p), [3 * scale, -4 * scale]), plain)
    if scale > 1:
        big = tt.norm(const([3e30, -4e30], np.float32), 2)
        assert big.dtype == np.float32
        close(big.astype("float64").data / 1e30, 5.0)


def test_norm_of_ties_infinities_and_nan() -> None:
    close(slope(lambda x: tt.norm(x, INF), [2, -2, 1]), [0.5, -0.5, 0])
    close(slope(lambda x: tt.norm(x, -INF), [2, -2, 3]), [0.5, -0.5, 0])
    for p in (0.5, 1, 2, 3, INF):
        close(tt.norm(const([INF, 1.0]), p), INF)
        close(tt.norm(const([NAN, 1.0]), p), NAN)
    close(tt.norm(const([NAN, 0.0]), -1), NAN)
    close(tt.norm(const([INF, 2.0]), -1), 2.0)
    for p in (2, 3, -1):
        close(slope(lambda x, p=p: tt.norm(x, p), [NAN, 1.0]), [NAN, NAN])
    for p in (INF, -INF):
        close(slope(lambda x, p=p: tt.norm(x, p), [NAN, 1.0]), [NAN, 0])


def test_norm_of_several_axes_is_that_of_one_vector() -> None:
    # not NumPy's matrix norm
    m = np.array([[3.0, 0.0], [0.0, 4.0]])
    close(tt.norm(const(m), axis=(0, 1)), 5.0)
    close(tt.norm(const(m), INF, axis=(1, 0), keepdims=True), [[4.0]])
    close(tt.norm(const([3, 4], np.int64)).astype("float64"), 5.0)
    close(tt.norm(const(-3.0), 5), 3.0)


def test_norm_of_nothing() -> None:
    for p in (0, 0.5, 1, 2):
        close(tt.norm(const(np.zeros((0, 2))), p, axis=0), [0, 0])
    assert slope(tt.norm, np.zeros((0, 2))).shape == (0, 2)
    for p in (INF, -INF, -1):
        with pytest.raises(
            ValueError, match=r"x: expected at least one element for p = .*\(0, 2\)"
        ):
            tt.norm(const(np.zeros((0, 2))), p, axis=0)


def test_norm_refuses_words() -> None:
    with pytest.raises(TypeError, match="p: expected a number, got 'fro'"):
        tt.norm(const([1.0]), "fro")


# -- axes -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "fn", [tt.prod, tt.std, tt.var, tt.logsumexp, tt.norm, tt.max, tt.nansum, tt.count_nonzero]
)
def test_bad_axes_are_named(fn: Any) -> None:
    for axis in (2, -3):
        with pytest.raises((ValueError, IndexError), match=f"{fn.name}.*{abs(axis)}"):
            fn(const(np.ones((2, 3))), axis=axis)


REDUCTIONS = [tt.sum, tt.mean, tt.prod, tt.max, tt.min, tt.var, tt.std, tt.logsumexp, tt.norm]
REDUCTIONS += [tt.nansum, tt.nanmean, tt.median, tt.argmax, tt.argmin, tt.any, tt.all]


@pytest.mark.parametrize("fn", [*REDUCTIONS, tt.count_nonzero])
def test_one_number_counts_as_an_axis_of_one(fn: Any) -> None:
    for axis in (0, -1, (0,), (), None):
        if isinstance(axis, tuple) and fn in (tt.argmax, tt.argmin):
            continue
        x = leaf(3.0)
        out = fn(x, axis=axis, keepdims=True)
        close(out, fn(x))
        assert out.shape == ()
        if out.requires_grad:
            out.backward()
            close(x.grad, 0.0 if fn in (tt.var, tt.std) else 1.0)
            (g,) = tt.grad(fn(x, axis=axis), x, create_graph=True)
            close(g, x.grad)
    with pytest.raises(ValueError, match="axis: expected 0 or -1 for a 0-d tensor, got 1"):
        fn(const(3.0), axis=1)
