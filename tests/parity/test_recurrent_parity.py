"""RNN, GRU and LSTM against PyTorch's with the same weights; lengths against packed sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from .test_nn_parity import compare_gradients, pair, same_weights, torch


def states_for(name: str, rng: np.random.Generator, *shape: int) -> list[tuple[tt.Tensor, Any]]:
    """First states for both, of this shape each."""
    return [pair(rng, *shape) for _ in range(2 if name == "LSTM" else 1)]


def given(states: list[tuple[tt.Tensor, Any]], side: int) -> Any:
    """The states as a layer of either side takes them."""
    own = tuple(s[side] for s in states)
    return own if len(own) == 2 else own[0] if own else None


def parts(y: Any, end: Any) -> list[Any]:
    return [y, *end] if isinstance(end, tuple) else [y, end]


@pytest.mark.parametrize("kind", ["RNN", "RNN_relu", "GRU", "LSTM"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layout", ["time_first", "batch_first", "unbatched"])
@pytest.mark.parametrize("with_state", [True, False])
def test_recurrent(
    kind: str,
    layers: int,
    bidirectional: bool,
    bias: bool,
    layout: str,
    with_state: bool,
    rng: np.random.Generator,
) -> None:
    options: dict[str, Any] = {
        "num_layers": layers,
        "bias": bias,
        "batch_first": layout == "batch_first",
        "bidirectional": bidirectional,
    }
    if kind == "RNN_relu":
        options["nonlinearity"] = "relu"
    name = kind.removesuffix("_relu")
    ours, theirs = getattr(nn, name)(3, 4, **options), getattr(torch.nn, name)(3, 4, **options)
    same_weights(ours, theirs, rng)
    x = pair(rng, *{"time_first": (5, 2, 3), "batch_first": (2, 5, 3), "unbatched": (5, 3)}[layout])
    rows = layers * (2 if bidirectional else 1)
    shape = (rows, 4) if layout == "unbatched" else (rows, 2, 4)
    states = states_for(name, rng, *shape) if with_state else []
    outputs = zip(
        parts(*ours(x[0], given(states, 0))), parts(*theirs(x[1], given(states, 1))), strict=True
    )
    compare_gradients(list(outputs), [x, *states], rng, ours, theirs)


LENGTHS = {
    "unsorted": [3, 7, 1, 3, 5],
    "longest first": [7, 6, 6, 2, 1],
    "nobody to the end": [2, 5, 4, 5, 5],
    "all alike": [4, 4, 4, 4, 4],
    "all whole": [7, 7, 7, 7, 7],
}


@pytest.mark.parametrize("case", LENGTHS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_lengths_are_packed_sequences(
    name: str, bidirectional: bool, batch_first: bool, case: str, rng: np.random.Generator
) -> None:
    """Outputs, last states, and the gradients of x, first states and every parameter."""
    options = {"num_layers": 2, "bidirectional": bidirectional, "batch_first": batch_first}
    ours, theirs = getattr(nn, name)(3, 4, **options), getattr(torch.nn, name)(3, 4, **options)
    same_weights(ours, theirs, rng)
    lengths = LENGTHS[case]
    x = pair(rng, *((5, 7, 3) if batch_first else (7, 5, 3)))
    states = states_for(name, rng, 4 if bidirectional else 2, 5, 4)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x[1], lengths, batch_first, False)
    y, end = theirs(packed, given(states, 1))
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first, total_length=7)
    found = parts(*ours(x[0], given(states, 0), lengths))
    outputs = list(zip(found, parts(y, end), strict=True))
    compare_gradients(outputs, [x, *states], rng, ours, theirs)
