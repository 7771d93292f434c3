"""Padding and sliding windows: NumPy's values, gradients of what is read several times, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients
from ...tensor.refusals import lines, refused

GRID = np.arange(12.0).reshape(3, 4)
COPYING = ["edge", "reflect", "symmetric", "wrap"]


# -- padding ------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["constant", *COPYING])
@given(
    st.integers(1, 5), st.integers(0, 13), st.integers(0, 13), st.integers(0, 4), st.integers(0, 4)
)
def test_values_are_numpys_however_wide(
    mode: Any, n: int, before: int, after: int, above: int, below: int
) -> None:
    x = np.arange(2.0 * n).reshape(2, n)
    widths = ((above, below), (before, after))
    close(tt.pad(const(x), widths, mode), np.pad(x, widths, mode=mode))


@pytest.mark.parametrize("mode", ["constant", *COPYING])
@given(st.integers(1, 4), st.integers(0, 9), st.integers(0, 9))
def test_gradients_add_up_over_all_copies(mode: Any, n: int, before: int, after: int) -> None:
    x = np.arange(float(n))
    weights = np.random.default_rng(n + 10 * before + 100 * after).normal(size=n + before + after)
    t = leaf(x)
    (tt.pad(t, (before, after), mode) * const(weights)).sum().backward()
    want = numeric_gradients(lambda a: np.pad(a, (before, after), mode=mode), [x], weights)[0]
    close(grad_of(t), want)


@pytest.mark.parametrize(
    "pad_width",
    [
        1,
        (1, 2),
        [1, 2],
        ((1, 2),),
        ((1, 2), (3, 0)),
        ((1,), (2,)),
        np.array([[0, 1], [2, 3]]),
        {0: (1, 2)},
        {-1: 2},
        {},
        0,
    ],
)
def test_every_form_of_the_widths(pad_width: Any, device: Device) -> None:
    if isinstance(pad_width, dict):  # NumPy reads them since 2.2
        pairs = [np.broadcast_to(pad_width.get(a, pad_width.get(a - 2, 0)), 2) for a in (0, 1)]
    else:
        pairs = pad_width
    close(tt.pad(const(GRID), pad_width, value=7.0), np.pad(GRID, pairs, constant_values=7.0))
    close(tt.pad(const(GRID), pad_width, "reflect"), np.pad(GRID, pairs, mode="reflect"))


def test_the_docstrings_examples() -> None:
    shown = {
        "edge": "aaaabcccc",
        "reflect": "bcbabcbab",
        "symmetric": "cbaabccba",
        "wrap": "abcabcabc",
    }
    for mode, expected in shown.items():
        padded = tt.pad(const([0.0, 1.0, 2.0]), 3, mode).tolist()
        assert "".join("abc"[int(v)] for v in padded) == expected
        assert f"``{' '.join(expected[:3])} | a b c | {' '.join(expected[6:])}``" in tt.pad.__doc__
    assert tt.pad(const([0.0]), 2, value=-1.0).tolist() == [-1, -1, 0, -1, -1]


def test_like_pytorchs_pad() -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    for ours, theirs in (
        ("constant", "constant"),
        ("edge", "replicate"),
        ("reflect", "reflect"),
        ("wrap", "circular"),
    ):
        a, b = leaf(x), torch.tensor(x, requires_grad=True)
        out = tt.pad(a, {2: (1, 2), 3: (3, 0)}, ours)
        other = torch.nn.functional.pad(b, (3, 0, 1, 2), mode=theirs)
        close(out, other.detach().numpy())
        weights = np.random.default_rng(0).normal(size=out.shape)
        (out * const(weights)).sum().backward()
        other.backward(torch.tensor(weights))
        close(grad_of(a), b.grad.numpy())


def test_padding_of_0d_and_empty(device: Device) -> None:
    assert tt.pad(const(3.0), 2).shape == ()
    assert tt.pad(const(3.0), (), "edge").shape == ()
    close(tt.pad(const([]), (1, 2), value=5.0), [5, 5, 5])
    assert tt.pad(const(np.zeros((0, 2))), {1: 1}, "wrap").shape == (0, 4)


def test_padding_of_integers_keeps_them(device: Device) -> None:
    x = const([1, 2, 3], np.int64)
    assert tt.pad(x, 1, value=9.0).tolist() == [9, 1, 2, 3, 9]
    assert tt.pad(x, 1, "reflect").dtype == tt.pad(x, 1).dtype == np.int64
    assert tt.pad(const([True], bool), 1).tolist() == [False, True, False]


def test_padding_with_nan_and_infinity() -> None:
    x = leaf([1.0, 2.0])
    for value in (np.nan, -np.inf):
        x.zero_grad()
        y = tt.pad(x, 1, value=value)
        np.testing.assert_array_equal(host(y), [value, 1, 2, value])
        y.backward(const([np.nan, 3, 4, np.inf]))  # what comes back to the padding stays there
        close(grad_of(x), [3, 4])
    y = tt.pad(leaf([np.nan, 1.0]), (0, 3), "edge")
    assert np.isnan(host(y)).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize("mode, expected", [("edge", [1, 4096]), ("wrap", [4096, 4096])])
def test_float16_gradient_of_a_padding_is_summed_in_float32(
    mode: Any, expected: list[int], device: Device
) -> None:
    """Thousands of copies of one element: added one by one in float16, ones stop at 2048."""
    x = tt.tensor(np.ones((2, 3), dtype=np.float16), requires_grad=True)
    y = tt.pad(x, {0: (0, 4095 if mode == "edge" else 8190)}, mode)
    assert y.dtype == np.float16
    y.backward(tt.ones_like(y))
    assert grad_of(x).tolist() == np.float16(np.repeat(expected, 3)).reshape(2, 3).tolist()


def test_padding_nothing_is_a_copy() -> None:
    x = leaf(GRID)
    y = tt.pad(x, 0, "edge")
    assert y is not x and not np.shares_memory(y.data, x.data)
    (y * y).sum().backward()
    close(grad_of(x), 2 * GRID)


# -- windows ------------------------------------------------------------------------------------
@given(st.integers(0, 7), st.integers(0, 7), st.integers(1, 9), st.sampled_from([0, 1, -1, -2]))
def test_unfold_is_pytorchs(n: int, size: int, step: int, axis: int) -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    x = np.random.default_rng(n).normal(size=(n, 2) if axis % 2 == 0 else (2, n))
    if size > n:
        with pytest.raises(ValueError, match=f"size: expected 0 to {n}, the length of axis"):
            tt.unfold(const(x), axis, size, step)
        return
    a, b = leaf(x), torch.tensor(x, requires_grad=True)
    ours, theirs = tt.unfold(a, axis, size, step), b.unfold(axis, size, step)
    close(ours, theirs.detach().numpy())
    weights = np.random.default_rng(size).normal(size=ours.shape)
    (ours * const(weights)).sum().backward()
    theirs.backward(torch.tensor(weights))
    close(grad_of(a), b.grad.numpy())


def test_sliding_window_view_is_numpys(device: Device) -> None:
    view = np.lib.stride_tricks.sliding_window_view
    x = const(GRID)
    close(tt.sliding_window_view(x, (2, 3)), view(GRID, (2, 3)))
    close(tt.sliding_window_view(x, 2, 1), view(GRID, 2, 1))
    close(tt.sliding_window_view(x, [2, 2], (-1, 1)), view(GRID, [2, 2], (-1, 1)))
    close(tt.sliding_window_view(x[0], 4), view(GRID[0], 4))


def test_windows_to_second_order() -> None:
    def curved(x: tt.Tensor) -> Any:
        y = tt.sliding_window_view(x, (2, 3))
        return y * y * y

    def gradient(x: tt.Tensor) -> Any:
        return tt.grad(curved(x).sum(), [x], create_graph=True)[0]

    x = leaf(GRID / 12 + 0.1)
    assert tt.gradcheck(curved, [x])
    assert tt.gradcheck(gradient, [x])


def test_windows_are_a_copy_that_can_be_written_to() -> None:
    x = const(np.zeros(4))
    windows = tt.unfold(x, 0, 2)
    windows[0] = 5.0
    close(x, np.zeros(4))
    close(windows, [[5, 5], [0, 0], [0, 0]])


def test_overlap_add_undoes_windows_that_do_not_overlap(device: Device) -> None:
    x = np.arange(10.0)
    close(tt.overlap_add(tt.unfold(const(x), 0, 5, 5), 0, 10, 5), x)
    ones = tt.overlap_add(const(np.ones((3, 4))), 0, 8, 2)
    close(ones, [1, 1, 2, 2, 2, 2, 1, 1])


def test_float16_windows_are_summed_in_float32() -> None:
    n = 2100  # the element in the middle is in 2100 windows; ones in float16 stop at 2048
    x = tt.tensor(np.ones(2 * n - 1, dtype=np.float16), requires_grad=True)
    y = tt.unfold(x, 0, n)
    assert y.dtype == np.float16
    y.backward(tt.ones_like(y))
    assert grad_of(x).max() == n


# -- errors -------------------------------------------------------------------------------------
# a call on x of shape (2, 3) float32 | its error | what the message says
ERRORS = """
pad(x, -1) | ValueError | pad: pad_width: expected widths >= 0, got -1; cut with x[a:b] instead
pad(x, 0.5) | TypeError | pad: pad_width: expected an integer, got 0.5
pad(x, (1, 2, 3)) | ValueError | a list with a pair for each of the 2 axes of shape (2, 3)
pad(x, [(1, 2)] * 3) | ValueError | a list with a pair for each of the 2 axes of shape (2, 3)
pad(x, [(1, 2), (1,)]) | ValueError | got [(1, 2), (1,)]
pad(x, []) | ValueError | pad: pad_width: expected an integer, a pair (before, after)
pad(x, {2: 1}) | IndexError | pad: pad_width: expected -2 to 1 for shape (2, 3), got 2
pad(x, {0: (1, 2, 3)}) | ValueError | got (1, 2, 3)
pad(x, 1, "mirror") | ValueError | one of constant, edge, reflect, symmetric, wrap, got 'mirror'
pad(x, 1, "edge", 3.0) | ValueError | value: only mode 'constant' takes one, got 3.0 for 'edge'
pad(x, 1, value="0") | TypeError | pad: value: expected a number, got str
pad(x.long(), 1, value=0.5) | TypeError | expected an integer for x of dtype int64, got 0.5
pad(x.long(), 1, value=float("nan")) | TypeError | an integer for x of dtype int64, got nan
pad(x[:, :0], 1, "edge") | ValueError | axis 1 of shape (2, 0) has no element for mode 'edge'
unfold(x, 2, 1) | IndexError | axis: expected -2 to 1 for shape (2, 3), got 2
unfold(x, 1, 4) | ValueError | size: expected 0 to 3, the length of axis 1, got 4
unfold(x, 1, -1) | ValueError | size: expected 0 to 3, the length of axis 1, got -1
unfold(x, 1, 2, 0) | ValueError | step: expected at least 1, got 0
unfold(x, 1, 2.0) | TypeError | size: expected an integer, got 2.0
unfold(x[0, 0], 0, 1) | IndexError | axis: expected none: a 0-d tensor has no axes, got 0
sliding_window_view(x, 2) | ValueError | length for each of the axes (0, 1) of shape (2, 3), got 2
sliding_window_view(x, 2, 2) | IndexError | axis: expected -2 to 1 for shape (2, 3), got 2
sliding_window_view(x, 4, 1) | ValueError | size: expected 0 to 3, the length of axis 1, got 4
overlap_add(x, 0, 3) | ValueError | length: expected one with 2 windows of 3 every 1 elements, got 3
overlap_add(x, 0, 2) | ValueError | length: expected one with 2 windows of 3 every 1 elements, got 2
overlap_add(x, 1, 4) | IndexError | axis: expected -1 to 0 for shape (2,), got 1
overlap_add(x, 0, 4, 0) | ValueError | step: expected at least 1, got 0
"""


@pytest.mark.parametrize("line", lines(ERRORS))
def test_errors_name_the_argument_and_the_shape(line: str, device: Device) -> None:
    refused(line, tt.zeros((2, 3)))
