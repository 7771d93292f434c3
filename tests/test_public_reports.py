"""Faults that users of other frameworks reported, of optimisers, losses, layers and models.

Each is a small program with its right values, derived by hand; the comment above names the kind of
fault.  Those of the engine are in tinytensor/across/test_public_reports.py, those of data, files,
pictures and devices in test_public_reports_of_runs.py.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.arrays.device import Device
from tinytensor.train import (
    SGD,
    Adam,
    AdamW,
    Checkpoint,
    Trainer,
    load_model,
    param_groups,
)
from tinytensor.train import checkpoint as files

from .nn.helpers import double, values_of
from .train.helpers import TEXT, config


def set_to(tensor: tt.Tensor, value: Any) -> None:
    with tt.no_grad():
        tensor.copy_(np.full(tensor.shape, value, tensor.dtype))


def steps(optimizer: Any, p: tt.Tensor, *grads: float | None) -> list[float]:
    """The parameter after steps with these gradients."""
    out = []
    for grad in grads:
        p.grad = None if grad is None else tt.full(p.shape, grad, dtype=p.dtype, device=p.device)
        optimizer.step()
        out.append(p.item())
    return out


# ---- optimiser steps: decay beside the moments, and no gradient is not a gradient of zero --------
Make = Callable[[list[tt.Tensor]], Any]
MAKERS: dict[str, Make] = {
    "AdamW": lambda p: AdamW(p, lr=0.1, weight_decay=0.1),
    "Adam": lambda p: Adam(p, lr=0.1, weight_decay=0.1),
    "Adam without decay": lambda p: Adam(p, lr=0.1),
    "SGD": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "SGD with decay": lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "SGD, nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "grads", "expected"),
    [
        ("AdamW", [0.0], [0.99]),
        ("Adam", [0.0], [0.90]),
        ("Adam without decay", [4.0, 0.0], [0.9, 0.832994]),
        ("SGD", [2.0, 0.0, None], [0.8, 0.62, 0.62]),
    ],
)
def test_one_step_of_each_optimiser(
    name: str, grads: list[float | None], expected: list[float], dtype: str, device: Device
) -> None:
    p = tt.ones((), dtype=dtype, requires_grad=True)
    optimizer = MAKERS[name]([p])
    np.testing.assert_allclose(steps(optimizer, p, *grads), expected, atol=1e-6)
    arrays = [p.data, *optimizer.state_dict()["arrays"].values()]
    assert [a.dtype for a in arrays] == [np.dtype(dtype)] * len(arrays)


@pytest.mark.parametrize("name", MAKERS)
def test_no_gradient_is_no_step(name: str) -> None:
    p = tt.ones((), dtype="float64", requires_grad=True)
    optimizer = MAKERS[name]([p])
    assert steps(optimizer, p, None) == [1.0]
    fresh = optimizer.state_dict()
    assert not any(a.any() for a in fresh["arrays"].values()), "no moment changed"
    # what follows is as if the frozen time had not been, moments and step count alike
    q = tt.ones((), dtype="float64", requires_grad=True)
    unbroken = MAKERS[name]([q])
    assert steps(optimizer, p, 4.0, None, 1.0)[-1] == steps(unbroken, q, 4.0, 1.0)[-1]
    assert optimizer.state_dict()["numbers"] == unbroken.state_dict()["numbers"]


def test_a_zero_gradient_is_a_step() -> None:
    for name in MAKERS:
        p, q = (tt.ones((), dtype="float64", requires_grad=True) for _ in range(2))
        assert steps(MAKERS[name]([p]), p, 1.0, 0.0)[-1] != steps(MAKERS[name]([q]), q, 1.0, None)


# ---- dtypes: float64 creeps in through a NumPy scalar --------------------------------------------
@pytest.mark.parametrize("make", [Adam, AdamW, SGD])
def test_parameters_stay_float32(make: Any) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2))
    optimizer = make(model.parameters(), lr=np.float64(0.1), weight_decay=np.float64(0.1))
    for _ in range(3):
        optimizer.zero_grad()
        out = model(tt.ones((5, 3)) * np.float64(0.5) / np.sqrt(64))
        loss = nn.mse_loss(out, np.zeros((5, 2))) * np.float64(0.1) / np.int64(3)
        assert out.dtype == loss.dtype == np.float32
        loss.backward()
        assert all(p.grad is not None and p.grad.dtype == np.float32 for p in model.parameters())
        optimizer.step()
    assert all(p.dtype == np.float32 for p in model.parameters())
    assert all(a.dtype == np.float32 for a in optimizer.state_dict()["arrays"].values())


@pytest.mark.parametrize("name", ["gpt", "gru", "lstm", "rnn"])
def test_no_layer_of_a_model_widens(name: str) -> None:
    size = {"n_layer": 2, "n_embd": 8, "block_size": 6, "vocab_size": 5}
    model: Any = models.build(name, **size, **({"n_head": 2} if name == "gpt" else {}))
    dtypes = set()
    for module in model.modules():
        module.register_forward_hook(
            lambda m, args, out: dtypes.update({out.dtype} if isinstance(out, tt.Tensor) else ())
        )
    logits, loss = model(np.array([[0, 1, 2]]), np.array([[1, 2, 3]]))
    loss.backward()
    dtypes |= {logits.dtype, loss.dtype, *(p.grad.dtype for p in model.parameters())}
    assert dtypes == {np.dtype(np.float32)}


# ---- losses: predictions (N, 1) against targets (N,) ---------------------------------------------
@pytest.mark.parametrize(
    "loss",
    [
        nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(), nn.BCELoss(),
        nn.BCEWithLogitsLoss(), nn.KLDivLoss(),
    ],
    ids=repr,
)  # fmt: skip
def test_a_column_against_a_row_is_refused(loss: nn.Module) -> None:
    pred, y = double([[0.2], [0.4]]), double([0, 1])
    for target in (y, [0.0, 1.0], np.array([0.0, 1.0])):
        with pytest.raises(ValueError) as error:
            loss(pred, target)
        assert "(2, 1)" in str(error.value) and "(2,)" in str(error.value)
    assert loss(pred, y.reshape(2, 1)).shape == ()


def test_the_same_numbers_in_the_same_shape() -> None:
    assert nn.MSELoss()(double([[2], [4]]), double([1, 5]).reshape(2, 1)).item() == 1.0


# ---- tied weights: one parameter, one step, also after copying and loading -----------------------
class Tied(nn.Module):
    def __init__(self) -> None:
        self.a, self.b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        self.b.weight = self.a.weight
        set_to(self.a.weight, 3.0)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.b(self.a(x))


def loaded(net: Tied, tmp_path: Path) -> Tied:
    files.save(tmp_path / "tied", Checkpoint(net.state_dict()))
    other = Tied()
    set_to(other.a.weight, 0.0)
    other.load_state_dict(files.load(tmp_path / "tied").weights)
    return other


COPIES: dict[str, Callable[[Tied, Path], Tied]] = {
    "deepcopy": lambda net, _: copy.deepcopy(net),
    "pickle": lambda net, _: pickle.loads(pickle.dumps(net)),
    "checkpoint": loaded,
    "another dtype": lambda net, _: net.to("float64"),
}


def test_a_tied_weight_is_stepped_once() -> None:
    for groups in (False, True):
        net = Tied()
        loss = net(tt.tensor([[2.0]])).sum()
        loss.backward()
        assert loss.item() == 18
        assert net.a.weight.grad is not None and net.a.weight.grad.item() == 12
        SGD(param_groups(net, 0.0) if groups else net.parameters(), lr=0.1).step()
        assert net.b.weight.item() == pytest.approx(1.8)
        assert len(list(net.parameters())) == net.num_parameters() == 1


@pytest.mark.parametrize("how", COPIES)
def test_a_tie_survives(how: str, tmp_path: Path) -> None:
    other = COPIES[how](Tied(), tmp_path)
    assert other.b.weight.item() == 3.0
    set_to(other.a.weight, 5.0)
    assert other.b.weight is other.a.weight and other.b.weight.item() == 5.0
    assert other.num_parameters() == 1


@pytest.mark.parametrize("name", ["gpt", "lstm"])
def test_an_embedding_tied_to_its_head_does_not_drift_apart(name: str, tmp_path: Path) -> None:
    tied = {} if name == "gpt" else {"tie_weights": True, "n_hidden": 6}  # a GPT always is
    trainer = Trainer(config(name, steps=2, **tied), TEXT, tmp_path)
    trainer.run()
    model: Any = load_model(tmp_path)[0]
    for net in (trainer.model, model, copy.deepcopy(model)):
        assert net.lm_head.weight is net.wte.weight
    np.testing.assert_array_equal(values_of(model.wte.weight), values_of(trainer.model.wte.weight))


# ---- snapshots: a state dict is not the live weights ---------------------------------------------
def test_a_snapshot_of_the_best_weights_stays() -> None:
    m, m2, m3 = (nn.Linear(1, 1, bias=False) for _ in range(3))
    set_to(m.weight, 1.0)
    best, keep = m.state_dict(), copy.deepcopy(m.state_dict())
    steps(SGD(m.parameters(), lr=0.5), m.weight, 1.0)
    assert m.weight.item() == 0.5
    assert keep["weight"] == 1.0
    assert best["weight"] == 1.0, "a choice: a snapshot"
    assert "snapshot" in (inspect.getdoc(nn.Module.state_dict) or "")
    m2.load_state_dict(keep)
    m3.load_state_dict(keep)
    steps(SGD(m2.parameters(), lr=1.0), m2.weight, -1.0)
    assert (m2.weight.item(), keep["weight"].item(), m3.weight.item()) == (2.0, 1.0, 1.0)
    arrays = [m.weight.data, m2.weight.data, m3.weight.data, keep["weight"], best["weight"]]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[i + 1 :])


def test_buffers_and_optimisers_are_snapshots_too() -> None:
    norm = nn.BatchNorm1d(2)
    optimizer = AdamW(norm.parameters(), lr=0.1)
    saved, state = norm.state_dict(), optimizer.state_dict()
    before = copy.deepcopy((saved, state))
    norm(tt.randn(8, 2) + 5).sum().backward()
    optimizer.step()
    for name, value in before[0].items():
        np.testing.assert_array_equal(saved[name], value)
    assert state == before[1] or not state["arrays"]
    stepped = optimizer.state_dict()
    kept = copy.deepcopy(stepped)
    optimizer.step()
    for name, array in kept["arrays"].items():
        np.testing.assert_array_equal(stepped["arrays"][name], array)
    other = nn.BatchNorm1d(2)
    other.load_state_dict(saved)
    other(tt.randn(8, 2) + 5)
    for name, value in before[0].items():
        np.testing.assert_array_equal(saved[name], value)


# ---- statistics: a large offset, a constant row, the biased variance -----------------------------
BIG = np.array([10000, 10001, 10002, 10003], np.float32)
NORMS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "LayerNorm": (lambda: nn.LayerNorm(4), (1, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(1, 4), (1, 4)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(1), (1, 1, 4)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(1), (4, 1)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(1), (2, 1, 1, 2)),
}


@pytest.mark.parametrize("name", NORMS)
def test_every_norm_with_an_offset_and_with_equal_numbers(name: str) -> None:
    make, shape = NORMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = make()(tt.tensor(BIG.reshape(shape)))
        want = [-1.341635, -0.447212, 0.447212, 1.341635]  # divided by n, eps inside the root
        np.testing.assert_allclose(values_of(out).reshape(4), want, atol=2e-5)
        x = double(np.full(shape, 7.0), requires_grad=True)
        upstream = np.array([1.0, 2, 4, 5])
        constant = make().to("float64")(x)
        constant.backward(double(upstream.reshape(shape)))
    np.testing.assert_array_equal(values_of(constant), np.zeros(shape))
    assert x.grad is not None
    slope = (upstream - 3) / np.sqrt(1e-5)
    np.testing.assert_allclose(values_of(x.grad).reshape(4), slope, rtol=1e-6)


# ---- masks: a cached query sees all keys, and no position sees a later one -----------------------
def test_decoder_self_attention_sees_nothing_later(rng: np.random.Generator) -> None:
    block = nn.TransformerBlock(8, 2, causal=True, cross=True).to("float64")
    x, memory = rng.normal(size=(1, 6, 8)), double(rng.normal(size=(1, 4, 8)))
    before = values_of(block(double(x), memory))
    for j in range(6):
        moved = x.copy()
        moved[0, j] += rng.normal(size=8)
        after = values_of(block(double(moved), memory))
        np.testing.assert_allclose(after[0, :j], before[0, :j], atol=1e-6)
        assert np.abs(after - before)[0, j:].max(-1).min() > 1e-6, "and later ones do see it"


def test_gpt_sees_nothing_later_and_decodes_the_same_from_its_cache() -> None:
    gpt: Any = models.build("gpt", vocab_size=7, block_size=6, n_layer=2, n_head=2, n_embd=8)
    ids = np.array([[0, 3, 1, 4, 6, 2]])
    before = values_of(gpt(ids))
    for j in range(6):
        changed = ids.copy()
        changed[0, j] = (changed[0, j] + 1) % 7
        np.testing.assert_allclose(values_of(gpt(changed))[0, :j], before[0, :j], atol=1e-6)
    state = None
    for j in range(6):
        logits, state = gpt.decode(ids[:, j : j + 1], state)
        np.testing.assert_allclose(values_of(logits)[0], before[0, j], atol=1e-5)
    document = inspect.getdoc(nn.MultiHeadAttention.forward) or ""
    assert "True = may attend" in document
