"""Convolution against the sum it stands for, its transpose as the adjoint, and its errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.operations.windows import cross_correlation as correlation

from ...helpers import close, const, grad_of, host, leaf


def by_definition(
    x: np.ndarray, w: np.ndarray, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> np.ndarray:
    """conv with one loop per index of the formula; x is (N, C, ...)."""
    dims = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    size = [
        (padded.shape[2 + a] - dilation[a] * (w.shape[2 + a] - 1) - 1) // stride[a] + 1
        for a in range(dims)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    ins, outs = w.shape[1], w.shape[0] // groups
    for n, o, c in itertools.product(*(range(m) for m in (x.shape[0], w.shape[0], ins))):
        for i in np.ndindex(*size):
            for t in np.ndindex(*w.shape[2:]):
                at = tuple(i[a] * stride[a] + t[a] * dilation[a] for a in range(dims))
                out[(n, o, *i)] += padded[(n, o // outs * ins + c, *at)] * w[(o, c, *t)]
    return out


# -- by hand ------------------------------------------------------------------------------
def test_conv1d_by_hand(device: Device) -> None:
    x, w = leaf([[[1, 2, 3, 4]]]), leaf([[[1, 10]]])
    out = tt.conv1d(x, w, const([0.5]))
    close(out, [[[21.5, 32.5, 43.5]]])  # the kernel is not flipped
    out.backward(const([[[1, 2, 3]]]))
    np.testing.assert_array_equal(grad_of(x), [[[1, 12, 23, 30]]])
    np.testing.assert_array_equal(grad_of(w), [[[1 * 1 + 2 * 2 + 3 * 3, 2 * 1 + 3 * 2 + 4 * 3]]])


def test_conv2d_by_hand(device: Device) -> None:
    x = const(np.arange(9.0).reshape(1, 1, 3, 3))
    w = const([[[[1, 0], [0, 100]]]])
    close(tt.conv2d(x, w), [[[[400, 501], [703, 804]]]])
    close(tt.conv2d(x, w, stride=2), [[[[400]]]])
    close(tt.conv2d(x, w, padding=1, stride=2), [[[[0, 200], [600, 804]]]])
    close(tt.conv2d(x, w, dilation=2), [[[[800]]]])
    close(tt.conv2d(x, w, stride=(1, 2)), [[[[400], [703]]]])


def test_conv_transpose_by_hand(device: Device) -> None:
    x, w = const([[[1, 2]]]), const([[[1, 10, 100]]])
    close(tt.conv_transpose1d(x, w), [[[1, 12, 120, 200]]])
    close(tt.conv_transpose1d(x, w, stride=2), [[[1, 10, 102, 20, 200]]])
    close(tt.conv_transpose1d(x, w, stride=2, padding=1), [[[10, 102, 20]]])
    close(tt.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1), [[[10, 102, 20, 200]]])
    close(
        tt.conv_transpose1d(x, w, const([0.5]), stride=3), [[[1.5, 10.5, 100.5, 2.5, 20.5, 200.5]]]
    )


def test_an_output_beyond_everything_that_x_reaches(device: Device) -> None:
    x, w, b = leaf([[[1]]]), leaf([[[1]]]), leaf([7])
    for settings in (
        {"stride": 3, "padding": 1, "output_padding": 2},
        {"stride": 5, "padding": 2, "output_padding": 4},
    ):
        out = tt.conv_transpose1d(x, w, b, **settings)
        close(out, [[[7]]])
        x.grad = w.grad = b.grad = None
        out.backward(const([[[2]]]))
        assert grad_of(x).item() == 0 and grad_of(w).item() == 0 and grad_of(b).item() == 2


def test_same_puts_the_odd_zero_behind() -> None:
    x, w = const([[[1, 2, 3]]]), const([[[1, 10]]])
    close(tt.conv1d(x, w, padding="same"), [[[21, 32, 3]]])
    close(tt.conv1d(x, w, padding="valid"), [[[21, 32]]])
    close(tt.conv1d(x, w, padding="same", dilation=3), [[[30, 1, 2]]])
    assert tt.conv2d(tt.zeros((1, 1, 4, 5)), tt.zeros((1, 1, 2, 3)), padding="same").shape == (
        1, 1, 4, 5,
    )  # fmt: skip


def test_groups_do_not_mix(device: Device) -> None:
    x = const([[[1, 2], [3, 4], [5, 6], [7, 8]]])
    w = const([[[1], [1]], [[10], [0]]])  # two outputs, each from two channels
    close(tt.conv1d(x, w, groups=2), [[[4, 6], [50, 60]]])
    depthwise = const([[[1]], [[10]], [[100]], [[1000]]])
    close(tt.conv1d(x, depthwise, groups=4), [[[1, 2], [30, 40], [500, 600], [7000, 8000]]])


@pytest.mark.parametrize("transposed", [False, True])
def test_without_a_batch_axis(transposed: bool) -> None:
    random = np.random.default_rng(1)
    x, w = random.normal(size=(2, 4, 5)), random.normal(size=(2, 2, 3, 2))
    fn = tt.conv_transpose2d if transposed else tt.conv2d
    single, batch = leaf(x), leaf(x[None])
    a, b = fn(single, const(w), padding=1), fn(batch, const(w), padding=1)
    close(a, host(b)[0], 0)
    a.sum().backward()
    b.sum().backward()
    np.testing.assert_array_equal(grad_of(single), grad_of(batch)[0])


def test_an_empty_batch() -> None:
    x, w, b = leaf(np.zeros((0, 2, 4, 4))), leaf(np.ones((3, 2, 2, 2))), leaf([1, 2, 3])
    out = tt.conv2d(x, w, b)
    assert out.shape == (0, 3, 3, 3)
    out.sum().backward()
    assert grad_of(x).shape == (0, 2, 4, 4)
    assert not grad_of(w).any() and not grad_of(b).any()
    assert tt.conv_transpose2d(out.detach(), w).shape == (0, 2, 4, 4)


def test_numpy_arrays_are_taken() -> None:
    close(tt.conv1d(np.ones((1, 1, 3)), np.ones((1, 1, 2)), np.ones(1)), [[[3, 3]]])


# -- by definition ------------------------------------------------------------------------
@st.composite
def convolutions(draw: Callable) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """x, weight and settings of a convolution with 1 to 3 spatial axes."""
    dims, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    settings = {"stride": each(1, 3), "padding": each(0, 2), "dilation": each(1, 2)}
    spatial, kernel = each(1, 5 if dims < 3 else 3), each(1, 3 if dims < 3 else 2)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    ins, outs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    x = random.normal(size=(draw(st.integers(1, 2)), ins * groups, *spatial))
    w = random.normal(size=(outs * groups, ins, *kernel))
    axes = zip(spatial, kernel, settings["padding"], settings["dilation"], strict=True)
    assume(all(n + 2 * p >= (k - 1) * d + 1 for n, k, p, d in axes))
    return x, w, {**settings, "groups": groups}


@given(convolutions())
def test_conv_is_the_sum_it_stands_for(case: tuple) -> None:
    x, w, settings = case
    fn = getattr(tt, f"conv{x.ndim - 2}d")
    close(fn(const(x), const(w), **settings), by_definition(x, w, **settings), 1e-12)


@given(convolutions())
def test_the_transpose_is_the_adjoint(case: tuple) -> None:
    """<conv(x, w), y> = <x, conv_transpose(y, w)>, for the output_padding that gives x's shape."""
    x, w, settings = case
    dims = x.ndim - 2
    forward, back = getattr(tt, f"conv{dims}d"), getattr(tt, f"conv_transpose{dims}d")
    out = forward(const(x), const(w), **settings)
    y = np.random.default_rng(3).normal(size=out.shape)
    plain = [
        (out.shape[2 + a] - 1) * settings["stride"][a]
        - 2 * settings["padding"][a]
        + settings["dilation"][a] * (w.shape[2 + a] - 1)
        + 1
        for a in range(dims)
    ]
    extra = tuple(n - p for n, p in zip(x.shape[2:], plain, strict=True))
    dx = back(const(y), const(w), output_padding=extra, **settings)
    assert dx.shape == x.shape
    np.testing.assert_allclose((host(out) * y).sum(), (x * host(dx)).sum(), rtol=1e-9, atol=1e-9)


