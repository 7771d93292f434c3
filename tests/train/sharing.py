"""What the tests of several processes share: which ones run, small models, steps in one or more."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.train import AdamW, DataParallel, clip_grad_norm

from .helpers import SMALL

VOCABULARY, BLOCK = 11, 8


def alive(pid: int) -> bool:
    """Whether a process runs (one that has ended may wait for its parent to notice)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def children(of: int | None = None) -> list[int]:
    """Processes that this one (or another one) has started and that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == (of or os.getpid()) and alive(int(entry.name)):
                found.append(int(entry.name))
    return sorted(found)


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    """Each test leaves no process behind, and the threads of BLAS as they were."""
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    yield
    assert multiprocessing.active_children() == [] and children() == []
    after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert after == before


def make(name: str = "gpt", **settings: Any) -> Any:
    """A small model in float64, the same each time."""
    tt.manual_seed(3)
    settings = {**SMALL[name], "block_size": BLOCK, **settings}
    return models.build(name, vocab_size=VOCABULARY, **settings).to("float64")


def adamw(model: Any) -> AdamW:
    """Groups with settings of their own."""
    params = list(model.parameters())
    groups = [{"params": params[::2], "lr": 3e-2, "weight_decay": 0.3}, {"params": params[1::2]}]
    return AdamW(groups, lr=1e-2)


def batch(rng: np.random.Generator, size: int = 5, ignored: bool = True) -> tuple[Any, Any]:
    """Texts and targets; of the first text no target counts, of the second half of them."""
    x, y = rng.integers(0, VOCABULARY, (2, size, BLOCK))
    if ignored:
        y[0] = -100
        y[1, : BLOCK // 2] = -100
    return x, y


def alone(model: Any, batches: list[tuple[Any, Any]]) -> list[float]:
    """The losses of batches whose gradients are averaged, in one process."""
    losses = []
    for x, y in batches:
        loss = model(x, y)[1]
        (loss * (1 / len(batches))).backward()
        losses.append(loss.item())
    return losses


def step(model: Any, optimizer: Any, x: Any, y: Any, limit: float = 0.1) -> tuple[float, float]:
    """A step in one process: loss and norm of the gradient."""
    (loss,) = alone(model, [(x, y)])
    norm = clip_grad_norm(optimizer.parameters(), limit)
    optimizer.step()
    optimizer.zero_grad()
    return loss, norm


def shared_step(parallel: DataParallel, x: Any, y: Any, limit: float = 0.1) -> tuple[float, float]:
    """The same in several."""
    loss = parallel.backward(x, y)
    norm = parallel.reduce()
    parallel.update(limit)
    return loss, norm


def grads(model: Any) -> list[Any]:
    return [None if p.grad is None else p.grad.numpy() for p in model.parameters()]


def same(got: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Lists of arrays (or None) are equal but for rounding."""
    assert len(got) == len(expected) > 0
    for a, b in zip(got, expected):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def weights(model: Any) -> list[Any]:
    return list(model.state_dict().values())


def same_state(got: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """State dicts of optimisers."""
    assert got["numbers"] == expected["numbers"]
    assert list(got["arrays"]) == list(expected["arrays"])
    same([*got["arrays"].values(), 0], [*expected["arrays"].values(), 0], tolerance)


class Toy(nn.Module):
    """Tied weights, two dtypes; a parameter that is not used, one that is frozen, and one that
    only texts with the last symbol use."""

    def __init__(self) -> None:
        tt.manual_seed(5)
        rng = np.random.default_rng(5)
        self.unused = nn.Parameter(np.ones(100))
        self.table = nn.Parameter(rng.normal(size=(VOCABULARY, 6)))
        self.gain = nn.Parameter(np.ones(6, np.float32))
        self.frozen = nn.Parameter(rng.normal(size=6), requires_grad=False)
        self.rare = nn.Parameter(rng.normal(size=6))
        self.head = nn.Linear(6, VOCABULARY)
        self.head.weight = self.table
        self.to_raise: Any = None  # called with the ids

    def forward(self, ids: Any, targets: Any) -> Any:
        if self.to_raise is not None:
            self.to_raise(ids)
        features = tt.tanh(self.table[ids] * self.gain.astype("float64") + self.frozen)
        last = ids == VOCABULARY - 1
        if last.any():
            features = features + tt.tensor(last[..., None].astype(float)) * self.rare
        logits = features @ self.head.weight.T + self.head.bias.astype("float64")
        return logits, tt.cross_entropy(logits, tt.tensor(targets))

    def loss(self, ids: Any, targets: Any) -> Any:
        return self(ids, targets)[1]
