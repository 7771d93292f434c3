"""A training step leaves nothing behind, without the garbage collector's help."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models
from tinytensor.graph.node import Node
from tinytensor.train import optim

SMALL = {"vocab_size": 11, "block_size": 8}
SIZES = {
    "gpt": {"n_layer": 2, "n_head": 2, "n_embd": 16, "dropout": 0.1},
    "gru": {},
    "lstm": {},
    "rnn": {},
}


def living() -> Counter[str]:
    """How many tensors and nodes there are."""
    return Counter(type(o).__name__ for o in gc.get_objects() if isinstance(o, (tt.Tensor, Node)))


@pytest.mark.parametrize("name", SIZES)
def test_live_objects_and_bytes_return_after_a_step(name: str) -> None:
    model = models.build(name, **SMALL, **SIZES[name])
    optimiser = optim.AdamW(model.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)

    def step() -> None:
        ids = rng.integers(0, 11, (4, 9))
        _, loss = model(ids[:, :-1], ids[:, 1:])
        model.zero_grad()
        loss.backward()
        optimiser.step()

    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            step()
        before = living()
        tracemalloc.start()
        step()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            step()
        grown = tracemalloc.get_traced_memory()[0] - start
        assert living() == before
        assert before["Node"] == 0
        assert grown < 20_000, f"{grown} bytes more after 5 steps"
    finally:
        tracemalloc.stop()
        gc.enable()