@given(convolutions(), st.booleans())
def test_gradients_of_what_users_call(case: tuple, transposed: bool) -> None:
    x, w, settings = case
    name = f"conv{'_transpose' if transposed else ''}{x.ndim - 2}d"
    if transposed:
        x = x[:, :1].repeat(w.shape[0], axis=1)
        settings = {**settings, "padding": 0}
    fn = getattr(tt, name)
    b = np.zeros(w.shape[1] * settings["groups"] if transposed else w.shape[0])
    assert tt.gradcheck(lambda x, w, b: fn(x, w, b, **settings), [leaf(x), leaf(w), leaf(b)])


# -- orders, memory, blocks ---------------------------------------------------------------
def test_derivatives_of_the_third_order(device: Device) -> None:
    """conv is linear in x: Σ conv(x, w)³ along a line x = t v is t³ Σ conv(v, w)³."""
    random = np.random.default_rng(2)
    v, w = random.normal(size=(1, 2, 4, 4)), leaf(random.normal(size=(2, 2, 3, 3)))
    t = leaf(2.0)
    y = tt.conv2d(t * const(v), w, padding=1, stride=2)
    total = (y * y * y).sum()
    (first,) = tt.grad(total, [t], create_graph=True)
    (second,) = tt.grad(first, [t], create_graph=True)
    (third,) = tt.grad(second, [t], create_graph=True)
    cube = float((host(tt.conv2d(const(v), w.detach(), padding=1, stride=2)) ** 3).sum())
    close(first, 12 * cube)
    close(second, 12 * cube)
    close(third, 6 * cube)
    (mixed,) = tt.grad(third, [w])
    x = const(v)
    again = tt.conv2d(x, w, padding=1, stride=2)
    (expected,) = tt.grad((6 * again * again * again).sum(), [w])
    close(mixed, host(expected), 1e-9)


