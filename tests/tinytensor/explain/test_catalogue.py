"""The list of ops and the explanations, and the page made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinytensor as tt
from tinytensor import operations
from tinytensor.define.custom import CUSTOM
from tinytensor.define.op import OPS
from tinytensor.explain.page import page

ROOT = Path(__file__).parents[3]


def test_every_op_and_public_function_is_listed_once() -> None:
    listed = [e.name for e in tt.ops()]
    assert len(listed) == len(set(listed))
    assert set(OPS) <= set(listed)
    second_names = {n for n in operations.__all__ if getattr(operations, n).__name__ != n}
    assert set(operations.__all__) - second_names <= set(listed)


def test_every_line_is_complete() -> None:
    for e in tt.ops():
        if e.name in CUSTOM:  # of another test
            continue
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


def test_the_page_in_docs_is_up_to_date() -> None:
    assert (ROOT / "docs" / "ops.md").read_text() == page(), "run: make docs"
