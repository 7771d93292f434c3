"""PyTorch, eager: the same models out of torch.nn, with its fused attention and LSTM."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .. import workloads as w


def blas() -> str:
    """MKL (or what this build has) is linked into torch, where threadpoolctl can't see it."""
    text = torch.__config__.show()
    mkl = re.search(r"oneAPI Math Kernel Library Version (\S+)", text)
    openblas = "OpenBLAS" if "BLAS_INFO=open" in text else "BLAS of this build"
    isa = re.search(r"CPU capability usage: (\S+)", text)
    kernel = torch.backends.cpu.get_cpu_capability() if isa is None else isa.group(1)
    name = f"MKL {mkl.group(1)}" if mkl else openblas
    return f"{name} {kernel}, {torch.get_num_threads()} threads"


class Attention(nn.Module):
    """Causal self-attention; in generation it writes into a cache of the block's full length."""

    def __init__(self, s: w.GPT):
        super().__init__()
        self.heads, self.p = s.heads, s.dropout
        self.c_attn = nn.Linear(s.width, 3 * s.width, bias=False)
        self.c_proj = nn.Linear(s.width, s.width, bias=False)
        self.dropout = nn.Dropout(s.dropout)

    def forward(self, x: Any, cache: Any = None, start: int = 0) -> Any:
        """(batch, time, width) -> the same; ``cache`` is (2, batch, heads, block, head size)."""
        batch, time, width = x.shape
        q, k, v = (
            part.view(batch, time, self.heads, -1).transpose(1, 2)
            for part in self.c_attn(x).split(width, dim=2)
        )
        if cache is not None:
            cache[0, :, :, start : start + time] = k
            cache[1, :, :, start : start + time] = v
            k, v = cache[0, :, :, : start + time], cache[1, :, :, : start + time]
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=time > 1, dropout_p=self.p if self.training else 0.0
        )
        return self.dropout(self.c_proj(y.transpose(1, 2).contiguous().view(batch, time, width)))


class FeedForward(nn.Module):
    """Four times as wide inside, gelu with tanh."""

    def __init__(self, s: w.GPT):
        super().__init__()
        self.c_fc = nn.Linear(s.width, 4 * s.width, bias=False)
        self.c_proj = nn.Linear(4 * s.width, s.width, bias=False)
        self.dropout = nn.Dropout(s.dropout)

    def forward(self, x: Any) -> Any:
        """(batch, time, width) -> the same."""
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """x + attn(ln_1(x)), then x + mlp(ln_2(x))."""

    def __init__(self, s: w.GPT):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(s.width, bias=False), nn.LayerNorm(s.width, bias=False)
        self.attn, self.mlp = Attention(s), FeedForward(s)

    def forward(self, x: Any, cache: Any = None, start: int = 0) -> Any:
        """(batch, time, width) -> the same."""
        x = x + self.attn(self.ln_1(x), cache, start)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """GPT-2 without biases, head tied to the embedding."""

    def __init__(self, s: w.GPT):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(s.vocab, s.width), nn.Embedding(s.block, s.width)
        self.dropout = nn.Dropout(s.dropout)
        self.h = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.ln_f = nn.LayerNorm(s.width, bias=False)
        self.load_state_dict({k: torch.from_numpy(v) for k, v in w.gpt_weights(s).items()})

    def hidden(self, ids: Any, caches: Any = None, start: int = 0) -> Any:
        """ids (batch, time) -> features after the last layer norm."""
        x = self.dropout(self.wte(ids) + self.wpe(torch.arange(start, start + ids.shape[1])))
        for i, block in enumerate(self.h):
            x = block(x, None if caches is None else caches[i], start)
        return self.ln_f(x)

    def forward(self, ids: Any, targets: Any) -> Any:
        """The mean cross-entropy."""
        logits = F.linear(self.hidden(ids), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class RecurrentLM(nn.Module):
    """Embedding, torch.nn.LSTM, GRU or RNN, head."""

    def __init__(self, s: w.Recurrent):
        super().__init__()
        cell = getattr(nn, s.cell.upper())
        self.wte = nn.Embedding(s.vocab, s.width)
        self.rnn = cell(s.width, s.width, s.layers, batch_first=True)
        self.lm_head = nn.Linear(s.width, s.vocab)
        self.load_state_dict({k: torch.from_numpy(v) for k, v in w.recurrent_weights(s).items()})

    def forward(self, ids: Any, targets: Any) -> Any:
        """The mean cross-entropy."""
        logits = self.lm_head(self.rnn(self.wte(ids))[0])
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def language_model(s: w.GPT | w.Recurrent, wrap: Any = lambda model: model) -> Callable[[], float]:
    """Forward, backward, clipping, AdamW; ``wrap`` may compile the model."""
    torch.manual_seed(1)
    model = GPT(s) if isinstance(s, w.GPT) else RecurrentLM(s)
    call = wrap(model)
    params = list(model.parameters())
    groups = [
        {"params": [p for p in params if p.ndim >= 2], "weight_decay": w.DECAY},
        {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=w.LR, betas=w.BETAS, eps=w.EPS)
    draw = w.batches(s)

    def step() -> float:
        ids, targets = draw()
        loss = call(torch.from_numpy(ids), torch.from_numpy(targets))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(params, w.MAX_NORM)
        optimizer.step()
        return float(loss.item())

    return step


def _dense(*widths: int) -> list[Any]:
    """The layers of an MLP with the starting weights."""
    layers = []
    for weight, bias in w.dense_weights(*widths):
        layers.append(nn.Linear(weight.shape[1], weight.shape[0]))
        layers[-1].load_state_dict(
            {"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)}
        )
    return layers


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    hidden, out = _dense(s.inputs, s.hidden, 1)
    model = nn.Sequential(hidden, nn.Tanh(), out)
    optimizer = torch.optim.SGD(model.parameters(), lr=w.SGD_LR)
    x, y = (torch.from_numpy(a) for a in w.one_example(s))

    def step() -> float:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    first, second, out = _dense(2, s.hidden, s.hidden, 1)
    model = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), out)
    params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=w.SGD_LR)
    x, y = (torch.from_numpy(a) for a in w.two_moons(s))

    def step() -> float:
        hinge = F.relu(1.0 - y * model(x)).mean()
        loss = hinge + w.MOONS_ALPHA * sum((p * p).sum() for p in params)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def generation(s: w.Generation) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Generation`."""
    model = GPT(s.model).eval()
    cache_shape = (s.layers, 2, 1, s.heads, s.block, s.width // s.heads)

    @torch.inference_mode()
    def step() -> float:
        caches = torch.empty(cache_shape)
        new, start, made = torch.arange(s.prompt)[None] % s.vocab, 0, []
        for _ in range(s.tokens):
            last = model.hidden(new, caches, start)[:, -1]
            start += new.shape[1]
            new = F.linear(last, model.wte.weight).argmax(dim=-1, keepdim=True)
            made.append(new.item())
        return sum(made) / len(made)

    return step


BUILDERS = {
    w.GPT: language_model,
    w.Recurrent: language_model,
    w.MLP: mlp,
    w.Moons: moons,
    w.Generation: generation,
}
