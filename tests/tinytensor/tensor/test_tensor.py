"""The Tensor class: attributes, NumPy's methods, and broadcasting arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import close, const, grad_of, host, leaf, numeric_gradients, share_memory

pytestmark = pytest.mark.usefixtures("device")

X = np.linspace(0.1, 2.5, 24).reshape(2, 3, 4)


def test_attributes(device: Device) -> None:
    x = leaf(X)
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3, 4), 3, 24, np.float64)
    assert x.device is device and isinstance(x.data, device.array_type)
    assert x.is_leaf and x.node is None and x.grad is None and x.requires_grad
    y = x * 2
    assert not y.is_leaf and y.node is not None and y.node.op.name == "mul"
    assert x.T.shape == (4, 3, 2)
    close(x.T, X.T)
    assert type(x.detach().numpy()) is np.ndarray
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()  # a NumPy array would lose the gradient
    np.testing.assert_array_equal(x.detach().numpy(), X)


def test_names() -> None:
    x = tt.tensor([1.0], name="weights")
    assert x.name == "weights"
    x.name = "bias"
    assert x.name == "bias" and (x * 2).name is None


METHODS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], Any]]] = {
    "sum": (lambda t: t.sum(), lambda a: a.sum()),
    "sum axis": (lambda t: t.sum(axis=1), lambda a: a.sum(axis=1)),
    "sum positional axis": (lambda t: t.sum(-1), lambda a: a.sum(-1)),
    "sum axes": (lambda t: t.sum(axis=(0, -1)), lambda a: a.sum(axis=(0, -1))),
    "sum keepdims": (
        lambda t: t.sum(axis=1, keepdims=True),
        lambda a: a.sum(axis=1, keepdims=True),
    ),
    "mean": (lambda t: t.mean(), lambda a: a.mean()),
    "mean axes": (
        lambda t: t.mean(axis=(1, 2), keepdims=True),
        lambda a: a.mean(axis=(1, 2), keepdims=True),
    ),
    "var": (lambda t: t.var(), lambda a: a.var()),
    "var axis": (lambda t: t.var(axis=-1), lambda a: a.var(axis=-1)),
    "max": (lambda t: t.max(), lambda a: a.max()),
    "max axis": (lambda t: t.max(axis=0), lambda a: a.max(axis=0)),
    "max axes": (lambda t: t.max(axis=(0, 2)), lambda a: a.max(axis=(0, 2))),
    "min": (
        lambda t: t.min(axis=(0, 1), keepdims=True),
        lambda a: a.min(axis=(0, 1), keepdims=True),
    ),
    "reshape": (lambda t: t.reshape(6, 4), lambda a: a.reshape(6, 4)),
    "reshape tuple": (lambda t: t.reshape((4, 6)), lambda a: a.reshape(4, 6)),
    "reshape -1": (lambda t: t.reshape(3, -1), lambda a: a.reshape(3, -1)),
    "transpose": (lambda t: t.transpose(), lambda a: a.transpose()),
    "transpose axes": (lambda t: t.transpose(1, 2, 0), lambda a: a.transpose(1, 2, 0)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "permute tuple": (lambda t: t.permute((2, 0, -2)), lambda a: a.transpose(2, 0, 1)),
    "swapaxes": (lambda t: t.swapaxes(0, -1), lambda a: a.swapaxes(0, -1)),
    "expand_dims": (lambda t: t.expand_dims(1), lambda a: np.expand_dims(a, 1)),
    "unsqueeze": (lambda t: t.unsqueeze(-1), lambda a: a[..., None]),
    "squeeze": (lambda t: t[:1].squeeze(), lambda a: a[:1].squeeze()),
    "squeeze axis": (lambda t: t[:1, :1].squeeze(axis=1), lambda a: a[:1, :1].squeeze(axis=1)),
    "broadcast_to": (
        lambda t: t.broadcast_to((5, 2, 3, 4)),
        lambda a: np.broadcast_to(a, (5, 2, 3, 4)),
    ),
    "exp": (lambda t: t.exp(), np.exp),
    "log": (lambda t: t.log(), np.log),
    "sqrt": (lambda t: t.sqrt(), np.sqrt),
    "tanh": (lambda t: t.tanh(), np.tanh),
    "sigmoid": (lambda t: t.sigmoid(), lambda a: 1 / (1 + np.exp(-a))),
    "relu": (lambda t: (t - 1).relu(), lambda a: np.maximum(a - 1, 0)),
    "abs": (lambda t: abs(t - 1), lambda a: np.abs(a - 1)),
    "neg": (lambda t: -t, np.negative),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name: str) -> None:
    method, same = METHODS[name]
    x = leaf(X)
    y = method(x)
    expected = np.asarray(same(X))
    close(y, expected, 1e-12)
    upstream = np.sin(np.arange(expected.size) + 1.0).reshape(expected.shape)
    y.backward(const(upstream))
    (gradient,) = numeric_gradients(same, [X], upstream)
    close(x.grad, gradient, 1e-6)


def test_astype_is_in_the_graph() -> None:
    x = leaf([1.5, 2.5], np.float32)
    y = x.astype(np.float64)
    assert y.dtype == np.float64
    (y * const([2.0, 3.0])).sum().backward()
    assert x.grad is not None and x.grad.dtype == np.float32
    close(x.grad, [2, 3])
    assert x.to(np.float64).dtype == np.float64
    assert not x.astype(np.int64).requires_grad
    close(const([1.7, -1.7]).astype(np.int64), [1, -1])


def test_astype_to_the_same_dtype_and_to_the_same_device_keep_the_gradient(device: Device) -> None:
    x = leaf([1.0, 2.0])
    (x.astype(np.float64) * x.to(device)).sum().backward()
    close(x.grad, [2, 4])


def test_zero_grad_and_grad_assignment() -> None:
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    assert isinstance(x.grad, tt.Tensor)
    x.zero_grad()
    assert x.grad is None or not host(x.grad).any()
    x.grad = const([1.0, 1.0])
    (x * 3).sum().backward()
    close(x.grad, [4, 4])


def test_requires_grad_can_be_switched() -> None:
    x = const([1.0])
    assert x.requires_grad_(True) is x and x.requires_grad
    (x * 2).sum().backward()
    close(x.grad, [2.0])
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError):
        (leaf([1.0]) * 2).requires_grad_(False)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "min"])
def test_axes_as_a_list_are_a_tuple(name: str) -> None:
    x, y = leaf(X), leaf(X)
    listed = getattr(x, name)(axis=[0, -1])
    paired = getattr(y, name)(axis=(0, -1))
    close(listed, paired)
    listed.backward(const([1.0, 2.0, 3.0]))
    paired.backward(const([1.0, 2.0, 3.0]))
    close(x.grad, y.grad)


MATMUL_SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((1, 2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (1, 4, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((4, 2, 3), (4, 3, 1)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize("left, right", MATMUL_SHAPES)
def test_matmul_shapes(
    left: tuple[int, ...], right: tuple[int, ...], rng: np.random.Generator
) -> None:
    a, b = rng.normal(size=left), rng.normal(size=right)
    x, y = leaf(a), leaf(b)
    z = x @ y
    expected = a @ b
    close(z, expected, 1e-12)
    upstream = rng.normal(size=np.shape(expected))
    z.backward(const(upstream))
    ga, gb = numeric_gradients(np.matmul, [a, b], upstream)
    close(x.grad, ga)
    close(y.grad, gb)


ARITHMETIC = {
    "add": (lambda a, b: a + b, np.add),
    "sub": (lambda a, b: a - b, np.subtract),
    "mul": (lambda a, b: a * b, np.multiply),
    "div": (lambda a, b: a / b, np.divide),
    "pow": (lambda a, b: a**b, np.power),
    "maximum": (lambda a, b: tt.maximum(a, b), np.maximum),
    "minimum": (lambda a, b: tt.minimum(a, b), np.minimum),
    "where": (lambda a, b: tt.where(a > b, a, b * 2), lambda a, b: np.where(a > b, a, b * 2)),
}


@pytest.mark.parametrize("name", ARITHMETIC)
@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
    seed=st.integers(0, 2**16),
)
def test_broadcasting(name: str, shapes: hnp.BroadcastableShapes, seed: int) -> None:
    op, same = ARITHMETIC[name]
    random = np.random.default_rng(seed)
    a, b = (random.uniform(0.5, 2.0, size=shape) for shape in shapes.input_shapes)
    x, y = leaf(a), leaf(b)
    z = op(x, y)
    assert z.shape == shapes.result_shape
    close(z, same(a, b), 1e-12)
    upstream = random.normal(size=shapes.result_shape)
    z.backward(const(upstream))
    ga, gb = numeric_gradients(same, [a, b], upstream)
    close(x.grad, ga)
    close(y.grad, gb)


@pytest.mark.parametrize("value", [0.0, -2.0])
def test_powers_at_and_below_zero(value: float) -> None:
    x = leaf(value)
    (x**2).backward()
    close(x.grad, 2 * value)
    x = leaf(value)
    (x**3).backward()
    close(x.grad, 3 * value**2)
    x = leaf(value)
    (x**1).backward()
    close(x.grad, 1.0)
    x = leaf(value)
    (x**0).backward()
    close(x.grad, 0.0)


def test_kinks_take_a_documented_side() -> None:
    x = leaf([-1.0, 0.0, 1.0])
    tt.relu(x).sum().backward()
    close(x.grad, [0, 0, 1])
    x = leaf([-1.0, 0.0, 1.0])
    abs(x).sum().backward()
    close(x.grad, [-1, 0, 1])
    x = leaf([-1.0, 0.0, 1.0, 2.0, 3.0])
    tt.clip(x, 0.0, 2.0).sum().backward()
    close(x.grad, [0, 1, 1, 1, 0])  # on the limits the gradient passes


def test_extreme_values_stay_finite() -> None:
    """Saturated activations: exact limits, no overflow warning, finite gradients."""
    big = [-1e4, -100.0, 0.0, 100.0, 1e4]
    for fn, expected in (
        (tt.sigmoid, [0, 0, 0.5, 1, 1]),
        (tt.tanh, [-1, -1, 0, 1, 1]),
        (tt.silu, [0, 0, 0, 100, 1e4]),
        (tt.gelu, [0, 0, 0, 100, 1e4]),
        (lambda t: tt.gelu(t, approximate="tanh"), [0, 0, 0, 100, 1e4]),
    ):
        for dtype in (np.float32, np.float64):
            x = leaf(big, dtype)
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                y = fn(x)
                y.sum().backward()
            close(y, expected, 1e-5)
            assert np.isfinite(grad_of(x)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_long_sums_and_statistics_are_accurate(dtype: type, device: Device) -> None:
    values = (np.arange(20_000) % 7 + 0.5).astype(dtype)
    exact = values.astype(np.float64)
    x = leaf(values, dtype)
    tolerance = 1e-3 if dtype == np.float16 else 1e-6
    assert x.mean().dtype == dtype
    close(host(x.mean()).astype(np.float64), exact.mean(), tolerance * 4)
    close(host(x.var()).astype(np.float64), exact.var(), tolerance * 8)


def test_variance_of_an_offset() -> None:
    x = const([10000.0, 10001.0, 10002.0, 10003.0], np.float32)
    close(x.var(), 1.25, 1e-5)


def test_views_and_gradients_do_not_alias() -> None:
    x = leaf(np.ones((2, 2)))
    y = x.reshape(4)
    y.backward(const(np.ones(4)))
    with tt.no_grad():
        x.grad *= 5
    close(y, np.ones(4))
    a = leaf(np.ones((2, 3)))
    (a.T * 1.0).sum().backward()
    (a.T * 1.0).sum().backward()
    close(a.grad, np.full((2, 3), 2.0))
    assert not share_memory(a.grad, a)
