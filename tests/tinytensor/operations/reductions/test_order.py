"""Sorting, running extremes, the largest few, quantiles: ties, NaN, infinities, edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf
from .test_reductions import no_warnings as no_warnings
from .test_reductions import slope

INF, NAN = math.inf, math.nan

pytestmark = pytest.mark.usefixtures("device", "no_warnings")


def values_of(fn: Any, **settings: Any) -> Any:
    return lambda x: fn(x, **settings)[0]


# -- cummax, cummin ---------------------------------------------------------------------------
def test_running_extremes_take_the_last_of_ties() -> None:
    values, indices = tt.cummax(const([3, 1, 3, 2, 3]))
    close(values, [3, 3, 3, 3, 3])
    close(indices, [0, 0, 2, 2, 4])
    assert indices.dtype == np.int64 and not indices.requires_grad
    close(slope(values_of(tt.cummax), [3, 1, 3, 2, 3]), [3, 0, 7, 0, 5])
    close(slope(values_of(tt.cummin), [3, 1, 3, 2, 3]), [1, 14, 0, 0, 0])


@pytest.mark.parametrize("fn", [tt.cummax, tt.cummin])
def test_running_extremes_from_nan_on(fn: Any) -> None:
    values, indices = fn(const([1, NAN, 2, NAN]))
    close(values, [1, NAN, NAN, NAN])
    close(indices, [0, 1, 1, 3])
    close(slope(values_of(fn), [1, NAN, 2, NAN]), [1, 5, 0, 4])


def test_running_extremes_along_axes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 9, 2))
    for axis in (0, 1, -1):
        values, indices = tt.cummax(const(x), axis)
        close(values, np.maximum.accumulate(x, axis))
        close(np.take_along_axis(x, host(indices), axis), values)
        close(tt.cummin(const(x), axis)[0], np.minimum.accumulate(x, axis))
    close(tt.cummax(const(x))[0], np.maximum.accumulate(x.reshape(-1)))
    close(tt.cummax(const([-INF, -INF]))[1], [0, 1])
    values, indices = tt.cummin(const(2.0), 0)
    close(values, 2.0)
    close(indices, 0)
    assert [t.shape for t in tt.cummax(const(np.zeros((0, 2))), 0)] == [(0, 2), (0, 2)]
    close(tt.cummax(const([3, 1, 4], np.int64))[0], [3, 3, 4])


# -- sort -------------------------------------------------------------------------------------
def test_sort_sends_gradients_back() -> None:
    x = [[3, 1, 2], [4, 6, 5]]
    values, indices = tt.sort(const(x))
    close(values, np.sort(x))
    close(indices, [[1, 2, 0], [0, 2, 1]])
    close(slope(values_of(tt.sort), x), [[3, 1, 2], [4, 6, 5]])
    close(slope(values_of(tt.sort, axis=0, descending=True), x), [[4, 5, 6], [1, 2, 3]])
    values, indices = tt.sort(const(x), axis=None, descending=True)
    close(values, [6, 5, 4, 3, 2, 1])


def test_stable_sort_keeps_the_order_of_ties() -> None:
    x = const(np.array([1, 0, 1, 0] * 20))
    ones, zeros = np.arange(0, 80, 2), np.arange(1, 80, 2)
    close(tt.sort(x, stable=True)[1], np.concatenate([zeros, ones]))
    close(tt.sort(x, descending=True, stable=True)[1], np.concatenate([ones, zeros]))
    close(tt.argsort(x, descending=True, stable=True), np.concatenate([ones, zeros]))


def test_nan_sorts_as_the_largest() -> None:
    x = [2, NAN, -INF, INF]
    close(tt.sort(const(x))[0], [-INF, 2, INF, NAN])
    close(tt.sort(const(x), descending=True)[0], [NAN, INF, 2, -INF])
    close(slope(values_of(tt.sort), x), [2, 4, 1, 3])


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16, np.float32])
def test_sorting_any_dtype(dtype: Any) -> None:
    x = np.array([1, 0, 3, 2]).astype(dtype)
    values, indices = tt.sort(const(x, dtype), descending=True, stable=True)
    assert values.dtype == dtype and indices.dtype == np.int64
    np.testing.assert_array_equal(host(values), np.sort(x)[::-1])
    order = tt.argsort(const(x, dtype), stable=True)
    np.testing.assert_array_equal(host(order), np.argsort(x, kind="stable"))


def test_sorting_one_number_and_nothing() -> None:
    values, indices = tt.sort(const(5.0), 0)
    close(values, 5.0)
    close(indices, 0)
    close(slope(values_of(tt.sort), 5.0), 1.0)
    close(tt.argsort(const(5.0)), 0)
    assert slope(values_of(tt.sort, axis=0), np.zeros((0, 3))).shape == (0, 3)


def test_a_change_of_the_positions_is_noticed() -> None:
    x = leaf([3, 1, 2])
    values, indices = tt.sort(x)
    indices[0] = 0
    with pytest.raises(RuntimeError, match="sort"):
        values.sum().backward()


def test_second_derivative_through_a_sort() -> None:
    x = leaf([3, 1, 2])
    values, _ = tt.sort(x)
    (g,) = tt.grad((values**3 * const([1, 10, 100])).sum(), x, create_graph=True)
    close(g, [2700, 3, 120])
    (gg,) = tt.grad(g, x, const([1, 1, 1]))
    close(gg, [1800, 6, 120])


# -- topk -------------------------------------------------------------------------------------
def test_topk() -> None:
    x = [[3, 1, 4], [1, 5, 9]]
    values, indices = tt.topk(const(x), 2)
    close(values, [[4, 3], [9, 5]])
    close(indices, [[2, 0], [2, 1]])
    close(slope(values_of(tt.topk, k=2), x), [[2, 0, 1], [0, 4, 3]])
    close(tt.topk(const(x), 1, axis=0)[0], [[3, 5, 9]])
    close(tt.topk(const(x), 2, largest=False)[0], [[1, 3], [1, 5]])
    close(tt.topk(const(x), 3, largest=False)[0], np.sort(x))
    close(tt.topk(const(x), 2, axis=None)[0], [9, 5])
    close(np.sort(host(tt.topk(const(x), 2, sorted=False)[0])), [[3, 4], [5, 9]])
    close(tt.topk(const([3, 1, 4], np.int64), 2)[0], [4, 3])


def test_topk_takes_nan_for_the_largest() -> None:
    close(tt.topk(const([1, NAN, 2, 3]), 2)[0], [NAN, 3])
    close(tt.topk(const([1, NAN, 2, 3]), 2, largest=False)[0], [1, 2])
    close(slope(values_of(tt.topk, k=2), [1, NAN, 2, 3]), [0, 1, 0, 2])


def test_topk_of_ties_picks_different_elements() -> None:
    x = leaf(np.ones(50))
    values, indices = tt.topk(x, 20)
    assert len(set(host(indices).tolist())) == 20
    values.sum().backward()
    assert sorted(grad_of(x).tolist()) == [0.0] * 30 + [1.0] * 20


def test_topk_of_none_and_of_too_many() -> None:
    assert [t.shape for t in tt.topk(const(np.ones((2, 3))), 0)] == [(2, 0), (2, 0)]
    assert slope(values_of(tt.topk, k=0), np.ones((2, 3))).tolist() == [[0] * 3] * 2
    close(tt.topk(const(4.0), 1)[0], 4.0)
    for k in (4, -1):
        with pytest.raises(ValueError, match=rf"k: expected 0 to 3, the length of axis 1, got {k}"):
            tt.topk(const(np.ones((2, 3))), k)
    with pytest.raises(TypeError, match="k: expected an integer, got 1.5"):
        tt.topk(const([1.0, 2.0]), 1.5)


# -- median and quantile ------------------------------------------------------------------------
def test_median_is_numpys() -> None:
    x = np.array([[3.0, 1.0, 2.0, 10.0], [5.0, 5.0, 0.0, 7.0]])
    close(tt.median(const(x)), np.median(x))
    close(tt.median(const(x), axis=1, keepdims=True), [[2.5], [5.0]])
    close(tt.median(const(x), axis=0), np.median(x, 0))
    close(tt.median(const(x), axis=(1, 0)), 4.0)
    close(
        slope(lambda x: tt.median(x, 1), [[3, 1, 2, 10], [0, 3, 9, 8]]),
        [[0.5, 0, 0.5, 0], [0, 1, 0, 1]],
    )
    close(slope(tt.median, [3, 1, 2]), [0, 0, 1])
    close(slope(tt.median, 4.0), 1.0)


def test_the_lower_median_is_pytorchs() -> None:
    x = [3, 1, 2, 10]
    close(tt.quantile(const(x), 0.5, interpolation="lower"), 2.0)
    close(slope(lambda x: tt.quantile(x, 0.5, interpolation="lower"), x), [0, 0, 1, 0])


def test_median_of_nan_and_infinities() -> None:
    close(tt.median(const([1, NAN, 2])), NAN)
    close(slope(tt.median, [1, NAN, 2]), [0, 1, 0])
    close(tt.median(const([INF, INF])), INF)
    close(tt.median(const([-INF, -INF, 3])), -INF)
    close(tt.median(const([1.7e308, 1.7e308])), 1.7e308)
    close(tt.median(const([[1, INF], [2, INF]]), axis=0), [1.5, INF])


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_are_numpys(method: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 3, 5))
    for q in (0.0, 0.1, 0.25, 0.5, 0.77, 1.0, [0.2, 0.9], [0.4]):
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                got = tt.quantile(const(x), q, axis, keepdims, method)
                close(got, np.quantile(x, q, axis, keepdims=keepdims, method=method))


def test_quantile_sends_gradients_by_its_weights() -> None:
    close(slope(lambda x: tt.quantile(x, 0.2), [4, 1, 2]), [0, 0.6, 0.4])
    close(slope(lambda x: tt.quantile(x, [0.2, 0.75]), [4, 1, 2]), [1, 0.6, 1.4])
    close(slope(lambda x: tt.quantile(x, 1.0), [4, 1, 2]), [1, 0, 0])


def test_quantile_dtypes() -> None:
    ints = tt.quantile(const([1, 2, 4], np.int64), 0.25)
    assert ints.dtype == np.float32 and float(ints) == 1.5
    half = tt.quantile(const([1, 2, 4], np.float16), (0.25, 0.5))
    assert half.dtype == np.float16
    close(half.astype("float64"), [1.5, 2])
    assert tt.quantile(const([1, 2, 4], np.float32), 0.1).dtype == np.float32


def test_quantile_refuses() -> None:
    x = const(np.ones((0, 3)))
    with pytest.raises(ValueError, match=r"x: expected elements along axis 0, got shape \(0, 3\)"):
        tt.median(x, axis=0)
    for q in (-0.1, 1.5, NAN, "half"):
        with pytest.raises(ValueError, match="q: expected numbers from 0 to 1, got"):
            tt.quantile(const([1.0]), q)
    with pytest.raises(ValueError, match="interpolation: expected one of linear, .*, got 'cubic'"):
        tt.quantile(const([1.0]), 0.5, interpolation="cubic")
