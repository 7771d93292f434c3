"""The list of ops and the explanations, and the page made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinytensor as tt
from tinytensor import operations
from tinytensor.define.catalogue import explanation, page
from tinytensor.define.op import OPS

ROOT = Path(__file__).parents[3]


def test_every_op_and_public_function_is_listed_once() -> None:
    listed = [e.name for e in tt.ops()]
    assert len(listed) == len(set(listed))
    assert set(OPS) <= set(listed)
    second_names = {n for n in operations.__all__ if getattr(operations, n).__name__ != n}
    assert set(operations.__all__) - second_names <= set(listed)


def test_every_line_is_complete() -> None:
    for e in tt.ops():
        assert e.summary, e.name
        assert e.kind in ("primitive", "fused", "composed", "no gradient"), e.name
        assert e.formula or e.kind == "composed", e.name
        assert e.gradient or e.kind == "no gradient", e.name
        assert e.signature.startswith("("), e.name


def test_kinds_and_searching() -> None:
    kinds = {e.name: e.kind for e in tt.ops()}
    assert kinds["mul"] == "primitive"
    assert kinds["softmax"] == "fused"
    assert kinds["argmax"] == "no gradient"
    assert kinds["permute"] == "composed"
    assert {e.name for e in tt.ops("softmax")} >= {"softmax", "log_softmax", "cross_entropy"}
    assert tt.ops("no such thing") == []
    table = str(tt.ops("log_softmax"))
    assert "-- activations" in table and "x - ln Σ eˣ;  dx = g - eᵒᵘᵗ Σ g" in table
    assert tt.ops()["exp"].gradient == "dx = g out"
    with pytest.raises(KeyError):
        tt.ops()["no such op"]


def test_explain_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    tt.explain("softmax")
    text = capsys.readouterr().out
    for part in (
        "softmax(x, axis=-1)    [fused]",
        "dx = out (g - Σ g out)",
        "def softmax(xp, x, axis=-1):",
        "@softmax.vjp",
        "@softmax.reference_is",
        "Example: softmax(x",
        "dx = [",
    ):
        assert part in text, part


@pytest.mark.parametrize("name", sorted({*OPS, *operations.__all__}))
def test_every_op_can_be_explained(name: str) -> None:
    text = explanation(name)
    assert name.strip("_") in text and "def " in text
    assert explanation(getattr(operations, name, name)).splitlines()[0]


def test_an_example_is_right() -> None:
    text = explanation("mul")
    numbers = {
        line.split(" = ")[0]: line.split(" = ")[1]
        for line in text.replace(",\n", ",").splitlines()
        if line.startswith(("x = ", "y = ", "out = ", "g = ", "dx = ", "dy = "))
    }
    values = {k: tt.tensor(eval(v), dtype="float64") for k, v in numbers.items()}
    x, y, g = values["x"], values["y"], values["g"]
    assert float(abs(values["out"] - x * y).max()) < 1e-3
    assert float(abs(values["dx"] - (g * y).sum(axis=1, keepdims=True)).max()) < 1e-3
    assert float(abs(values["dy"] - (g * x).sum(axis=0, keepdims=True)).max()) < 1e-3


def test_a_wrong_name_gets_near_ones() -> None:
    with pytest.raises(ValueError, match="no op called 'softmx'; did you mean softmax"):
        tt.explain("softmx")


def test_the_page_in_docs_is_up_to_date() -> None:
    assert (ROOT / "docs" / "ops.md").read_text() == page(), "run: make docs"
