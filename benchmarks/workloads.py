"""What is measured: the settings, and the starting weights and batches that all frameworks share.

Weights and batches come from here as NumPy arrays, so that every framework computes the same
losses; a run compares those of the first steps, and says so where they differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

Weights = dict[str, np.ndarray]

# the optimiser of all language models, nanoGPT's: AdamW, gradients clipped by their joint norm
LR, BETAS, EPS, DECAY, MAX_NORM = 1e-3, (0.9, 0.99), 1e-8, 0.1, 1.0
#: the learning rate of plain gradient descent (MLP and moons)
SGD_LR = 0.05
#: weight of the sum of squared parameters in the loss of the moons demo
MOONS_ALPHA = 1e-4


@dataclass(frozen=True)
class GPT:
    """One training step of a GPT without biases and with a tied head."""

    layers: int
    heads: int
    width: int
    block: int
    batch: int
    dropout: float = 0.0
    vocab: int = 65


@dataclass(frozen=True)
class Recurrent:
    """One training step of a language model on ``cell`` = "lstm", "gru" or "rnn"."""

    cell: str
    layers: int
    width: int
    block: int
    batch: int
    vocab: int = 65

    @property
    def gates(self) -> int:
        """How many blocks of rows each of the cell's weights has."""
        return {"lstm": 4, "gru": 3, "rnn": 1}[self.cell]


@dataclass(frozen=True)
class MLP:
    """One step of gradient descent of inputs -> hidden -> 1 (tanh, squared error) on one example.

    So little arithmetic that only a framework's own work is seen.
    """

    inputs: int = 16
    hidden: int = 32


@dataclass(frozen=True)
class Moons:
    """One step of micrograd's demo: two moons, 2 -> hidden -> hidden -> 1, ReLU, hinge loss."""

    points: int = 100
    hidden: int = 16


@dataclass(frozen=True)
class Generation:
    """Greedy generation with a cache of keys and values, one text, until the block is full."""

    layers: int
    heads: int
    width: int
    block: int
    prompt: int = 16
    vocab: int = 65

    @property
    def model(self) -> GPT:
        """The GPT that generates."""
        return GPT(self.layers, self.heads, self.width, self.block, 1, vocab=self.vocab)

    @property
    def tokens(self) -> int:
        """How many tokens one call makes."""
        return self.block - self.prompt


Setting = GPT | Recurrent | MLP | Moons | Generation
KINDS: dict[str, type[Any]] = {k.__name__: k for k in (GPT, Recurrent, MLP, Moons, Generation)}


def to_message(setting: Setting) -> dict[str, Any]:
    """A setting as plain values, fit for JSON."""
    return {"kind": type(setting).__name__, **asdict(setting)}


def from_message(message: dict[str, Any]) -> Setting:
    """The inverse of :func:`to_message`."""
    fields = dict(message)
    setting: Setting = KINDS[fields.pop("kind")](**fields)
    return setting


@dataclass(frozen=True)
class Workload:
    """A setting with its name in the table.

    Attributes:
        slow: peers left out unless asked for: a step of theirs takes many seconds.
    """

    name: str
    setting: Setting
    slow: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What one figure is the time of."""
        return "token" if isinstance(self.setting, Generation) else "step"

    @property
    def units(self) -> int:
        """How many of them one call of a peer's step makes."""
        return self.setting.tokens if isinstance(self.setting, Generation) else 1


S, M, L = GPT(4, 4, 128, 64, 12), GPT(6, 6, 192, 128, 16), GPT(6, 6, 384, 256, 8)

WORKLOADS = [
    Workload("gpt-S", S),
    Workload("gpt-S-dropout", replace(S, dropout=0.2)),
    Workload("gpt-M", M, slow=("autograd",)),
    Workload("gpt-M-dropout", replace(M, dropout=0.2), slow=("autograd",)),
    Workload("gpt-L", L, slow=("autograd",)),
    Workload("gpt-L-dropout", replace(L, dropout=0.2), slow=("autograd",)),
    Workload("lstm", Recurrent("lstm", 2, 256, 64, 32)),
    Workload("gru", Recurrent("gru", 2, 256, 64, 32)),
    Workload("rnn", Recurrent("rnn", 2, 256, 64, 32)),
    Workload("mlp", MLP()),
    Workload("moons", Moons()),
    Workload("generate-L", Generation(6, 6, 384, 256)),
]

