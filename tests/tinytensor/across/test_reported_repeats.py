"""A position read twice gets both gradients, and indices of small dtypes do not overflow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")
INF = math.inf
Fn = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def ids(*values: Any, dtype: Any = np.int64) -> tt.Tensor:
    return const(values, dtype)


TWICE = np.array([[2, 0, 2], [2, -1, 0]])
LINEAR: dict[str, tuple[Fn, tuple[int, ...]]] = {
    # name: (a function that is linear in x, shape of x)
    "x[list]": (lambda x: x[[0, 0, 2]], (3,)),
    "x[the same from both ends]": (lambda x: x[[0, -3, 2, -1]], (3,)),
    "x[pairs]": (lambda x: x[[0, 0, 1], [1, 1, 0]], (2, 2)),
    "x[:, list]": (lambda x: x[:, [2, 2]], (2, 3)),
    "x[list, :, list]": (lambda x: x[[0, 0], :, [1, 1]], (2, 3, 2)),
    "x[matrix]": (lambda x: x[const(TWICE, np.int64)], (3, 2)),
    "x[None, list, ...]": (lambda x: x[None, [1, 1], ..., 0], (2, 3, 2)),
    "x[mask, list]": (lambda x: x[np.array([True, False, True]), [1, 1]], (3, 2)),
    "x[a][b]": (lambda x: x[[0, 1, 1]][[2, 2]], (2, 2)),
    "take": (lambda x: tt.take(x, const(TWICE, np.int64)), (2, 3)),
    "take axis": (lambda x: tt.take(x, ids(0, 0, -1), axis=-1), (2, 3)),
    "take_along_axis": (lambda x: tt.take_along_axis(x, const(TWICE, np.int64), 1), (2, 3)),
    "gather": (lambda x: tt.gather(x, 1, const(TWICE % 3, np.int64)), (2, 3)),
    "index_select": (lambda x: tt.index_select(x, 0, ids(1, 1, 1)), (2, 3)),
    "embedding": (lambda x: tt.embedding(const(TWICE % 3, np.int64), x), (3, 2)),
    "repeat": (lambda x: tt.repeat(x, 3, axis=1), (2, 2)),
    "repeat counts": (lambda x: tt.repeat(x, [0, 3], axis=0), (2, 2)),
    "repeat_interleave": (lambda x: tt.repeat_interleave(x, 2), (2, 2)),
    "tile": (lambda x: tt.tile(x, (2, 3)), (2, 2)),
    "broadcast_to": (lambda x: tt.broadcast_to(x, (3, 2, 4)), (2, 1)),
    "expand": (lambda x: tt.expand(x, 3, 2, 4), (2, 1)),
    "broadcast_arrays": (lambda x: tt.broadcast_arrays(x, tt.zeros(3, 2, 4))[0], (2, 1)),
    "meshgrid": (lambda x: tt.meshgrid(x, x)[0], (3,)),
    "concat": (lambda x: tt.concat([x, x, 2 * x], axis=-1), (2, 2)),
    "stack": (lambda x: tt.stack([x, x], axis=1), (2, 2)),
    "pad reflect": (lambda x: tt.pad(x, 2, mode="reflect"), (3, 4)),
    "pad edge": (lambda x: tt.pad(x, 2, mode="edge"), (3, 4)),
    "unfold": (lambda x: tt.unfold(x, 0, 3, 1), (5, 2)),
    "sliding_window_view": (lambda x: tt.sliding_window_view(x, 2, 0), (4, 2)),
    "diagonal": (lambda x: tt.diagonal(x), (3, 3)),
    "einsum diagonal": (lambda x: tt.einsum("ii->i", x), (3, 3)),
    "einsum of x and itself": (lambda x: tt.einsum("i->", x) + tt.einsum("i->", x), (3,)),
    "scatter_add to": (lambda x: tt.scatter_add(x, 0, ids(1, 1), const([1.0, 2]) * 0), (3,)),
    "scatter_add from": (lambda x: tt.scatter_add(tt.zeros(3), 0, ids(1, 1, 0), x), (3,)),
    "scatter from": (lambda x: tt.scatter(x * 0, 0, ids(2, 1, 0), x), (3,)),
    "index_add from": (lambda x: tt.index_add(tt.zeros(2, 2), 0, ids(1, 1, 0), x), (3, 2)),
    "at add": (lambda x: tt.at(tt.zeros(3), [1, 1, 0]).add(x), (3,)),
    "at add one number": (lambda x: tt.at(tt.zeros(3), [1, 1, 0]).add(x), ()),
    "at set, last counts": (lambda x: tt.at(tt.zeros(3), [1, 1, 0]).set(x), (3,)),
    "overlapping sums": (lambda x: x[:-1] + x[1:], (4,)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_read_twice_gets_both_gradients(name: str) -> None:
    """For a linear f the gradient is its transpose: <fᵀw, v> = <w, f(v)> for every w and v."""
    fn, shape = LINEAR[name]
    random = np.random.default_rng(2)
    x, v = leaf(random.normal(size=shape)), const(random.normal(size=shape))
    y = fn(x)
    w = random.normal(size=y.shape)
    y.backward(const(w))
    np.testing.assert_allclose(
        (grad_of(x) * host(v)).sum(), (w * host(fn(v))).sum(), rtol=1e-6, atol=1e-6
    )
    # and entry by entry, with whole numbers
    x = leaf(np.zeros(shape))
    fn(x).sum().backward()
    counts = np.zeros(shape)
    for place in np.ndindex(shape):
        one = np.zeros(shape)
        one[place] = 1
        counts[place] = host(fn(const(one))).sum()
    close(x.grad, counts)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32])
def test_small_index_dtypes_do_not_overflow(dtype: type) -> None:
    """Row 19 of 20, column 29 of 30: position 599 is beyond a byte, and so is 19 · 30."""
    random = np.random.default_rng(4)
    table = random.normal(size=(20, 30))
    rows, columns = np.array([19, 19, 3], dtype), np.array([29, 29, 7], dtype)
    once = np.zeros((20, 30))
    np.add.at(once, (rows.astype(int), columns.astype(int)), 1)
    x = leaf(table)
    x[const(rows, dtype), const(columns, dtype)].sum().backward()
    close(x.grad, once)
    for read, axis in ((tt.take, 0), (tt.take, 1)):
        x = leaf(table)
        y = read(x, const(rows, dtype), axis=axis)
        close(y, np.take(table, rows, axis))
        y.sum().backward()
        assert grad_of(x).sum() == y.size
    x = leaf(table)
    tt.embedding(const(rows, dtype), x).sum().backward()
    close(x.grad[19], np.full(30, 2.0))
    x = leaf(table.T)
    tt.take_along_axis(x, const(np.tile(rows, (30, 1)), dtype), 1).sum().backward()
    close(x.grad[:, 19], np.full(30, 2.0))
    tall = leaf(random.normal(size=(2, 600)))
    loss = tt.cross_entropy(tall, const([1, 120], dtype))
    loss.backward()
    close(tall.grad.sum(axis=1), [0.0, 0.0])
    close(tt.one_hot(const([1, 120], dtype), 600).sum(axis=1), np.ones(2, np.float32))
