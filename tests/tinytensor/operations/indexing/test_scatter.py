"""Changes at any index: loops over positions are the oracle for values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.operations.indexing.writing import index_add_at, index_set

from ...helpers import close, const, grad_of, host, leaf
from .indices_drawn import as_given, by_loop, mixed_indices, places, shapes, value_shapes

pytestmark = pytest.mark.usefixtures("device")


def ints(values: Any) -> tt.Tensor:
    return const(values, np.int64)


# -- index_set, index_add_at, index_multiply ------------------------------------------------------
def summed(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient of what was broadcast from ``shape`` to that of ``g``."""
    if len(shape) > g.ndim:
        return summed(g, shape[len(shape) - g.ndim :]).reshape(shape)
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    short = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=short, keepdims=True)


CHANGES: dict[str, Callable[..., Any]] = {
    "set": lambda x, v, index: tt.at(x, index).set(v),
    "add": lambda x, v, index: tt.at(x, index).add(v),
    "multiply": lambda x, v, index: tt.at(x, index).multiply(v),
}


@settings(max_examples=200)
@pytest.mark.parametrize("kind", CHANGES)
@given(data=st.data(), shape=shapes)
def test_any_index_in_any_change(kind: str, data: st.DataObject, shape: tuple[int, ...]) -> None:
    index = data.draw(mixed_indices(shape))
    given_index = data.draw(as_given(index))
    random = np.random.default_rng(3)
    values = random.normal(size=shape)
    at = places(shape, index)
    if at is None:
        with pytest.raises((IndexError, ValueError)):
            CHANGES[kind](leaf(values), 1.0, given_index)
        return
    new = random.normal(size=data.draw(value_shapes(at.shape)))
    full = np.broadcast_to(new.reshape(new.shape[max(new.ndim - at.ndim, 0) :]), at.shape)
    upstream = random.normal(size=shape)
    out, dx, dv = by_loop(kind, values, full, at, upstream)
    x, v = leaf(values), leaf(new)
    y = CHANGES[kind](x, v, given_index)
    close(y, out, 1e-9)
    close(x, values)
    gx, gv = tt.grad(y, [x, v], const(upstream), allow_unused=True)
    close(dx if gx is None else gx, dx, 1e-9)
    close(np.zeros(new.shape) if gv is None else gv, summed(dv, new.shape), 1e-9)


REPEATED = [[0, 2, 0, 0, 2], [1, 1, 1, 0, 1]]


@pytest.mark.parametrize("kind", CHANGES)
def test_repeated_positions_to_second_order(kind: str, rng: np.random.Generator) -> None:
    x, v = leaf(rng.normal(size=(3, 2))), leaf(rng.normal(size=5))

    def fn(x: tt.Tensor, v: tt.Tensor) -> tt.Tensor:
        return CHANGES[kind](x, v, tuple(REPEATED)) ** 2

    assert tt.gradcheck(fn, [x, v])

    def gradient(x: tt.Tensor, v: tt.Tensor) -> tt.Tensor:
        gx, gv = tt.grad((fn(x, v) * fn(x, v)).sum(), [x, v], create_graph=True)
        assert gx is not None and gv is not None
        return (gx * gx).sum() + (gv * gv).sum()

    assert tt.gradcheck(gradient, [x, v])


def test_repeated_positions() -> None:
    x = leaf([1.0, 2.0, 3.0])
    close(tt.at(x, [0, 0, 2]).set([5.0, 6.0, 7.0]), [6, 2, 7])
    close(tt.at(x, [0, 0, 2]).add([5.0, 6.0, 7.0]), [12, 2, 10])
    close(tt.at(x, [0, 0, 2]).multiply([5.0, 6.0, 7.0]), [30, 2, 21])
    close(tt.at(x, [0, -3]).multiply(0.5), [0.25, 2, 3])
    close(tt.at(x, [0, -3]).set(0.5), [0.5, 2, 3])
    close(tt.at(x, [0, -3]).add(0.5), [2, 2, 3])
    close(tt.at(x, [0, 0, 2]).get(), [1, 1, 3])
    close(x, [1, 2, 3])


def test_positions_that_repeat_in_an_empty_place() -> None:
    x = leaf(np.ones((2, 2)))
    for change in CHANGES.values():
        y = change(x, leaf(np.zeros((0, 1, 1))), (slice(0, 0), [[0], [0]]))
        close(y, np.ones((2, 2)))


