"""Functions and modules called to be drawn: their numbers, and that nothing else changes."""

from __future__ import annotations

import random as python_random
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.arrays import random
from tinytensor.context.thread_state import local

from .dotgraph import Graph, drawn, leaf, parse


def neuron(x: tt.Tensor, w: tt.Tensor, b: tt.Tensor) -> tt.Tensor:
    return tt.tanh(x * w + b)


class Net(nn.Module):
    """A layer, batch normalisation and dropout: numbers of its own that a call changes."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return (self.dropout(self.norm(self.layer(x))) ** 2).mean()


class Sine(nn.Module):
    """Without a parameter: gradients are those of what goes in."""

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return tt.sin(x)


def batch() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)


def drawn_call(*given: object, **how: Any) -> Graph:
    """The picture of a call, read."""
    return parse(tt.draw(*given, **how).source)


# ---- what is drawn -------------------------------------------------------------------------------


def test_a_function_is_drawn_with_its_numbers_and_gradients() -> None:
    graph = drawn_call(neuron, 2.0, -3.0, 6.5)
    out = np.tanh(2.0 * -3.0 + 6.5)
    slope = 1 - out**2
    assert graph.find("x").text == f"x () float32 data 2.0 grad {-3 * slope:.4g}"
    assert graph.find("w").text == f"w () float32 data -3.0 grad {2 * slope:.4g}"
    assert graph.find("b").text == f"b () float32 data 6.5 grad {slope:.4g}"
    assert any(f"data {out:.4g} grad 1.0" in text for text in graph.texts())


def test_arrays_tensors_and_numbers_get_the_names_of_the_parameters() -> None:
    def f(a: tt.Tensor, many: list, power: int, *rest: tt.Tensor) -> tt.Tensor:
        return (a**power + many[0] * many[1] + rest[0] - rest[1]).sum()

    given = (np.ones(2, np.float32), [tt.tensor([1.0, 2.0]), 4.0], 2, np.float32(5.0), 6.0)
    graph = drawn_call(f, *given)
    for name in ("a", "many[0]", "many[1]", "rest[0]", "rest[1]"):
        assert "grad" in graph.find(name).text
    assert given[1][0].name is None
    assert not given[1][0].requires_grad


def test_a_named_tensor_keeps_its_name_and_a_grad_is_not_touched() -> None:
    w = leaf(3.0, "weight of the lesson")
    w.grad = tt.tensor(7.0)
    graph = drawn_call(lambda v: v * v, w)
    assert "grad 6.0" in graph.find("weight of the lesson").text
    assert w.grad.item() == 7.0


def test_a_module_is_drawn_by_its_parts() -> None:
    graph = drawn_call(Net(), batch(), depth=1)
    assert graph.titles() == ["Net"]
    assert {"layer", "norm", "dropout"} <= {text.split()[0] for text in graph.texts()}
    assert graph.find("x").text == "x (5, 3) float32"


def test_an_input_that_a_module_gets_wants_no_gradient() -> None:
    graph = drawn_call(Net(), batch(), zoom="ops")
    assert "grad" not in graph.find("x").text
    assert "grad" in graph.find("layer.weight").text
    assert drawn_call(Sine(), 0.0, values=True).find("x").text == "x () float32 data 0.0 grad 1.0"


def test_what_comes_back_in_a_nest_is_drawn() -> None:
    graph = drawn_call(lambda x: {"twice": x * 2.0, "rest": [x.sum(), 3, None]}, np.ones(3))
    greens = {n.attributes["fillcolor"] for n in graph.nodes.values() if "data 3.0" in n.text}
    assert greens == {'"#e3f3e3"'}
    assert "grad 1.0 1.0 1.0" in graph.find("x").text, "of the only number that came back"


def test_without_one_number_there_is_no_gradient_and_it_is_said() -> None:
    drawing = tt.draw(lambda x: x * 2.0, np.ones(3), zoom="ops")
    assert not any("grad" in text for text in parse(drawing.source).texts())
    assert "no gradients: they come where the function returns one number" in drawing.source
    assert "no gradients" not in tt.draw(lambda x: x.sum(), np.ones(3), zoom="ops").source


def test_gradients_of_a_module_are_those_of_backward() -> None:
    model = models.build("gpt", vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=8)
    ids = np.arange(8).reshape(1, 8)
    model.loss(ids, ids).backward()
    picture = tt.draw(model.loss, ids, ids, zoom="ops").picture
    found = {v.name: v for v in picture.values() if v.role == "parameter"}
    for path, parameter in model.named_parameters():
        g = parameter.grad.numpy()
        stats = found[path].grad_stats
        assert stats is not None
        np.testing.assert_allclose(
            [stats.mean, stats.std, stats.low, stats.high],
            [g.mean(), g.std(), g.min(), g.max()],
            rtol=2e-3,
            atol=1e-6,
        )


# ---- what does not change ------------------------------------------------------------------------


def test_streams_of_random_numbers_go_on_as_if_nothing_was() -> None:
    model = Net()
    before = random.state(), python_random.getstate(), np.random.get_state()[1].tolist()

    def f(x: tt.Tensor) -> tt.Tensor:
        return model(x) + python_random.random() + float(np.random.random())

    tt.draw(f, batch())
    assert random.state() == before[0]
    assert python_random.getstate() == before[1]
    assert np.random.get_state()[1].tolist() == before[2]


def test_a_generator_of_a_modules_own_is_put_back() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            self.own = tt.Generator(3)
            self.scale = nn.Parameter(tt.ones(()))

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return (x * self.scale + float(self.own.random())).sum()

    model = Noisy()
    before = model.own.state()
    tt.draw(model, np.ones(2))
    assert model.own.state() == before


@pytest.mark.parametrize("how", ["module", "closure", "method", "object"])
def test_buffers_are_as_before(how: str) -> None:
    model = Net()
    mean = model.norm.running_mean
    before = {name: buffer.numpy().copy() for name, buffer in model.named_buffers()}
    versions = {name: buffer.version.count for name, buffer in model.named_buffers()}

    class Step:
        def __init__(self) -> None:
            self.net = model

        def __call__(self, x: tt.Tensor) -> tt.Tensor:
            return self.net(x)

    what = {"module": model, "closure": lambda x: model(x), "method": model.forward}.get(
        how, Step()
    )
    tt.draw(what, batch())
    assert model.norm.running_mean is mean
    for name, buffer in model.named_buffers():
        np.testing.assert_array_equal(buffer.numpy(), before[name])
        assert buffer.version.count == versions[name]
    model(tt.tensor(batch()))
    assert not np.array_equal(model.norm.running_mean.numpy(), before["norm.running_mean"])


def test_modes_parameters_and_grads_are_as_before() -> None:
    model = Net()
    model.norm.eval()
    modes = [module.training for module in model.modules()]
    data = [p.data.copy() for p in model.parameters()]
    tt.draw(model, batch())
    assert [module.training for module in model.modules()] == modes
    assert all(p.grad is None and not p.hooks for p in model.parameters())
    for p, was in zip(model.parameters(), data, strict=True):
        np.testing.assert_array_equal(p.data, was)


def test_after_an_error_all_is_as_before() -> None:
    model = Net()
    before = random.state()
    mean = model.norm.running_mean

    def f(x: tt.Tensor) -> tt.Tensor:
        model(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tt.draw(f, batch())
    assert random.state() == before
    assert model.norm.running_mean is mean
    x = leaf(2.0)
    assert (x * x).node is not None
    assert local.state.results is None


def test_a_graph_made_before_keeps_its_gradients_and_can_be_walked() -> None:
    x = leaf([1.0, 2.0], "x")
    h = x * 3.0
    h.name = "h"
    (h * h).sum().backward(retain_graph=True)
    kept = h.node.grad.tolist(), h.node.walk
    graph = drawn_call(lambda: (h * 5.0).sum())
    assert "grad 5.0 5.0" in graph.find("h").text
    assert "grad 15.0 15.0" in graph.find("x").text
    assert (h.node.grad.tolist(), h.node.walk) == kept
    assert x.grad.tolist() == [18.0, 36.0]
    (h * h).sum().backward()
    assert x.grad.tolist() == [36.0, 72.0]


def test_inside_no_grad_it_is_recorded_nevertheless() -> None:
    with tt.no_grad():
        graph = drawn_call(neuron, 2.0, -3.0, 6.5)
        assert (leaf(1.0) * 2.0).node is None
    assert "grad" in graph.find("x").text


# ---- what is refused -----------------------------------------------------------------------------


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(TypeError, match="<lambda> was to be drawn, and returned float"):
        tt.draw(lambda: 3.0)
    with pytest.raises(ValueError, match=r"what <lambda> returned has no graph: .* no_grad"):
        tt.draw(lambda x: x.detach(), 3.0)
    with pytest.raises(TypeError, match=r"inputs: expected none.*write depth=1"):
        tt.draw(leaf(1.0), 1)
    with pytest.raises(TypeError, match="a module or a function, got int"):
        tt.draw(3)
    with pytest.raises(ValueError, match="zoom: expected 'modules', 'ops', 'scalars' or None"):
        tt.draw(leaf(1.0), zoom="scalar")
    with pytest.raises(TypeError, match="module: expected the path of a module or None, got 3"):
        tt.draw(leaf(1.0), module=3)
    with pytest.raises(ValueError, match="module: expected none, as no module made what is drawn"):
        tt.draw(leaf(1.0) * 2.0, module="h")


def test_drawn_tensors_are_unchanged_by_all_this() -> None:
    x = leaf(2.0, "x")
    (x * x).backward()
    assert drawn(x * x).find("x").text == "x () float32 data 2.0"


def test_inputs_that_are_missing_or_too_many_are_named() -> None:
    layer = tt.nn.Linear(2, 1)
    with pytest.raises(TypeError, match=r"inputs: Linear needs x too.*: tt\.draw\(Linear, x\)$"):
        tt.draw(layer)
    with pytest.raises(TypeError, match=r"inputs: scaled needs y too"):

        def scaled(x, y, factor=2.0):
            return x * y * factor

        tt.draw(scaled, tt.ones(2))
    out = layer(tt.ones(1, 2))
    with pytest.raises(TypeError, match=r"called with them$"):
        tt.draw(out, tt.ones(1, 2))
    with pytest.raises(TypeError, match=r"write depth=1$"):
        tt.draw(out, 1)
