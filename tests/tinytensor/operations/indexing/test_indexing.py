"""Indexing: NumPy's answers forward, scattered sums backward, and ids checked on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tinytensor as tt
from tinytensor.arrays.device import Device

from ...helpers import close, const, grad_of, host, leaf
from .indices_drawn import as_given, mixed_indices, places, shapes

pytestmark = pytest.mark.usefixtures("device")

VALUES = np.arange(24.0).reshape(2, 3, 4)


def scattered(shape: tuple[int, ...], index: Any, upstream: np.ndarray) -> np.ndarray:
    """The gradient of `x[index]`: each upstream number added where it was read."""
    gradient = np.zeros(shape)
    np.add.at(gradient, index, upstream)
    return gradient


def check(values: np.ndarray, index: Any, numpy_index: Any = None) -> None:
    numpy_index = index if numpy_index is None else numpy_index
    x = leaf(values)
    y = x[index]
    expected = values[numpy_index]
    assert y.shape == np.shape(expected)
    close(y, expected)
    upstream = np.cos(np.arange(np.size(expected), dtype=float)).reshape(np.shape(expected)) + 1
    y.backward(const(upstream))
    close(x.grad, scattered(values.shape, numpy_index, upstream))


BASIC = {
    "integer": 1,
    "negative": -1,
    "numpy integer": np.int64(1),
    "two integers": (1, 2),
    "all integers": (1, 2, 3),
    "slice": slice(1, None),
    "slices": (slice(None), slice(0, 2)),
    "step": (slice(None), slice(None, None, 2)),
    "reversed": (slice(None, None, -1), slice(None), slice(3, 0, -2)),
    "ellipsis": (..., 1),
    "ellipsis in the middle": (0, ..., slice(1, 3)),
    "newaxis": (None, 0, None),
    "newaxis after ellipsis": (..., None),
    "empty slice": slice(2, 2),
    "everything": ...,
    "nothing": (),
}


@pytest.mark.parametrize("name", BASIC)
def test_basic(name: str) -> None:
    check(VALUES, BASIC[name])


ADVANCED = {
    "list": [1, 0, 1],
    "repeats": ([0, 0, 1], [1, 1, 0]),
    "broadcast": ([[0], [1]], [0, 2, 2]),
    "negative": ([-1, 0], [-3, -1]),
    "behind a slice": (slice(None), [2, 2, 0]),
    "around a slice": ([0, 1, 1], slice(None), [3, 3, 0]),
    "with an integer": (0, [1, 1]),
    "with newaxis": (None, [1, 1]),
    "after ellipsis": (..., [3, 0, 3]),
    "two-dimensional": [[0, 1], [1, 1]],
    "empty": (slice(None), []),
}


def as_tensors(index: Any) -> Any:
    if isinstance(index, list):
        return const(np.array(index, dtype=np.int64), np.int64)
    return tuple(as_tensors(i) for i in index) if isinstance(index, tuple) else index


def as_arrays(index: Any) -> Any:
    if isinstance(index, list):
        return np.array(index, dtype=np.int64)
    return tuple(as_arrays(i) for i in index) if isinstance(index, tuple) else index


@pytest.mark.parametrize("kind", ["lists", "host arrays", "tensors"])
@pytest.mark.parametrize("name", ADVANCED)
def test_integer_arrays(name: str, kind: str) -> None:
    index = ADVANCED[name]
    given_index = {"lists": index, "host arrays": as_arrays(index), "tensors": as_tensors(index)}[
        kind
    ]
    check(VALUES, given_index, as_arrays(index))


def test_boolean_masks() -> None:
    mask = VALUES % 5 == 0
    row = np.array([True, False, True])
    check(VALUES, const(mask, bool), mask)
    check(VALUES, (slice(None), const(row, bool)), (slice(None), row))
    check(VALUES, const(np.zeros_like(mask), bool), np.zeros_like(mask))
    x = leaf([-1.0, 2.0, -3.0])
    (x[x < 0] * const([1.0, 10.0])).sum().backward()
    close(x.grad, [1, 0, 10])


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
def test_any_basic_index(data: st.DataObject, shape: tuple[int, ...]) -> None:
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    check(np.arange(float(np.prod(shape))).reshape(shape), index)


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_any_integer_index(data: st.DataObject, shape: tuple[int, ...]) -> None:
    index = data.draw(hnp.integer_array_indices(shape, dtype=np.dtype(np.int64)))
    check(np.arange(float(np.prod(shape))).reshape(shape), index)


@settings(max_examples=400)
@given(data=st.data(), shape=shapes)
def test_any_index_that_numpy_takes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    """Values and gradients in any mix; what NumPy refuses is refused."""
    index = data.draw(mixed_indices(shape))
    given_index = data.draw(as_given(index))
    values = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    if places(shape, index) is None:
        with pytest.raises((IndexError, ValueError)):
            leaf(values)[given_index]
        return
    check(values, given_index, index)


SINGLE: dict[str, tuple[Any, Any]] = {
    "True": (True, True),
    "False": (False, False),
    "boolean tensor without axes": (lambda: const(True, bool), True),
    "boolean beside an array": ((True, [0, 1]), (True, [0, 1])),
    "list of booleans": ([True, False], [True, False]),
    "nested list of booleans": ([[True, False, True], [False] * 3], None),
    "tuple inside": (((0, 1), slice(None), (3, 3)), None),
    "range": (range(1, -1, -1), None),
    "ranges": ((range(2), range(2)), None),
    "integer tensor without axes": (lambda: const(1, np.int64), 1),
    "integer array without axes": (np.array(-1), -1),
    "unsigned": (np.array([1, 0], np.uint8), None),
    "slice to tensors": (lambda: slice(const(0, np.int64), const(1, np.int64)), slice(0, 1)),
    "list of tensors": (lambda: [const(1, np.int64), const(0, np.int64)], [1, 0]),
    "nested empty list": ([[], []], None),
    "empty list of a mask's length": (np.zeros((2, 3, 4), bool), None),
    "mask of two axes": (VALUES[..., 0] > 9, None),
    "mask of the last two axes": ((..., VALUES[0] > 5), None),
    "mask between": ((0, [True, False, True], slice(1, None)), None),
    "two masks": (([True, True], slice(None), [True, False, False, True]), None),
    "mask and integers": (([True, True], [2, 2]), None),
    "None between arrays": (([0, 1], None, [2, 2]), None),
    "integer and array around": ((0, slice(None), [1, 1]), None),
    "arrays around an ellipsis of no axes": ((slice(None), [0, 2], ..., [1, 1]), None),
    "out of range, but nothing is read": (([9], []), None),
    "out of range, but False": (([9], False), None),
    "out of range, but a mask of nothing": (([9], [False] * 3), None),
}


@pytest.mark.parametrize("name", SINGLE)
def test_kinds_of_index(name: str) -> None:
    given_index, numpy_index = SINGLE[name]
    given_index = given_index() if callable(given_index) else given_index
    check(VALUES, given_index, given_index if numpy_index is None else numpy_index)


def test_a_mask_of_an_empty_axis_is_no_integer_index() -> None:
    x = leaf(np.zeros((0, 3)))
    assert x[np.zeros((0, 3), bool)].shape == (0,)
    assert x[np.zeros(0, bool)].shape == (0, 3)
    assert x[[]].shape == (0, 3)


def test_repeated_positions_add_up() -> None:
    # report C15
    x = leaf([10.0, 20.0, 30.0])
    (x[[0, 0, 2]] * const([1.0, 2.0, 4.0])).sum().backward()
    close(x.grad, [3, 0, 4])
    x = leaf(np.zeros((2, 2)))
    x[[0, 0, 1], [1, 1, 0]].sum().backward()
    close(x.grad, [[0, 2], [1, 0]])
    x = leaf(np.zeros((2, 3)))
    x[:, [2, 2]].sum().backward()
    close(x.grad, [[0, 0, 2], [0, 0, 2]])


def test_a_later_write_to_the_index_moves_no_gradient() -> None:
    for index in (const([0, 1], np.int64), np.array([0, 1]), const([0, 1], np.int64).data):
        x = leaf([1.0, 2.0, 3.0])
        y = x[index]
        (index.data if isinstance(index, tt.Tensor) else index)[1] = 2
        y.sum().backward()
        close(x.grad, [1, 1, 0])


BAD: dict[str, tuple[Any, str]] = {
    "float": (1.0, "got float"),
    "float list": ([0.5, 1.0], "integers or booleans, got float64"),
    "empty float array": (np.zeros(0), "integers or booleans, got float64"),
    "string": ("a", "got str"),
    "ragged": ([[0], [1, 2]], "evenly nested"),
    "too many": ((0, 0, 0, 0), "too many indices"),
    "two ellipses": ((..., 0, ...), "ellipsis"),
    "mask of another shape": (np.ones((3, 3), bool), "3"),
    "arrays that do not broadcast": (([0, 1], [0, 1, 2]), "broadcast"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_index_is_refused(name: str, device: Device) -> None:
    index, words = BAD[name]
    with pytest.raises((IndexError, ValueError)) as error:
        leaf(VALUES)[index]
    if device.name != "cuda":  # CuPy has its own words for some
        assert words in str(error.value)


@pytest.mark.parametrize("bad", [3, -4])
def test_out_of_range_raises_on_every_device(bad: int) -> None:
    """CuPy wraps such an index silently; an engine must not."""
    x = leaf(np.zeros((3, 2)))
    for index in (bad, [0, bad], const([0, bad], np.int64), (slice(None), [0, bad])):
        with pytest.raises(IndexError) as error:
            x[index]
        assert str(bad) in str(error.value)
    with pytest.raises(IndexError):
        tt.take_along_axis(x, const([[bad, 0]], np.int64), axis=0)


@pytest.mark.parametrize("bad", [-1, 5])
def test_embedding_ids_out_of_range_raise_on_every_device(bad: int) -> None:
    with pytest.raises(IndexError) as error:
        tt.embedding(const([[0, bad]], np.int64), leaf(np.zeros((5, 2))))
    assert str(bad) in str(error.value) and "5" in str(error.value)


@pytest.mark.parametrize("bad", [-1, 3])
def test_targets_out_of_range_raise_on_every_device(bad: int) -> None:
    with pytest.raises(IndexError) as error:
        tt.cross_entropy(leaf(np.zeros((2, 3))), const([0, bad], np.int64))
    assert str(bad) in str(error.value) and "3" in str(error.value)


def test_float_indices_are_refused() -> None:
    x = leaf(np.zeros((3, 2)))
    for index in (1.0, const([0.0, 1.0])):
        with pytest.raises((TypeError, IndexError)):
            x[index]
    with pytest.raises(TypeError, match="float64"):
        tt.embedding(const([0.0, 1.0]), x)


def test_embedding_sums_repeated_ids() -> None:
    w = leaf(np.arange(8.0).reshape(4, 2))
    ids = const([[1, 1], [3, 1]], np.int64)
    out = tt.embedding(ids, w)
    close(out, [[[2, 3], [2, 3]], [[6, 7], [2, 3]]])
    upstream = const([[[1.0, 2.0], [10.0, 20.0]], [[5.0, 6.0], [100.0, 200.0]]])
    out.backward(upstream)
    close(w.grad, [[0, 0], [111, 222], [0, 0], [5, 6]])


def test_embedding_padding_row_gets_no_gradient() -> None:
    w = leaf(np.arange(8.0).reshape(4, 2))
    out = tt.embedding(const([1, 2, 1, 0], np.int64), w, padding_idx=1)
    close(out, [[2, 3], [4, 5], [2, 3], [0, 1]])
    out.sum().backward()
    close(w.grad, [[1, 1], [0, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("padding", [1, -3])
def test_embedding_padding_row_to_second_order(padding: int) -> None:
    """A negative padding row counts from the end, in every derivative."""
    ids = const([1, 2, 1, 0], np.int64)
    w = leaf(np.arange(8.0).reshape(4, 2))
    out = tt.embedding(ids, w, padding_idx=padding)
    (g,) = tt.grad((out**3).sum(), w, create_graph=True)
    close(g, [[0, 3], [0, 0], [48, 75], [0, 0]])
    (h,) = tt.grad(g.sum(), w)
    close(h, [[0, 6], [0, 0], [24, 30], [0, 0]])


@pytest.mark.parametrize("bad", [4, -5])
def test_embedding_padding_row_out_of_range(bad: int) -> None:
    with pytest.raises(ValueError, match=f"padding_idx: expected -4 to 3 .*got {bad}"):
        tt.embedding(const([0], np.int64), leaf(np.zeros((4, 2))), padding_idx=bad)


@pytest.mark.parametrize("rows", [2, 3000])
def test_embedding_in_float16_is_added_up_in_float32(rows: int) -> None:
    w = tt.tensor(np.zeros((rows, 1), np.float16), requires_grad=True)
    tt.embedding(const(np.zeros(5000), np.int64), w).sum().backward()
    assert grad_of(w).dtype == np.float16
    assert grad_of(w)[0] == 5000 and not grad_of(w)[1:].any()


@pytest.mark.parametrize("rows", [3, 3000])
def test_embedding_of_no_width_or_no_ids(rows: int) -> None:
    for ids, width in ((np.array([[0, 2]]), 0), (np.zeros((2, 0), int), 3)):
        w = leaf(np.ones((rows, width)))
        out = tt.embedding(const(ids, np.int64), w)
        assert out.shape == (*ids.shape, width)
        out.sum().backward()
        close(w.grad, np.zeros((rows, width)))


def test_embedding_of_many_repeats_in_float32(rng: np.random.Generator) -> None:
    ids = rng.integers(0, 7, size=(64, 33))
    upstream = rng.normal(size=(64, 33, 5))
    w = leaf(rng.normal(size=(7, 5)), np.float32)
    tt.embedding(const(ids, np.int64), w).backward(const(upstream, np.float32))
    close(w.grad, scattered((7, 5), ids, upstream), 1e-3)
    assert w.grad is not None and w.grad.dtype == np.float32


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis(axis: int, rng: np.random.Generator) -> None:
    values = rng.normal(size=(3, 4, 2))
    count = list(values.shape)
    count[axis] = 5
    index = rng.integers(0, values.shape[axis], size=count)
    x = leaf(values)
    y = tt.take_along_axis(x, const(index, np.int64), axis=axis)
    close(y, np.take_along_axis(values, index, axis))
    upstream = rng.normal(size=count)
    y.backward(const(upstream))
    expected = np.zeros_like(values)
    for position in np.ndindex(*count):
        target = list(position)
        target[axis] = index[position]
        expected[tuple(target)] += upstream[position]
    close(x.grad, expected)


def test_one_hot() -> None:
    hot = tt.one_hot(const([[0, 2], [1, 1]], np.int64), 3)
    close(hot, np.eye(3)[[[0, 2], [1, 1]]])
    with pytest.raises((IndexError, ValueError), match="3"):
        tt.one_hot(const([3], np.int64), 3)


def test_split_and_concat_are_inverse(rng: np.random.Generator) -> None:
    values = rng.normal(size=(4, 6))
    x = leaf(values)
    parts = tt.split(x, 2, axis=-1)
    assert [p.shape for p in parts] == [(4, 2)] * 3
    y = tt.concat([parts[2], parts[0]], axis=1)
    weight = rng.normal(size=(4, 4))
    (y * const(weight)).sum().backward()
    expected = np.zeros((4, 6))
    expected[:, 4:], expected[:, :2] = weight[:, :2], weight[:, 2:]
    close(x.grad, expected)


def test_iteration_and_unpacking() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a, b = x
    (a * 2 + b * 3).sum().backward()
    close(x.grad, [[2, 2], [3, 3]])
    assert [host(r).tolist() for r in x] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError):
        iter(x[0, 0])


def test_getitem_never_aliases_the_gradient_of_its_source() -> None:
    x = leaf(np.ones((3, 2)))
    y = x[0]
    (y * 2).sum().backward()
    close(x.grad, [[2, 2], [0, 0], [0, 0]])
    (x[1] * 3).sum().backward()
    np.testing.assert_array_equal(grad_of(x), [[2, 2], [3, 3], [0, 0]])