def test_only_the_value_that_was_written_has_a_gradient() -> None:
    x, v, one = leaf([1.0, 2.0, 3.0]), leaf([5.0, 6.0, 7.0]), leaf(4.0)
    up = const([10.0, 20.0, 30.0])
    (tt.at(x, [0, 0, 2]).set(v) * up).sum().backward()
    close(x.grad, [0, 20, 0])
    close(v.grad, [0, 10, 30])
    (tt.at(x.detach(), [0, 0, 2]).set(one) * up).sum().backward()
    close(one.grad, 40)


def test_multiplying_repeatedly_by_zero() -> None:
    """Each factor's gradient is the product of the others, zeros among them or not."""
    x, v = leaf([2.0]), leaf([0.0, 3.0, 5.0])
    y = tt.at(x, [0, 0, 0]).multiply(v)
    close(y, [0])
    y.backward()
    close(x.grad, [0])
    close(v.grad, [30, 0, 0])


def test_set_does_not_read_what_it_covers() -> None:
    """NaN and infinity at a position that is overwritten reach neither value nor gradient."""
    x, v = leaf([np.nan, 1.0, np.inf]), leaf([5.0, 6.0])
    y = tt.at(x, [0, 2]).set(v)
    y.backward(const([1.0, 2.0, 3.0]))
    close(y, [5, 1, 6])
    close(x.grad, [0, 2, 0])
    close(v.grad, [1, 3])


def test_set_keeps_nothing_for_backward() -> None:
    x, v = leaf(np.ones((4, 3))), leaf(np.ones(3))
    for index in (0, [0, 2], (slice(None), [1])):
        for y in (index_set(x, v[:1], index), index_add_at(x, v[:1], index)):
            assert not y.node.saved and not y.node.versions


def test_the_result_has_the_dtype_of_x() -> None:
    x = tt.tensor(np.ones(3, np.float32), requires_grad=True)
    v = leaf([2.0, 3.0])
    for name in CHANGES:
        y = CHANGES[name](x, v, [0, 1])
        assert y.dtype == np.float32
        y.sum().backward()
    assert grad_of(x).dtype == np.float32 and grad_of(v).dtype == np.float64
    for change in CHANGES.values():
        y = change(ints([1, 2, 3]), 2, [0, 0])
        assert y.dtype == np.int64 and not y.requires_grad
    close(tt.at(ints([1, 2, 3]), [0, 0]).multiply(2), [4, 2, 3])
    close(tt.at(const([True, False], bool), 1).set(True), [True, True])


def test_float16_is_added_up_in_float32() -> None:
    """One by one in float16, 2048 + 1 is 2048 again."""
    n = 5000
    x = tt.tensor(np.zeros(2, np.float16), requires_grad=True)
    y = tt.at(x, np.zeros(n, int)).add(1.0)
    assert y.dtype == np.float16
    close(y, [n, 0])
    close(tt.scatter_add(x, 0, ints(np.zeros(n)), const(np.ones(n), np.float16)), [n, 0])
    x[np.zeros(n, int)].sum().backward()
    close(x.grad, [n, 0])
    x.grad = None
    tt.gather(x, 0, ints(np.zeros(n))).sum().backward()
    close(x.grad, [n, 0])


# -- which positions ------------------------------------------------------------------------------
def test_nonzero() -> None:
    values = np.array([[0.0, 1.5, 0.0], [np.nan, -0.0, -2.0]])
    x = leaf(values)
    found = tt.nonzero(x)
    assert isinstance(found, tuple) and all(f.dtype == np.int64 for f in found)
    for a, b in zip(found, np.nonzero(values), strict=True):
        close(a, b)
    picked = x[found]
    close(picked, [1.5, np.nan, -2])
    picked.sum().backward()
    close(x.grad, [[0, 1, 0], [1, 0, 1]])
    assert [f.shape for f in tt.nonzero(tt.zeros(0, 2))] == [(0,), (0,)]
    with pytest.raises(ValueError, match="at least one axis"):
        tt.nonzero(const(1.0))


