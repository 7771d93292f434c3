"""A config tells how large its model is, without building it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.models import MODELS, GPTConfig, GRUConfig, LSTMConfig, ModelConfig, RNNConfig

from .test_models import LANGUAGE

size = st.integers(1, 5)


@st.composite
def configs(draw: Any) -> tuple[str, ModelConfig]:
    name = draw(st.sampled_from(sorted(LANGUAGE)))
    values = {"vocab_size": draw(size), "block_size": draw(size), "n_layer": draw(size)}
    if name == "gpt":
        heads = draw(size)
        values |= {"n_head": heads, "n_embd": heads * draw(size), "bias": draw(st.booleans())}
    else:
        width = draw(size)
        tied = draw(st.booleans())
        hidden = width if tied else draw(size)
        values |= {"n_embd": width, "n_hidden": hidden, "tie_weights": tied}
    return name, MODELS[name][1](**values)


@given(configs())
@settings(max_examples=60)
def test_shapes_and_counts_are_those_of_the_model(drawn: tuple[str, ModelConfig]) -> None:
    """Names, shapes and their order; and what a training step keeps is no overestimate."""
    name, config = drawn
    model = MODELS[name][0](config)
    built = [(path, array.shape) for path, array in model.state_dict().items()]
    assert list(config.parameter_shapes()) == built
    assert config.parameter_count() == model.num_parameters()
    assert config.array_count() == len(built)
    ids = np.zeros((2, config.block_size), dtype=np.int64)
    report = tt.memory_report(model(ids, ids)[1])
    assert config.kept_per_symbol() * ids.size * 4 <= report.total - report.leaves


@pytest.mark.parametrize("kind", [GPTConfig, GRUConfig, LSTMConfig, RNNConfig])
def test_a_model_that_could_never_be_built_is_counted_in_no_time(kind: Any) -> None:
    started = time.process_time()
    config = kind(vocab_size=2**31 - 1, n_layer=2**31 - 1)
    assert config.parameter_count() > 2**31 * 128 * 128
    shapes = config.parameter_shapes()
    assert next(shapes) == ("wte.weight", (2**31 - 1, 128))
    assert time.process_time() - started < 1


def test_gpt2_has_the_parameters_that_gpt2_has() -> None:
    """Radford et al., 2019, as corrected: 124 million in the smallest."""
    config = GPTConfig(vocab_size=50257, block_size=1024, n_layer=12, n_head=12, n_embd=768)
    assert config.parameter_count() == 124_439_808


@pytest.mark.parametrize(
    ("kind", "field", "value", "match"),
    [
        (GPTConfig, "vocab_size", 2**31, "vocab_size: expected at most 2147483647, got 21474"),
        (RNNConfig, "block_size", 10**20, "block_size: expected at most 2147483647"),
        (GPTConfig, "activation", ["gelu"], "activation: expected a string, got"),
        (RNNConfig, "nonlinearity", None, "nonlinearity: expected a string, got None"),
        (LSTMConfig, "forget_bias", "1", "forget_bias: expected a finite number, got '1'"),
        (LSTMConfig, "forget_bias", float("inf"), "forget_bias: expected a finite number"),
        (LSTMConfig, "forget_bias", True, "forget_bias: expected a finite number, got True"),
    ],
)
def test_fields_that_cannot_be_are_named(kind: Any, field: str, value: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        kind(**{"vocab_size": 3, field: value})
    assert kind.from_dict(kind(vocab_size=3).to_dict()) == kind(vocab_size=3)
    with pytest.raises(ValueError, match="x: .* has only"):
        kind.from_dict({"vocab_size": 3, "x": 1})


def test_a_number_of_forget_bias_may_be_numpys() -> None:
    assert LSTMConfig(3, forget_bias=np.float32(0.5)).forget_bias == 0.5
    assert type(LSTMConfig(3, forget_bias=2).forget_bias) is float
