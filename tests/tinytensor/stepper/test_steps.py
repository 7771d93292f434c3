"""What ``tt.step_through`` gives to the page: ids, lines, places, sizes; and what it refuses."""

from __future__ import annotations

import json
import sys
import weakref
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.draw.render import NoRenderer, renderer
from tinytensor.stepper.words import plain_settings

pytestmark = pytest.mark.skipif(
    renderer() is None, reason="no Graphviz here: pip install 'pygraphviz>=2.0.4'"
)


def neuron() -> tt.Tensor:
    x, w = (tt.tensor(v, requires_grad=True, name=n) for n, v in (("x", 2.0), ("w", -0.25)))
    return tt.tanh(x * w)


def data_of(page: str) -> Any:
    """What a page carries."""
    start = page.index('type="application/json"')
    text = page[page.index(">", start) + 1 : page.index("</script>", start)]
    return json.loads(text)


def test_values_steps_and_the_way_back() -> None:
    data = tt.step_through(neuron()).data()
    assert data["format"] == 1 and data["kind"] == "steps" and data["title"] == "Step through tanh"
    mul, tanh = data["steps"]
    assert (mul["op"], mul["symbol"], mul["names"]) == ("mul", "×", ["x", "y"])
    x, w, product, out = (data["values"][i] for i in (*mul["inputs"], *mul["outputs"], 3))
    assert (x["name"], x["data"], x["role"], x["needs_grad"]) == ("x", [2.0], "input", True)
    assert w["data"] == [-0.25] and product["data"] == [-0.5]
    slope = 1 - np.tanh(-0.5) ** 2
    assert tanh["terms"][0] == pytest.approx([slope]) == product["grad"]
    assert tanh["local"] == [{"kind": "diagonal", "data": [pytest.approx(slope)]}]
    assert x["grad"] == pytest.approx([-0.25 * slope]) and w["grad"] == pytest.approx([2 * slope])
    assert out["output"] and out["grad"] == [1.0]
    assert data["backward"] == [1, 0]
    assert data["ops"]["mul"]["gradient"] == "dx = g y, dy = g x"
    assert "lambda xp, g, k: g * k.y" in data["ops"]["mul"]["vjp"]
    assert "<math" in data["ops"]["tanh"]["mathml"]["formula"]


def test_the_line_that_made_an_op_is_lit() -> None:
    data = tt.step_through(neuron()).data()
    mul, tanh = (step["line"] for step in data["steps"])
    (piece,) = data["sources"]
    assert piece["file"] == "test_steps.py"
    line = piece["lines"][mul["number"] - piece["first"]]
    assert line[mul["column"] : mul["end_column"]] == "x * w"
    assert line[tanh["column"] : tanh["end_column"]] == "tanh(x * w)" or line[
        tanh["column"] : tanh["end_column"]
    ] == "tt.tanh(x * w)"


