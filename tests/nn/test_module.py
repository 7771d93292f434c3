"""Module: finding parameters, ties, modes, state dicts, repr."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import values_of
from .modules import Net, Tied


def test_parameters_are_found_in_order_with_their_paths() -> None:
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    # own parameters before those of children, children in order of assignment
    assert names == [
        "scale",
        "a.weight",
        "a.bias",
        "blocks.0.weight",
        "blocks.0.bias",
        "blocks.1.weight",
        "blocks.1.bias",
    ]
    assert [name for name, _ in net.named_modules()] == [
        "",
        "a",
        "blocks",
        "blocks.0",
        "blocks.1",
    ]
    assert [name for name, _ in net.named_buffers()] == ["steps", "scratch"]
    assert net.num_parameters() == 1 + 9 + 2 * 12
    assert len(list(net.children())) == 2
    assert [n for n, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert next(iter(net.named_parameters(prefix="net")))[0] == "net.scale"


def test_forgetting_super_init_does_no_harm() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 2)

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.layer(x)

    net = Forgetful()
    assert net.num_parameters() == 6 and net.training
    assert net(tt.ones((1, 2))).shape == (1, 2)
    net.register_buffer("b", tt.ones((1,)))
    assert set(net.state_dict()) == {"layer.weight", "layer.bias", "b"}


def test_plain_lists_tuples_and_dicts_are_searched_and_may_grow() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            self.layers: list[nn.Module] = []
            self.heads = {"x": nn.Linear(1, 1), "y": (nn.Linear(1, 1), nn.Parameter([1.0]))}
            for _ in range(2):
                self.layers.append(nn.Linear(2, 2))

    net = Plain()
    names = {name for name, _ in net.named_parameters()}
    assert names == {
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
        "heads.x.weight",
        "heads.x.bias",
        "heads.y.0.weight",
        "heads.y.0.bias",
        "heads.y.1",
    }
    net.eval()
    assert not net.layers[1].training
    other = Plain()
    other.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(values_of(other.heads["y"][1]), [1.0])  # type: ignore[index]


def test_two_modules_share_no_registry() -> None:
    a, b = Net(), Net()
    a.register_buffer("extra", tt.ones((1,)))
    assert "extra" in a.state_dict() and "extra" not in b.state_dict()
    assert nn.Module._buffers == {}


def test_a_module_that_holds_its_parent_is_walked_once() -> None:
    net = Net()
    net.a.parent = net
    assert net.num_parameters() == 34
    assert len(list(net.named_parameters(remove_duplicate=False))) == 7


def test_a_parameter_cannot_silently_become_something_else() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"Linear\.weight: is a Parameter"):
        layer.weight = layer.weight * 2  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"Linear\.bias: is a Parameter.*ndarray"):
        layer.bias = np.zeros(2)  # type: ignore[assignment]
    layer.bias = None
    assert [n for n, _ in layer.named_parameters()] == ["weight"]
    net = Net()
    with pytest.raises(TypeError, match=r"Net\.steps: is a buffer.*list"):
        net.steps = [1.0]
    del net.steps
    assert "steps" not in net.state_dict()
    net.steps = [1.0]  # now an ordinary attribute


def test_registering_by_name_is_checked() -> None:
    net = Net()
    net.add_module("extra", nn.ReLU())
    net.register_parameter("bias", nn.Parameter([0.0]))
    assert "bias" in net.state_dict()
    with pytest.raises(ValueError, match=r"without dots.*'a\.b'"):
        net.add_module("a.b", nn.ReLU())
    with pytest.raises(ValueError, match="already has an attribute 'forward'"):
        net.register_buffer("forward", tt.ones((1,)))
    with pytest.raises(TypeError, match="module: expected a Module.*int"):
        net.add_module("m", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="param: expected a Parameter.*Tensor"):
        net.register_parameter("p", tt.ones((1,)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tensor: expected a Tensor.*ndarray"):
        net.register_buffer("q", np.ones(1))  # type: ignore[arg-type]


def test_looking_up_by_path() -> None:
    net = Net()
    assert net.get_submodule("blocks.1") is net.blocks[1]
    assert net.get_submodule("") is net
    assert net.get_parameter("blocks.1.bias") is net.blocks[1].bias
    with pytest.raises(KeyError, match=r"no parameter 'blocks\.7\.bias'"):
        net.get_parameter("blocks.7.bias")
    with pytest.raises(KeyError, match="no module 'nope'"):
        net.get_submodule("nope")


def test_parameter_wants_gradients_and_copies_arrays() -> None:
    array = np.ones(2, np.float32)
    param = nn.Parameter(array)
    array[0] = 5
    assert param.requires_grad and param.is_leaf and isinstance(param, tt.Tensor)
    np.testing.assert_array_equal(values_of(param), [1, 1])
    assert nn.Parameter(tt.ones((2,)) * 2).is_leaf, "the graph of a Tensor is left behind"
    assert not nn.Parameter([1.0], requires_grad=False).requires_grad
    assert nn.Parameter([1.0]).dtype == np.float32
    with pytest.raises((TypeError, ValueError)):
        nn.Parameter(np.array([1, 2]))


def test_parameter_stays_where_its_tensor_is(other_device: Device) -> None:
    here, there = tt.ones((2,)), tt.ones((2,), device=other_device)
    assert nn.Parameter(there).device is other_device
    with other_device:
        assert nn.Parameter(here).device is here.device
        assert nn.Parameter([1.0]).device is other_device
        layer = nn.Linear(2, 2)
    assert layer.weight.device is other_device
    layer.load_state_dict({"weight": np.eye(2), "bias": tt.zeros((2,))})
    np.testing.assert_array_equal(values_of(layer(there)), [1, 1])


def test_modes_zero_grad_freezing_and_apply() -> None:
    net = Net()
    net(tt.ones((1, 2))).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net(tt.ones((1, 2))).sum().backward()
    net.a.bias.grad = None
    net.zero_grad(set_to_none=False)
    assert net.a.bias.grad is None and net.scale.grad is not None
    assert all(not values_of(p.grad).any() for p in net.parameters() if p is not net.a.bias)
    net.zero_grad()
    assert net.eval() is net and not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())
    net.a.requires_grad_(False)
    assert net.num_parameters(trainable_only=True) == net.num_parameters() - 9
    net(tt.ones((1, 2))).sum().backward()
    assert net.a.weight.grad is None and net.blocks[0].weight.grad is not None
    order: list[nn.Module] = []
    assert net.apply(order.append) is net
    assert order[-1] is net and set(order) == set(net.modules())


def test_evaluating_gives_each_module_its_own_mode_back() -> None:
    net = Net()
    net.a.eval()
    with pytest.raises(RuntimeError), nn.evaluating(net):
        assert not any(m.training for m in net.modules())
        raise RuntimeError
    assert net.training and not net.a.training and net.blocks[0].training


def test_calling_a_module_without_forward_says_so() -> None:
    with pytest.raises(TypeError, match="ModuleList cannot be called"):
        nn.ModuleList()(1)


def test_to_changes_dtype_in_place_and_leaves_integers() -> None:
    net = Tied()
    net.register_buffer("ids", tt.tensor([1, 2]))
    net.register_buffer("table", tt.tensor([1.0]))
    weight = net.first.weight
    net(tt.ones((1, 1))).sum().backward()
    assert net.to("float64") is net
    assert net.first.weight is weight and net.second.weight is weight
    assert weight.dtype == np.float64 and weight.requires_grad
    assert weight.grad is not None and weight.grad.dtype == np.float64
    assert net.ids.dtype == np.int64 and net.table.dtype == np.float64
    assert net(tt.ones((1, 1), dtype="float64")).dtype == np.float64


@pytest.mark.parametrize("target", ["int64", np.int32, bool, np.dtype("uint8")])
def test_to_takes_floating_dtypes_only(target: Any) -> None:
    net = Net()
    before = net.state_dict()
    with pytest.raises(TypeError, match="to: expected a device or a floating dtype.*got"):
        net.to("float64", target)
    for name, value in net.state_dict().items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, before[name])


def test_to_a_device_and_back(other_device: Device) -> None:
    net = Net()
    before = net.state_dict()
    net.to(other_device)
    assert all(t.device is other_device for t in [*net.parameters(), *net.buffers()])
    out = net(tt.ones((1, 2), device=other_device))
    out.sum().backward()
    assert all(p.grad is not None and p.grad.device is other_device for p in net.parameters())
    after = net.state_dict()
    assert all(type(v) is np.ndarray for v in after.values())
    net.to("cpu")
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
        np.testing.assert_array_equal(value, after[name])


# ---- repr and scopes ---------------------------------------------------------------------------


def test_repr_shows_shapes_counts_folds_and_ties() -> None:
    text = repr(Net())
    assert "(a): Linear(2, 3)  # weight (3, 2), bias (3,): 9" in text
    assert "(0-1): 2 x Linear(3, 3)" in text
    assert text.startswith("Net(  # scale (1,), steps (2,), scratch (1,): 1\n")
    assert text.endswith(")  # 34 parameters")
    assert "(second): Linear(1, 1, bias=False)  # weight = first.weight" in repr(Tied())
    assert repr(nn.ReLU()) == "ReLU()"
    assert repr(nn.Linear(2, 3, bias=False)) == "Linear(2, 3, bias=False)  # weight (3, 2): 6"


def test_graph_nodes_know_the_path_of_their_module() -> None:
    net = Net()
    out = net.blocks[1](tt.ones((1, 3)))
    assert out.node.scope.path == "" and out.node.scope.name == "Linear"
    paths = set()
    y = net(tt.ones((1, 2)))
    stack = [y.node]
    while stack:
        node = stack.pop()
        paths.add(node.scope.path if node.scope else None)
        stack += [p for p in node.parents if p is not None and not isinstance(p, tt.Tensor)]
    assert paths == {"", "a", "blocks.0", "blocks.1"}


def test_a_module_under_a_new_name_is_drawn_under_it() -> None:
    class Wrap(nn.Module):
        def __init__(self) -> None:
            self.inner: nn.Module = nn.Linear(1, 1)

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return (self.__dict__.get("outer") or self.inner)(x)

    net = Wrap()
    x = tt.ones((1, 1))
    assert net(x).node.scope.path == "inner"
    net.outer = net.inner
    del net.inner
    assert net(x).node.scope.path == "outer"
    assert net.outer(x).node.scope.path == ""
    box = nn.Sequential(net)
    assert box(x).node.scope.path == "0.outer"


def test_a_module_used_twice_has_two_names_and_one_set_of_parameters() -> None:
    net = nn.ModuleDict({"a": nn.Linear(1, 1)})
    net["b"] = net["a"]
    assert list(net.state_dict()) == ["a.weight", "a.bias"]
    every = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert every == ["a.weight", "a.bias", "b.weight", "b.bias"]
    net.load_state_dict({"b.weight": [[2.0]], "a.bias": [1.0], "b.bias": [1.0]})
    assert net["a"](tt.ones((1, 1))).item() == 3


# ---- containers --------------------------------------------------------------------------------


def test_module_list_behaves_as_a_list() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    a, b = layers
    c, d = nn.Tanh(), nn.SiLU()
    assert layers.append(c) is layers and len(layers) == 3
    layers.insert(1, d)
    assert [*layers] == [a, d, b, c] and layers[-1] is c
    assert [name for name, _ in layers.named_children()] == ["0", "1", "2", "3"]
    assert isinstance(layers[1:], nn.ModuleList) and [*layers[1:]] == [d, b, c]
    del layers[1]
    layers[0] = d
    assert [*layers.extend([a])] == [d, b, c, a]
    with pytest.raises(TypeError, match=r"ModuleList\['4'\]: expected a Module, got int"):
        layers.append(3)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        layers[9]
    for given, advice in (
        (nn.ReLU, r"got the class ReLU; write ReLU\(\)"),
        (tt.tanh, "got the function tanh; use the layer of that kind"),
    ):
        with pytest.raises(TypeError, match=rf"Sequential\['1'\]: expected a Module, {advice}"):
            nn.Sequential(nn.Linear(2, 2), given)  # type: ignore[arg-type]


def test_sequential_and_module_dict() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    net.append(nn.Linear(3, 1))
    assert net(tt.ones((4, 2))).shape == (4, 1)
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert len(net[:2]) == 2 and isinstance(net[:2], nn.Sequential)
    net[1] = nn.ReLU()
    assert isinstance(net[1], nn.ReLU) and len(net) == 3
    named = nn.Sequential({"up": nn.Linear(1, 2), "act": nn.Tanh()})
    assert list(named.state_dict()) == ["up.weight", "up.bias"]
    heads = nn.ModuleDict({"a": nn.Linear(1, 1)})
    heads["b"] = nn.Linear(1, 2)
    assert list(heads) == ["a", "b"] and "b" in heads and len(heads) == 2
    assert [k for k, _ in heads.items()] == list(heads.keys())
    assert len(list(heads.values())) == 2
    del heads["a"]
    assert list(heads.state_dict()) == ["b.weight", "b.bias"]
    with pytest.raises(ValueError, match="key: expected a name without dots"):
        heads["x.y"] = nn.ReLU()
