"""Pooling: which elements count, where the gradient goes, special numbers, and the errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device

from ...helpers import close, const, grad_of, host, leaf

INF, NAN = np.inf, np.nan


# -- the largest --------------------------------------------------------------------------
def test_max_pool_by_hand(device: Device) -> None:
    x = leaf([[[[1, 5, 2, 0], [3, 4, 8, 7], [9, 0, 1, 1]]]])
    out, where = tt.max_pool2d(x, 2, stride=1, return_indices=True)
    close(out, [[[[5, 8, 8], [9, 8, 8]]]])
    np.testing.assert_array_equal(host(where), [[[[1, 6, 6], [8, 6, 6]]]])
    assert where.dtype == np.int64 and not where.requires_grad
    out.backward(const([[[[1, 2, 4], [8, 16, 32]]]]))
    np.testing.assert_array_equal(grad_of(x), [[[[0, 1, 0, 0], [0, 0, 54, 0], [8, 0, 0, 0]]]])


def test_max_pool_steps_by_its_kernel_and_leaves_the_rest(device: Device) -> None:
    x = leaf([[[1, 2, 3, 4, 9]]])
    out = tt.max_pool1d(x, 2)
    close(out, [[[2, 4]]])
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[[0, 1, 0, 1, 0]]])
    close(tt.max_pool1d(x, 2, ceil_mode=True), [[[2, 4, 9]]])
    close(tt.max_pool1d(x, 2, []), [[[2, 4]]])
    close(tt.max_pool1d(x, 3, stride=1, dilation=2), [[[9]]])


def test_the_first_of_equal_elements_takes_all(device: Device) -> None:  # report C01
    x = leaf(np.full((1, 2, 4, 4), 7.0))
    out, where = tt.max_pool2d(x, 2, return_indices=True)
    np.testing.assert_array_equal(host(where), np.tile([[0, 2], [8, 10]], (1, 2, 1, 1)))
    out.sum().backward()
    one = [[1, 0], [0, 0]]
    np.testing.assert_array_equal(grad_of(x), np.tile(one, (1, 2, 2, 2)))
    # a ReLU's zeros: each window's gradient still adds up to 1
    zeros = leaf(np.zeros((1, 1, 5)))
    tt.max_pool1d(tt.relu(zeros - 1) + zeros * 1, 3, stride=1).sum().backward()
    np.testing.assert_array_equal(grad_of(zeros), [[[1, 1, 1, 0, 0]]])


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_first_is_the_first_by_rows(adaptive: bool, device: Device) -> None:  # report C01
    x = leaf([[[[0, 7, 7], [7, 7, 0]]]])
    if adaptive:
        out, where = tt.adaptive_max_pool2d(x, 1, return_indices=True)
    else:
        out, where = tt.max_pool2d(x, (2, 3), return_indices=True)
    assert host(where).item() == 1
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[[[0, 1, 0], [0, 0, 0]]]])


def test_padding_never_wins(device: Device) -> None:
    x = leaf([[[-5, -3, -4]]])
    out, where = tt.max_pool1d(x, 3, stride=1, padding=1, return_indices=True)
    close(out, [[[-3, -3, -3]]])
    np.testing.assert_array_equal(host(where), [[[1, 1, 1]]])
    lowest = leaf(np.full((1, 1, 3, 3), -INF))
    out, where = tt.max_pool2d(lowest, 3, stride=2, padding=1, return_indices=True)
    np.testing.assert_array_equal(host(out.detach()), np.full((1, 1, 2, 2), -INF))
    np.testing.assert_array_equal(host(where), [[[[0, 1], [3, 4]]]])  # the first of x in each
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(lowest), [[[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]])


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_last_nan_of_a_window_takes_all(adaptive: bool, device: Device) -> None:
    x = leaf([[[1, NAN, 9, NAN, 2, 0, 5, 7, 1, NAN]]])
    if adaptive:
        out, where = tt.adaptive_max_pool1d(x, 2, return_indices=True)
    else:
        out, where = tt.max_pool1d(x, 5, return_indices=True)
    np.testing.assert_array_equal(host(out.detach()), [[[NAN, NAN]]])
    np.testing.assert_array_equal(host(where), [[[3, 9]]])
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[[0, 0, 0, 1, 0, 0, 0, 0, 0, 1]]])


def test_volumes_by_hand(device: Device) -> None:
    x = leaf(np.arange(8.0).reshape(1, 2, 2, 2))
    for out in (tt.max_pool3d(x, 2), tt.adaptive_max_pool3d(x, 1)):
        close(out, [[[[7]]]])
    for out in (tt.avg_pool3d(x, 2), tt.adaptive_avg_pool3d(x, 1)):
        close(out, [[[[3.5]]]])
    close(tt.avg_pool3d(x, (2, 1, 1), divisor_override=1), [[[[4, 6], [8, 10]]]])
    out, where = tt.max_pool3d(x, (1, 2, 1), return_indices=True)
    close(out, [[[[2, 3]], [[6, 7]]]])
    np.testing.assert_array_equal(host(where), [[[[2, 3]], [[6, 7]]]])


def test_infinite_gradients_stay_where_they_belong(device: Device) -> None:
    x = leaf([[[1, 2, 4, 3]]])
    tt.max_pool1d(x, 2).backward(const([[[INF, 1]]]))
    np.testing.assert_array_equal(grad_of(x), [[[0, INF, 1, 0]]])


def test_windows_of_more_than_256_elements(device: Device) -> None:
    values = np.zeros((1, 1, 700))
    values[0, 0, 290], values[0, 0, 699] = 5, 4
    out, where = tt.max_pool1d(leaf(values), 300, stride=200, return_indices=True)
    close(out, [[[5, 5, 4]]])
    np.testing.assert_array_equal(host(where), [[[290, 290, 699]]])


@pytest.mark.parametrize("pool", [tt.max_pool1d, tt.adaptive_max_pool1d])
def test_maxima_are_picked_again_and_again(pool: Callable, device: Device) -> None:
    """Where one element wins in several windows, second derivatives add up too."""
    x = leaf([[[1, 5, 2]]])
    y = pool(x, 2) if pool is tt.adaptive_max_pool1d else pool(x, 2, stride=1)
    (first,) = tt.grad((y * y * y).sum(), [x], create_graph=True)
    close(first, [[[0, 150, 0]]])
    (second,) = tt.grad(first.sum(), [x], create_graph=True)
    close(second, [[[0, 60, 0]]])
    (third,) = tt.grad(second.sum(), [x])
    close(third, [[[0, 12, 0]]])


# -- the mean -----------------------------------------------------------------------------
def test_avg_pool_by_hand(device: Device) -> None:
    x = leaf([[[1, 2, 3, 4, 5, 6]]])
    close(tt.avg_pool1d(x, 2), [[[1.5, 3.5, 5.5]]])
    close(tt.avg_pool1d(x, 3, stride=2), [[[2, 4]]])
    close(tt.avg_pool1d(x, 3, 2, 1), [[[1, 3, 5]]])
    close(tt.avg_pool1d(x, 3, 2, 1, count_include_pad=False), [[[1.5, 3, 5]]])
    # one window more: 6, one zero of the padding, and beyond it nothing that counts
    close(tt.avg_pool1d(x, 3, 2, 1, ceil_mode=True), [[[1, 3, 5, 3]]])
    close(tt.avg_pool1d(x, 3, 2, 1, True, False), [[[1.5, 3, 5, 6]]])
    image = leaf(np.arange(16.0).reshape(1, 1, 4, 4))
    close(tt.avg_pool2d(image, 2), [[[[2.5, 4.5], [10.5, 12.5]]]])
    close(tt.avg_pool2d(image, 2, divisor_override=1), [[[[10, 18], [42, 50]]]])
    close(tt.avg_pool2d(image, (1, 4)), [[[[1.5], [5.5], [9.5], [13.5]]]])


def test_avg_pool_gradients_by_hand(device: Device) -> None:
    x = leaf([[[1, 2, 3, 4, 5, 6]]])
    g = const([[[6, 12, 18, 24]]])
    tt.avg_pool1d(x, 3, 2, 1, ceil_mode=True).backward(g)
    np.testing.assert_array_equal(grad_of(x), [[[2, 2 + 4, 4, 4 + 6, 6, 6 + 12]]])
    x.grad = None
    tt.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False).backward(g)
    np.testing.assert_array_equal(grad_of(x), [[[3, 3 + 4, 4, 4 + 6, 6, 6 + 24]]])


def test_special_numbers_stay_in_their_windows(device: Device) -> None:
    x = const([[[1, INF, 2, 4, NAN, 1, 6, 8]]])
    want = [[[INF, 3, NAN, 7]]]
    np.testing.assert_array_equal(host(tt.avg_pool1d(x, 2)), want)
    np.testing.assert_array_equal(host(tt.adaptive_avg_pool1d(x, 4)), want)


# -- adaptive -----------------------------------------------------------------------------
def test_adaptive_windows_by_hand(device: Device) -> None:
    x = leaf([[[1, 2, 3, 4, 5]]])  # windows [0, 2), [1, 4), [3, 5)
    out = tt.adaptive_avg_pool1d(x, 3)
    close(out, [[[1.5, 3, 4.5]]])
    out.backward(const([[[2, 3, 4]]]))
    close(grad_of(x), [[[1, 2, 1, 3, 2]]])
    top, where = tt.adaptive_max_pool1d(x, 3, return_indices=True)
    close(top, [[[2, 4, 5]]])
    np.testing.assert_array_equal(host(where), [[[1, 3, 4]]])
    close(tt.adaptive_avg_pool1d(x, 1), [[[3]]])
    close(tt.adaptive_max_pool1d(const([[[3, 1]]]), 4), [[[3, 3, 1, 1]]])


def test_adaptive_sizes(device: Device) -> None:
    x = const(np.arange(24.0).reshape(1, 1, 4, 6))
    assert tt.adaptive_avg_pool2d(x, (None, 3)).shape == (1, 1, 4, 3)
    assert tt.adaptive_max_pool2d(x, None).shape == (1, 1, 4, 6)
    assert tt.adaptive_avg_pool2d(x, 0).shape == (1, 1, 0, 0)
    assert tt.adaptive_max_pool2d(x, (0, 2)).shape == (1, 1, 0, 2)
    close(tt.adaptive_avg_pool2d(x, 1), [[[[11.5]]]])
    close(tt.adaptive_max_pool2d(x, (2, 1)), [[[[11], [23]]]])
    same = leaf(host(x))
    out = tt.adaptive_avg_pool2d(same, (4, 6))
    with tt.no_grad():
        same += 1
    close(out, host(x))  # a copy, not the same memory


@given(st.integers(1, 9), st.integers(1, 9))
def test_adaptive_windows_are_those_of_the_formula(n: int, size: int) -> None:
    values = np.random.default_rng(n * 10 + size).normal(size=(1, 1, n))
    ends = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
    close(
        tt.adaptive_avg_pool1d(const(values), size), [[[values[0, 0, a:b].mean() for a, b in ends]]]
    )
    close(
        tt.adaptive_max_pool1d(const(values), size), [[[values[0, 0, a:b].max() for a, b in ends]]]
    )


# -- all of them --------------------------------------------------------------------------
@given(st.data())
def test_gradients_of_what_users_call(data: st.DataObject) -> None:
    dims, kind = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["max", "avg"]))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(data.draw(st.integers(low, high)) for _ in range(dims))

    kernel, padding = each(1, 3), each(0, 1)
    shape = (*([2] if data.draw(st.booleans()) else []), 2, *each(1, 5 if dims < 3 else 3))
    spatial = shape[-dims:]
    assume(all(2 * p <= k <= n + 2 * p for k, p, n in zip(kernel, padding, spatial, strict=True)))
    count = int(np.prod(shape))
    random = np.random.default_rng(count)
    x = leaf((random.permutation(count) * 0.3).reshape(shape))
    settings: dict[str, Any] = {"stride": each(1, 3), "padding": padding}
    settings["ceil_mode"] = data.draw(st.booleans())
    if kind == "avg":
        settings["count_include_pad"] = data.draw(st.booleans())
    pool = getattr(tt, f"{kind}_pool{dims}d")
    assert tt.gradcheck(lambda x: pool(x, kernel, **settings), [x])
    adaptive = getattr(tt, f"adaptive_{kind}_pool{dims}d")
    assert tt.gradcheck(lambda x: adaptive(x, kernel), [x])


POOLS: list[Callable[..., Any]] = [
    lambda x: tt.max_pool2d(x, 2), lambda x: tt.avg_pool2d(x, 2),
    lambda x: tt.adaptive_max_pool2d(x, 2), lambda x: tt.adaptive_avg_pool2d(x, 2),
]  # fmt: skip


@pytest.mark.parametrize("pool", POOLS, ids=["max", "avg", "adaptive_max", "adaptive_avg"])
def test_shapes_and_dtypes(pool: Callable[..., Any], device: Device) -> None:
    values = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    batch = host(pool(const(values)))
    close(pool(const(values[0])), batch[0], 0)
    assert pool(const(values[:0])).shape == (0, 3, 2, 2)
    half = pool(const(values, np.float16))
    assert half.dtype == np.float16
    np.testing.assert_allclose(host(half), batch, rtol=2e-3, atol=2e-3)
    whole = const(np.arange(16).reshape(1, 4, 4) - 8, np.int64)
    expected = pool(whole.astype("float64"))
    out = pool(whole)
    np.testing.assert_array_equal(host(out), host(expected))
    assert out.dtype == (np.int64 if out.dtype.kind == "i" else np.float32)


def test_float16_means_add_up_in_float32(device: Device) -> None:
    x = (tt.ones((1, 1, 4000)) * 30).astype("float16").requires_grad_()
    for out in (tt.avg_pool1d(x, 4000), tt.adaptive_avg_pool1d(x, 1)):
        assert host(out.detach()).item() == 30 and out.dtype == np.float16
    y = tt.ones((1, 1, 3)).astype("float16").requires_grad_()
    tt.max_pool1d(y.broadcast_to(3000, 1, 3), 3).sum().backward()
    assert grad_of(y)[0, 0, 0] == 3000


def test_a_change_of_the_positions_is_noticed() -> None:
    """Backward reads the very array that the user got."""
    x = leaf([[[1, 2, 4, 3]]])
    out, where = tt.max_pool1d(x, 2, return_indices=True)
    with tt.no_grad():
        where += 1
    with pytest.raises(RuntimeError, match="max_pool.*changed in place"):
        out.sum().backward()


# -- errors -------------------------------------------------------------------------------
X = np.zeros((1, 2, 6, 6))
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("max_pool2d", {"x": np.zeros(6)}, r"x: expected shape \(batch, channels, height, width\)"),
    ("max_pool2d", {"x": np.zeros((1, 2, 0, 6))}, r"x: expected elements to pool over, got shape"),
    ("max_pool2d", {"kernel_size": 0}, r"kernel_size: expected an integer >= 1 or 2 .*, got 0"),
    (
        "max_pool2d",
        {"kernel_size": 7},
        r"kernel: expected to fit into x, \(6, 6\) .*, got \(7, 7\)",
    ),
    ("max_pool2d", {"kernel_size": (1, 2, 3)}, r"kernel_size: expected .*, got \(1, 2, 3\)"),
    ("max_pool2d", {"stride": 0}, r"stride: expected an integer >= 1 or 2 of them, got 0"),
    ("max_pool2d", {"stride": 1.0}, r"stride: expected an integer >= 1 or 2 of them, got 1.0"),
    ("max_pool2d", {"padding": 2}, r"padding: expected at most half of the kernel \(2, 2\), got"),
    ("max_pool2d", {"padding": -1}, r"padding: expected an integer >= 0 or 2 of them, got -1"),
    ("max_pool2d", {"dilation": 0}, r"dilation: expected an integer >= 1 or 2 of them, got 0"),
    (
        "max_pool2d",
        {"x": np.zeros((1, 2, 2, 6)), "padding": (1, 0), "dilation": (3, 1)},
        r"dilation: expected every window to see an element of x \(1, 2, 2, 6\), got \(3, 1\)",
    ),
    (
        "avg_pool2d",
        {"kernel_size": 7},
        r"kernel: expected to fit into x, \(6, 6\) .*, got \(7, 7\)",
    ),
    ("avg_pool2d", {"padding": 2}, r"padding: expected at most half of the kernel \(2, 2\), got"),
    (
        "avg_pool2d",
        {"divisor_override": 0},
        r"divisor_override: expected a number other than 0, got 0",
    ),
]


@pytest.mark.parametrize(("name", "changes", "message"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_pooling_says_what_is_wrong(name: str, changes: dict[str, Any], message: str) -> None:
    arguments = {"x": X, "kernel_size": 2, **changes}
    with pytest.raises((ValueError, TypeError), match=f"{name}: {message}"):
        getattr(tt, name)(**arguments)


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool2d"])
def test_adaptive_pooling_says_what_is_wrong(name: str) -> None:
    pool = getattr(tt, name)
    for bad in (-1, (1, 2, 3)):
        with pytest.raises(ValueError, match=f"{name}: output_size: expected an integer >= 0 or 2"):
            pool(X, bad)
    with pytest.raises(TypeError, match=f"{name}: output_size: .*, got 2.5"):
        pool(X, 2.5)
    with pytest.raises(ValueError, match=f"{name}: x: expected shape"):
        pool(np.zeros((6, 6)), 2)
    with pytest.raises(ValueError, match=f"{name}: x: expected elements to pool over, got shape"):
        pool(np.zeros((1, 0, 6)), 2)
