"""Names in pictures: any text stays inside its label."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.draw.labels import brief

from .dotgraph import AWKWARD, drawn, leaf


def shown_as(name: str) -> str:
    """What the picture makes of a name: tabs are spaces, what cannot be printed a question mark."""
    name = name.replace("\t", " ")
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in name)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_names_stay_inside_their_labels(name: str) -> None:
    plain = drawn(leaf(1.0, "x") * leaf(2.0, "y"))
    product = leaf(1.0, name) * leaf(2.0, name)
    product.name = name
    graph = drawn(product)
    assert len(graph.nodes) == len(plain.nodes) == 4
    assert len(graph.arrows) == len(plain.arrows) == 3
    assert sum(text.startswith(name) for text in graph.texts()) == 3


@given(st.text())
def test_any_name_is_shown_and_changes_nothing_else(name: str) -> None:
    graph = drawn(leaf(1.0, name).exp())
    assert len(graph.nodes) == 3
    first = next(iter(graph.nodes.values()))
    expected = shown_as(brief(name))
    assert first.text == f"{expected} () float32 data 1.0".strip(" ")


def test_a_very_long_name_is_shortened_in_the_box_alone() -> None:
    graph = drawn(leaf(1.0, "a" * 200 + "b" * 200))
    (node,) = graph.nodes.values()
    assert node.text == "a" * 29 + "…" + "b" * 30 + " () float32 data 1.0"
    assert "a" * 200 + "b" * 200 in node.attributes["tooltip"]


def test_a_name_is_text() -> None:
    x = leaf(1.0, "x")
    with pytest.raises(TypeError, match="name: expected a str or None, got int"):
        x.name = 3  # type: ignore[assignment]
    assert x.name == "x"
    for make in (lambda: tt.tensor(1.0, name=3), lambda: tt.ones(2, name=3)):
        with pytest.raises(TypeError, match="name: expected a str or None, got int"):
            make()
