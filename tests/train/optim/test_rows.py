"""Steps with gradients of some rows only: those rows are updated, the others wait."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.arrays.rows import Rows
from tinytensor.train import SGD, Adagrad, Adam, AdamW, clip_grad_norm, clip_grad_value
from tinytensor.train.optim import pieces

from .test_optim import _Halved

KINDS: dict[str, Any] = {
    "sgd": lambda p: SGD(p, lr=0.1, weight_decay=0.1),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: Adam(p, lr=0.1),
    "adamw": lambda p: AdamW(p, lr=0.1, weight_decay=0.1),
    "adagrad": lambda p: Adagrad(p, lr=0.1, lr_decay=0.1),
    "a user's own": lambda p: _Halved(p, lr=0.1, momentum=0.9),
}
IDS = [[1, 5, 5], [5, 200], [1], [250, 5]]


def start(dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 4)).astype(dtype)


def host(x: tt.Tensor) -> np.ndarray:
    return x.device.to_host(x.data)


def backward(w: tt.Tensor, ids: list[int], sparse: bool, scale: float = 1.0) -> None:
    out = tt.embedding(tt.tensor(ids, device=w.device), w, sparse=sparse)
    g = np.random.default_rng(len(ids)).normal(size=out.shape) * scale
    out.backward(tt.tensor(g.astype(str(w.dtype)), device=w.device))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_updated_as_a_table_of_them_alone(device: Device, kind: str, dtype: str) -> None:
    """The others and their state do not change by a bit; steps are those of the table."""
    w = tt.tensor(start(dtype), requires_grad=True, device=device)
    optimizer = KINDS[kind]([w])
    alone = tt.tensor(start(dtype), requires_grad=True, device=device)
    reference = KINDS[kind]([alone])
    for ids in IDS:
        before = {name: device.to_host(a).copy() for name, a in arrays(optimizer, w).items()}
        backward(w, ids, sparse=True)
        backward(alone, ids, sparse=False)
        assert isinstance(w.grad, tt.RowGrad)
        optimizer.step()
        reference.step()
        rows = sorted(set(ids))
        others = np.setdiff1d(np.arange(300), rows)
        for name, array in arrays(optimizer, w).items():
            now = device.to_host(array)
            if name in before:
                np.testing.assert_array_equal(now[others], before[name][others], err_msg=name)
            expected = device.to_host(arrays(reference, alone)[name])
            np.testing.assert_array_equal(now[rows], expected[rows], err_msg=name)
        for name, array in arrays(reference, alone).items():  # from the same state to the next
            array[...] = arrays(optimizer, w)[name]
        optimizer.zero_grad()
        reference.zero_grad()
    assert optimizer.state[w]["step"] == len(IDS)


def arrays(optimizer: Any, p: tt.Tensor) -> dict[str, Any]:
    """The parameter and its state."""
    state = optimizer.state.get(p, {})
    return {"p": p.data, **{name: a for name, a in state.items() if name != "step"}}


@pytest.mark.parametrize("kind", ["sgd", "adagrad"])
def test_without_decay_and_momentum_laziness_does_not_show(kind: str) -> None:
    makes = {"sgd": lambda p: SGD(p, lr=0.1), "adagrad": lambda p: Adagrad(p, lr=0.1)}
    tables = [tt.tensor(start(), requires_grad=True) for _ in range(2)]
    for w, sparse in zip(tables, (True, False), strict=True):
        optimizer = makes[kind]([w])
        for ids in IDS:
            backward(w, ids, sparse)
            optimizer.step()
            optimizer.zero_grad()
    np.testing.assert_array_equal(host(tables[0]), host(tables[1]))


def test_adam_by_hand() -> None:
    """A row that had a gradient in the first and third step only: its means decayed once."""
    w = tt.tensor(np.zeros((9, 1)), requires_grad=True)
    optimizer = Adam([w], lr=0.1, betas=(0.5, 0.5), eps=1e-30)
    for ids in ([2], [3], [2]):
        tt.embedding(tt.tensor(ids), w, sparse=True).backward(tt.ones(1, 1, dtype="float64"))
        optimizer.step()
        optimizer.zero_grad()
    m, v = 0.75, 0.75
    third = 0.1 * (m / (1 - 0.5**3)) / math.sqrt(v / (1 - 0.5**3))
    second = 0.1 * (0.5 / 0.75) / math.sqrt(0.5 / 0.75)
    np.testing.assert_allclose(host(w)[[2, 3, 4], 0], [-0.1 - third, -second, 0.0], rtol=1e-12)


def test_decay_waits() -> None:
    w = tt.ones(4, 2, requires_grad=True)
    optimizer = AdamW([w], lr=0.1, weight_decay=0.5)
    (tt.embedding(tt.tensor([1]), w, sparse=True) * 0.0).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(host(w)[:, 0], [1, 0.95, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("piece", [3, 8, 10**6])
def test_pieces_do_not_show(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tt.tensor(start(), requires_grad=True)
    found = tt.tensor(start(), requires_grad=True)
    for w, size in ((expected, 10**6), (found, piece)):
        monkeypatch.setattr(pieces, "PIECE", size)
        optimizer = AdamW([w], lr=0.1)
        for ids in IDS:
            backward(w, ids, sparse=True)
            optimizer.step()
    np.testing.assert_array_equal(host(found), host(expected))


def test_squares_that_overflow_in_a_later_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 4)
    w = tt.tensor(np.zeros((300, 4), np.float32), requires_grad=True)
    optimizer = Adam([w], lr=0.1)
    sizes = np.ones((3, 4), np.float32)
    sizes[2] = 1e30
    out = tt.embedding(tt.tensor([7, 9, 250]), w, sparse=True)
    out.backward(tt.tensor(sizes))
    optimizer.step()
    np.testing.assert_allclose(host(w)[[7, 9, 250]], -0.1, rtol=1e-6)
    assert "exp_avg_root" in optimizer.state[w] and not host(w)[8].any()


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_processes_are_whole_rows(kind: str, n: int) -> None:
    expected, found = (tt.tensor(start(), requires_grad=True) for _ in range(2))
    bias = [tt.tensor(np.ones(5), requires_grad=True) for _ in range(2)]
    for w, b, parts in ((expected, bias[0], 1), (found, bias[1], n)):
        optimizer = KINDS[kind]([w, b])
        backward(w, [1, 5, 5, 250, 17], sparse=True)
        b.grad = tt.ones(5, dtype="float64")
        for i in range(parts):
            optimizer.step((i, parts))
            for state in optimizer.state.values():
                state["step"] = 0
    np.testing.assert_array_equal(host(found), host(expected))
    np.testing.assert_array_equal(host(bias[1]), host(bias[0]))


def test_clipping(device: Device) -> None:
    """The norm is that of the whole table, and it stays sparse."""
    layer = nn.Embedding(300, 4, sparse=True).to(device)
    weight, other = layer.weight, tt.ones(3, requires_grad=True, device=device)
    backward(weight, [1, 5, 5], sparse=True, scale=10.0)
    (other * 5.0).sum().backward()
    whole = host(weight.grad.to_dense())
    norm = math.hypot(np.linalg.norm(whole), 5 * math.sqrt(3))
    assert clip_grad_norm([weight, other], 1.0) == pytest.approx(norm, rel=1e-5)
    assert isinstance(weight.grad, tt.RowGrad)
    np.testing.assert_allclose(host(weight.grad), whole / norm, rtol=1e-5)
    clip_grad_value([weight], 0.1)
    np.testing.assert_allclose(host(weight.grad), np.clip(whole / norm, -0.1, 0.1), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_makes_the_whole_gradient(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From backward to the step: else a step would take longer for a larger table."""
    layer = nn.Embedding(300, 4, sparse=True).to("float64")
    optimizer = KINDS[kind](layer.parameters())

    def refused(self: Rows) -> None:
        raise AssertionError("made the whole gradient")

    monkeypatch.setattr(Rows, "dense", refused)
    for _ in range(2):
        for ids in ([1, 5, 5], [5, 200]):  # the second is added to the first
            (layer(ids) ** 2).sum().backward()
        clip_grad_norm(layer.parameters(), 1.0)
        clip_grad_value(layer.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
    with pytest.raises(AssertionError, match="whole gradient"):
        (layer([1]) ** 2).sum().backward()
        assert layer.weight.grad is not None
        layer.weight.grad.numpy()


def test_zeros_instead_of_nothing() -> None:
    """``zero_grad(set_to_none=False)``: no rows; a step is counted and changes none."""
    w = tt.tensor(start(), requires_grad=True)
    optimizer = AdamW([w], lr=0.1)
    backward(w, [1], sparse=True)
    optimizer.zero_grad(set_to_none=False)
    assert isinstance(w.grad, tt.RowGrad)
    optimizer.step()
    np.testing.assert_array_equal(host(w), start())
    assert optimizer.state[w]["step"] == 1


def test_another_shape_is_refused() -> None:
    w, other = tt.zeros(5, 2, requires_grad=True), tt.zeros(6, 2, requires_grad=True)
    backward(other, [1], sparse=True)
    w._grad = other.grad
    with pytest.raises(ValueError, match=r"grad: expected the parameter's shape \(5, 2\)"):
        SGD([w], lr=0.1).step()
