"""An optimiser's state stays with its parameters: copies, pickles, moves, other dtypes, JSON."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.tensor.tensor import make as tensor_around
from tinytensor.train import SGD, Adagrad, Adam, AdamW

from .test_optim import _Halved, leaf, steps

KINDS: dict[str, Any] = {
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: Adam(p, lr=0.1),
    "adamw": lambda p: AdamW(p, lr=0.1),
    "adagrad": lambda p: Adagrad(p, lr=0.1),
    "a user's own": lambda p: _Halved(p, lr=0.1, momentum=0.9),
}
#: after a gradient of 1 and one of 0, from 1.0: by hand, the first three in a public report
SECOND = {"momentum": 0.81, "adam": 0.832994, "adamw": 0.831095}
COPIES: dict[str, Any] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "twice": lambda x: pickle.loads(pickle.dumps(copy.deepcopy(x))),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_parameter_and_optimiser_goes_on(kind: str, way: str) -> None:
    w = leaf([1.0])
    optimizer = KINDS[kind]([w])
    steps(optimizer, w, 1.0)
    w2, optimizer2 = COPIES[way]((w, optimizer))
    assert list(optimizer2.parameters()) == [w2]
    assert list(optimizer2.state) == [w2], "and no array of the original's stays in it"
    assert optimizer2.state_dict()["numbers"]["steps"] == [1]
    theirs, ours = steps(optimizer2, w2, 0.0, 2.0), steps(optimizer, w, 0.0, 2.0)
    assert theirs == ours
    if kind in SECOND:
        assert theirs[0] == pytest.approx(SECOND[kind], abs=1e-6)


@pytest.mark.parametrize("first", ["model", "optimizer", "inside"])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_model_and_optimiser_goes_on(way: str, first: str) -> None:
    """Whichever is copied first, and where the model holds its optimiser."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    model[1].weight.requires_grad_(False)
    optimizer = AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)

    def train(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (model(tt.ones(4, 2)) ** 2).sum().backward()
        optimizer.step()

    train(model, optimizer)
    if first == "inside":
        model.optimizer = optimizer
        model2 = COPIES[way](model)
        optimizer2 = model2.optimizer
    elif first == "model":
        model2, optimizer2 = COPIES[way]((model, optimizer))
    else:
        optimizer2, model2 = COPIES[way]((optimizer, model))
    for _ in range(3):
        train(model, optimizer)
        train(model2, optimizer2)
    for p, q in zip(model.parameters(), model2.parameters(), strict=True):
        np.testing.assert_array_equal(p.data, q.data)
        assert p is not q
    for p, q in zip(optimizer.parameters(), optimizer2.parameters(), strict=True):
        for name in ("exp_avg", "exp_avg_sq"):
            np.testing.assert_array_equal(optimizer.state[p][name], optimizer2.state[q][name])


def test_round_trips_in_which_memory_is_used_again_never_mix_up_states() -> None:
    """A new parameter may lie where one was that is gone."""
    start = leaf([1.0]), leaf([2.0])
    optimizer = SGD(start, lr=0.1, momentum=0.9)
    start[0].grad, start[1].grad = (
        tt.tensor([1.0], dtype="float64"),
        tt.tensor([-5.0]).to("float64"),
    )
    optimizer.step()
    packed = pickle.dumps(optimizer)
    for _ in range(100):
        optimizer = pickle.loads(packed)
        packed = pickle.dumps(optimizer)
        momenta = [optimizer.state[p]["momentum"].tolist() for p in optimizer.parameters()]
        assert momenta == [[1.0], [-5.0]] and len(optimizer.state) == 2
        del optimizer
        gc.collect()


def test_a_pickle_goes_on_in_another_process(tmp_path: Path) -> None:
    w = leaf([1.0])
    optimizer = Adam([w], lr=0.1)
    steps(optimizer, w, 1.0)
    file = tmp_path / "both.pickle"
    file.write_bytes(pickle.dumps((w, optimizer)))
    code = (
        "import pickle, tinytensor as tt\n"
        f"w, optimizer = pickle.load(open({str(file)!r}, 'rb'))\n"
        "w.grad = tt.zeros_like(w)\noptimizer.step()\nprint(w.item())"
    )
    root = Path(__file__).resolve().parents[3]
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert float(out.stdout) == steps(optimizer, w, 0.0)[0]


def test_a_copied_gradient_is_still_that_of_its_parameter() -> None:
    """Also where two parameters hold one gradient, or it is copied before them."""
    p, q = leaf([1.0]), leaf([2.0])
    p.grad = q.grad = shared = tt.tensor([3.0], dtype="float64")
    g, p2, q2 = copy.deepcopy((shared, p, q))
    assert p2.grad is q2.grad is g and g is not shared
    SGD([p2, q2], lr=1.0).step()
    assert (p2.item(), q2.item(), p.item()) == (-2.0, -1.0, 1.0)


class _Tagged(tt.Tensor):
    """A tensor of a user's, with attributes."""


@pytest.mark.parametrize("way", COPIES)
def test_attributes_of_a_tensors_subclass_are_copied_with_it(way: str) -> None:
    x = _Tagged([1.0], requires_grad=True)
    x.tags = ["decay"]
    y = COPIES[way](x)
    assert type(y) is _Tagged and y.tags == ["decay"] and y.tags is not x.tags


def test_state_stays_with_a_parameter_whose_array_is_replaced() -> None:
    p, q = leaf([1.0]), leaf([1.0])
    first, second = Adam([p], lr=0.1), Adam([q], lr=0.1)
    steps(first, p, 4.0)
    steps(second, q, 4.0)
    p.data = p.data.copy()
    assert steps(first, p, 1.0) == steps(second, q, 1.0)
    first.state[p]["exp_avg"] = np.zeros(3)
    with pytest.raises(ValueError, match=r"exp_avg has the shape \(3,\), its parameter \(1,\)"):
        first.step()
    del first.state[p]
    before = p.item()
    assert steps(first, p, 1.0) == [pytest.approx(before - 0.1)]


# ---- dtypes ----------------------------------------------------------------------------------


def narrow(device: Device, values: Any) -> tt.Tensor:
    return tt.tensor(np.array(values, np.float16), requires_grad=True, device=device)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("eps", [1e-8, 1e-30, 1e-50, 1e-300, 5e-324])
def test_an_eps_that_vanishes_never_divides_zero_by_zero(
    device: Device, dtype: str, eps: float
) -> None:
    """Nor makes a gradient whose square vanishes into an infinite step."""
    tiny = float(np.finfo(dtype).tiny)
    grads = [0.0, tiny, -tiny * 16, 1e-3]
    p = tt.tensor(np.ones(4, dtype), requires_grad=True)
    optimizer = Adam([p], lr=0.25, eps=eps)
    for _ in range(3):
        p.grad = tt.tensor(np.array(grads, dtype))
        optimizer.step()
        values = p.detach().numpy()
        assert values[0] == 1.0 and np.isfinite(values).all()
        assert (abs(values[1:] - 1.0) <= 0.751).all()
    assert values[3] == pytest.approx(0.25, abs=1e-3)


def test_a_gradient_of_another_dtype_is_converted_first() -> None:
    """A float16 gradient of a float32 parameter: its square is not computed in float16."""
    p = tt.tensor([1.0], requires_grad=True)
    p._grad = tt.tensor(np.array([300.0], np.float16))
    optimizer = AdamW([p], lr=0.25, weight_decay=0.0)
    optimizer.step()
    assert p.item() == pytest.approx(0.75) and p.dtype == np.float32
    assert optimizer.state[p]["exp_avg_sq"].item() == pytest.approx(90.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_view_is_updated_where_its_memory_is(kind: str, dtype: str) -> None:
    """Transposed, strided, 0-d and empty parameters; what else looks at them sees the update."""
    base = np.arange(12.0).astype(dtype).reshape(3, 4)
    expected = base.copy()
    views = [
        lambda a: a.T[1:],
        lambda a: a[::2, :1],
        lambda a: a[1, 0:1].reshape(()),
        lambda a: a[:0],
    ]
    for view in views:
        p = tensor_around(view(base)).requires_grad_()
        q = tt.tensor(np.array(view(expected)), requires_grad=True)
        for x in (p, q):
            optimizer = KINDS[kind]([x])
            x._grad = tt.ones(x.shape, dtype=dtype)
            optimizer.step()
        np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
        assert p.size == 0 or np.shares_memory(p.data, base)


# ---- saved settings ----------------------------------------------------------------------------


def test_settings_from_numpy_are_saved_as_json() -> None:
    p = leaf([1.0])
    optimizer = AdamW(
        [{"params": [p], "lr": np.float32(0.25)}],
        lr=np.int64(1), betas=np.array([0.5, 0.75]), eps=np.float64(1e-6),
        weight_decay=tt.tensor(0.5),
    )  # fmt: skip
    optimizer.param_groups[0]["lr"] = np.float32(0.5)
    numbers = json.loads(json.dumps(optimizer.state_dict()["numbers"]))
    assert numbers["groups"] == [
        {"lr": 0.5, "betas": [0.5, 0.75], "eps": 1e-6, "weight_decay": 0.5, "size": 1}
    ]
    numbers["groups"][0]["lr"] = np.float32(0.125)
    numbers["steps"] = [np.int64(0)]
    optimizer.load_state_dict({"arrays": {}, "numbers": numbers})
    group = {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
    assert group == {"lr": 0.125, "betas": (0.5, 0.75), "eps": 1e-6, "weight_decay": 0.5}
    assert all(type(v) is float for v in [*group["betas"], group["lr"], group["eps"]])


def test_a_state_with_momentum_loads_whether_or_not_there_is_momentum_now() -> None:
    """The settings are loaded too, and decide."""
    p, q = leaf([1.0]), leaf([1.0])
    first, second = SGD([p], lr=0.1, momentum=0.9), SGD([q], lr=0.1)
    steps(first, p, 1.0)
    second.load_state_dict(first.state_dict())
    with tt.no_grad():
        q.copy_(p.detach().numpy())
    assert steps(second, q, 0.0) == steps(first, p, 0.0) == [pytest.approx(0.81)]
    first.param_groups[0]["momentum"] = 0.0
    second.load_state_dict(first.state_dict())
    assert steps(second, q, 1.0) == [pytest.approx(0.71)]
    first.param_groups[0]["lr"] = math.nan
    with pytest.raises(ValueError, match="lr: expected a finite number >= 0, got nan"):
        first.state_dict()


# ---- layouts -------------------------------------------------------------------------------------


def _laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "strided":
        wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return wide[:, ::2]
    return array[::-1].copy()[::-1]


@pytest.mark.parametrize("layout", ["fortran", "strided", "reversed"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["loaded", "state", "grad", "parameter", "shared"])
def test_no_update_is_lost_in_any_layout(
    kind: str, layout: str, dtype: str, where: str, rng: np.random.Generator, monkeypatch: Any
) -> None:
    """Of state, gradient or parameter, over several pieces; the plain layout is the oracle."""
    monkeypatch.setattr("tinytensor.train.optim.pieces.PIECE", 7)
    start = rng.normal(size=(4, 5)).astype(dtype)
    grads = rng.normal(size=(5, 4, 5)).astype(dtype)
    plain, other = (tt.tensor(start, requires_grad=True) for _ in range(2))
    if where == "parameter":
        other._data = _laid_out(start, layout)
    ours, theirs = KINDS[kind]([plain]), KINDS[kind]([other])
    for n, grad in enumerate(grads):
        if n == 2 and where == "loaded":
            saved = theirs.state_dict()
            arrays = {name: _laid_out(a, layout) for name, a in saved["arrays"].items()}
            theirs.load_state_dict({**saved, "arrays": arrays})
        elif n == 2 and where in ("state", "shared"):
            for name in theirs.slots:
                theirs.state[other][name] = _laid_out(theirs.state[other][name], layout)
        plain.grad = tt.tensor(grad)
        other._grad = tensor_around(_laid_out(grad, layout) if where == "grad" else grad.copy())
        ours.step()
        if where == "shared":  # two processes' shares, one after the other
            twice = theirs.state[other]["step"] if n else 0
            theirs.step((0, 2))
            theirs.state[other]["step"] = twice
            theirs.step((1, 2))
        else:
            theirs.step()
        np.testing.assert_array_equal(other.detach().numpy(), plain.detach().numpy())
    for name, array in ours.state_dict()["arrays"].items():
        found = theirs.state_dict()["arrays"][name]
        np.testing.assert_array_equal(found, array)
        assert found.flags.c_contiguous


def test_momentum_of_a_loaded_state_grows_as_it_should() -> None:
    """By hand, in an array of more than one piece."""
    w = tt.ones(300, 300, requires_grad=True)
    optimizer = SGD([w], lr=0.1, momentum=0.9)
    steps(optimizer, w, 1.0)
    saved = optimizer.state_dict()
    saved["arrays"]["0.momentum"] = np.asfortranarray(saved["arrays"]["0.momentum"])
    optimizer.load_state_dict(saved)
    values = [0.9, *steps(optimizer, w, 1.0, 1.0, 1.0)]
    np.testing.assert_allclose(-np.diff(values), [0.19, 0.271, 0.3439], rtol=1e-5)
    assert optimizer.state[w]["momentum"].flags.c_contiguous


def test_momentum_switched_on_later_is_saved_as_what_it_starts_from() -> None:
    p, q = leaf([1.0]), leaf([0.9])
    first = SGD([p], lr=0.1)
    steps(first, p, 1.0)
    first.param_groups[0]["momentum"] = 0.9
    saved = first.state_dict()
    assert saved["arrays"]["0.momentum"].tolist() == [0.0]
    second = SGD([q], lr=0.3)
    second.load_state_dict(saved)
    expected = [pytest.approx(0.8), pytest.approx(0.61)]
    assert steps(second, q, 1.0, 1.0) == expected == steps(first, p, 1.0, 1.0)
