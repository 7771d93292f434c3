"""tinytensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.train import SGD, AdamW, clip_grad_norm, param_groups

from .. import workloads as w


def adamw(model: Any) -> AdamW:
    """The optimiser of all language models."""
    return AdamW(param_groups(model, w.DECAY), lr=w.LR, betas=w.BETAS, eps=w.EPS)


def language_model(model: Any, draw: Callable[[], Any]) -> Callable[[], float]:
    """Forward, backward, clipping, AdamW, on the batches that ``draw`` gives."""
    optimizer = adamw(model)
    params = list(model.parameters())

    def step() -> float:
        _, loss = model(*draw())
        loss.backward()
        clip_grad_norm(params, w.MAX_NORM)
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.item())

    return step


def gpt_model(s: w.GPT) -> Any:
    """With the starting weights."""
    model = models.build(
        "gpt",
        vocab_size=s.vocab,
        block_size=s.block,
        n_layer=s.layers,
        n_head=s.heads,
        n_embd=s.width,
        dropout=s.dropout,
        bias=False,
    )
    model.load_state_dict(w.gpt_weights(s))
    return model


def gpt(s: w.GPT) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.GPT`."""
    return language_model(gpt_model(s), w.batches(s))


def recurrent_model(s: w.Recurrent) -> Any:
    """With the starting weights."""
    model = models.build(
        s.cell,
        vocab_size=s.vocab,
        block_size=s.block,
        n_layer=s.layers,
        n_embd=s.width,
        n_hidden=s.width,
    )
    model.load_state_dict(w.recurrent_weights(s))
    return model


def recurrent(s: w.Recurrent) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Recurrent`."""
    return language_model(recurrent_model(s), w.batches(s))


def _dense(*widths: int) -> list[Any]:
    """The layers of an MLP with the starting weights."""
    layers = []
    for weight, bias in w.dense_weights(*widths):
        layers.append(nn.Linear(weight.shape[1], weight.shape[0]))
        layers[-1].load_state_dict({"weight": weight, "bias": bias})
    return layers


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    hidden, out = _dense(s.inputs, s.hidden, 1)
    model = nn.Sequential(hidden, nn.Tanh(), out)
    optimizer = SGD(model.parameters(), lr=w.SGD_LR)
    x, y = (tt.tensor(a) for a in w.one_example(s))

    def step() -> float:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    first, second, out = _dense(2, s.hidden, s.hidden, 1)
    model = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), out)
    params = list(model.parameters())
    optimizer = SGD(params, lr=w.SGD_LR)
    x, y = (tt.tensor(a) for a in w.two_moons(s))

    def step() -> float:
        hinge = tt.relu(1.0 - y * model(x)).mean()
        loss = hinge + w.MOONS_ALPHA * sum((p * p).sum() for p in params)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def generation(s: w.Generation) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Generation`."""
    model = gpt_model(s.model)
    prompt = np.arange(s.prompt) % s.vocab
    return lambda: float(model.generate(prompt, s.tokens, temperature=0)[s.prompt :].mean())


BUILDERS = {
    w.GPT: gpt,
    w.Recurrent: recurrent,
    w.MLP: mlp,
    w.Moons: moons,
    w.Generation: generation,
}
