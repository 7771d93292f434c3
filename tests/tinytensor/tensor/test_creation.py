"""Making tensors: dtypes, devices, shapes, generators."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import close, const, host, leaf, share_memory

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize(
    "data, dtype",
    [
        (1.5, np.float32),
        ([1.5, 2.5], np.float32),
        ([[1, 2.5]], np.float32),
        (3, np.int64),
        ([1, 2], np.int64),
        (True, np.bool_),
        ([True, False], np.bool_),
        ([], np.float32),
        (np.float64(1.5), np.float32),
        (np.array([1.5]), np.float64),
        (np.array([1.5], np.float32), np.float32),
        (np.array([1.5], np.float16), np.float16),
        (np.array([1], np.int32), np.int32),
        (range(3), np.int64),
    ],
)
def test_dtype_of_tensor(data: Any, dtype: type) -> None:
    t = tt.tensor(data)
    assert t.dtype == dtype
    np.testing.assert_array_equal(host(t), np.asarray(data, dtype=dtype))


def test_tensor_options(device: Device) -> None:
    t = tt.tensor([1, 2], dtype=np.float64, requires_grad=True, name="w")
    assert t.dtype == np.float64 and t.requires_grad and t.name == "w" and t.is_leaf
    assert t.device is device and isinstance(t.data, device.array_type)
    assert t.shape == (2,) and t.ndim == 1 and t.size == 2
    assert tt.tensor([1.5], dtype="float64").dtype == np.float64
    assert tt.tensor(5, dtype=np.float32, requires_grad=True).shape == ()


def test_tensor_of_a_tensor_is_a_new_leaf() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    y = tt.tensor(x * 2)
    assert y.is_leaf and not y.requires_grad
    close(y, [2, 4])
    z = tt.tensor(x)
    assert not share_memory(z, x)


def test_tensor_of_scalars_of_tensors_and_ragged_lists() -> None:
    with pytest.raises((ValueError, TypeError)):
        tt.tensor([[1.0, 2.0], [3.0]])
    for bad in (None, "text", object(), np.array(["a"]), np.array([object()])):
        with pytest.raises((ValueError, TypeError)) as error:
            tt.tensor(bad)
        assert "data" in str(error.value)


FILLED = {
    "zeros": (lambda **k: tt.zeros((2, 3), **k), np.zeros((2, 3))),
    "ones": (lambda **k: tt.ones((2, 3), **k), np.ones((2, 3))),
    "full": (lambda **k: tt.full((2, 3), 2.5, **k), np.full((2, 3), 2.5)),
    "eye": (lambda **k: tt.eye(3, **k), np.eye(3)),
}


@pytest.mark.parametrize("name", FILLED)
def test_filled(name: str, device: Device) -> None:
    make, expected = FILLED[name]
    t = make()
    assert t.dtype == np.float32 and not t.requires_grad and t.device is device
    close(t, expected)
    wide = make(dtype=np.float64, requires_grad=True)
    assert wide.dtype == np.float64 and wide.requires_grad
    elsewhere = make(device="cpu")
    assert elsewhere.device.name == "cpu" and type(elsewhere.data) is np.ndarray


def test_shapes_as_words_or_tuple() -> None:
    assert tt.zeros(2, 3).shape == tt.zeros((2, 3)).shape == tt.zeros([2, 3]).shape == (2, 3)
    assert tt.zeros(()).shape == () and tt.zeros(0, 3).shape == (0, 3) and tt.ones(4).shape == (4,)
    assert tt.randn(2, 3).shape == tt.randn((2, 3)).shape == (2, 3)
    with pytest.raises(ValueError, match="-1"):
        tt.zeros(2, -1)


def test_arange() -> None:
    for args in ((5,), (2, 5), (0, 10, 3), (5, 0, -2), (0,)):
        t = tt.arange(*args)
        assert t.dtype == np.int64
        close(t, np.arange(*args))
    assert tt.arange(0, 1, 0.25).dtype == np.float32
    close(tt.arange(0, 1, 0.25), [0, 0.25, 0.5, 0.75])
    assert tt.arange(3, dtype=np.float64).dtype == np.float64


def test_empty() -> None:
    t = tt.empty((2, 3))
    assert t.shape == (2, 3) and t.dtype == np.float32


def test_like() -> None:
    x = const(np.zeros((2, 3)), np.float64)
    for made, expected in (
        (tt.zeros_like(x), np.zeros((2, 3))),
        (tt.ones_like(x), np.ones((2, 3))),
        (tt.full_like(x, 7), np.full((2, 3), 7.0)),
    ):
        assert made.dtype == np.float64 and made.device is x.device
        close(made, expected)
    for made in (tt.rand_like(x), tt.randn_like(x)):
        assert made.dtype == np.float64 and made.shape == (2, 3) and made.device is x.device
    assert tt.ones_like(x, dtype=np.float32).dtype == np.float32
    assert tt.ones_like(x, requires_grad=True).requires_grad


def test_random_values_follow_the_generator_on_every_device() -> None:
    with tt.device("cpu"):
        expected = [
            host(tt.randn(3, 4, generator=tt.Generator(5))),
            host(tt.rand(7, generator=tt.Generator(5))),
        ]
    np.testing.assert_array_equal(host(tt.randn(3, 4, generator=tt.Generator(5))), expected[0])
    np.testing.assert_array_equal(host(tt.rand(7, generator=tt.Generator(5))), expected[1])
    assert tt.randn(2, generator=tt.Generator(5)).dtype == np.float32


def test_random_moments() -> None:
    normal = host(tt.randn(200, 500, generator=tt.Generator(0)))
    assert abs(normal.mean()) < 0.01 and abs(normal.std() - 1) < 0.01
    uniform = host(tt.rand(200, 500, generator=tt.Generator(0)))
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.01


def test_integers_with_gradient_are_refused() -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match="int64"):
        tt.arange(3, requires_grad=True)


def test_linspace_randint_and_randperm(device: Device) -> None:
    x = tt.linspace(0, 1, 5)
    close(x, [0, 0.25, 0.5, 0.75, 1])
    assert x.dtype == np.float32 and x.device is device
    assert tt.linspace(0, 1, 3, dtype="float64", requires_grad=True).requires_grad
    a, b = (tt.randint(2, 5, (200,), generator=tt.Generator(1)) for _ in range(2))
    close(a, b)
    assert set(a.tolist()) == {2, 3, 4} and a.dtype == np.int64
    assert tt.randint(0, 2, 3).shape == (3,)
    assert sorted(tt.randperm(6, tt.Generator(2)).tolist()) == list(range(6))
    with pytest.raises(ValueError, match="low < high, got 3 and 3"):
        tt.randint(3, 3, (1,))
    with pytest.raises(ValueError, match="num: expected an integer >= 0, got -1"):
        tt.linspace(0, 1, -1)


CREATORS = {
    "tensor": lambda **k: tt.tensor([1.0], **k),
    "zeros": lambda **k: tt.zeros(2, **k),
    "ones": lambda **k: tt.ones(2, **k),
    "empty": lambda **k: tt.empty(2, **k),
    "full": lambda **k: tt.full((2,), 1.0, **k),
    "eye": lambda **k: tt.eye(2, **k),
    "arange": lambda **k: tt.arange(2.0, **k),
    "linspace": lambda **k: tt.linspace(0, 1, 3, **k),
    "logspace": lambda **k: tt.logspace(0, 1, 3, **k),
    "rand": lambda **k: tt.rand(2, **k),
    "randn": lambda **k: tt.randn(2, **k),
    "randint": lambda **k: tt.randint(0, 3, (2,), **k),
    "randperm": lambda **k: tt.randperm(3, **k),
    "zeros_like": lambda **k: tt.zeros_like(tt.ones(2), **k),
    "ones_like": lambda **k: tt.ones_like(tt.ones(2), **k),
    "empty_like": lambda **k: tt.empty_like(tt.ones(2), **k),
    "full_like": lambda **k: tt.full_like(tt.ones(2), 1.0, **k),
    "rand_like": lambda **k: tt.rand_like(tt.ones(2), **k),
    "randn_like": lambda **k: tt.randn_like(tt.ones(2), **k),
}


@pytest.mark.parametrize("name", CREATORS)
def test_every_creator_takes_a_name(name: str) -> None:
    make = CREATORS[name]
    assert make().name is None and make(name="w").name == "w"
    if name not in ("randint", "randperm"):
        leaf = make(name="w", requires_grad=True)
        assert leaf.requires_grad and leaf.is_leaf and leaf.name == "w"


def test_no_creator_is_forgotten() -> None:
    """Every public function with a ``device`` but no operand makes a tensor."""
    found = {
        name
        for name in tt.__all__
        if callable(getattr(tt, name))
        and not isinstance(getattr(tt, name), type)
        and "device" in inspect.signature(getattr(tt, name)).parameters
    }
    assert found == set(CREATORS)


def test_linspace_between_tensors(device: Device) -> None:
    a, b = const(1.0), const([2.0, 5.0])
    x = tt.linspace(a, b, 4)
    assert x.dtype == np.float64 and x.device is device and x.shape == (4, 2)
    close(x, np.linspace(1.0, [2.0, 5.0], 4))
    close(tt.linspace(a, 3, 5), np.linspace(1, 3, 5))
    assert tt.linspace(a, 3, 5, dtype="float32").dtype == np.float32
    whole = tt.linspace(const(0, np.int64), const(4, np.int64), 5)
    assert whole.dtype == np.float32
    close(whole, [0, 1, 2, 3, 4])
    close(tt.linspace(a, 3, 1), [1])
    assert tt.linspace(a, b, 0).shape == (0, 2)
    close(tt.logspace(const(0.0), 2, 3, base=2), [1, 2, 4])
    close(tt.logspace(0, 2, 3), [1, 10, 100])


def test_both_ends_are_exact() -> None:
    a, b = 0.1, 1e17 / 3
    x = tt.linspace(const(a), const(b), 7)
    assert x[0].item() == a and x[-1].item() == b


def test_linspace_gives_its_ends_gradients() -> None:
    start, stop = leaf(1.0), leaf([2.0, 5.0])
    x = tt.linspace(start, stop, 4, name="x")
    assert x.name == "x" and not x.is_leaf
    g = np.random.default_rng(0).normal(size=(4, 2))
    x.backward(const(g))
    share = np.array([0, 1, 2, 3])[:, None] / 3
    close(start.grad, np.sum(g * (1 - share)))
    close(stop.grad, np.sum(g * share, axis=0))
    for fn in (tt.linspace, tt.logspace):
        assert tt.gradcheck(lambda a, b, fn=fn: fn(a, b, 3), [leaf(0.3), leaf([0.2, 0.5])])
        assert tt.gradgradcheck(lambda a, b, fn=fn: fn(a, b, 3) ** 2, [leaf(0.3), leaf([0.5])])


def test_arange_of_tensors_with_one_element() -> None:
    three = tt.arange(const(3, np.int64))
    assert three.dtype == np.int64
    close(three, [0, 1, 2])
    halves = tt.arange(const(1.0), 2, const([0.5]))
    assert halves.dtype == np.float32
    close(halves, [1, 1.5])
    with pytest.raises(TypeError, match=r"arange: start: .*requires gradients.*tt\.linspace"):
        tt.arange(leaf(1.0), 3)
    with pytest.raises(TypeError, match=r"arange: stop: expected a number, got shape \(2,\)"):
        tt.arange(0, const([1.0, 2.0]))
