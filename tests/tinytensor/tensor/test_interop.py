"""NumPy and Python next to tensors: who may meet whom, and what comes out."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import close, const, host, leaf

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "@": operator.matmul,
}
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_numpy_array_on_either_side(symbol: str, side: str) -> None:
    op = OPERATORS[symbol]
    a, t = np.array([[1.5, 2.0], [0.5, 3.0]]), leaf([[2.0, 0.5], [1.0, 1.5]])
    y = op(a, t) if side == "left" else op(t, a)
    expected = op(a, host(t)) if side == "left" else op(host(t), a)
    assert isinstance(y, tt.Tensor) and y.requires_grad
    close(y, expected)
    y.sum().backward()
    assert t.grad is not None and t.grad.shape == t.shape


@pytest.mark.parametrize("symbol", [s for s in OPERATORS if s != "@"])
@pytest.mark.parametrize(
    "number", [2, 2.5, True, np.float64(2.5), np.float32(2.5), np.int64(2), np.array(2.5)]
)
def test_numbers_on_either_side_keep_float32(symbol: str, number: Any, device: Device) -> None:
    if isinstance(number, np.ndarray) and device.name != "cpu":
        number = const(number, np.float32)  # a host array never meets a device tensor
    op = OPERATORS[symbol]
    plain = float(host(number))
    t = leaf([1.0, 2.0], np.float32)
    for y, expected in (
        (op(t, number), op(np.array([1.0, 2.0]), plain)),
        (op(number, t), op(plain, np.array([1.0, 2.0]))),
    ):
        assert isinstance(y, tt.Tensor) and y.requires_grad
        if not isinstance(number, np.ndarray):
            assert y.dtype == np.float32
        close(y, expected, 1e-5)


@pytest.mark.parametrize("symbol", COMPARISONS)
def test_comparisons(symbol: str, device: Device) -> None:
    op = COMPARISONS[symbol]
    t = leaf([1.0, 2.0, 3.0])
    close(op(t, 2.0), op(np.array([1.0, 2.0, 3.0]), 2.0))
    close(op(2.0, t), op(2.0, np.array([1.0, 2.0, 3.0])))
    close(op(t, const([3.0, 2.0, 1.0])), op(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])))
    if device.name == "cpu":
        result = op(np.array([3.0, 2.0, 1.0]), t)
        assert isinstance(result, tt.Tensor)
        close(result, op(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])))


def test_integer_tensors_meet_numbers_as_in_numpy(device: Device) -> None:
    i = const([1, 2, 3], np.int64)
    assert (i + 1).dtype == np.int64
    assert (i * 2).dtype == np.int64
    halves = [i / 2, i * 0.5, i / i, 1 / i, i**0.5, i.mean(), tt.exp(i), tt.where(i > 1, 1.0, 0.0)]
    assert [h.dtype for h in halves] == [np.float32] * len(halves)
    close(i / 2, [0.5, 1, 1.5])
    close(-i + 1, [0, -1, -2])
    close(i**2, [1, 4, 9])


def test_mixed_float_widths_widen_and_gradients_come_back_narrow(device: Device) -> None:
    x, w = leaf([1.0, 2.0], np.float32), leaf([3.0, 4.0], np.float64)
    y = x * w
    assert y.dtype == np.float64
    y.sum().backward()
    assert x.grad is not None and x.grad.dtype == np.float32
    assert w.grad is not None and w.grad.dtype == np.float64
    close(x.grad, [3, 4])


def test_numpy_functions_do_not_swallow_the_graph() -> None:
    t = leaf([1.0, 2.0])
    with pytest.raises(TypeError):
        np.exp(t)
    for convert in (np.asarray, np.array):
        with pytest.raises((TypeError, RuntimeError), match="detach"):
            convert(t)
        with pytest.raises((TypeError, RuntimeError), match="detach"):
            convert(t * 2)


def test_asarray_outside_the_graph() -> None:
    t = const([[1.0, 2.0]])
    a = np.asarray(t)
    assert type(a) is np.ndarray and a.dtype == np.float64
    np.testing.assert_array_equal(a, [[1, 2]])
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    assert np.asarray(leaf([1.0]).detach()).tolist() == [1.0]


def test_conversions(device: Device) -> None:
    t = const([[2.5]])
    assert float(t) == 2.5 and int(t) == 2 and t.item() == 2.5 and bool(t)
    assert isinstance(t.item(), float) and isinstance(const([3], np.int64).item(), int)
    assert isinstance(const([True], bool).item(), bool)
    assert f"{t.item():.1f}" == "2.5"
    many = const([1.0, 2.0])
    for convert in (float, int, bool, lambda x: x.item()):
        with pytest.raises((ValueError, TypeError, RuntimeError)) as error:
            convert(many)
        assert "2" in str(error.value)
    assert range(10)[const(3, np.int64).item()] == 3


def test_integer_scalar_as_python_index() -> None:
    assert [10, 20, 30][const(1, np.int64)] == 20
    with pytest.raises(TypeError):
        [10, 20, 30][const(1.0)]


def test_length(device: Device) -> None:
    assert len(const(np.zeros((3, 2)))) == 3
    with pytest.raises(TypeError):
        len(const(1.0))


def test_tensors_are_keys_by_identity(device: Device) -> None:
    a, b = leaf([1.0]), leaf([1.0])
    table = {a: "a", b: "b"}
    assert table[a] == "a" and table[b] == "b" and len({a, b, a}) == 2


def test_repr_is_short_and_says_what_matters(device: Device) -> None:
    text = repr(leaf([1.5, 2.5], np.float32))
    assert "1.5" in text and "requires_grad" in text
    big = repr(const(np.zeros((1000, 1000))))
    assert len(big) < 2000 and "float64" in big
    assert "int32" in repr(const([1], np.int32))
    inside = repr(leaf([1.0]) * 2)
    assert "mul" in inside


def test_deepcopy_and_pickle_of_leaves() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        close(y, [1, 2])
        assert y.requires_grad and y is not x
        with tt.no_grad():
            y += 1
        close(x, [1, 2])


def test_pickles_made_before_the_engine_had_rooms_are_read() -> None:
    """They name functions by the files of that time: Tensor's, and that of devices."""
    x, device = leaf([1.0, 2.0]), tt.device("cpu")
    for thing, module, then in (
        (x, "tinytensor.tensor.conversions", "tinytensor.tensor"),
        (device, "tinytensor.arrays.device", "tinytensor.device"),
    ):
        text = pickle.dumps(thing, 0).replace(f"c{module}\n".encode(), f"c{then}\n".encode())
        assert f"c{then}\n".encode() in text
        again = pickle.loads(text)
        assert again is device or again.tolist() == [1, 2]


