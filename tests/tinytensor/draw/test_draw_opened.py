"""Pictures with fused ops opened: their references in place of one box."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn

from .dotgraph import drawn


@pytest.fixture(scope="module")
def gpt() -> tuple[models.GPT, tt.Tensor]:
    """A GPT of six layers and the loss of one batch."""
    model = models.build("gpt", vocab_size=65, block_size=16, n_layer=6, n_head=4, n_embd=32)
    ids = np.arange(32).reshape(2, 16)
    return model, model(ids, (ids + 1) % 65)[1]


def test_an_opened_op_shows_its_reference() -> None:
    x = tt.tensor(np.ones((4, 20), np.float32), requires_grad=True, name="x")
    closed, opened = drawn(tt.softmax(x * 2.0)), drawn(tt.softmax(x * 2.0), open="softmax")
    assert closed.find("softmax").attributes["peripheries"] == "2"
    (frame,) = opened.frames.values()
    assert frame.text == "softmax  reference  shapes alone"
    inside = {n.text.split()[0] for n in opened.nodes.values() if n.around == frame.id}
    assert "exp" in inside
    assert "softmax" not in inside
    assert opened.find("x").around is None
    into = [
        a
        for a, b, _ in opened.arrows
        if opened.nodes[b].around == frame.id and opened.nodes[a].around is None
    ]
    assert into, "the frame is connected to what it reads"
    assert set(into) == {opened.find("×").id}


def test_the_result_of_an_opened_op_keeps_its_numbers() -> None:
    x = tt.tensor([0.0, 0.0], requires_grad=True)
    y = tt.softmax(x)
    y.name = "p"
    assert drawn(y, open=True).find("p").text == "p (2,) float32 data 0.5 0.5"


def test_numbers_of_an_opened_op_inside_an_expression_are_the_real_ones() -> None:
    x = tt.tensor([0.0, 1.0, 3.0], requires_grad=True, name="x")
    p = tt.softmax(x)
    (p * 2.0).sum().backward()
    graph = drawn(p * 2.0, open="softmax")
    numbers = [n.text for n in graph.nodes.values() if "data" in n.text]
    assert any("data 0.04201 0.1142 0.8438" in text for text in numbers)
    assert not any("data 0.0 " in text for text in numbers if not text.startswith("x"))


def test_opening_draws_no_random_numbers() -> None:
    model = models.build("gpt", vocab_size=11, block_size=8, dropout=0.5)
    ids = np.arange(8).reshape(2, 4)
    loss = model(ids, ids)[1]
    before = tt.random.state()
    drawn(loss, open=True)
    assert tt.random.state() == before


def test_all_fused_ops_can_be_opened() -> None:
    """Every op with a reference, on the samples that its own tests use."""
    from tinytensor.define.op import OPS

    fused = [op for op in OPS.values() if op.reference is not None]
    assert len(fused) > 5
    for op in fused:
        for sample in op.samples():
            args = [as_leaf(a) for a in sample.args]
            result = op(*args, **sample.kwargs)
            outputs = list(result) if isinstance(result, (tuple, list)) else [result]
            if outputs[0].node is None:
                continue
            graph = drawn(outputs, open=op.name)
            assert op.name not in graph.texts(), op.name


def as_leaf(value: object) -> object:
    if isinstance(value, np.ndarray):
        return tt.tensor(value, requires_grad=value.dtype.kind == "f")
    return value


def test_opening_everything_in_a_gpt_leaves_primitives_only(
    gpt: tuple[models.GPT, tt.Tensor],
) -> None:
    graph = drawn(gpt[1], open=True, depth=99)
    assert not any(n.attributes.get("peripheries") == "2" for n in graph.nodes.values())
    assert any("self_attention  reference" in title for title in graph.titles())
    assert any("× 6" in title for title in graph.titles())


def test_what_stands_for_several_layers_has_no_numbers() -> None:
    model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(4)])
    loss = model(tt.ones(1, 2)).sum()
    loss.backward()
    graph = drawn(loss, values=True, depth=5)
    assert graph.find("0.weight").text == "0.weight (2, 2) float32"
    assert graph.find("0.bias").text == "0.bias (2,) float32"
    alone = drawn(loss, values=True, depth=5, merge=False)
    assert all("data" in t and "grad" in t for t in alone.texts() if t.split()[0][1:] == ".bias")


def test_what_one_layer_called_again_and_again_reads_has_its_numbers() -> None:
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data[...] = 2.0
    out = layer(layer(layer(tt.ones(1, 1))))
    assert "data 2.0" in drawn(out, values=True, depth=5).find("weight").text
