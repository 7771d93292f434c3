"""The copy task: say at the end of a sequence which symbol it began with.

One of 8 symbols, then noise that means nothing, and at last a question mark, ``distance`` positions
after the symbol. Guessing is right once in 8. Each kind of layers learns each distance by itself,
in the same number of steps at most; those that have learnt it stop early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from threadpoolctl import threadpool_limits

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import Adam, clip_grad_norm

from .bodies import KINDS, Kind

#: symbols to be copied, kinds of noise, and the mark
SYMBOLS, NOISE, QUESTION = 8, 8, 16
BATCH, WARM_UP, TESTED = 16, 20, 512
#: learning rates: for each kind the best of 1e-2, 5e-3 and 2e-3
RATE, RATES = 1e-2, {"rnn": 2e-3, "attention": 5e-3}
CHANCE = 1 / SYMBOLS
#: batches without a fault in a row, after which nothing is left to learn
LEARNT = 10


@dataclass(frozen=True)
class Budget:
    """How much each training may cost.

    Attributes:
        distances: from the symbol to the question. steps: at most, of BATCH sequences.
    """

    distances: tuple[int, ...]
    steps: int


@dataclass(frozen=True)
class Result:
    """What came of a training: ``accuracy`` on TESTED new sequences, after ``steps`` steps."""

    key: str
    distance: int
    accuracy: float
    steps: int


class Copier(nn.Module):
    """An embedding, a body of one kind, and what reads its last output."""

    def __init__(self, kind: Kind):
        self.embedding = nn.Embedding(QUESTION + 1, kind.width)
        self.body = kind.body()
        self.head = nn.Linear(kind.width, SYMBOLS)

    def forward(self, ids: np.ndarray) -> tt.Tensor:
        """ids (batch, time) -> logits (batch, SYMBOLS) of the symbol at the beginning."""
        return self.head(self.body(self.embedding(ids))[:, -1])


def examples(rng: np.random.Generator, count: int, distance: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences (count, distance + 1) and the symbols (count,) that they begin with."""
    ids = rng.integers(SYMBOLS, SYMBOLS + NOISE, (count, distance + 1))
    symbols = rng.integers(0, SYMBOLS, count)
    ids[:, 0], ids[:, -1] = symbols, QUESTION
    return ids, symbols


def trained(key: str, distance: int, steps: int, seed: int = 0) -> Result:
    """Train one kind at one distance, and try it on new sequences."""
    kind = next(kind for kind in KINDS if kind.key == key)
    rng, rate = np.random.default_rng([seed, distance]), RATES.get(key, RATE)
    tt.manual_seed(seed)
    # Over long distances the gradient of a recurrent layer vanishes. In float32 it becomes
    # subnormal on its way, numbers with which a processor is ten times as slow; float64 has none
    # until 1e-308.
    model = Copier(kind).to("float64" if kind.recurrent else "float32")
    params = list(model.parameters())
    optimizer = Adam(params, lr=rate)
    step = faultless = 0
    while step < steps and faultless < LEARNT:
        step += 1
        optimizer.lr = rate * min(1.0, step / WARM_UP)
        ids, symbols = examples(rng, BATCH, distance)
        logits = model(ids)
        optimizer.zero_grad()
        tt.cross_entropy(logits, symbols).backward()
        clip_grad_norm(params, 1.0)
        optimizer.step()
        faultless = faultless + 1 if right(logits, symbols) == 1 else 0
    model.eval()
    ids, symbols = examples(rng, TESTED, distance)
    with tt.no_grad():
        parts = [right(model(ids[i : i + 32]), symbols[i : i + 32]) for i in range(0, TESTED, 32)]
    return Result(key, distance, float(np.mean(parts)), step)


def right(logits: tt.Tensor, symbols: np.ndarray) -> float:
    """The share of right answers."""
    return float((logits.detach().numpy().argmax(axis=1) == symbols).mean())


def train_all(
    kinds: Sequence[Kind], budget: Budget, workers: int, tell: Callable[[str], None]
) -> dict[str, list[Result]]:
    """Each kind at each distance: per kind the results in the order of the distances."""
    jobs = [(kind.key, distance, budget.steps) for kind in kinds for distance in budget.distances]
    jobs.sort(key=lambda job: -job[1])  # long ones first, for both workers to be busy to the end
    results: list[Result] = []

    def add(result: Result) -> None:
        results.append(result)
        tell(f"copy task: {len(results)} of {len(jobs)} trained")

    if workers == 1:
        for job in jobs:
            add(trained(*job))
    else:
        with ProcessPoolExecutor(workers, get_context("spawn"), threadpool_limits, (1,)) as pool:
            for done in as_completed([pool.submit(trained, *job) for job in jobs]):
                add(done.result())
    results.sort(key=lambda result: result.distance)
    return {kind.key: [r for r in results if r.key == kind.key] for kind in kinds}