def test_the_batch_in_blocks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    x, w, b = (random.normal(size=s) for s in ((5, 4, 6, 5), (6, 2, 3, 2), (6,)))

    def everything() -> list[np.ndarray]:
        ins = [leaf(x), leaf(w), leaf(b)]
        out = tt.conv2d(*ins, stride=(2, 1), padding=1, groups=2)
        back = tt.conv_transpose2d(out, ins[1], groups=2, stride=2)
        grads = tt.grad((back * back).sum(), ins)
        return [host(out.detach()), host(back.detach()), *(host(g) for g in grads)]

    whole = everything()
    for block in (1, 700):
        monkeypatch.setattr(correlation, "_BLOCK", block)
        for a, c in zip(whole, everything(), strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-10, atol=1e-10)


def test_only_what_the_wanted_gradients_read_is_kept() -> None:
    x, w = leaf(np.ones((1, 1, 4))), const(np.ones((1, 1, 2)))
    data = const(np.ones((1, 1, 4)))
    out = tt.conv1d(data, leaf(np.ones((1, 1, 2))))
    assert [a.shape for a in out.node.saved if a is not None] == [(1, 1, 4)]
    out = tt.conv1d(x * 1, w)
    assert [a.shape for a in out.node.saved if a is not None] == [(1, 1, 2)]
    other = x * 1
    out = tt.conv1d(other, w)
    with tt.no_grad():
        other += 1  # dx reads the weight alone
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[[1, 2, 2, 1]]])


# -- dtypes -------------------------------------------------------------------------------
def test_float16_adds_up_in_float32(device: Device) -> None:
    """float16 itself stops at 2048 when it counts in ones."""

    def ones(*shape: int) -> tt.Tensor:
        return tt.ones(shape).astype("float16").requires_grad_()

    x, w = ones(1, 3000, 1), ones(1, 3000, 1)
    out = tt.conv1d(x, w)
    assert out.dtype == np.float16 and host(out.detach()).item() == 3000
    out.backward(tt.ones(out.shape).astype("float16"))
    assert x.grad is not None and x.grad.dtype == np.float16
    x, w = ones(1, 1, 3000), ones(1, 1, 1)
    tt.conv1d(x, w).backward(tt.ones((1, 1, 3000)).astype("float16"))
    assert grad_of(w).item() == 3000
    x, w = ones(1, 1, 1), ones(3000, 1, 1)
    tt.conv1d(x, w).backward(tt.ones((1, 3000, 1)).astype("float16"))
    assert grad_of(x).item() == 3000
    assert host(tt.conv_transpose1d(ones(1, 3000, 1), ones(3000, 1, 1)).detach()).item() == 3000


def test_dtypes_that_meet() -> None:
    x = np.arange(6).reshape(1, 1, 6)
    assert tt.conv1d(const(x, np.int64), const([[[0.5, 0]]], np.float32)).dtype == np.float32
    assert tt.conv1d(const(x, np.int64), const([[[2]]], np.int64)).dtype == np.int64
    single, double = leaf(x, np.float32), leaf([[[0.5, 0]]], np.float64)
    out = tt.conv1d(single, double)
    out.sum().backward()
    assert out.dtype == np.float64
    assert grad_of(single).dtype == np.float32 and grad_of(double).dtype == np.float64


def test_infinity_and_nan_stay_in_their_windows() -> None:
    x = leaf([[[1, np.inf, 2, np.nan, 3, 4]]])
    out = tt.conv1d(x, const([[[1, 1]]]))
    np.testing.assert_array_equal(host(out.detach()), [[[np.inf, np.inf, np.nan, np.nan, 7]]])
    out.sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[[1, 2, 2, 2, 2, 1]]])


