"""The data of the page of a drawn graph: a view for each module, and what is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.draw.render import renderer
from tinytensor.stepper.modules import graph_data

pytestmark = pytest.mark.skipif(renderer() is None, reason="no Graphviz here")


def data_of(*given: Any, **how: Any) -> dict[str, Any]:
    drawing = tt.draw(*given, **how)
    return graph_data(drawing.whole, drawing.title, drawing.direction)


@pytest.fixture(scope="module")
def model() -> Any:
    return models.build("gpt", vocab_size=11, block_size=8, n_layer=3, n_head=2, n_embd=8)


@pytest.fixture(scope="module")
def gpt(model: Any) -> dict[str, Any]:
    ids = np.arange(16).reshape(2, 8) % 11
    return data_of(lambda: model.loss(ids, ids))


def titles(data: dict[str, Any]) -> list[str]:
    return [view["title"] for view in data["views"]]


def step_of(data: dict[str, Any], title: str) -> dict[str, Any]:
    """The step that opens into the view of this title."""
    return data["steps"][data["views"][titles(data).index(title)]["step"]]


def test_every_module_has_a_view_and_equal_ones_share_it(gpt: dict[str, Any]) -> None:
    assert gpt["kind"] == "graph"
    assert titles(gpt)[:6] == ["GPT", "wte", "wpe", "h.0", "ln_f", "lm_head"]
    assert {"h.0.attn", "h.0.attn.c_attn", "h.0.mlp.c_proj"} <= set(titles(gpt))
    assert not any("h.1" in title or "h.2" in title for title in titles(gpt))
    block = step_of(gpt, "h.0")
    assert (block["symbol"], block["times"], block["settings"]) == (
        "h.0 … h.2", 3, "TransformerBlock",
    )  # fmt: skip


def test_each_block_has_its_own_where_they_are_not_merged(model: Any) -> None:
    ids = np.arange(8).reshape(1, 8)
    data = data_of(lambda: model.loss(ids, ids), merge=False)
    assert {"h.0.attn", "h.1.attn", "h.2.attn"} <= set(titles(data))


class Loop(nn.Module):
    """Reads one weight three times."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for _ in range(3):
            x = tt.tanh(x @ self.lin.weight)
        return x


def test_a_weight_that_is_read_several_times_is_counted_once() -> None:
    model = nn.Sequential(Loop(), nn.ReLU())
    drawing = tt.draw(lambda: model(tt.ones(2, 3)).sum(), depth=1)
    still = [step for step in drawing.picture.steps if step.title == "0"]
    assert [step.parameters for step in still] == [(1, 9)]
    data = graph_data(drawing.whole, "t")
    assert step_of(data, "0")["note"] == "9 parameters, 6 ops"


def test_views_and_steps_point_at_each_other(gpt: dict[str, Any]) -> None:
    for number, view in enumerate(gpt["views"]):
        for i in view["steps"]:
            assert gpt["steps"][i]["view"] == number
            opens = gpt["steps"][i]["opens"]
            if opens is not None:
                assert gpt["views"][opens]["parent"] == number
                assert gpt["views"][opens]["step"] == i
        keys = {f"s{i}" for i in view["steps"]} | {f"v{i}" for i in view["values"]}
        assert set(view["layout"]["nodes"]) == keys
        for edge in view["layout"]["edges"]:
            assert {edge["from"], edge["to"]} <= keys
    seen = [i for view in gpt["views"] for i in view["steps"]]
    assert sorted(seen) == list(range(len(gpt["steps"]))), "each step is in one view"


def test_what_comes_in_and_goes_out_of_a_view_is_what_its_box_reads_and_makes(
    gpt: dict[str, Any],
) -> None:
    for view in gpt["views"][1:]:
        box = gpt["steps"][view["step"]]
        assert set(view["entering"]) <= set(box["inputs"]), view["title"]
        assert set(view["leaving"]) == set(box["outputs"]), view["title"]
        assert all(x["data"] is None or x["role"] for x in gpt["values"])


def test_a_box_counts_what_is_inside(gpt: dict[str, Any], model: Any) -> None:
    note = step_of(gpt, "h.0")["note"]
    assert note.startswith(f"each {model.h[0].num_parameters():,} parameters, 10 ops")
    inner = [step_of(gpt, f"h.0.{name}")["note"] for name in ("ln_1", "attn", "ln_2", "mlp")]
    counts = [int(text.split(" parameters")[0].replace(",", "")) for text in inner]
    assert sum(counts) == model.h[0].num_parameters()


