"""Pictures of graphs: what is in them, and how expressions and errors look.

Folding and models are in test_draw_models.py, renderers in test_draw_render.py.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from .dotgraph import drawn, leaf, neuron, parse, plain

# ---- small expressions ---------------------------------------------------------------------------


def test_a_neuron_shows_every_value_and_gradient() -> None:
    graph = drawn(neuron()[0])
    boxes = {node.text for node in graph.nodes.values() if "float32" in node.text}
    assert boxes == {
        "x1 () float32 data 2.0 grad -1.5",
        "w1 () float32 data -3.0 grad 1.0",
        "x2 () float32 data 0.0 grad 0.5",
        "w2 () float32 data 1.0 grad 0.0",
        "b () float32 data 6.881 grad 0.5",
        "() float32 data -6.0 grad 0.5",
        "() float32 data 0.0 grad 0.5",
        "() float32 data 0.8814 grad 0.5",
        "() float32 data 0.7071 grad 1.0",
    }
    ops = sorted(node.text for node in graph.nodes.values() if "float32" not in node.text)
    assert ops == ["+", "+", "tanh", "×", "×"]
    assert len(graph.nodes) == 15  # -6.0 with grad 0.5 is there twice: a product and a sum
    assert len(graph.arrows) == 14
    assert not graph.frames


def test_the_arrows_of_a_neuron_follow_the_formula() -> None:
    out, _ = neuron()
    graph = drawn(out)
    into: dict[str, list[str]] = {}
    for start, stop, _ in graph.arrows:
        into.setdefault(stop, []).append(start)

    def formula(name: str) -> str:
        node = graph.nodes[name]
        if name not in into:
            return node.text.split()[0]
        parts = sorted(formula(start) for start in into[name])
        if "float32" in node.text:
            assert len(parts) == 1, "a tensor is made by one op"
            return parts[0]
        return f"{node.text}({', '.join(parts)})"

    last = next(name for name, node in graph.nodes.items() if "0.7071" in node.text)
    assert formula(last) == "tanh(+(+(×(w1, x1), ×(w2, x2)), b))"


def test_ops_and_tensors_have_different_shapes() -> None:
    graph = drawn(neuron()[0])
    shapes = {node.attributes["shape"] for node in graph.nodes.values() if "data" in node.text}
    others = {node.attributes["shape"] for node in graph.nodes.values() if "data" not in node.text}
    assert shapes == {"box"}
    assert others == {"circle", "ellipse"}


def test_before_backward_there_are_no_gradients() -> None:
    x = leaf(3.0, "x")
    assert not any("grad" in text for text in drawn(x * x).texts())


def test_a_value_used_twice_is_one_box_with_two_arrows() -> None:
    x = leaf(3.0, "x")
    graph = drawn(x * x)
    assert graph.links() == [("x", "×"), ("x", "×"), ("×", "()")]


def test_numbers_and_arrays_in_an_expression_are_drawn() -> None:
    x = leaf([1.0, 2.0], "x")
    graph = drawn(x * 2.5 + np.array([3.0, 4.0], dtype=np.float32))
    assert graph.find("2.5").attributes["shape"] == "plaintext"
    array = graph.find("(2,) float32 data 3.0 4.0")
    dashed = {a for a, _, how in graph.arrows if how.get("style") == "dashed"}
    assert dashed == {graph.find("2.5").id, array.id}


def test_the_numbers_of_a_matrix_stand_in_rows() -> None:
    node = drawn(leaf([[1.0, 2.0], [3.0, 4.5]], "m")).find("m")
    assert [[c.strip() for c in row] for row in node.rows] == [
        ["m"],
        ["(2, 2) float32"],
        ["data", "1.0", "2.0"],
        ["", "3.0", "4.5"],
    ]


def test_a_leaf_alone_is_a_picture() -> None:
    graph = drawn(leaf([1.0, 2.0], "x"))
    assert graph.texts() == ["x (2,) float32 data 1.0 2.0"]
    assert not graph.arrows


def test_special_numbers_are_written_out() -> None:
    text = drawn(leaf([float("nan"), float("-inf"), 1e-12, 123456.0, -0.0], "x")).find("x").text
    assert text == "x (5,) float32 data nan -inf 1e-12 1.235e+05 -0.0"


def test_large_tensors_show_shape_and_dtype_but_no_numbers() -> None:
    graph = drawn((leaf(np.ones((20, 3), np.float32), "x") * 2.0).sum(axis=0).tanh())
    assert graph.find("x").text == "x (20, 3) float32"
    label = next(how["label"] for _, b, how in graph.arrows if b == graph.find("sum").id)
    assert "(20, 3)" in label
    assert any("(3,) float32 data" in text for text in graph.texts())


def test_dtypes_on_arrows_are_written_out_where_they_differ() -> None:
    x = leaf(np.ones((20, 3), np.float32), "x")
    same = tt.draw(x.exp().tanh().sum(axis=0).exp()).source
    assert "tensors on arrows are float32" in same
    graph = drawn(x.exp().astype("float64").tanh().exp().sum())
    labels = " ".join(how.get("label", "") for _, _, how in graph.arrows)
    assert "(20, 3) float32" in labels
    assert "(20, 3) float64" in labels


def test_a_name_given_to_a_result_puts_it_in_a_box() -> None:
    x = leaf(np.ones((20, 3), np.float32), "x")
    assert len(drawn(x.exp().tanh()).nodes) == 4
    hidden = x.exp()
    hidden.name = "hidden"
    graph = drawn(hidden.tanh())
    assert graph.find("hidden").text == "hidden (20, 3) float32"
    assert graph.links() == [("exp", "hidden"), ("hidden", "tanh"), ("tanh", "(20,"), ("x", "exp")]


def test_an_op_with_several_outputs_is_one_node() -> None:
    x = leaf(np.arange(60, dtype=np.float32).reshape(2, 30), "x")
    a, b, c = tt.split(x, 10, axis=1)
    graph = drawn(a * c + b)
    assert sum("split" in text for text in graph.texts()) == 1
    labels = sorted(how["label"] for a, _, how in graph.arrows if a == graph.find("split").id)
    assert [label.strip("<> ")[:3] for label in labels] == ["[0]", "[1]", "[2]"]


def test_several_tensors_share_one_picture() -> None:
    x = leaf(2.0, "x")
    y = x.exp()
    y.name = "y"
    z = y.tanh()
    z.name = "z"
    graph = drawn((y, z))
    assert graph.links() == [("exp", "y"), ("tanh", "z"), ("x", "exp"), ("y", "tanh")]
    assert graph.find("y").attributes["fillcolor"] == graph.find("z").attributes["fillcolor"]


def test_an_ops_parameters_are_shown() -> None:
    x = leaf(np.ones((4, 20), np.float32))
    assert "axis=1" in drawn(x.sum(axis=1)).find("sum").text


def test_the_picture_is_the_same_on_every_device(device: Device) -> None:
    """Numbers are fetched to the host; the reference of an opened op runs there."""
    x = leaf([0.0, 1.0, 3.0], "x")
    p = tt.softmax(x * 2.0)
    p.backward(tt.tensor([1.0, 0.0, 0.0]))
    graph = drawn(p, open=True)
    assert graph.find("x (3,) float32 data 0.0 1.0 3.0 grad 0.004845 -8.714e-05 -0.004758")
    assert graph.find("(3,) float32 data 0.002428 0.01794 0.9796")


def words(tensor: object, op: str, **how: object) -> dict[str, str]:
    """For each thing that an op reads, by its first word, what is written on the arrow."""
    graph = drawn(tensor, **how)
    target = graph.find(op).id
    arrows = [(graph.nodes[a].text.split()[0], how) for a, b, how in graph.arrows if b == target]
    return {start: plain(how.get("label", "<>")[1:-1]).strip() for start, how in arrows}


def test_the_order_of_operands_can_be_read_where_it_matters() -> None:
    x, y = leaf([[1.0]], "x"), leaf([[2.0]], "y")
    assert words(y - x, "−") == {"y": "1st", "x": "2nd"}
    assert words(1.0 - x, "−") == {"1.0": "1st", "x": "2nd"}
    assert words(y / x, "÷") == {"y": "1st", "x": "2nd"}
    assert words(y @ x, "@") == {"y": "1st", "x": "2nd"}
    assert words(y**x, "pow") == {"y": "1st", "x": "2nd"}
    assert words(tt.concat([y, x, y * 1.0]), "concat")["x"] == "2nd"
    assert words(tt.where(x > 0, y, x), "where") == {"condition": "", "y": "2nd", "x": "3rd"}
    assert words(y + x, "+") == {"y": "", "x": ""}
    assert words(tt.maximum(y, x), "maximum") == {"y": "", "x": ""}
    opened = words(tt.softmax(leaf([1.0, 2.0], "s")), "÷", open="softmax")
    assert list(opened.values()) == ["1st", "2nd"]


def test_leaves_that_require_gradients_have_the_colour_of_parameters() -> None:
    layer = tt.nn.Linear(1, 1)
    graph = drawn(layer(leaf([[1.0]], "w") * tt.tensor([[1.0]], name="c")), depth=9)
    colours = {n: graph.find(n).attributes["fillcolor"] for n in ("w", "weight", "c")}
    assert colours["w"] == colours["weight"] != colours["c"]


# ---- memory, depth, arguments --------------------------------------------------------------------


def test_ten_thousand_ops_do_not_recurse() -> None:
    x = leaf(np.zeros(20, np.float32), "x")
    y = x
    for _ in range(10_000):
        y = y + 1.0
    drawing = tt.draw(y)
    assert len(parse(drawing.source).nodes) == 10_000 * 2 + 2  # ops, numbers, first, last


def test_a_picture_too_large_to_draw_says_what_to_do() -> None:
    x = leaf(np.zeros(20, np.float32), "x")
    y = x
    for _ in range(30):
        y = y.tanh()
    drawing = tt.draw(y, limit=20)
    with pytest.raises(ValueError, match=r"32 boxes, the limit is 20.*depth=1.*limit=None"):
        drawing.save("never.svg")
    with pytest.raises(ValueError, match="limit"):
        drawing.svg()
    assert drawing._repr_svg_() is None
    assert len(parse(drawing.source).nodes) == 32


def test_a_drawing_keeps_no_tensor_alive() -> None:
    x = leaf(np.ones(2_000, np.float32))
    y = x.exp()
    drawing = tt.draw(y.sum())
    gone = weakref.ref(x)
    del x, y
    gc.collect()
    assert gone() is None
    assert "exp" in drawing.source


def test_drawing_changes_nothing() -> None:
    x = leaf([1.0, 2.0], "x")
    y = (x * x).sum()
    first = tt.draw(y).source
    assert tt.draw(y).source == first
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0])
    assert len(parse(tt.draw(y).source).nodes) == len(parse(first).nodes)


@pytest.mark.parametrize(
    ("what", "how", "error", "says"),
    [
        (3.0, {}, TypeError, "tensor: expected a Tensor, several"),
        ([], {}, TypeError, "an empty sequence"),
        ([1.0], {}, TypeError, "float"),
        (None, {}, TypeError, "NoneType"),
        ("x", {"depth": -1}, ValueError, "depth"),
        ("x", {"depth": "1"}, ValueError, "depth"),
        ("x", {"depth": True}, ValueError, "depth"),
        ("x", {"direction": "up"}, ValueError, "direction"),
        ("x", {"open": "nosuch"}, ValueError, "'nosuch' is no op"),
        ("x", {"open": "mul"}, ValueError, "'mul' is a primitive"),
        ("x", {"open": "attention"}, ValueError, r"\(did you mean scaled_dot_.* or self_att"),
        ("x", {"open": "softmx"}, ValueError, r"\(did you mean softmax"),
        ("x", {"open": 3}, TypeError, "open: expected the name of an op, several, or True, got 3"),
        ("x", {"open": None}, TypeError, "open: expected the name"),
        ("x", {"values": "yes"}, TypeError, "values: expected None, True or False, got 'yes'"),
        ("x", {"merge": 1}, TypeError, "merge: expected None, True or False, got 1"),
        ("x", {"limit": "9"}, TypeError, "limit: expected None or an integer, got '9'"),
        ("x", {"rankdir": "LR"}, TypeError, "use direction='LR'"),
        ("x", {"format": "png"}, TypeError, r"\.save\('x.png'\)"),
    ],
)
def test_wrong_arguments_are_named(what: object, how: dict, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        tt.draw(leaf(1.0) if what == "x" else what, **how)


@pytest.mark.parametrize(("name", "says"), [("view", "save"), ("render", "save"), ("pipe", "svg")])
def test_graphvizs_own_methods_are_called_otherwise(name: str, says: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; use \.{says}\("):
        getattr(tt.draw(leaf(1.0)), name)


def test_an_op_to_be_opened_that_is_not_there_is_missed() -> None:
    x = leaf([1.0, 2.0], "x")
    with pytest.warns(UserWarning, match="this picture has no softmax to be opened; it has log_s"):
        tt.draw(tt.log_softmax(x), open="softmax")
    layer = tt.nn.LayerNorm(2)
    with pytest.warns(UserWarning, match="no layer_norm to be opened; more modules .* depth"):
        tt.draw(layer(x), open=["layer_norm"], depth=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.draw(tt.softmax(x), open="softmax")
        tt.draw(x, open=True)


def test_the_function_and_the_package_of_the_same_name_get_along() -> None:
    code = (
        "import tinytensor as tt, tinytensor.draw.render, tinytensor.draw\n"
        "from tinytensor.draw import Drawing, draw\n"
        "x = tt.tensor(1.0, requires_grad=True)\n"
        "tt.draw(x); draw(x)\n"
        "import tinytensor.draw.dot\n"
        "assert isinstance(tt.draw(x.exp()), Drawing)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_text_needs_no_graphviz_of_any_kind(tmp_path: object) -> None:
    code = (
        "import sys\n"
        "sys.modules['graphviz'] = sys.modules['pygraphviz'] = None\n"
        "import tinytensor as tt\n"
        "x = tt.tensor(2.0, requires_grad=True, name='x')\n"
        "print(tt.draw((x * x).exp()).source)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": "", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert len(parse(done.stdout.rstrip("\n") + "\n").nodes) == 5
