"""Bahdanau's translator: its formulas worked out in NumPy, its alignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.models import Bahdanau, BahdanauConfig
from tinytensor.models.encoder_decoder import teacher_forcing

from ..nn.helpers import randomize, values_of

CONFIG = BahdanauConfig(vocab_size=6, block_size=7, n_embd=2, n_hidden=3)
SOURCES, TARGETS = [[3, 5, 4, 3], [4, 3], [5]], [[4, 5], [3, 3, 5], [4]]
BATCH = teacher_forcing(SOURCES, TARGETS)


@pytest.fixture
def model(rng: np.random.Generator) -> Any:
    made = Bahdanau(CONFIG)
    randomize(made, rng, 0.8)
    return made.eval()


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru(w: dict[str, np.ndarray], name: str, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """A step: gates r, z, n in the rows of the weights."""
    name, end = (name[: -len("_reverse")], "_reverse") if "_reverse" in name else (name, "")
    inputs = w[f"{name}.weight_ih_l0{end}"] @ x + w[f"{name}.bias_ih_l0{end}"]
    states = w[f"{name}.weight_hh_l0{end}"] @ h + w[f"{name}.bias_hh_l0{end}"]
    (a, b, c), (d, e, f) = np.split(inputs, 3), np.split(states, 3)
    r, z = sigmoid(a + d), sigmoid(b + e)
    return (1 - z) * np.tanh(c + r * f) + z * h


def translated(
    w: dict[str, np.ndarray], source: list[int], given: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The paper's appendix, one sequence, one position after the other: logits and alignment."""
    x = w["source_embedding.weight"][source]
    forward, backward = [np.zeros(3)], [np.zeros(3)]
    for row in x:
        forward.append(gru(w, "encoder", row, forward[-1]))
    for row in x[::-1]:
        backward.append(gru(w, "encoder_reverse", row, backward[-1]))
    keys = [np.concatenate(pair) for pair in zip(forward[1:], backward[:0:-1], strict=True)]
    s = np.tanh(w["start.weight"] @ backward[-1] + w["start.bias"])
    logits, alignment = [], []
    for symbol in given:
        y = w["target_embedding.weight"][symbol]
        q, k, v = (w[f"attention.{part}"] for part in ("query_proj.weight", "key_proj.weight", "v"))
        e = np.array([v @ np.tanh(q @ s + k @ key) for key in keys])
        a = np.exp(e) / np.exp(e).sum()
        c = sum(weight * key for weight, key in zip(a, keys, strict=True))
        s = gru(w, "decoder", np.concatenate([y, c]), s)
        one, other = np.split(
            w["output.weight"] @ np.concatenate([s, y, c]) + w["output.bias"], 2
        )
        logits.append(w["lm_head.weight"] @ np.maximum(one, other) + w["lm_head.bias"])
        alignment.append(a)
    return np.array(logits), np.array(alignment)


def test_logits_and_alignment_are_those_of_the_paper(model: Any) -> None:
    w = {name: values_of(p) for name, p in model.named_parameters()}
    with nn.attention.recording() as maps:
        logits = values_of(model(*BATCH[:2]))
    assert [layer for layer, _ in maps] == [model.attention] * 4, "once a step"
    weights = np.concatenate([step for _, step in maps], axis=2)
    assert weights.shape == (3, 1, 4, 4)
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        want, alignment = translated(w, source, [1, *target])
        steps = len(target) + 1
        np.testing.assert_allclose(logits[i, :steps], want, rtol=1e-10)
        found = weights[i, 0, :steps]
        np.testing.assert_allclose(found[:, : len(source)], alignment, rtol=1e-10)
        assert not found[:, len(source) :].any(), "padding is never looked at"


def test_keys_are_projected_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    project = nn.AdditiveAttention.project
    monkeypatch.setattr(
        nn.AdditiveAttention, "project", lambda self, keys: calls.append(1) or project(self, keys)
    )
    model(*BATCH)
    model.translate(SOURCES, beam=3)
    assert len(calls) == 2, "once for a batch, however many steps"


@given(st.integers(4, 6), st.integers(1, 5), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=20)
def test_shapes_and_counts_are_those_of_the_model(
    vocab: int, block: int, embd: int, hidden: int
) -> None:
    """Names, shapes and their order; and what a training step keeps is no overestimate."""
    config = BahdanauConfig(vocab, block, n_embd=embd, n_hidden=hidden)
    model = Bahdanau(config)
    shapes = [(name, array.shape) for name, array in model.state_dict().items()]
    assert list(config.parameter_shapes()) == shapes
    assert config.parameter_count() == model.num_parameters()
    assert config.array_count() == len(shapes)
    ids = np.full((2, block), 3)
    report = tt.memory_report(model.loss(ids, ids, ids))
    assert config.kept_per_symbol() * 2 * ids.size * 4 <= report.total - report.leaves


def test_the_papers_size() -> None:
    """RNNsearch: n = 1000, m = 620, vocabularies of 30,000. Theirs have no biases, and l = 500
    where ours is m."""
    config = BahdanauConfig(vocab_size=30_000, block_size=50, n_embd=620, n_hidden=1000)
    tables, output = 2 * 30_000 * 620, 2 * 620 * (1000 + 620 + 2000) + 30_000 * 620
    encoder = 2 * 3 * 1000 * (620 + 1000)
    decoder = 3 * 1000 * (620 + 2000 + 1000) + 1000 * 1000
    attention = 1000 + 1000 * 1000 + 1000 * 2000
    biases = 3 * 6 * 1000 + 1000 + 1240 + 30_000
    assert config.parameter_count() == tables + encoder + decoder + attention + output + biases


def test_states_start_orthogonal() -> None:
    model = Bahdanau(BahdanauConfig(vocab_size=6, n_embd=5, n_hidden=8))
    for gru_layer in (model.encoder, model.decoder):
        for name, param in gru_layer.named_parameters():
            if name.startswith("weight_hh"):
                for block in np.split(values_of(param), 3):
                    np.testing.assert_allclose(block @ block.T, np.eye(8), atol=1e-5)
