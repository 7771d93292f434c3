"""Gradients in pictures are of what is drawn and of the last backward, or say what else."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import SGD

from .dotgraph import drawn, leaf, texts_of


def test_a_gradient_of_several_backwards_says_so() -> None:
    w = leaf([1.0], "w")
    loss = (w * 3.0).sum()
    loss.backward(retain_graph=True)
    assert drawn(loss).find("w").text == "w (1,) float32 data 1.0 grad 3.0"
    loss.backward()
    text = drawn(loss).find("w").text
    assert text == "w (1,) float32 data 1.0 grad 6.0 grad changed since, or of several backwards"


def test_so_does_one_that_was_clipped_and_one_with_a_graph() -> None:
    w = leaf([3.0], "w")
    loss = (w * w).sum()
    loss.backward()
    tt.train.clip_grad_norm([w], 1.0)
    assert "grad changed since" in drawn(loss).find("w").text
    w.zero_grad()
    loss = (w * w).sum()
    loss.backward(create_graph=True)
    assert drawn(loss).find("w").text == "w (1,) float32 data 3.0 grad 6.0"
    loss.backward(create_graph=True)
    assert "grad changed since" in drawn(loss).find("w").text
    w.zero_grad()


def test_a_gradient_left_from_another_graph_is_not_shown() -> None:
    w = leaf([1.0], "w")
    (w * 3.0).sum().backward()
    assert drawn((w * 4.0).sum()).find("w").text == "w (1,) float32 data 1.0"
    large = leaf(np.ones(20, np.float32))
    assert drawn((w * large).sum()).find("w").text == "w (1,) float32 data 1.0"


def test_a_gradient_of_another_backward_is_not_shown() -> None:
    w = leaf([1.0, 2.0], "w")
    y = (w * w).sum()
    y.backward()
    w.grad = None
    (w * 3.0).sum().backward()
    assert drawn(y).find("w").text == "w (2,) float32 data 1.0 2.0"
    w.grad = tt.tensor([100.0, 100.0])
    assert drawn(y).find("w").text.endswith("grad 100.0 100.0 grad not made by backward")
    w.grad = None
    (w * 3.0).sum().backward()
    (w * 3.0).sum().backward()
    assert drawn(y).find("w").text == "w (2,) float32 data 1.0 2.0", "of two others"


def test_results_show_the_gradient_of_what_is_drawn() -> None:
    w = leaf([0.0], "w")
    h = tt.exp(w)
    h.name = "h"
    a, b = (h * h).sum(), (h * 3.0).sum()
    a.backward(retain_graph=True)
    assert drawn(a).find("h").text == "h (1,) float32 data 1.0 grad 2.0"
    assert drawn((a, b)).find("h").text == "h (1,) float32 data 1.0 grad 2.0", "b had no part yet"
    b.backward(retain_graph=True)
    assert drawn(a).find("h").text == "h (1,) float32 data 1.0"
    assert drawn(b).find("h").text == "h (1,) float32 data 1.0 grad 3.0"
    assert drawn((a, b)).find("h").text == "h (1,) float32 data 1.0", "of b alone, not 5.0"
    assert drawn((a, b)).find("w").text == (
        "w (1,) float32 data 0.0 grad 5.0 grad changed since, or of several backwards"
    )
    (h * 7.0).backward()
    assert drawn(h).find("h").text == "h (1,) float32 data 1.0 grad 7.0"


def test_inside_an_opened_op_there_are_no_gradients_of_another_backward() -> None:
    w = leaf([0.0, 1.0], "w")
    p = tt.softmax(w)
    a, b = (p * p).sum(), (p * tt.tensor([1.0, 3.0])).sum()
    a.backward(retain_graph=True)
    assert sum("grad" in text for text in drawn(a, open=True).texts()) > 4
    b.backward(retain_graph=True)
    shown = [text for text in drawn(a, open=True).texts() if "grad" in text]
    assert len(shown) == 3, "the sum, the product, and w's with a mark"


def test_a_leaf_in_two_boxes_says_that_its_gradient_is_of_both() -> None:
    w = leaf([1.0], "w")
    a = w * 2.0
    with tt.no_grad():
        w += 1.0
    loss = (a + w * 3.0).sum()
    loss.backward()
    assert sorted(texts_of(loss, "w")) == [
        "w (1,) float32 data 2.0 grad 5.0 grad of all boxes of this tensor",
        "w (1,) float32 now 2.0 changed since",
    ]


@pytest.mark.parametrize("by", ["optimizer", "module", "tensor"])
def test_a_gradient_set_to_zeros_is_none_of_the_backwards(by: str) -> None:
    model = nn.Linear(1, 1, bias=False)
    what = {"optimizer": SGD(model.parameters(), lr=1.0), "module": model, "tensor": model.weight}
    for _ in range(2):
        loss = model(tt.ones(1, 1)).sum()
        loss.backward()
        text = drawn(loss, values=True).find("weight").text
        assert text.endswith("grad 1.0"), text
        what[by].zero_grad(set_to_none=False)
        assert "grad" not in drawn(loss, values=True).find("weight").text
