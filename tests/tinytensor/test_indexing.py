"""Indexing: NumPy's answers forward, scattered sums backward, and ids checked on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tinytensor as tt

from .helpers import close, const, grad_of, host, leaf

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
