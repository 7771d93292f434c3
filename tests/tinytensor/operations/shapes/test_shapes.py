"""Other words for reshape, transpose and broadcast_to; pieces; diagonals.

The registry checks the ops themselves; here are the functions built on them, what PyTorch and NumPy
do at the edges, and what a wrong axis or shape is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ...helpers import close, const, grad_of, host, leaf, share_memory
from ...tensor.refusals import lines, refused

GRID = np.arange(24.0).reshape(2, 3, 4)


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _of_axes(fn: Any, axes: int) -> Any:
    """``fn`` of the first part with so many axes."""
    return lambda x: fn(x[(0,) * (3 - axes)])


# name, what we do, what NumPy says; each on an array of shape (2, 3, 4)
LIKE_NUMPY: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("moveaxis", lambda x: tt.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    ("moveaxis back", lambda x: tt.moveaxis(x, -1, 0), lambda x: np.moveaxis(x, -1, 0)),
    (
        "moveaxis of several",
        lambda x: tt.moveaxis(x, (0, 2), (1, 0)),
        lambda x: np.moveaxis(x, (0, 2), (1, 0)),
    ),
    ("moveaxis of none", lambda x: tt.moveaxis(x, (), ()), lambda x: x),
    ("flatten", tt.flatten, lambda x: x.reshape(24)),
    ("flatten the last", lambda x: tt.flatten(x, 1), lambda x: x.reshape(2, 12)),
    ("flatten the first", lambda x: tt.flatten(x, 0, -2), lambda x: x.reshape(6, 4)),
    ("flatten one", lambda x: tt.flatten(x, -1, 2), lambda x: x),
    ("ravel", tt.ravel, np.ravel),
    ("unflatten", lambda x: tt.unflatten(x, -1, (2, 2)), lambda x: x.reshape(2, 3, 2, 2)),
    ("unflatten -1", lambda x: tt.unflatten(x, 1, (-1, 1)), lambda x: x.reshape(2, 3, 1, 4)),
    ("unflatten by one number", lambda x: tt.unflatten(x, 0, -1), lambda x: x),
    ("expand", lambda x: tt.expand(x, 5, -1, 3, -1), lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
    (
        "expand an axis of length 1",
        lambda x: tt.expand(x[:, :1], (-1, 7, 4)),
        lambda x: np.broadcast_to(x[:, :1], (2, 7, 4)),
    ),
    (
        "broadcast_arrays",
        lambda x: tt.broadcast_arrays(x, x[0], x[:, :1, :1]),
        lambda x: np.broadcast_arrays(x, x[0], x[:, :1, :1]),
    ),
    ("array_split", lambda x: tt.array_split(x, 3, -1), lambda x: np.array_split(x, 3, -1)),
    ("more pieces than elements", lambda x: tt.array_split(x, 5), lambda x: np.array_split(x, 5)),
    (
        "array_split at positions",
        lambda x: tt.array_split(x, [1, 1, -1, 9], axis=2),
        lambda x: np.array_split(x, [1, 1, -1, 9], axis=2),
    ),
    ("unbind", lambda x: tt.unbind(x, 1), lambda x: [x[:, 0], x[:, 1], x[:, 2]]),
    ("hstack", lambda x: tt.hstack([x, x[:, :1]]), lambda x: np.hstack([x, x[:, :1]])),
    ("hstack of vectors", lambda x: tt.hstack([x[0, 0]] * 2), lambda x: np.hstack([x[0, 0]] * 2)),
    (
        "hstack of numbers",
        lambda x: tt.hstack([x[0, 0, 0], x[0, 0, 1:]]),
        lambda x: np.hstack([x[0, 0, 0], x[0, 0, 1:]]),
    ),
    ("vstack", lambda x: tt.vstack([x[0], x[0, 0]]), lambda x: np.vstack([x[0], x[0, 0]])),
    (
        "vstack of numbers",
        lambda x: tt.vstack([x[0, 0, 0]] * 2),
        lambda x: x[0, 0, :1].repeat(2)[:, None],
    ),
    ("dstack", lambda x: tt.dstack([x[0], x[0]]), lambda x: np.dstack([x[0], x[0]])),
    ("dstack of rows", lambda x: tt.dstack([x[0, 0]] * 2), lambda x: np.dstack([x[0, 0]] * 2)),
    (
        "column_stack",
        lambda x: tt.column_stack([x[0, :, 0], x[0], x[1, :, 1:3]]),
        lambda x: np.column_stack([x[0, :, 0], x[0], x[1, :, 1:3]]),
    ),
    (
        "column_stack of numbers",
        lambda x: tt.column_stack([x[0, 0, 0]] * 2),
        lambda x: x[0, 0, :1].repeat(2)[None],
    ),
    *(
        (
            f"{name} of {axes} axes",
            _of_axes(getattr(tt, name), axes),
            _of_axes(getattr(np, name), axes),
        )
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
        for axes in range(4)
    ),
    ("hsplit", lambda x: tt.hsplit(x, 3), lambda x: np.hsplit(x, 3)),
    ("hsplit of a vector", lambda x: tt.hsplit(x[0, 0], 2), lambda x: np.hsplit(x[0, 0], 2)),
    ("vsplit", lambda x: tt.vsplit(x, [1]), lambda x: np.vsplit(x, [1])),
    ("dsplit", lambda x: tt.dsplit(x, [1, 3]), lambda x: np.dsplit(x, [1, 3])),
    ("diag of a matrix", lambda x: tt.diag(x[0]), lambda x: np.diag(x[0])),
    ("diag above", lambda x: tt.diag(x[0], 2), lambda x: np.diag(x[0], 2)),
    ("diag of a vector", lambda x: tt.diag(x[0, 0]), lambda x: np.diag(x[0, 0])),
    ("diag of a vector below", lambda x: tt.diag(x[0, 0], -2), lambda x: np.diag(x[0, 0], -2)),
    ("trace", lambda x: tt.trace(x), np.trace),
    ("trace elsewhere", lambda x: tt.trace(x, 1, -1, 1), lambda x: np.trace(x, 1, -1, 1)),
    ("diagonal beyond", lambda x: tt.diagonal(x, 7), lambda x: np.diagonal(x, 7)),
]
like_numpy = pytest.mark.parametrize(
    "ours, theirs", [c[1:] for c in LIKE_NUMPY], ids=[c[0] for c in LIKE_NUMPY]
)


@like_numpy
def test_values_are_numpys(ours: Any, theirs: Any, device: Device) -> None:
    for dtype in (np.float64, np.float32, np.int64, bool):
        x = GRID.astype(dtype)
        for got, want in zip(outputs(ours(const(x, dtype))), outputs(theirs(x)), strict=True):
            assert got.dtype == np.asarray(want).dtype
            close(got, want)


@like_numpy
def test_gradients_to_second_order(ours: Any, theirs: Any) -> None:
    def curved(x: tt.Tensor) -> Any:
        return tuple(y * y * y for y in outputs(ours(x)) if y.size)

    x = leaf(GRID / 24 + 0.1)
    if not curved(x):
        return
    assert tt.gradcheck(curved, [x])

    def gradient(x: tt.Tensor) -> Any:
        return tt.grad(sum(y.sum() for y in curved(x)), [x], create_graph=True)[0]

    assert tt.gradcheck(gradient, [x])


def test_functions_take_arrays_and_lists() -> None:
    for x in (GRID, GRID.tolist()):
        assert tt.moveaxis(x, 0, -1).shape == (3, 4, 2)
        assert tt.flatten(x, 1).shape == (2, 12)
        assert tt.permute(x, 2, 0, 1).shape == (4, 2, 3)
        assert [p.shape for p in tt.split(x, 2, axis=-1)] == [(2, 3, 2)] * 2
        assert tt.unbind(x)[1].shape == (3, 4)


def test_shapes_may_be_numpy_integers_arrays_or_tensors() -> None:
    x = const(GRID)
    assert tt.reshape(x, np.int64(4), -1).shape == (4, 6)
    assert tt.reshape(x, np.array([6, 4])).shape == (6, 4)
    assert tt.reshape(x, tt.tensor([6, 4])).shape == (6, 4)
    assert [p.shape[2] for p in tt.split(x, np.int64(3), axis=-1)] == [3, 1]


def test_0d_and_empty() -> None:
    assert tt.flatten(const(3.0)).shape == (1,)
    assert tt.ravel(const(3.0)).shape == (1,)
    assert tt.moveaxis(const(np.zeros((0, 2))), 0, 1).shape == (2, 0)
    assert tt.flatten(const(np.zeros((2, 0, 3))), 1).shape == (2, 0)
    assert tt.unflatten(const(np.zeros((2, 0))), 1, (0, 3)).shape == (2, 0, 3)
    assert tt.unflatten(const(np.zeros((2, 0))), 1, (-1, 3)).shape == (2, 0, 3)
    assert tt.unbind(const(np.zeros((0, 3)))) == ()
    assert [p.shape for p in tt.unbind(const(np.zeros((2, 0))))] == [(0,), (0,)]
    assert tt.broadcast_arrays() == ()
    assert tt.split(const(np.zeros((0, 2))), []) == ()
    assert float(tt.trace(const(np.zeros((0, 3))))) == 0.0
    assert tt.diag(const(np.zeros(0))).shape == (0, 0)


def test_chunk_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    for n in range(8):
        for chunks in range(1, 6):
            ours = tt.chunk(const(np.arange(2.0 * n).reshape(2, n)), chunks, axis=-1)
            theirs = torch.arange(2.0 * n).reshape(2, n).chunk(chunks, dim=-1)
            assert [p.tolist() for p in ours] == [p.tolist() for p in theirs]


def test_tensor_split_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    for n in range(7):
        x = np.arange(float(n))
        for how in (1, 3, 9, (2,), (0, 2, 2), (-2, 8), ()):
            ours = tt.tensor_split(const(x), how)
            theirs = torch.tensor_split(torch.tensor(x), how)
            assert [p.tolist() for p in ours] == [p.tolist() for p in theirs]


def test_pieces_without_a_gradient_count_as_zero(device: Device) -> None:
    x = leaf(GRID)
    tt.unbind(x, -1)[2].sum().backward()
    expected = np.zeros_like(GRID)
    expected[..., 2] = 1
    close(grad_of(x), expected)


# -- views --------------------------------------------------------------------------------------
def test_views_share_memory_and_count_writes() -> None:
    x = const(GRID)
    for view in (
        tt.moveaxis(x, 0, 2),
        tt.flatten(x, 1),
        tt.unbind(x, 2)[1],
        tt.chunk(x, 2, axis=1)[1],
        tt.diagonal(x),
        tt.unflatten(x, 2, (2, 2)),
    ):
        assert share_memory(view, x)
        kept = (leaf(1.0) * view).sum()
        x[0] = 5.0
        with pytest.raises(RuntimeError, match="changed in place"):
            kept.backward()


def test_the_diagonal_can_be_written_to() -> None:
    x = const(np.zeros((3, 3)))
    tt.diagonal(x).fill_(2.0)
    close(x, 2 * np.eye(3))
    tt.diagonal(x, -1).copy_(const([5.0, 7.0]))
    close(x, [[2, 0, 0], [5, 2, 0], [0, 7, 2]])


def test_broadcast_arrays_leaves_what_has_the_shape() -> None:
    x, y = const(np.zeros((2, 3))), const(np.zeros(3))
    a, b = tt.broadcast_arrays(x, y)
    assert a is x and b.shape == (2, 3)
    assert tt.broadcast_tensors is tt.broadcast_arrays and tt.tensor_split is tt.array_split


# -- diagonals ----------------------------------------------------------------------------------
def test_diag_embed_puts_the_last_axis_on_any_two() -> None:
    torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
    x = np.arange(6.0).reshape(2, 3) + 1
    for offset in (-2, 0, 1):
        for axes in ((-2, -1), (0, 1), (-1, 0), (1, 2), (2, 0)):
            close(
                tt.diag_embed(const(x), offset, *axes),
                torch.diag_embed(torch.tensor(x), offset, *axes).numpy(),
            )


def test_infinities_and_nan_stay_where_they_are() -> None:
    x = leaf([np.inf, np.nan, -np.inf])
    out = tt.diag_embed(x)
    assert np.count_nonzero(~np.isfinite(host(out))) == 3 and host(out)[0, 1] == 0
    (tt.diagonal(out) * const([2.0, 3.0, 4.0])).sum().backward()
    close(grad_of(x), [2, 3, 4])
    m = leaf([[1.0, np.nan], [np.inf, 2.0]])
    tt.trace(m).backward()
    close(grad_of(m), np.eye(2))
    assert float(tt.trace(m)) == 3.0


def test_float16_trace_is_summed_in_float32() -> None:
    n = 2100  # two matrices side by side in memory, so that NumPy adds one row at a time
    x = tt.tensor(np.ones((n, n, 2), dtype=np.float16), requires_grad=True)
    total = tt.trace(x)
    assert total.dtype == np.float16 and total.tolist() == [n, n]
    total.sum().backward()
    assert grad_of(x).dtype == np.float16
    close(grad_of(x)[:, :, 1], np.eye(n, dtype=np.float16))


def test_integers_and_booleans() -> None:
    x = const([[1, 2], [3, 4]], np.int64)
    assert tt.trace(x).item() == 5 and tt.trace(x).dtype == np.int64
    assert tt.diag(const([1, 2], np.int64)).dtype == np.int64
    assert tt.trace(const(np.eye(3), bool)).item() == 3


# -- what a wrong axis or shape is told -----------------------------------------------------------
# a call on x of shape (2, 3) float32 | its error | what the message says
ERRORS = """
moveaxis(x, 2, 0) | IndexError | moveaxis: source: expected -2 to 1 for shape (2, 3), got 2
moveaxis(x, 0, -3) | ValueError | moveaxis: destination: expected -2 to 1 for shape (2, 3), got -3
moveaxis(x, (0, 1), 0) | ValueError | expected as many of each, got (0, 1) and 0
moveaxis(x, (0, -2), (0, 1)) | ValueError | different axes of shape (2, 3), got (0, -2)
flatten(x, 2) | IndexError | flatten: start: expected -2 to 1 for shape (2, 3), got 2
flatten(x, 1, 0) | ValueError | start not behind end, got axes 1 and 0 of shape (2, 3)
unflatten(x, 1, (2, 2)) | ValueError | multiply to 3, the length of axis 1 of shape (2, 3)
unflatten(x, 1, ()) | ValueError | got ()
unflatten(x, 1, (-1, -1)) | ValueError | got (-1, -1)
unflatten(x[:, :0], 1, (-1, 0)) | ValueError | multiply to 0, the length of axis 1 of shape (2, 0)
unflatten(x, 4, (1, 3)) | IndexError | unflatten: axis: expected -2 to 1 for shape (2, 3), got 4
reshape(x, 2.0, 3) | TypeError | reshape: shape: expected an integer, got 2.0
reshape(x, (4, 2)) | ValueError | reshape(x: (2, 3) float32, shape=(4, 2))
transpose(x, (0, 2)) | ValueError | transpose: axes: expected -2 to 1 for shape (2, 3), got 2
permute(x, 0) | ValueError | permute: axes: expected each axis of shape (2, 3) once, got (0,)
permute(x, 0, 0) | ValueError | permute: axes: expected different axes of shape (2, 3), got (0, 0)
permute(x, 0, 2) | IndexError | permute: axes: expected -2 to 1 for shape (2, 3), got 2
swapaxes(x, 0, 2) | ValueError | swapaxes(x: (2, 3) float32, axis1=0, axis2=2)
squeeze(x, 1) | ValueError | squeeze(x: (2, 3) float32, axis=1)
squeeze(x, 2) | IndexError | squeeze(x: (2, 3) float32, axis=2)
expand_dims(x, 4) | IndexError | expand_dims(x: (2, 3) float32, axis=4)
broadcast_to(x, (3, 2)) | ValueError | broadcast_to(x: (2, 3) float32, shape=(3, 2))
expand(x, -1) | ValueError | expand: shape: expected the 2 lengths of x, shape (2, 3)
expand(x, -1, 2, 3) | ValueError | got (-1, 2, 3)
expand(x, 2, 4) | ValueError | broadcast_to(x: (2, 3) float32, shape=(2, 4))
broadcast_arrays(x, x[:, :2]) | ValueError | expected shapes that broadcast, got (2, 3), (2, 2)
split(x, 2, axis=2) | IndexError | split: axis: expected -2 to 1 for shape (2, 3), got 2
split(x, 1.5) | TypeError | split: sections: expected an integer, got 1.5
split(x, 0) | ValueError | split: sections: expected a length >= 1, got 0
split(x, [1, 1], axis=1) | ValueError | split: sections: expected lengths that add up to 3
split(x[0, 0], 1) | IndexError | split: axis: expected none: a 0-d tensor has no axes, got 0
chunk(x, 0) | ValueError | chunk: chunks: expected at least 1, got 0
chunk(x, 2, axis=-3) | IndexError | chunk: axis: expected -2 to 1 for shape (2, 3), got -3
array_split(x, 0) | ValueError | indices_or_sections: expected at least 1 piece, got 0
array_split(x, (2, 1), axis=1) | ValueError | do not decrease, got (2, 1) for the 3 elements
unbind(x, 2) | IndexError | unbind(x: (2, 3) float32, axis=2): axis: expected -2 to 1
hstack(x) | TypeError | hstack: xs: expected a list or tuple of tensors, got Tensor
vstack([]) | ValueError | vstack: xs: expected at least one tensor, got none
vstack([x, x[:, :2]]) | ValueError | concat(xs[0]: (2, 3) float32, xs[1]: (2, 2) float32)
concat([x, x], axis=2) | IndexError | concat(xs[0]: (2, 3) float32, xs[1]: (2, 3) float32, axis=2)
stack([x, x], axis=3) | IndexError | stack(xs[0]: (2, 3) float32, xs[1]: (2, 3) float32, axis=3)
stack([x, x[:, :2]]) | ValueError | stack(xs[0]: (2, 3) float32, xs[1]: (2, 2) float32)
tril(x[0]) | ValueError | x: expected a matrix or a batch of them, got shape (3,)
triu(x[0]) | ValueError | x: expected a matrix or a batch of them, got shape (3,)
diagonal(x, 0, 0, 2) | IndexError | axis1 and axis2: expected -2 to 1 for shape (2, 3), got 2
diagonal(x, 0, 1, -1) | ValueError | expected different axes of shape (2, 3), got (1, -1)
diagonal(x[0]) | IndexError | diagonal(x: (3,) float32): axis1 and axis2: expected -1 to 0
trace(x[0]) | IndexError | trace(x: (3,) float32): axis1 and axis2: expected -1 to 0
trace(x, 0, 1, 1) | ValueError | expected different axes of shape (2, 3), got (1, 1)
diag(x[None]) | ValueError | diag: x: expected a vector or a matrix, got shape (1, 2, 3)
diag_embed(x, 0, 0, 3) | IndexError | diag_embed: axis2: expected -3 to 2 for shape (2, 3, 3), got 3
diag_embed(x, 0, -1, 2) | ValueError | two different axes of the 3 of the result, got -1 and 2
diag_embed(x[0, 0]) | ValueError | diag_embed: x: expected at least one axis, got shape ()
"""


@pytest.mark.parametrize("line", lines(ERRORS))
def test_errors_name_the_argument_and_the_shape(line: str, device: Device) -> None:
    refused(line, tt.zeros((2, 3)))