def test_division_by_zero_gives_infinities(device: Device) -> None:
    with np.errstate(all="ignore"):
        close(const([1.0, -1.0]) / 0.0, [np.inf, -np.inf])


def test_numpy_functions_of_plain_tensors_give_arrays(device: Device) -> None:
    t = const([1.0, 4.0])
    if device.xp is not np:
        with pytest.raises(TypeError, match="detach"):
            np.sqrt(t)
        return
    for result, expected in (
        (np.sqrt(t), [1, 2]),
        (np.isfinite(t), [True, True]),
        (np.maximum(np.array([2.0, 2.0]), t), [2, 4]),
        (np.add.reduce(t), 5),
        (np.mean(t), 2.5),
        (np.stack([t, t]), [[1, 4], [1, 4]]),
        (np.where(t.data > 2, t, 0.0), [0, 4]),
    ):
        assert not isinstance(result, tt.Tensor)
        np.testing.assert_array_equal(result, expected)
    a = np.ones(2)
    a += t
    np.testing.assert_array_equal(a, [2, 5])
    with pytest.raises(TypeError, match="a = a \\+ t instead of a \\+= t"):
        a += leaf([1.0, 1.0])
    with pytest.raises(TypeError, match="np.add.reduce does not take a tensor that is part"):
        np.add.reduce(leaf([1.0]))
    with pytest.raises(TypeError, match="np.sqrt would lose the graph.*use tt.sqrt"):
        np.sqrt(leaf([1.0]))