#: the same code on toys: a check that everything runs, in seconds
QUICK = [
    Workload("gpt-quick", GPT(2, 2, 32, 16, 4)),
    Workload("gpt-quick-dropout", GPT(2, 2, 32, 16, 4, dropout=0.2)),
    Workload("lstm-quick", Recurrent("lstm", 2, 16, 8, 4)),
    Workload("gru-quick", Recurrent("gru", 2, 16, 8, 4)),
    Workload("rnn-quick", Recurrent("rnn", 2, 16, 8, 4)),
    Workload("mlp-quick", MLP()),
    Workload("moons-quick", Moons(points=10, hidden=4)),
    Workload("generate-quick", Generation(2, 2, 32, 24, prompt=4)),
]


def batches(s: GPT | Recurrent) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Draws ids and targets, each int64 (batch, block); the same sequence for everybody."""
    rng = np.random.default_rng(0)
    shape = (s.batch, s.block)
    return lambda: (rng.integers(0, s.vocab, shape), rng.integers(0, s.vocab, shape))


def gpt_weights(s: GPT) -> Weights:
    """GPT-2's starting values under nanoGPT's names, matrices (out, in), float32."""
    rng = np.random.default_rng(1)

    def normal(*shape: int, std: float = 0.02) -> np.ndarray:
        return (rng.standard_normal(shape) * std).astype(np.float32)

    c, last = s.width, 0.02 / math.sqrt(2 * s.layers)
    weights = {"wte.weight": normal(s.vocab, c), "wpe.weight": normal(s.block, c)}
    for i in range(s.layers):
        weights |= {
            f"h.{i}.ln_1.weight": np.ones(c, np.float32),
            f"h.{i}.attn.c_attn.weight": normal(3 * c, c),
            f"h.{i}.attn.c_proj.weight": normal(c, c, std=last),
            f"h.{i}.ln_2.weight": np.ones(c, np.float32),
            f"h.{i}.mlp.c_fc.weight": normal(4 * c, c),
            f"h.{i}.mlp.c_proj.weight": normal(c, 4 * c, std=last),
        }
    return weights | {"ln_f.weight": np.ones(c, np.float32)}


def recurrent_weights(s: Recurrent) -> Weights:
    """Uniform starting values under PyTorch's names, gates stacked as there, float32."""
    rng = np.random.default_rng(2)
    rows = s.width * s.gates

    def uniform(*shape: int) -> np.ndarray:
        return (rng.uniform(-1, 1, shape) / math.sqrt(s.width)).astype(np.float32)

    weights = {"wte.weight": uniform(s.vocab, s.width)}
    for i in range(s.layers):
        weights |= {
            f"rnn.weight_ih_l{i}": uniform(rows, s.width),
            f"rnn.weight_hh_l{i}": uniform(rows, s.width),
            f"rnn.bias_ih_l{i}": uniform(rows),
            f"rnn.bias_hh_l{i}": uniform(rows),
        }
    return weights | {
        "lm_head.weight": uniform(s.vocab, s.width),
        "lm_head.bias": uniform(s.vocab),
    }


def dense_weights(*widths: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight (out, in), bias (out,)) of each layer of an MLP, float32."""
    rng = np.random.default_rng(3)
    return [
        (
            (rng.standard_normal((n, m)) / math.sqrt(m)).astype(np.float32),
            np.zeros(n, np.float32),
        )
        for m, n in zip(widths, widths[1:])
    ]


def one_example(s: MLP) -> tuple[np.ndarray, np.ndarray]:
    """Input (1, inputs) and target (1, 1), float32."""
    rng = np.random.default_rng(4)
    return rng.standard_normal((1, s.inputs)).astype(np.float32), np.ones((1, 1), np.float32)


def two_moons(s: Moons) -> tuple[np.ndarray, np.ndarray]:
    """Points (points, 2) on two half circles with noise, and their labels -1 or 1, (points, 1)."""
    rng = np.random.default_rng(5)
    half = s.points // 2
    angle = np.linspace(0, math.pi, half), np.linspace(0, math.pi, s.points - half)
    outer = np.stack([np.cos(angle[0]), np.sin(angle[0])], axis=1)
    inner = np.stack([1 - np.cos(angle[1]), 0.5 - np.sin(angle[1])], axis=1)
    x = np.concatenate([outer, inner]) + 0.1 * rng.standard_normal((s.points, 2))
    y = np.where(np.arange(s.points) < half, -1.0, 1.0)[:, None]
    return x.astype(np.float32), y.astype(np.float32)
