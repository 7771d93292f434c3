"""Gathering and scattering along an axis: loops over positions are the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, leaf
from .indices_drawn import by_loop

pytestmark = pytest.mark.usefixtures("device")


def ints(values: Any) -> tt.Tensor:
    return const(values, np.int64)


def in_step(index: np.ndarray, axis: int) -> Any:
    """Position by position: (where in index and src, where in x)."""
    for place in np.ndindex(index.shape):
        target = list(place)
        target[axis] = index[place]
        yield place, tuple(target)


AXES = [((3, 4), (3, 2), 1), ((3, 4), (5, 3), 0), ((2, 3, 4), (1, 2, 7), -1), ((5,), (3,), 0)]


@pytest.mark.parametrize("shape, count, axis", AXES)
def test_gather(
    shape: tuple[int, ...], count: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    n = shape[axis]
    values, index = rng.normal(size=shape), rng.integers(-n, n, size=count)
    upstream = rng.normal(size=count)
    expected, gradient = np.empty(count), np.zeros(shape)
    for place, target in in_step(index, axis):
        expected[place] = values[target]
        gradient[target] += upstream[place]
    x = leaf(values)
    y = tt.gather(x, axis, ints(index))
    close(y, expected)
    y.backward(const(upstream))
    close(x.grad, gradient)


@pytest.mark.parametrize("beyond", [0, 2])
@pytest.mark.parametrize("shape, count, axis", AXES)
def test_scatter_and_scatter_add(
    shape: tuple[int, ...],
    count: tuple[int, ...],
    axis: int,
    beyond: int,
    rng: np.random.Generator,
) -> None:
    """Also with a source that is longer than the index."""
    n = shape[axis]
    values, index = rng.normal(size=shape), rng.integers(-n, n, size=count)
    source = rng.normal(size=[c + beyond for c in count])
    upstream = rng.normal(size=shape)
    cut = source[tuple(slice(c) for c in count)]
    at = np.zeros(count, int)
    for place, target in in_step(index, axis):
        at[place] = np.arange(values.size).reshape(shape)[target]
    for kind, change in (("set", tt.scatter), ("add", tt.scatter_add)):
        x, src = leaf(values), leaf(source)
        y = change(x, axis, ints(index), src)
        out, dx, dv = by_loop(kind, values, cut, at, upstream)
        close(y, out)
        y.backward(const(upstream))
        close(x.grad, dx)
        whole = np.zeros(source.shape)
        whole[tuple(slice(c) for c in count)] = dv
        close(src.grad, whole)


def test_scatter_of_a_number() -> None:
    x = leaf(np.zeros((2, 3)))
    close(tt.scatter(x, 1, [[0, 0], [2, 1]], 7.0), [[7, 0, 0], [0, 7, 7]])
    close(tt.scatter_add(x, 1, [[0, 0], [2, 1]], 7.0), [[14, 0, 0], [0, 7, 7]])
    y = tt.scatter(x, -1, [[0], [2]], 7)
    y.sum().backward()
    close(x.grad, [[0, 1, 1], [1, 1, 0]])


def test_index_add(rng: np.random.Generator) -> None:
    values, source = rng.normal(size=(3, 4)), rng.normal(size=(3, 5))
    index = np.array([3, 0, 3, -1, 1])
    x, s = leaf(values), leaf(source)
    y = tt.index_add(x, 1, ints(index), s, alpha=2)
    expected = values.copy()
    for i, place in enumerate(index):
        expected[:, place] += 2 * source[:, i]
    close(y, expected)
    upstream = rng.normal(size=(3, 4))
    y.backward(const(upstream))
    close(x.grad, upstream)
    close(s.grad, 2 * upstream[:, index])
    close(tt.index_add(x, 0, 1, const([[1.0] * 4])), values + np.eye(3)[:, 1:2])


def test_index_select(rng: np.random.Generator) -> None:
    values = rng.normal(size=(3, 4, 2))
    for axis in (0, 1, -1):
        x = leaf(values)
        y = tt.index_select(x, axis, ints([1, 1, -1, 0]))
        close(y, np.take(values, [1, 1, -1, 0], axis))
        (y * 3).sum().backward()
        counts = np.bincount([1, 1, values.shape[axis] - 1, 0], minlength=values.shape[axis])
        close(x.grad, 3 * np.broadcast_to(np.moveaxis(counts[None, None], -1, axis), values.shape))
    assert tt.index_select(leaf(values), 1, []).shape == (3, 0, 2)
    close(tt.index_select(leaf(values), 1, 2), values[:, [2]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [1, [0, 2, 2], [[-1, 1], [0, 0]], []])
def test_take(axis: int | None, indices: Any, rng: np.random.Generator) -> None:
    values = rng.normal(size=(3, 4))
    x = leaf(values)
    picks = np.array(indices, dtype=np.int64)
    y = tt.take(x, indices, axis)
    at = np.take(np.arange(12).reshape(3, 4), picks, axis)
    close(y, values.reshape(-1)[at])
    upstream = rng.normal(size=at.shape)
    y.backward(const(upstream))
    expected = np.zeros(12)
    np.add.at(expected, at, upstream)
    close(x.grad, expected.reshape(3, 4))


def test_take_along_axis_broadcasts(rng: np.random.Generator) -> None:
    """As NumPy's; PyTorch's take_along_dim."""
    values = rng.normal(size=(3, 1, 4))
    for shape, axis in (((1, 5, 2), 2), ((3, 5, 1), -1), ((1, 1, 3), 2), ((2, 5, 4), 0)):
        n = values.shape[axis]
        index = rng.integers(-n, n, size=shape)
        x = leaf(values)
        y = tt.take_along_axis(x, ints(index), axis)
        close(y, np.take_along_axis(values, index, axis))
        assert tt.gradcheck(lambda x, i=index, a=axis: tt.take_along_axis(x, ints(i), a), [x])
    x = leaf(values)
    y = tt.take_along_axis(x, ints([[3, 3], [0, 11]]), None)
    close(y, np.take_along_axis(values, np.array([3, 3, 0, 11]), None))
    y.sum().backward()
    close(grad_of(x).reshape(-1), [1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize(
    "order", [[2, 0, 3, 1], [3, 1], [2, 2, 0, 1], [3, -1, 0], [-1, -2, 0, 1], [[0, 3], [1, 2]]]
)
@pytest.mark.parametrize("width", [1, 50])
def test_the_gradient_of_slices_in_another_order(
    order: list[Any], width: int, rng: np.random.Generator
) -> None:
    """Written where each slice is taken once, added up where one is taken twice."""
    values, index = rng.normal(size=(3, 4, width)), np.array(order)
    upstream, gradient = rng.normal(size=(3, *index.shape, width)), np.zeros((3, 4, width))
    np.add.at(gradient, (slice(None), index), upstream)
    x = leaf(values)
    x[:, order].backward(const(upstream))
    close(x.grad, gradient)
