"""``tt.explain``: the text, the numbers of one's own, and what a notebook shows."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import operations
from tinytensor.arrays import random
from tinytensor.define.op import OPS

ROOT = Path(__file__).parents[3]


def rows(text: str) -> dict[str, np.ndarray]:
    """The numbers of an example, by label."""
    found = re.findall(r"^(\S+) = (\[.*?\])$(?=\n[^\s\[]|\Z)", text, re.M | re.S)
    return {label: np.array(eval(numbers)) for label, numbers in found}


def test_it_shows_everything() -> None:
    text = str(tt.explain("softmax"))
    for part in (
        "softmax(x, axis=-1)    [fused]",
        "dx = out (g - Σ g out)",
        "def softmax(xp, x, axis=-1):",
        "@softmax.vjp",
        "@softmax.reference_is",
        "def stable_exp(",
        "-- Why ---",
        "Why it sums to zero",
        "In NumPy: dx = out * (g - (g * out).sum(axis, keepdims=True))",
        "Example: softmax(x",
        "dx = [",
        "dx: agrees with finite differences in float64, all elements",
    ):
        assert part in text, part


def test_a_prompt_shows_it_once_and_a_program_nothing() -> None:
    typed = 'import tinytensor as tt\ntt.explain("tanh")\n'
    run = subprocess.run(
        [sys.executable, "-i", "-q"], input=typed, cwd=ROOT, capture_output=True, text=True
    )
    assert run.stdout.count("tanh(x)    [primitive]") == 1
    program = subprocess.run(
        [sys.executable, "-c", typed], cwd=ROOT, capture_output=True, text=True
    )
    assert program.stdout == "" and program.returncode == 0


@pytest.mark.parametrize("name", sorted({*OPS, *operations.__all__}))
def test_every_op_can_be_explained(name: str) -> None:
    made = tt.explain(name)
    text = str(made)
    assert name.strip("_") in text and "def " in text
    assert "DIFFERS" not in text and "not compared" not in text
    ET.fromstring(made._repr_html_())
    assert str(tt.explain(getattr(operations, name, name))).splitlines()[0]


def test_an_example_is_right() -> None:
    n = rows(str(tt.explain("mul")).split("-- Example")[1])
    np.testing.assert_allclose(n["out"], n["x"] * n["y"], rtol=1e-3)
    np.testing.assert_allclose(n["dx"], (n["g"] * n["y"]).sum(1, keepdims=True), rtol=1e-3)
    np.testing.assert_allclose(n["dy"], (n["g"] * n["x"]).sum(0, keepdims=True), rtol=1e-3)


def test_own_inputs_and_gradient() -> None:
    x = tt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = tt.explain(tt.softmax, x, g=[1, 0, 0])
    numbers = dict(made.example.rows)
    s = np.exp([1.0, 2.0, 3.0]) / np.exp([1.0, 2.0, 3.0]).sum()
    np.testing.assert_allclose(numbers["out"], s, rtol=1e-6)
    np.testing.assert_allclose(numbers["dx"], s * ([1, 0, 0] - s[0]), rtol=1e-5)
    assert abs(numbers["dx"].sum()) < 1e-7
    assert x.grad is None and x.requires_grad
    assert not [note for note in made.example.notes if "random" in note]
    assert "softmax(x)" in str(made)


def test_settings_lists_and_numbers() -> None:
    made = tt.explain("sum", [[1.0, 2.0], [3.0, 4.0]], axis=0, g=[10.0, 20.0])
    assert dict(made.example.rows)["dx"].tolist() == [[10.0, 20.0], [10.0, 20.0]]
    assert "Example: sum(x, axis=0)" in str(made)
    made = tt.explain("pow", tt.tensor([2.0, 3.0]), 2, g=[1.0, 1.0])
    assert dict(made.example.rows)["dx"].tolist() == [4.0, 6.0]
    made = tt.explain("mul", 2.0, 3.0, g=1.0)
    assert float(dict(made.example.rows)["dx"]) == 3.0
    made = tt.explain("concat", [tt.ones(2, 2), np.zeros((1, 2), dtype="float32")])
    assert [label for label, _ in made.example.rows] == [
        "xs[0]", "xs[1]", "out", "g", "dxs[0]", "dxs[1]",
    ]  # fmt: skip


def test_ids_are_no_numbers_to_derive_by() -> None:
    made = tt.explain("embedding", [1, 1], tt.tensor([[1.0, 2.0], [3.0, 4.0]]), g=[[1, 0], [2, 5]])
    assert dict(made.example.rows)["dweight"].tolist() == [[0, 0], [3, 5]]


def test_a_kink_is_told() -> None:
    text = str(tt.explain("relu", [1.0, 0.0, -1.0], g=[1, 1, 1]).example)
    assert "x[1] is at a kink, with slope 0 on the left and 1 on the right: the rule says 0" in text


def test_a_wrong_rule_is_told() -> None:
    @tt.custom_op("x", keeps="x", samples=lambda r: [tt.Sample(r(3))])
    def mistaken(xp, x):
        """Square."""
        return x * x

    mistaken.vjp(x=lambda xp, g, k: 3.0 * g * k.x)
    text = str(tt.explain(mistaken, tt.tensor([1.0, 2.0])).example)
    assert "dx: DIFFERS from finite differences at x[1]" in text


def test_randomness_is_left_alone_and_not_compared() -> None:
    before = random.state()
    text = str(tt.explain("dropout", tt.ones(20)))
    assert "the result is another one each time" in text
    assert repr(random.state()) == repr(before)


def test_what_is_not_finite_is_not_compared() -> None:
    text = str(tt.explain("log", [0.0, 1.0]).example)
    assert "not compared with finite differences: the result is not finite everywhere" in text


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="no op called 'softmx'; did you mean softmax"):
        tt.explain("softmx")
    with pytest.raises(
        ValueError, match=r"g: expected the shape of the result, \(2,\), got \(3,\)"
    ):
        tt.explain("tanh", [1.0, 2.0], g=[1, 2, 3])
    with pytest.raises(TypeError, match="g: expected a tensor or an array, got str"):
        tt.explain("tanh", [1.0], g="x")
    with pytest.raises(TypeError, match="axis: give the op's inputs too"):
        tt.explain("softmax", axis=0)
    with pytest.raises(ValueError, match="g: the result has no gradient here"):
        tt.explain("argmax", [1.0, 2.0], g=1)
    with pytest.raises(ValueError, match="g: expected 3 gradients, one for each"):
        tt.explain("svd", np.eye(2), g=[1, 2])


def test_hostile_names_stay_text() -> None:
    @tt.custom_op("x", name="bad", formula="</math><script>alert(1)</script>")
    def bad(xp, x):
        """<img src=x onerror=alert(1)>"""
        return x + 1

    markup = tt.explain(bad, [1.0])._repr_html_()
    assert "<script" not in markup and "<img" not in markup


def test_the_list_of_ops_in_a_notebook() -> None:
    markup = tt.ops("softmax")._repr_html_()
    assert markup.count("<math ") > 5 and "log_softmax" in markup
    ET.fromstring(markup)
