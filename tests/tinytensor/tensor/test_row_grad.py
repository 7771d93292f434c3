"""Gradients that hold some rows of a table only: what they are to those who read them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.arrays.rows import Rows

ROWS = 300  # more than are added up by a product with a one-hot matrix


def table(device: Device, dtype: str = "float64", rows: int = ROWS) -> tt.Tensor:
    values = np.random.default_rng(0).normal(size=(rows, 3)).astype(dtype)
    return tt.tensor(values, requires_grad=True, device=device)


def pull(w: tt.Tensor, ids: Any, sparse: bool = True, scale: float = 1.0, **settings: Any) -> None:
    """A backward through the rows of ``w`` with these ids, each with another cotangent."""
    out = tt.embedding(tt.tensor(ids, device=w.device), w, sparse=sparse, **settings)
    g = np.random.default_rng(1).normal(size=out.shape) * scale
    out.backward(tt.tensor(g.astype(str(w.dtype)), device=w.device))


def host(x: tt.Tensor) -> np.ndarray:
    return x.device.to_host(x.data)


def test_by_hand(device: Device) -> None:
    w = tt.zeros(5, 2, requires_grad=True, device=device)
    out = tt.embedding(tt.tensor([[3, 1], [3, 4]], device=device), w, sparse=True)
    out.backward(tt.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]], device=device))
    grad = w.grad
    assert isinstance(grad, tt.RowGrad)
    assert grad.shape == (5, 2) and grad.dtype == np.float32 and grad.device is device
    np.testing.assert_array_equal(device.to_host(grad.rows), [1, 3, 4])
    np.testing.assert_array_equal(device.to_host(grad.values), [[3, 4], [6, 8], [7, 8]])
    np.testing.assert_array_equal(host(grad), [[0, 0], [3, 4], [0, 0], [6, 8], [7, 8]])
    assert repr(grad) == (
        "RowGrad([[3., 4.],\n         [6., 8.],\n         [7., 8.]], rows=[1, 3, 4], shape=(5, 2))"
    )
    assert grad.nbytes == 3 * 2 * 4 + 3 * 8


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("padding", [None, 7, -1])
def test_bit_by_bit_the_usual_gradient(device: Device, dtype: str, padding: int | None) -> None:
    """Also where an id is repeated often, and where float16 could not add up."""
    rng = np.random.default_rng(2)
    ids = np.concatenate([rng.integers(0, ROWS, 50), np.full(3000, 7), [ROWS - 1]]).reshape(3, -1)
    one, other = table(device, dtype), table(device, dtype)
    pull(one, ids, padding_idx=padding)
    pull(other, ids, sparse=False, padding_idx=padding)
    assert type(one.grad) is tt.RowGrad and type(other.grad) is tt.Tensor
    np.testing.assert_array_equal(host(one.grad), host(other.grad))
    if padding is not None:
        assert padding % ROWS not in device.to_host(one.grad.rows)


def test_of_a_small_table(device: Device) -> None:
    one, other = table(device, rows=9), table(device, rows=9)
    for w in (one, other):
        pull(w, [[1, 8, 1], [0, 0, 0]], sparse=w is one)
    np.testing.assert_allclose(host(one.grad), host(other.grad), rtol=1e-14)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("in_one_graph", [True, False])
def test_gradients_add_up(device: Device, first: bool, second: bool, in_one_graph: bool) -> None:
    """Sparse ones and others, of one backward and of several."""

    def grad_of(*kinds: bool) -> tt.Tensor:
        w = table(device)
        parts = [
            (tt.embedding(tt.tensor(ids, device=device), w, sparse=sparse) ** 2).sum()
            for ids, sparse in zip(([1, 5, 5], [5, 200], [200, 1]), kinds, strict=True)
        ]
        for loss in [parts[0] + parts[1] + parts[2]] if in_one_graph else parts:
            loss.backward()
        assert w.grad is not None
        return w.grad

    found = grad_of(first, second, first)
    assert isinstance(found, tt.RowGrad) == (first and second)
    np.testing.assert_allclose(host(found), host(grad_of(False, False, False)), rtol=1e-14)


def test_a_dense_gradient_is_added_to_where_it_is(device: Device) -> None:
    w = table(device)
    pull(w, [1], sparse=False)
    before = w.grad
    assert before is not None
    array = before.data
    pull(w, [1, 2])
    assert w.grad is before and before.data is array and before.version.count


def test_elsewhere_the_gradient_is_the_usual_one(device: Device) -> None:
    """Of a table that was computed, in tt.grad, and in gradients that are differentiable."""
    w, ids = table(device), tt.tensor([1, 1, 250], device=device)

    def loss() -> tt.Tensor:
        return (tt.embedding(ids, w, sparse=True) ** 3).sum()

    (found,) = tt.grad(loss(), w)
    assert type(found) is tt.Tensor
    loss().backward()
    np.testing.assert_array_equal(host(found), host(w.grad))
    w.grad = None
    (tt.embedding(ids, w * 2.0, sparse=True) ** 3).sum().backward()
    assert type(w.grad) is tt.Tensor
    np.testing.assert_allclose(host(w.grad), 8 * host(found), rtol=1e-14)
    (first,) = tt.grad(loss(), w, create_graph=True)
    (second,) = tt.grad((first**2).sum(), w)
    assert type(second) is tt.Tensor and host(second)[1].all()
    w.grad = None
    loss().backward(create_graph=True)
    assert w.grad.node is not None
    loss().backward()
    np.testing.assert_allclose(host(w.grad), 2 * host(found), rtol=1e-14)
    w.grad = None


@pytest.mark.parametrize("returned", [None, "half", "dense"])
def test_hooks(device: Device, returned: str | None) -> None:
    w, seen = table(device), []

    def hook(g: tt.Tensor) -> tt.Tensor | None:
        seen.append(g)
        assert isinstance(g, tt.RowGrad)
        if returned == "half":
            g *= 0.5
            return g
        return g.to_dense() if returned else None

    w.register_hook(hook)
    pull(w, [4, 4, 9])
    assert isinstance(w.grad, tt.RowGrad) == (returned != "dense")
    expected = table(device)
    pull(expected, [4, 4, 9], sparse=False, scale=0.5 if returned == "half" else 1.0)
    np.testing.assert_allclose(host(w.grad), host(expected.grad), rtol=1e-14)
    seen[0].zero_()
    assert host(w.grad).any()


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "to": lambda x: x.to("float64"),
}


@pytest.mark.parametrize("way", COPIES)
def test_copies(device: Device, way: str) -> None:
    w = table(device)
    pull(w, [4, 4, 9])
    other = COPIES[way](w.grad)
    assert isinstance(other, tt.RowGrad) and other.device is device
    np.testing.assert_array_equal(host(other), host(w.grad))
    if way == "deepcopy":
        clone = copy.deepcopy(w)
        clone.grad *= 2
        np.testing.assert_array_equal(host(clone.grad), 2 * host(w.grad))


def test_other_dtypes(device: Device) -> None:
    w = table(device)
    pull(w, [4, 4, 9])
    assert w.grad.to("float32").values.dtype == np.float32
    assert w.grad.to("int64").dtype == np.int64
    layer = tt.nn.Embedding(ROWS, 3, sparse=True).to(device)
    (layer([1, 2]) ** 2).sum().backward()
    layer.to("float64")
    assert isinstance(layer.weight.grad, tt.RowGrad) and layer.weight.grad.dtype == np.float64


def test_reading_it_is_reading_a_tensor(device: Device) -> None:
    w = table(device)
    pull(w, [4, 4, 9])
    grad = w.grad
    dense = grad.to_dense()
    assert type(dense) is tt.Tensor
    np.testing.assert_array_equal(host(grad * 2.0), 2 * host(dense))
    np.testing.assert_array_equal(host(grad[4]), host(dense)[4])
    assert float(grad.norm()) == pytest.approx(float(dense.norm()))
    dense += 1.0
    assert (host(grad) != host(dense)).all()
    assert isinstance(w.grad, tt.RowGrad), "looking at it changes nothing"


def test_writes(device: Device) -> None:
    """Those that keep it sparse, and what is said of others."""
    w = table(device)
    pull(w, [4, 4, 9])
    before = host(w.grad)
    w.grad *= 4
    w.grad /= 2.0
    np.testing.assert_array_equal(host(w.grad), 2 * before)
    grad = w.grad
    writes: list[Callable[[], Any]] = [
        lambda: grad.fill_(1.0),
        lambda: grad.copy_(before),
        lambda: grad.__setitem__(0, 1.0),
        lambda: grad.__iadd__(1.0),
        lambda: grad.__imul__(tt.ones(3)),
        lambda: setattr(grad, "data", device.from_host(before)),
    ]
    for write in writes:
        with pytest.raises(TypeError, match=r"only 2 rows of the 300 .*w\.grad\.to_dense\(\)"):
            write()
    if device.name == "cpu":
        with pytest.raises(ValueError, match="read-only"):
            grad.numpy()[0] = 1.0
    np.testing.assert_array_equal(host(grad), 2 * before)
    w.zero_grad(set_to_none=False)
    assert isinstance(w.grad, tt.RowGrad) and w.grad.rows.size == 0
    np.testing.assert_array_equal(host(grad), 2 * before)
    assert not host(w.grad).any()
    w.zero_grad()
    assert w.grad is None


def test_an_anomaly_is_found(device: Device) -> None:
    w = table(device)
    with tt.detect_anomaly(), pytest.raises(RuntimeError, match="'embedding'.*is NaN or infinite"):
        out = tt.embedding(tt.tensor([1], device=device), w, sparse=True)
        out.backward(tt.tensor([[1.0, np.inf, 0.0]], dtype="float64", device=device))


def test_a_profile(device: Device) -> None:
    """What backward writes is what is held of the gradient."""
    w = table(device)
    with tt.profile() as profile:
        pull(w, [4, 4, 9])
    assert profile.entries["", "embedding", ""].backward.bytes == w.grad.nbytes == 2 * 3 * 8 + 2 * 8


def test_no_ids(device: Device) -> None:
    w = table(device)
    pull(w, np.zeros((0,), np.int64))
    assert w.grad.rows.size == 0 and not host(w.grad).any()


@given(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(0, 9), max_size=30),
)
def test_rows_add_up_as_arrays_do(first: list[int], second: list[int]) -> None:
    """``+`` with another and with an array."""

    def made(ids: list[int]) -> tuple[Rows, np.ndarray]:
        values = np.random.default_rng(len(ids)).integers(-9, 9, (len(ids), 2)).astype(float)
        whole = np.zeros((10, 2))
        np.add.at(whole, np.array(ids, np.int64), values)
        return Rows.added_up(np.array(ids, np.int64), values, (10, 2)), whole

    (a, x), (b, y) = made(first), made(second)
    assert list(a.rows) == sorted(set(first))
    for found in ((a + b).dense(), a + y, b + x):
        np.testing.assert_array_equal(found, x + y)