def test_columns_count_as_the_page_counts(tmp_path: Path) -> None:
    """Letters of several bytes, and one of two units in JavaScript, stand before the op."""
    file = tmp_path / "lesson.py"
    file.write_text('x = tt.ones(1, requires_grad=True)\nü, y = "𝒙", x * 3.0\n', encoding="utf-8")
    scope: dict[str, Any] = {"tt": tt, "__name__": "lesson"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    data = tt.step_through(scope["y"]).data()
    line = data["steps"][0]["line"]
    text = data["sources"][0]["lines"][1].encode("utf-16-le")
    assert text[2 * line["column"] : 2 * line["end_column"]].decode("utf-16-le") == "x * 3.0"


def test_far_lines_are_pieces_and_unknown_ones_none() -> None:
    code = "a = tt.ones(1, requires_grad=True) * 2.0" + "\n" * 40 + "b = a * 3.0"
    scope: dict[str, Any] = {"tt": tt, "__name__": "x"}
    exec(compile(code, "<nowhere>", "exec"), scope)
    assert [step["line"] for step in tt.step_through(scope["b"]).data()["steps"]] == [None, None]


def test_everything_drawn_has_a_place() -> None:
    q, k, v = (tt.randn(1, 3, 2, requires_grad=True) for _ in range(3))
    data = tt.step_through(tt.scaled_dot_product_attention(q, k, v).sum()).data()
    assert len(data["views"]) > 2
    for number, view in enumerate(data["views"]):
        nodes = view["layout"]["nodes"]
        assert set(nodes) == {f"s{i}" for i in view["steps"]} | {f"v{i}" for i in view["values"]}
        width, height = view["layout"]["width"], view["layout"]["height"]
        for x, y, w, h in nodes.values():
            assert w / 2 - 1 <= x <= width - w / 2 + 1 and h / 2 - 1 <= y <= height - h / 2 + 1
        ends = {(e["from"], e["to"]) for e in view["layout"]["edges"]}
        for i in view["steps"]:
            step = data["steps"][i]
            assert step["view"] == number
            for value in filter(lambda v: v is not None, step["inputs"]):
                assert (f"v{value}", f"s{i}") in ends
            assert {(f"s{i}", f"v{value}") for value in step["outputs"]} <= ends
        if view["step"] is not None:
            assert data["steps"][view["step"]]["opens"] == number
            assert data["steps"][view["step"]]["outputs"] == view["leaving"]


def test_modules_are_frames() -> None:
    net = tt.nn.Sequential(tt.nn.Linear(2, 3), tt.nn.Tanh())
    layout = tt.step_through(net(tt.randn(1, 2)).sum()).data()["views"][0]["layout"]
    assert [(f["title"], f["kind"], f["level"]) for f in layout["frames"]] == [
        ("Sequential", "Sequential", 0), ("0", "Linear", 1), ("1", "Tanh", 1),
    ]  # fmt: skip
    outer, first, second = (f["box"] for f in layout["frames"])
    for x, y, w, h in (first, second):
        assert outer[0] < x and outer[1] < y and x + w < outer[0] + outer[2]
        assert y + h < outer[1] + outer[3]


def test_a_page_of_two_hundred_nodes_is_small() -> None:
    x = tt.randn(8, 8, requires_grad=True)
    y = x
    for i in range(57):
        y = tt.tanh(y * 0.5) if i % 2 else tt.softmax(y)
    steps = tt.step_through(y.sum())
    shown = sum(len(v["steps"]) + len(v["values"]) for v in steps.data()["views"][:1])
    assert shown >= 200 and len(steps.html()) < 500_000


def test_what_is_too_large_is_left_out_and_what_is_known_stays() -> None:
    x, w = tt.randn(70, 70, requires_grad=True), tt.randn(70, 1, requires_grad=True)
    data = tt.step_through((x @ w).sum()).data()
    values = {tuple(v["shape"]): v for v in data["values"]}
    assert values[70, 70]["data"] is None and len(values[70, 1]["data"]) == 70
    assert values[70, 70]["stats"]["max"] == pytest.approx(float(x.data.max()), rel=1e-4)


def test_statistics_of_the_largest_numbers() -> None:
    x = tt.tensor(np.full(20, 1e308), requires_grad=True)
    with np.errstate(all="raise"):
        data = tt.step_through((x * 1e-308).sum()).data()
    stats = data["values"][0]["stats"]
    assert (stats["mean"], stats["std"], stats["max"], stats["bad"]) == (1e308, 0.0, 1e308, 0)


def test_a_page_that_was_made_holds_no_graph() -> None:
    out = neuron()
    node, steps = weakref.ref(out.node), tt.step_through(out)
    before = repr(steps)
    steps.html()
    del out
    assert node() is None
    steps.title = "another"  # read when the page is written
    assert steps.data()["title"] == "another" and repr(steps) == before.replace(
        "Step through tanh", "another"
    )


def test_statistics_are_of_the_finite_numbers() -> None:
    x = tt.tensor(np.arange(20.0), requires_grad=True, name="x")
    x.data[:2] = np.nan, np.inf
    nothing = tt.tensor(np.full(20, np.nan), requires_grad=True, name="nothing")
    values = tt.step_through((x + nothing).sum()).data()["values"]
    found = {v["name"]: v["stats"] for v in values}
    rest = np.arange(2.0, 20.0)
    assert found["x"] == pytest.approx(
        {"mean": rest.mean(), "std": rest.std(), "min": 2, "max": 19, "zero": 0, "bad": 2}, rel=1e-4
    )
    numbers = [found["nothing"][key] for key in ("mean", "std", "min", "max")]
    assert np.isnan(numbers).all() and found["nothing"]["bad"] == 20


def test_why_numbers_are_missing_is_said() -> None:
    w = tt.randn(3, 3, requires_grad=True, name="w")
    x = tt.randn(80, 80, requires_grad=True, name="x")
    loss = (w @ w).sum() + x.sum()
    loss.backward()
    with tt.no_grad():
        w -= 0.1
    values = {v["name"]: v for v in tt.step_through(loss).data()["values"]}
    assert values["w"]["data"] is None and values["w"]["unknown"] == "changed"
    assert values["x"]["data"] is None and values["x"]["unknown"] == "large"


def test_settings_as_json() -> None:
    assert plain_settings({"axis": (0, -1), "index": (slice(1, None), ..., None)}) == {
        "axis": [0, -1],
        "index": [{"slice": [1, None, None]}, {"ellipsis": True}, None],
    }
    ids = plain_settings({"i": np.array([[1, 2]])})
    assert ids == {"i": {"array": [1, 2], "shape": [1, 2]}}
    assert plain_settings({"dtype": np.dtype("float32"), "f": len}) is None


def test_the_file_and_the_notebook(tmp_path: Path) -> None:
    steps = tt.step_through(neuron(), title="A <b>neuron</b>")
    path = steps.save(tmp_path / "step.html")
    text = path.read_text(encoding="ascii")
    assert data_of(text)["title"] == "A <b>neuron</b>" and "<b>neuron" not in text
    frame = steps._repr_html_()
    assert 'sandbox="allow-scripts"' in frame and unescape(frame).count("<!doctype html>") == 1
    with pytest.raises(ValueError, match=r"path: expected a file name that ends in \.html"):
        steps.save(tmp_path / "step.svg")
    with pytest.raises(TypeError, match="path: expected the name of a file, got int"):
        steps.save(3)  # type: ignore[arg-type]
    with pytest.raises(OSError):
        steps.save(tmp_path / "missing" / "step.html")


@given(st.lists(st.text(), min_size=3, max_size=3), st.text())
@settings(max_examples=40, deadline=None)
def test_names_are_text(names: list[str], title: str) -> None:
    x = tt.tensor(1.0, requires_grad=True, name=names[0])
    y = x * 2.0
    y.name = names[1]
    text = tt.step_through(y.exp(), title=title or None).html()
    found = data_of(text)
    assert {v["name"] for v in found["values"]} >= {names[0], names[1]}
    assert not title or found["title"] == title


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="tensor: expected one Tensor, got float$"):
        tt.step_through(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"got Linear and 1 more; pass what it returns: tt\.step"):
        tt.step_through(tt.nn.Linear(2, 1), tt.ones(1, 2))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="^step_through: this tensor .* has no graph"):
        tt.step_through(tt.ones(1))
    with pytest.raises(RuntimeError, match=r"expected a scalar output, got shape \(2,\)"):
        tt.step_through(tt.ones(2, requires_grad=True) * 2)
    with pytest.raises(ValueError, match="gradient"):
        tt.step_through(tt.ones(2, requires_grad=True) * 2, gradient=tt.ones(3))
    with pytest.raises(ValueError, match="direction"):
        tt.step_through(neuron(), direction="up")
    y = tt.ones(1, requires_grad=True)
    for _ in range(401):
        y = y * 1.0
    with pytest.raises(ValueError, match="the graph has 401 ops, the limit is 400"):
        tt.step_through(y)


def test_without_graphviz_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tinytensor.draw.render"], "renderer", lambda: None)
    with pytest.raises(NoRenderer, match="pygraphviz"):
        tt.step_through(neuron()).html()


def test_a_gradient_of_ones_own() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    data = tt.step_through(x * x, gradient=[1.0, 10.0]).data()
    assert data["values"][0]["grad"] == [2.0, 40.0]
