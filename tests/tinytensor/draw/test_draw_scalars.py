"""Pictures with a box for every number, and the local derivative on every arrow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.draw.picture import Picture

from .dotgraph import leaf, parse


def scalars(*given: Any, **how: Any) -> Picture:
    return tt.draw(*given, zoom="scalars", **how).picture


def edges(picture: Picture) -> dict[tuple[str, str], float]:
    """(name of what is read, op) -> the derivative on the arrow."""
    found = {}
    for step in picture.steps:
        for value, label in zip(step.inputs, step.labels, strict=True):
            match = re.search(r"∂ (\S+)", label)
            if match:
                found[value.name, step.title] = float(match[1])
    return found


class MLP(nn.Module):
    def __init__(self) -> None:
        self.a = nn.Linear(2, 3)
        self.b = nn.Linear(3, 1)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.b(tt.tanh(self.a(x))).sum()


def test_a_neuron_has_a_box_for_each_number_and_its_derivatives() -> None:
    picture = scalars(lambda x, w: (x * w).sum(), np.array([2.0, 3.0]), np.array([5.0, 7.0]))
    names = [value.name for value in picture.values() if value.name]
    assert sorted(names) == ["w[0]", "w[1]", "x[0]", "x[1]"]
    assert [step.title for step in picture.steps] == ["mul", "mul", "sum"]
    assert edges(picture) == {
        ("x[0]", "mul"): 5,
        ("w[0]", "mul"): 2,
        ("x[1]", "mul"): 7,
        ("w[1]", "mul"): 3,
        ("", "sum"): 1,
    }
    found = {v.name: (v.data, v.grad) for v in picture.values() if v.name}
    assert found["w[1]"] == (7.0, 3.0)


def test_every_gradient_is_the_sum_over_arrows_of_derivative_times_gradient() -> None:
    """The chain rule, read off the picture alone."""
    tt.manual_seed(0)
    picture = scalars(MLP(), np.array([[0.5, -1.5]], np.float32))
    sums: dict[int, float] = {}
    for step in picture.steps:
        (out,) = step.outputs
        for value, label in zip(step.inputs, step.labels, strict=True):
            slope = float(label.split("∂ ")[1])
            sums[id(value)] = sums.get(id(value), 0.0) + slope * out.grad
    checked = 0
    for value in picture.values():
        if value.needs_grad and id(value) in sums:
            assert value.grad == pytest.approx(sums[id(value)], rel=2e-3), value.name
            checked += 1
    assert checked == 6 + 3 + 3 + 3 + 3 + 1 + 1


def test_derivatives_are_finite_differences() -> None:
    x = np.array([[0.3, -0.7], [1.1, 0.4]])
    picture = scalars(lambda x: tt.softmax(x, axis=1).sum(), x)
    derivatives = {}
    place = {name: i for i, name in enumerate(["x[0, 0]", "x[0, 1]", "x[1, 0]", "x[1, 1]"])}
    softs = [step for step in picture.steps if step.title == "softmax"]
    assert len(softs) == 4
    for row, step in enumerate(softs):
        assert [v.name.split(",")[0] for v in step.inputs] == [f"x[{row // 2}"] * 2, "of its row"
        for value, label in zip(step.inputs, step.labels, strict=True):
            derivatives[row, place[value.name]] = float(label.split("∂ ")[1])

    def soft(flat: np.ndarray) -> np.ndarray:
        e = np.exp(flat.reshape(2, 2))
        return (e / e.sum(1, keepdims=True)).reshape(-1)

    for (row, column), slope in derivatives.items():
        h = np.zeros(4)
        h[column] = 1e-6
        expected = (soft(x.reshape(-1) + h) - soft(x.reshape(-1) - h))[row] / 2e-6
        assert slope == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_an_arrow_of_derivative_0_is_there_where_the_number_was_read() -> None:
    picture = scalars(lambda x: tt.relu(x).sum(), np.array([-2.0, 3.0]))
    assert edges(picture) == {("x[0]", "relu"): 0, ("x[1]", "relu"): 1, ("", "sum"): 1}
    assert [len(step.inputs) for step in picture.steps] == [1, 1, 2]


def test_what_was_not_read_has_no_arrow() -> None:
    def f(x: tt.Tensor, w: tt.Tensor) -> tt.Tensor:
        return (x @ w)[1:].sum()

    picture = scalars(f, np.ones((2, 2)), np.ones(2))
    taken = [step for step in picture.steps if step.title == "getitem"]
    assert [len(step.inputs) for step in taken] == [1]
    products = [step for step in picture.steps if step.title == "matmul"]
    assert [[v.name for v in step.inputs if "x" in v.name] for step in products] == [
        ["x[0, 0]", "x[0, 1]"],
        ["x[1, 0]", "x[1, 1]"],
    ]


def test_ids_are_connected_to_what_they_choose() -> None:
    table = leaf(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "t")
    picture = scalars(lambda: tt.embedding(np.array([2, 0]), table).sum())
    rows = [step for step in picture.steps if step.title == "embedding"]
    assert [[v.name for v in step.inputs if v.name] for step in rows] == [
        ["t[2, 0]"],
        ["t[2, 1]"],
        ["t[0, 0]"],
        ["t[0, 1]"],
    ]
    assert [len(step.inputs) for step in rows] == [2, 2, 2, 2]


def test_several_results_of_an_op_have_circles_of_their_own() -> None:
    def f(x: tt.Tensor) -> tt.Tensor:
        a, b = tt.split(x, 2)
        return (a * b).sum()

    picture = scalars(f, np.array([2.0, 3.0, 5.0, 7.0]))
    splits = [step for step in picture.steps if step.title == "split"]
    assert [[v.name for v in step.inputs] for step in splits] == [[f"x[{i}]"] for i in range(4)]
    assert {v.name: v.grad for v in picture.values() if v.name} == {
        "x[0]": 5.0, "x[1]": 7.0, "x[2]": 2.0, "x[3]": 3.0,
    }  # fmt: skip


def test_a_tensor_of_a_graph_is_drawn_as_long_as_its_numbers_are_known() -> None:
    x = leaf([1.0, 2.0], "x")
    out = (x * x).sum()
    out.backward()
    assert {v.name: v.grad for v in scalars(out).values() if v.name} == {"x[0]": 2.0, "x[1]": 4.0}
    wide = leaf(np.ones(20), "wide")
    h = wide + 1.0
    h.name = "h"
    loss = (h * 2.0).sum()
    with pytest.raises(ValueError, match=r"does not have those of 'h', shape \(20,\)"):
        tt.draw(loss, zoom="scalars")


def test_more_than_200_are_refused_with_what_to_do() -> None:
    with pytest.raises(
        ValueError, match=r"zoom: 'scalars' would draw 299 numbers and ops, the limit is 200: give"
    ):
        tt.draw(lambda x: tt.tanh(x).sum(), np.ones(99), zoom="scalars")
    assert len(scalars(lambda x: tt.tanh(x).sum(), np.ones(99), limit=400).steps) == 100
    with pytest.raises(ValueError, match="depth: expected None with zoom='scalars'"):
        tt.draw(leaf(1.0) * 2.0, zoom="scalars", depth=1)


def test_one_module_is_small_enough_where_the_model_is_not() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            self.large = nn.Linear(60, 3)
            self.small = nn.Linear(3, 2)

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.small(self.large(x)).sum()

    x = np.ones((1, 60), np.float32)
    with pytest.raises(ValueError, match="limit is 200"):
        tt.draw(Wide(), x, zoom="scalars")
    picture = scalars(Wide(), x, module="small")
    assert [step.title for step in picture.steps] == ["linear", "linear"]
    assert len([v for v in picture.values() if "weight" in v.name]) == 6


def test_it_is_drawn_from_left_to_right_and_says_the_derivatives() -> None:
    drawing = tt.draw(lambda x: tt.exp(x), 0.0, zoom="scalars")
    assert "rankdir=LR" in drawing.source
    labels = [how.get("label", "") for _, _, how in parse(drawing.source).arrows]
    assert any("∂ 1.0" in label for label in labels)


def test_nothing_random_is_drawn_again() -> None:
    layer = nn.Dropout(0.5)
    picture = scalars(lambda x: layer(x).sum(), np.ones(8))
    slopes = [s for (name, title), s in edges(picture).items() if name.startswith("x")]
    results = [v.data for step in picture.steps if step.title != "sum" for v in step.outputs]
    assert len(slopes) == 8
    assert [bool(s) for s in slopes] == [bool(r) for r in results]