# -- errors -------------------------------------------------------------------------------
X, W = np.zeros((1, 4, 8, 8)), np.zeros((6, 4, 3, 3))
BAD: list[tuple[dict[str, Any], str]] = [
    ({"x": np.zeros((8, 8))}, r"x: expected shape \(batch, channels, height, width\) or .*\(8, "),
    (
        {"weight": np.zeros((6, 3, 3, 3))},
        r"weight: expected shape \(out, 4, kernel, kernel\) for x of shape \(1, 4, 8, 8\) with "
        r"groups=1, got \(6, 3, 3, 3\)",
    ),
    ({"weight": np.zeros((6, 4, 3))}, r"weight: expected shape .*, got \(6, 4, 3\)"),
    ({"weight": np.zeros((6, 4, 0, 3))}, r"weight: expected shape .*, got \(6, 4, 0, 3\)"),
    ({"weight": [[1.0]]}, r"weight: expected shape .*, got list"),
    ({"groups": 3}, r"groups: expected a divisor of the 4 channels of x, got 3"),
    (
        {"weight": np.zeros((5, 2, 3, 3)), "groups": 2},
        r"groups: expected a divisor of the 5 outputs of weight \(5, 2, 3, 3\), got 2",
    ),
    ({"groups": 0}, r"groups: expected an integer >= 1, got 0"),
    ({"groups": 1.5}, r"groups: expected an integer >= 1, got 1.5"),
    ({"bias": np.zeros(5)}, r"bias: expected shape \(6,\), one number per .* channel, got \(5,\)"),
    ({"bias": np.zeros((6, 1))}, r"bias: expected shape \(6,\), .* got \(6, 1\)"),
    ({"stride": 0}, r"stride: expected an integer >= 1 or 2 of them, got 0"),
    ({"stride": (1, 2, 3)}, r"stride: expected an integer >= 1 or 2 of them, got \(1, 2, 3\)"),
    ({"dilation": (1, -1)}, r"dilation: expected an integer >= 1 or 2 of them, got \(1, -1\)"),
    ({"padding": -1}, r"padding: expected an integer >= 0 or 2 of them, got -1"),
    ({"padding": 0.5}, r"padding: expected an integer >= 0 or 2 of them, got 0.5"),
    ({"padding": "full"}, r"padding: expected integers >= 0, 'same' or 'valid', got 'full'"),
    (
        {"padding": "same", "stride": 2},
        r"stride: expected 1 with padding='same', got \(2, 2\)",
    ),
    (
        {"weight": np.zeros((6, 4, 9, 3))},
        r"kernel: expected to fit into x, \(8, 8\) with its padding, got \(9, 3\)",
    ),
    (
        {"padding": 1, "dilation": 5},
        r"kernel: expected to fit into x, \(10, 10\) .* \(3, 3\) \(spread over \(11, 11\) by dil",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_conv_says_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    arguments = {"x": X, "weight": W, **changes}
    with pytest.raises((ValueError, TypeError), match="conv2d: " + message):
        tt.conv2d(**arguments)


BAD_TRANSPOSES: list[tuple[dict[str, Any], str]] = [
    (
        {"weight": np.zeros((6, 4, 3, 3))},
        r"weight: expected shape \(4, out / groups, kernel, kernel\) .*, got \(6, 4, 3, 3\)",
    ),
    (
        {"output_padding": 1},
        r"output_padding: expected less than stride \(1, 1\) or dilation \(1, 1\) on each axis, "
        r"got \(1, 1\)",
    ),
    (
        {"padding": 5},
        r"padding: expected to leave an output of at least 1 on each axis, got \(5, 5\), which "
        r"leaves \(0, 0\)",
    ),
    ({"groups": 3}, r"groups: expected a divisor of the 4 channels of x, got 3"),
    ({"bias": np.zeros(4), "groups": 2}, r"bias: expected shape \(12,\), .*, got \(4,\)"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_TRANSPOSES, ids=["weight", "output_padding",
                         "padding", "groups", "bias"])  # fmt: skip
def test_conv_transpose_says_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    arguments = {"x": X, "weight": np.zeros((4, 6, 3, 3)), **changes}
    with pytest.raises((ValueError, TypeError), match="conv_transpose2d: " + message):
        tt.conv_transpose2d(**arguments)


def test_the_one_dimensional_ones_name_themselves() -> None:
    with pytest.raises(
        ValueError, match=r"conv1d: x: expected .* \(channels, length\), got \(4,\)"
    ):
        tt.conv1d(np.zeros(4), np.zeros((1, 1, 2)))
    with pytest.raises(ValueError, match="conv_transpose1d: stride: expected an integer >= 1, got"):
        tt.conv_transpose1d(np.zeros((1, 4)), np.zeros((1, 1, 2)), stride=(1, 2))
