"""flip, roll, rot90, repeat, tile and meshgrid: NumPy's values, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device

from ...helpers import close, const, grad_of, host, leaf, share_memory
from ...tensor.refusals import lines, refused

GRID = np.arange(24.0).reshape(2, 3, 4)


# -- NumPy's values -----------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), [1, -1], ()])
def test_flip(axis: Any, device: Device) -> None:
    expected = (
        GRID if axis == () else np.flip(GRID, None if axis is None else tuple(np.ravel(axis)))
    )
    close(tt.flip(const(GRID), axis), expected)


@pytest.mark.parametrize(
    "shift, axis",
    [
        (5, None),
        (-30, None),
        (1, 0),
        (-9, -1),
        ((1, -1), (0, 2)),
        ((1, 2, 1), (1, 1, 1)),
        (1, (0, -1)),
        ([2], [1]),
        (0, 1),
        ((), ()),
    ],
)
def test_roll(shift: Any, axis: Any, device: Device) -> None:
    close(tt.roll(const(GRID), shift, axis), np.roll(GRID, shift, axis) if shift != () else GRID)


@given(st.integers(-9, 9), st.sampled_from([(0, 1), (1, 0), (-1, 0), (1, 2), (2, 1)]))
def test_rot90(k: int, axes: tuple[int, int]) -> None:
    close(tt.rot90(const(GRID), k, axes), np.rot90(GRID, k, axes))


@pytest.mark.parametrize(
    "repeats, axis", [(2, None), (3, -1), ([1, 0, 2], 1), ((2, 3), 0), ([2], 2)]
)
def test_repeat(repeats: Any, axis: Any, device: Device) -> None:
    expected = np.repeat(GRID, repeats, axis)
    for counts in (repeats, np.array(repeats), tt.tensor(np.array(repeats))):
        close(tt.repeat(const(GRID), counts, axis), expected)
    assert tt.repeat_interleave is tt.repeat


@pytest.mark.parametrize("reps", [2, (3,), (2, 1), (2, 1, 3), (2, 1, 1, 1), (), 0, [1, 0, 2]])
def test_tile(reps: Any, device: Device) -> None:
    close(tt.tile(const(GRID), reps), np.tile(GRID, reps))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(), (3,), (2, 3), (2, 3, 4), (2, 0)])
def test_meshgrid(indexing: Any, lengths: tuple[int, ...], device: Device) -> None:
    vectors = [np.arange(float(n)) for n in lengths]
    ours = tt.meshgrid(*(const(v) for v in vectors), indexing=indexing)
    theirs = np.meshgrid(*vectors, indexing=indexing)
    assert isinstance(ours, tuple)
    for got, want in zip(ours, theirs, strict=True):
        close(got, want)


def test_meshgrid_is_numpys_by_default_and_pytorchs_by_name() -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    x, y = np.arange(3.0), np.arange(2.0)
    close(tt.meshgrid(const(x), const(y))[0], np.meshgrid(x, y)[0])
    theirs = torch.meshgrid(torch.tensor(x), torch.tensor(y), indexing="ij")
    close(tt.meshgrid(const(x), const(y), indexing="ij")[0], theirs[0].numpy())


def test_0d_and_empty() -> None:
    close(tt.repeat(const(5.0), 3), [5, 5, 5])
    close(tt.tile(const(5.0), 2), [5, 5])
    close(tt.flip(const(5.0)), 5.0)
    close(tt.roll(const(5.0), 3), 5.0)
    close(tt.meshgrid(const(1.0), const([2.0, 3.0]))[0], [[1], [1]])
    empty = const(np.zeros((0, 3)))
    assert tt.repeat(empty, 2, 0).shape == (0, 3)
    assert tt.repeat(empty, [], 0).shape == (0, 3)
    assert tt.tile(empty, (2, 2)).shape == (0, 6)
    assert tt.roll(empty, 1, 0).shape == tt.flip(empty).shape == (0, 3)
    assert tt.rot90(empty).shape == (3, 0)


def test_integers_and_booleans_stay_what_they_are(device: Device) -> None:
    for dtype in (np.int64, np.int8, bool):
        x = const(GRID, dtype)
        for y in (
            tt.flip(x),
            tt.roll(x, 1, 0),
            tt.rot90(x),
            tt.repeat(x, 2, 1),
            tt.tile(x, 2),
            *tt.meshgrid(x[0, 0], x[1, 0]),
        ):
            assert y.dtype == dtype and not y.requires_grad


# -- gradients ----------------------------------------------------------------------------------
COMPOSED = {
    "roll without an axis": lambda x: tt.roll(x, 5),
    "roll by one shift": lambda x: tt.roll(x, 1, (0, -1)),
    "repeat without an axis": lambda x: tt.repeat(x, 2),
    "repeat often": lambda x: tt.repeat(x, 11, -1),
    "repeat by counts": lambda x: tt.repeat(x, [0, 3, 1], 1),
    "tile": lambda x: tt.tile(x, (2, 1, 1, 2)),
    "flip twice": lambda x: tt.flip(x, (0, -1)),
    "meshgrid": lambda x: tt.meshgrid(x[0, 0], x[:, 1, 1], x[1, :, 0]),
    "meshgrid ij": lambda x: tt.meshgrid(x[0, 0], x[:, 1, 1], indexing="ij"),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_gradients_to_second_order(name: str) -> None:
    def curved(x: tt.Tensor) -> Any:
        result = COMPOSED[name](x)
        return tuple(y * y * y for y in (result if isinstance(result, tuple) else (result,)))

    def gradient(x: tt.Tensor) -> Any:
        return tt.grad(sum(y.sum() for y in curved(x)), [x], create_graph=True)[0]

    x = leaf(GRID / 24 + 0.1)
    assert tt.gradcheck(curved, [x])
    assert tt.gradcheck(gradient, [x])


def test_copies_of_an_element_add_up(device: Device) -> None:
    weights = np.arange(1.0, 7.0)
    x = leaf([1.0, 2.0, 3.0])
    (tt.repeat(x, [1, 0, 5]) * const(weights)).sum().backward()
    close(grad_of(x), [1, 0, 20])
    x = leaf([1.0, 2.0, 3.0])
    (tt.repeat(x, 2) * const(weights)).sum().backward()
    close(grad_of(x), [3, 7, 11])
    x = leaf([1.0, 2.0, 3.0])
    (tt.tile(x, 2) * const(weights)).sum().backward()
    close(grad_of(x), [5, 7, 9])


FLOAT16 = {
    "repeat": lambda x: tt.repeat(x, 4096, 0),
    "repeat by counts": lambda x: tt.repeat(x, [4096, 4096], 0),
    "tile": lambda x: tt.tile(x, (4096, 1)),
}


@pytest.mark.parametrize("name", FLOAT16)
def test_float16_gradients_are_summed_in_float32(name: str, device: Device) -> None:
    """Added one by one in float16, ones stop at 2048."""
    x = tt.tensor(np.ones((2, 3), dtype=np.float16), requires_grad=True)
    y = FLOAT16[name](x)
    assert y.dtype == np.float16
    y.backward(tt.ones_like(y))
    assert grad_of(x).dtype == np.float16
    close(grad_of(x), np.full((2, 3), 4096.0))


def test_nan_and_infinities_touch_nothing_else() -> None:
    x = leaf([np.nan, 1.0, np.inf])
    for move in (
        tt.flip,
        lambda x: tt.roll(x, 1),
        lambda x: tt.repeat(x, 2),
        lambda x: tt.tile(x, 2),
    ):
        x.zero_grad()
        y = move(x)
        assert np.isnan(host(y)).sum() == y.size // 3
        y.backward(tt.ones_like(y))
        close(grad_of(x), np.full(3, y.size / 3))


def test_flip_and_rot90_are_views_and_count_writes() -> None:
    x = const(GRID)
    for view in (tt.flip(x, 1), tt.rot90(x), tt.rot90(x, 0)):
        assert share_memory(view, x)
        loss = (leaf(1.0) * view).sum()
        x[0] = 5.0
        with pytest.raises(RuntimeError, match="changed in place"):
            loss.backward()
    assert not share_memory(tt.roll(x, 0, 0), x)
    assert not share_memory(tt.tile(x, 1), x) and not share_memory(tt.repeat(x, 1, 0), x)


# -- errors -------------------------------------------------------------------------------------
# a call on x of shape (2, 3) float32 | its error | what the message says
ERRORS = """
flip(x, 2) | IndexError | flip(x: (2, 3) float32, axis=2): axis: expected -2 to 1 for shape (2, 3)
flip(x, (0, -2)) | ValueError | axis: expected different axes of shape (2, 3), got (0, -2)
flip(x, 0.0) | TypeError | axis: expected an integer, got 0.0
roll(x, 1, 2) | IndexError | roll: axis: expected -2 to 1 for shape (2, 3), got 2
roll(x, (1, 2)) | ValueError | roll: shift: expected one integer without an axis, got (1, 2)
roll(x, (1, 2), 0) | ValueError | expected one shift per axis, got (1, 2) and 0
roll(x, 0.5) | TypeError | roll: shift: expected an integer, got 0.5
rot90(x, 1, (0, 2)) | IndexError | axes: expected -2 to 1 for shape (2, 3), got 2
rot90(x, 1, (0, 0)) | ValueError | axes: expected different axes of shape (2, 3), got (0, 0)
rot90(x, 1, (0,)) | ValueError | axes: expected two, got (0,)
rot90(x[0]) | IndexError | rot90(x: (3,) float32): axes: expected -1 to 0 for shape (3,), got 1
rot90(x, 1.5) | TypeError | k: expected an integer, got 1.5
repeat(x, -1) | ValueError | repeat: repeats: expected counts >= 0, got -1
repeat(x, [1, 2], 1) | ValueError | expected 3 counts, one per element along axis 1 of shape (2, 3)
repeat(x, 2, 2) | IndexError | repeat: axis: expected -2 to 1 for shape (2, 3), got 2
repeat(x, 2.0) | TypeError | repeat: repeats: expected an integer, got 2.0
repeat(x[0, 0], 2, 0) | IndexError | repeat: axis: expected none: a 0-d tensor has no axes, got 0
tile(x, -1) | ValueError | tile(x: (2, 3) float32, reps=-1): reps: expected counts >= 0
tile(x, (1.0, 2)) | TypeError | reps: expected an integer, got 1.0
meshgrid(x[0], x) | ValueError | meshgrid: xs[1]: expected a vector, got shape (2, 3)
meshgrid(x[0], indexing="yx") | ValueError | indexing: expected 'xy' or 'ij', got 'yx'
"""


@pytest.mark.parametrize("line", lines(ERRORS))
def test_errors_name_the_argument_and_the_shape(line: str, device: Device) -> None:
    refused(line, tt.zeros((2, 3)))