def test_statistics_are_those_of_the_tensors(model: Any) -> None:
    ids = np.arange(8).reshape(1, 8)
    data = data_of(lambda: model.loss(ids, ids), merge=False)
    model.zero_grad()
    model.loss(ids, ids).backward()
    found = {value["name"]: value for value in data["values"]}
    for path, parameter in model.named_parameters():
        stats, grads = found[path]["stats"], found[path]["grad_stats"]
        array = parameter.data.astype(np.float64)
        assert stats["std"] == pytest.approx(array.std(), rel=1e-4)
        assert (stats["min"], stats["max"]) == pytest.approx((array.min(), array.max()), rel=1e-4)
        assert grads["std"] == pytest.approx(parameter.grad.data.std(), rel=1e-3)
        if parameter.size <= 256:
            np.testing.assert_allclose(found[path]["data"], parameter.data.reshape(-1), rtol=1e-6)


def test_numbers_of_merged_blocks_are_nobodys(gpt: dict[str, Any]) -> None:
    inner = {i for v in gpt["views"] if v["title"].startswith("h.0.") for i in v["values"]}
    computed = [gpt["values"][i] for i in inner if gpt["values"][i]["role"] == "parameter"]
    assert computed
    for value in computed:
        assert value["data"] is None
        assert value["grad"] is None
        assert value["stats"] is not None


def test_a_tensor_without_statistics_says_nothing() -> None:
    x = tt.tensor(np.ones(20), requires_grad=True, name="x")
    (value,) = [v for v in data_of((x * 2.0).sum())["values"] if v["name"] == "x"]
    assert (value["stats"], value["data"], value["grad"]) == (None, None, None)


def test_what_was_changed_since_is_not_shown_as_what_was_read() -> None:
    w = tt.tensor([1.0, 2.0], requires_grad=True, name="w")
    out = (w * 2.0).sum()
    with tt.no_grad():
        w += 1.0
    (value,) = [v for v in data_of(out)["values"] if v["name"] == "w"]
    assert value["data"] is None


def test_flags_are_there_with_their_words() -> None:
    layer = nn.Linear(4, 6)
    with tt.no_grad():
        layer.bias[:2] = -1000.0

    class Net(nn.Module):
        def __init__(self) -> None:
            self.layer, self.act = layer, nn.ReLU()

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.act(self.layer(x)).sum()

    x = np.random.default_rng(0).normal(size=(32, 4))
    data = data_of(Net(), x)
    flagged = [value for value in data["values"] if value["flags"]]
    assert [value["flags"] for value in flagged] == [["dead"]]
    assert flagged[0]["said"] == ["2 of 6 units 0 in all 32 rows"]


def test_steps_have_the_op_its_operands_and_settings() -> None:
    def f(x: tt.Tensor, w: tt.Tensor) -> tt.Tensor:
        return tt.softmax(x - w, axis=0)

    data = data_of(f, np.arange(2.0), np.ones(2))
    sub, soft = data["steps"]
    assert (sub["op"], sub["symbol"], sub["names"]) == ("sub", "−", ["x", "y"])
    assert [data["values"][i]["name"] for i in sub["inputs"]] == ["x", "w"]
    assert soft["params"] == {"axis": 0}
    assert soft["inputs"] == sub["outputs"]
    assert set(data["ops"]) == {"sub", "softmax"}
    assert data["ops"]["sub"]["formula"]
    assert data["sources"][0]["lines"][
        sub["line"]["number"] - data["sources"][0]["first"]
    ].strip() == ("return tt.softmax(x - w, axis=0)")


def test_a_first_view_that_nobody_can_read_is_refused() -> None:
    x = tt.tensor(1.0, requires_grad=True)
    for _ in range(300):
        x = x * 0.99
    with pytest.raises(
        ValueError, match=r"begin with 9\d\d boxes, the limit is 400: put parts into"
    ):
        data_of(x)


def test_names_arrive_as_they_are_and_cannot_leave_the_page() -> None:
    name = '</script><img src=x onerror="alert(1)">'
    drawing = tt.draw(tt.tensor(1.0, requires_grad=True, name=name) * 2.0)
    assert [v["name"] for v in graph_data(drawing.whole, "t")["values"]][0] == name
    assert "<img" not in drawing.html()


def test_a_result_that_was_written_to_is_not_shown_as_what_was_made() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x * 2.0
    y.name = "y"
    out = (y * 3.0).sum()
    with tt.no_grad():
        y += 1.0
    found = {v["name"]: v["data"] for v in data_of(out, zoom="ops")["values"] if v["name"]}
    assert found == {"x": [1.0, 2.0], "y": None}