# -- errors ---------------------------------------------------------------------------------------
def _x() -> tt.Tensor:
    return leaf(np.zeros((2, 3)))


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    "gather axis": (lambda: tt.gather(_x(), 2, [[0]]), ValueError, ("gather", "axis", "-2 to 1")),
    "gather axes": (lambda: tt.gather(_x(), 1, [0]), ValueError, ("gather", "2 axes", "(1,)")),
    "gather longer": (
        lambda: tt.gather(_x(), 1, [[0], [0], [0]]),
        ValueError,
        ("gather", "(2, 3)", "(3, 1)"),
    ),
    "gather range": (lambda: tt.gather(_x(), 1, [[3]]), IndexError, ("gather", "3", "-3 to 2")),
    "gather floats": (lambda: tt.gather(_x(), 1, [[0.5]]), TypeError, ("gather", "float32")),
    "gather of a number": (lambda: tt.gather(leaf(1.0), 0, 0), ValueError, ("gather", "()")),
    "scatter source": (
        lambda: tt.scatter(_x(), 1, [[0, 1]], const([[1.0]])),
        ValueError,
        ("scatter", "src", "(1, 2)", "(1, 1)"),
    ),
    "scatter range": (
        lambda: tt.scatter(_x(), 1, [[-4]], 1.0),
        IndexError,
        ("scatter", "-4", "-3 to 2"),
    ),
    "scatter_add axes": (
        lambda: tt.scatter_add(_x(), 1, [[0, 1]], const([1.0, 2.0])),
        ValueError,
        ("scatter_add", "src", "(1, 2)", "(2,)"),
    ),
    "float into integers": (
        lambda: tt.scatter(ints([1, 2]), 0, [0], 0.5),
        TypeError,
        ("scatter", "float64", "int64", ".astype()"),
    ),
    "index_add source": (
        lambda: tt.index_add(_x(), 1, [0, 1], const(np.zeros((2, 3)))),
        ValueError,
        ("index_add", "source", "(2, 2)", "(2, 3)"),
    ),
    "index_add index": (
        lambda: tt.index_add(_x(), 1, [[0]], _x()),
        ValueError,
        ("index_add", "one axis", "(1, 1)"),
    ),
    "index_select": (
        lambda: tt.index_select(_x(), 0, [[0]]),
        ValueError,
        ("index_select", "one axis", "(1, 1)"),
    ),
    "index_select range": (lambda: tt.index_select(_x(), 0, [2]), IndexError, ("2",)),
    "take range": (lambda: tt.take(_x(), [6]), IndexError, ("6",)),
    "take floats": (lambda: tt.take(_x(), [0.5]), TypeError, ("take", "float32")),
    "set shape": (lambda: tt.at(_x(), [0, 1]).set(const([1.0, 2.0])), ValueError, ("(2,)", "3")),
    "set shape, repeated": (
        lambda: tt.at(_x(), [0, 0]).set(const([1.0, 2.0])),
        ValueError,
        ("index_set", "v", "(2,)", "(2, 3)"),
    ),
    "add shape": (
        lambda: tt.at(_x(), [0, 0]).add(const([1.0, 2.0])),
        ValueError,
        ("index_add_at", "v", "(2,)", "(2, 3)"),
    ),
    "multiply shape": (
        lambda: tt.at(_x(), [0, 0]).multiply(const([1.0, 2.0])),
        ValueError,
        ("index_multiply", "v", "(2,)", "(2, 3)"),
    ),
    "set range": (lambda: tt.at(_x(), [0, 2]).set(1.0), IndexError, ("2",)),
    "set nothing": (lambda: tt.at(_x(), 0).set(None), TypeError, ("None",)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, device: Device) -> None:
    call, kind, words = ERRORS[name]
    with pytest.raises(kind) as error:
        call()
    if name == "set shape" and device.name == "cuda":
        return  # the words are CuPy's
    for word in words:
        assert word in str(error.value), str(error.value)


def test_a_later_write_to_the_index_is_noticed() -> None:
    """An index tensor among the operands is kept, so its version counts."""
    x, index = leaf([1.0, 2.0, 3.0]), ints([0, 1])
    y = tt.gather(x, 0, index)
    index[0] = 2
    with pytest.raises(RuntimeError, match="gather"):
        y.sum().backward()


def test_repr() -> None:
    assert repr(tt.at(const([1.0]), 0)).startswith("at(tensor(")
    assert host(tt.at(np.array([1.0, 2.0]), 0).set(3.0)).tolist() == [3, 2]
