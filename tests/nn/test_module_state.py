"""Module: tied weights and state dicts."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from .helpers import values_of
from .modules import Net, Tied, set_values

# ---- ties (C33) --------------------------------------------------------------------------------


def test_tied_weight_is_one_parameter() -> None:
    net = Tied()
    set_values(net.first.weight, [[3.0]])
    loss = net(tt.tensor([[2.0]])).sum()
    loss.backward()
    assert loss.item() == 18
    assert len(list(net.parameters())) == 1 and net.num_parameters() == 1
    assert net.first.weight.grad is not None and net.first.weight.grad.item() == 12
    with tt.no_grad():
        for p in net.parameters():
            p.copy_(values_of(p) - 0.1 * values_of(p.grad))
    assert net.second.weight.item() == pytest.approx(1.8)
    assert list(net.state_dict()) == ["first.weight"]
    both = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert both == ["first.weight", "second.weight"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_ties_survive_copying_and_pickling(copied: Any) -> None:
    net = Tied()
    net(tt.ones((1, 1))).sum().backward()
    other = copied(net)
    assert other.second.weight is other.first.weight
    assert other.first.weight is not net.first.weight
    assert isinstance(other.first.weight, nn.Parameter) and other.first.weight.requires_grad
    set_values(net.first.weight, [[7.0]])
    set_values(other.first.weight, [[5.0]])
    assert other.second.weight.item() == 5 and net.second.weight.item() == 7
    other(tt.ones((1, 1))).sum().backward()


def test_ties_survive_loading() -> None:
    net = Tied()
    for state in (
        {"first.weight": [[4.0]]},
        {"second.weight": [[4.0]]},
        {"first.weight": np.array([[4.0]]), "second.weight": np.array([[4.0]])},
    ):
        net.load_state_dict(state)
        assert net.second.weight is net.first.weight and net.first.weight.item() == 4
    with pytest.raises(ValueError, match=r"first\.weight and second\.weight: one tied tensor"):
        net.load_state_dict({"first.weight": [[1.0]], "second.weight": [[2.0]]})
    assert net.first.weight.item() == 4


class Full(nn.Module):
    """A module with some of everything that a copy has to have."""

    def __init__(self) -> None:
        self.a = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
        self.again = self.norm
        self.a.weight.name = "W"
        self.a.bias.requires_grad_(False)
        self.half = nn.Parameter(tt.zeros(2).astype("float16"))
        shared = tt.tensor([1.0, 2.0])
        self.register_buffer("u", shared)
        self.register_buffer("v", shared)
        self.register_buffer("scratch", tt.tensor([3]), persistent=False)
        self.register_buffer("none", None)
        self.used = [self.u, {"a": self.a.weight}]
        self.generator = tt.Generator(3)
        self.norm.eval()

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.norm(self.a(x))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_all_of_it(copied: Any) -> None:
    net = Full()
    net(tt.ones(3, 2)).sum().backward()
    net.generator.random((5,))
    other = copied(net)
    assert other.a.weight.name == "W" and not other.a.bias.requires_grad
    assert other.half.dtype == np.float16 and other.half.requires_grad
    assert other.again is other.norm and other.u is other.v is other.used[0]
    assert other.used[1]["a"] is other.a.weight
    assert (other.training, other.norm.training) == (True, False)
    assert [n for n, _ in other.named_buffers()] == [n for n, _ in net.named_buffers()]
    assert other.none is None and "none" in other._buffers and other.scratch.tolist() == [3]
    for name, value in net.state_dict().items():
        assert other.state_dict()[name].dtype == value.dtype
        np.testing.assert_array_equal(other.state_dict()[name], value)
    np.testing.assert_array_equal(other.generator.random((3,)), net.generator.random((3,)))
    other.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})
    assert other.v.tolist() == [2, 3] and net.v.tolist() == [1, 2]
    state = {**net.state_dict(), "v": np.array([1.0, 2.0])}
    state |= {f"again.{name}": value for name, value in net.norm.state_dict().items()}
    other.load_state_dict(state)  # both names of what is tied, as PyTorch saves it
    assert other.u.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"norm\.running_mean and again\.running_mean: one tied"):
        other.load_state_dict({**state, "again.running_mean": np.array([5.0, 5.0])})


def test_tied_nans_are_equal() -> None:
    net = Tied()
    nan = np.array([[np.nan]])
    net.load_state_dict({"first.weight": nan, "second.weight": nan.copy()})
    assert np.isnan(net.second.weight.item())


def test_hooks_of_parameters_are_copied_and_a_pickle_says_it_has_none() -> None:
    net = nn.Linear(1, 1)
    handle = net.weight.register_hook(lambda g: g * 10.0)
    other = copy.deepcopy(net)
    handle.remove()
    for each, expected in ((net, 2), (other, 20)):
        each(tt.tensor([[2.0]])).sum().backward()
        assert each.weight.grad.item() == expected
    with pytest.warns(UserWarning, match="pickle: the hooks of a tensor are left out"):
        pickle.dumps(other)


# ---- state dicts (C35) -------------------------------------------------------------------------


def test_state_dict_is_a_snapshot_and_load_copies() -> None:
    m, m2, m3 = (nn.Linear(1, 1) for _ in range(3))
    set_values(m.weight, [[1.0]])
    best = m.state_dict()
    set_values(m.weight, [[0.5]])
    assert best["weight"] == 1.0
    m2.load_state_dict(best)
    m3.load_state_dict(best)
    assert not np.shares_memory(m2.weight.data, best["weight"])
    assert not np.shares_memory(m2.weight.data, m3.weight.data)
    set_values(m2.weight, [[2.0]])
    assert best["weight"] == 1.0 and m3.weight.item() == 1.0


def test_state_dict_is_plain_arrays_with_dtypes_kept() -> None:
    net = Net()
    state = net.state_dict()
    assert "steps" in state and "scratch" not in state
    assert all(type(v) is np.ndarray and v.dtype == np.float32 for v in state.values())
    wide = {k: v.astype(np.float64) for k, v in state.items()}
    net.load_state_dict(wide)
    assert all(p.dtype == np.float32 for p in net.parameters())
    set_values(net.steps, [0.0, 0.0])
    assert net.load_state_dict(state) == ([], [])
    np.testing.assert_array_equal(values_of(net.steps), [1, 2])


def test_load_lists_everything_that_does_not_fit_and_changes_nothing() -> None:
    net = Net()
    before = net.state_dict()
    bad = {name: value + 1 for name, value in before.items()}
    del bad["blocks.1.bias"], bad["scale"]
    bad["a.weight"] = np.zeros((3, 5))
    bad["steps"] = np.zeros(3)
    bad["blocks.2.weight"] = np.zeros(1)
    bad["blocks.0.bias"] = np.array(["x"] * 3)
    with pytest.raises(ValueError) as info:
        net.load_state_dict(bad)
    text = str(info.value)
    assert "state: does not fit this Net" in text
    assert "missing from the state: scale, blocks.1.bias" in text
    assert "unexpected in the state: blocks.2.weight" in text
    assert "a.weight: shape (3, 5) in the state, (3, 2) here" in text
    assert "steps: shape (3,) in the state, (2,) here" in text
    assert "blocks.0.bias: expected an array" in text
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_load_not_strict_tells_what_was_left_out() -> None:
    net = Net()
    result = net.load_state_dict({"scale": [3.0], "other": [1.0]}, strict=False)
    assert result.unexpected_keys == ["other"]
    assert "a.weight" in result.missing_keys and "scale" not in result.missing_keys
    assert net.scale.item() == 3
    with pytest.raises(ValueError, match="scale: shape"):
        net.load_state_dict({"scale": [3.0, 1.0]}, strict=False)
    with pytest.raises(TypeError, match="state: expected a dict.*list"):
        net.load_state_dict([1])  # type: ignore[arg-type]


def test_aliases_rename_what_a_module_loads() -> None:
    class Inner(nn.Module):
        aliases = {"kernel": "weight"}

        def __init__(self) -> None:
            self.weight = nn.Parameter([0.0])

    class Outer(nn.Module):
        aliases = {"wrapped.": "", "model.": ""}

        def __init__(self) -> None:
            self.layers = [Inner(), Inner()]

    net = Outer()
    net.load_state_dict({"wrapped.model.layers.0.kernel": [1.0], "layers.1.weight": [2.0]})
    assert [w.item() for w in net.parameters()] == [1, 2]
    assert list(net.state_dict()) == ["layers.0.weight", "layers.1.weight"]
    with pytest.raises(ValueError, match=r"unexpected in the state: model\.nothing"):
        net.load_state_dict({**net.state_dict(), "model.nothing": [1.0]})
    with pytest.raises(ValueError, match=r"0\.weight and model\.layers\.0\.kernel: both are"):
        net.load_state_dict({**net.state_dict(), "model.layers.0.kernel": [7.0]}, strict=False)
    result = net.load_state_dict({"model.rest": [1.0], "rest": [1.0]}, strict=False)
    assert result.unexpected_keys == ["model.rest", "rest"]
    assert [w.item() for w in net.parameters()] == [1, 2]
