"""The memory experiment: its lesson's own figures, and those that docs/memory.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from lessons import memory
from tinytensor import nn

PAGE = Path(__file__).resolve().parent.parent / "docs" / "memory.md"
LENGTHS = (2, 4, 8, 16, 32)


def streamed(layer: Any, rng: np.random.RandomState) -> list[float]:
    """Mean cosine of 30 pairs for each length, all from one stream, as the lesson draws them."""
    return [
        float(memory.cosines(layer, *memory.pairs(rng, length, 30)).mean()) for length in LENGTHS
    ]


@pytest.fixture(scope="module")
def drawn() -> Any:
    return memory.Weights(np.random.RandomState(3))


def test_one_step_by_hand() -> None:
    """W_in = 1, W_h = 1/2, h = (0.8, 0), x = (1, 0): tanh(1.4); then x = 0: tanh of half of it."""
    rnn = nn.RNN(2, 2, bias=False).to("float64")
    with tt.no_grad():
        rnn.get_parameter("weight_ih_l0").copy_(np.eye(2))
        rnn.get_parameter("weight_hh_l0").copy_(np.eye(2) / 2)
    x, h = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.8, 0.0]])
    states = rnn(tt.tensor(x), tt.tensor(h))[0].detach().numpy()
    np.testing.assert_allclose(states, [[0.885351648, 0], [0.415860, 0]], atol=1e-6)


SINGLE = {
    "RNN": [-0.043642, 0.986514, -0.901638, -0.995478, 0.424927, -0.997605, -0.920852, 0.997480],
    "LSTM": [-0.176014, 0.302592, 0.084372, -0.135065, -0.273823, 0.159600, 0.018523, -0.064939],
    "LSTM, open": [
        -0.140274, 0.495155, 0.076826, -0.155422, -0.469318, 0.156829, 0.046720, -0.343369,
    ],
}  # fmt: skip
CELLS = {
    "LSTM": [-0.767517, 0.539796, 0.188941, -0.989096, -0.515213, 0.675318, 0.122504, -0.090456],
    "LSTM, open": [
        -0.660789, 1.241903, 0.203420, -1.300108, -1.149470, 0.777566, 0.353669, -0.499435,
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_states_after_four_tokens(name: str, drawn: Any) -> None:
    x = tt.tensor(np.random.RandomState(0).randn(4, 1, 8))
    layer = drawn.network(name)
    np.testing.assert_allclose(
        layer(x)[0][-1, 0].detach().numpy(), SINGLE[name], atol=1.5e-6, err_msg="h"
    )
    if name in CELLS:
        np.testing.assert_allclose(layer(x)[1][1][0, 0].detach().numpy(), CELLS[name], atol=1.5e-6)


def test_the_first_experiment() -> None:
    """Only W_in and W_h are drawn before the sequences."""
    rng = np.random.RandomState(3)
    w_in, w_h = rng.randn(8, 8) * 0.6, rng.randn(8, 8) * 0.6
    rnn = nn.RNN(8, 8, bias=False).to("float64")
    with tt.no_grad():
        rnn.get_parameter("weight_ih_l0").copy_(w_in)
        rnn.get_parameter("weight_hh_l0").copy_(w_h)
    found = streamed(rnn, rng)
    np.testing.assert_allclose(found, [0.648988, 0.914345, 0.988584, 0.999994, 1.0], atol=1.5e-6)
    assert found == sorted(found)


def test_the_second_experiment() -> None:
    """One row after another from one stream, behind all weights."""
    rng = np.random.RandomState(3)
    drawn = memory.Weights(rng)
    want = {
        "RNN": [0.604999, 0.887213, 0.997119, 0.999974, 1.000000],
        "LSTM": [0.506742, 0.865364, 0.967933, 0.998389, 0.999994],
        "LSTM, open": [0.425342, 0.675260, 0.814305, 0.810936, 0.745534],
    }
    for name, row in want.items():
        np.testing.assert_allclose(streamed(drawn.network(name), rng), row, atol=1.5e-6)


def test_paired_rows_are_where_an_independent_run_of_them_was(drawn: Any) -> None:
    """With other data: 2,000 pairs, 500 for the long ones; and GRU's in between."""
    rows = memory.table({name: drawn.network(name) for name in memory.CELLS}, count=2000)
    for name, want in (
        ("RNN", [0.6052, 0.8939, 0.9925, 1.0000, 1.0000]),
        ("LSTM", [0.6058, 0.8796, 0.9799, 0.9982, 1.0000]),
        ("LSTM, open", [0.4805, 0.7004, 0.8083, 0.8269, 0.8066]),
    ):
        np.testing.assert_allclose(rows[name][:5], want, atol=0.02)
    for name in ("RNN", "GRU", "LSTM"):
        assert rows[name] == sorted(rows[name]) and rows[name][-1] > 0.999999
    assert max(rows["LSTM, open"]) < 0.9


def test_the_page_has_the_figures_of_the_script(drawn: Any) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = memory.table({name: drawn.network(name) for name in memory.CELLS})
    for name, row in rows.items():
        line = " | ".join([f"| {name}", *(f"{value:.4f}" for value in row)])
        assert line in page, line


@pytest.mark.parametrize("name, right, wrong", [("LSTM, open", 0.6, 0.0), ("LSTM", 0.2, 0.5)])
def test_what_a_short_training_teaches(name: str, right: float, wrong: float, drawn: Any) -> None:
    """Behind 32 tokens, where guessing is right 1 time in 8: the LSTM that starts open is soon on
    its way, the other keeps its states apart but not yet by what it is asked."""
    layer = drawn.network(name)
    before = memory.table({name: layer}, count=200)[name][4]
    layer, head = memory.train(layer, steps=250)
    found = memory.accuracy(layer, head, count=500)[4]
    assert right < found and (not wrong or found < wrong), found
    assert memory.table({name: layer}, count=200)[name][4] < 0.5 < before


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    rows = {name: [0.5, 0.9, 0.99, 1.0, 1.0, 1.0] for name in memory.CELLS}
    memory.draw(tmp_path / "m.svg", [("a", "1 - cosine", rows), ("b", "accuracy", rows)])
    picture = (tmp_path / "m.svg").read_text(encoding="utf-8")
    assert picture.startswith("<?xml") and len(re.findall("<path", picture)) > 8
