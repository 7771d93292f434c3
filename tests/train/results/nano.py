"""A GPT in PyTorch with nanoGPT's names and shapes, written for the tests of ``export``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass
class GPTConfig:
    """nanoGPT's fields and defaults."""

    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True


class Norm(nn.Module):
    """LayerNorm with a bias or without one."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.n_embd))
        self.bias = nn.Parameter(torch.zeros(config.n_embd)) if config.bias else None

    def forward(self, x: Any) -> Any:
        """(..., n_embd) -> the same."""
        centred = x - x.mean(-1, keepdim=True)
        y = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * self.weight
        return y if self.bias is None else y + self.bias


class Attention(nn.Module):
    """Head by head, with a mask of its own."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.n_head = config.n_head
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)

    def forward(self, x: Any) -> Any:
        """(batch, time, n_embd) -> the same."""
        time = x.shape[1]
        later = torch.ones(time, time).triu(1).bool()
        heads = []
        parts = [part.chunk(self.n_head, -1) for part in self.c_attn(x).chunk(3, -1)]
        for q, k, v in zip(*parts):
            scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
            heads.append(scores.masked_fill(later, -torch.inf).softmax(-1) @ v)
        return self.c_proj(torch.cat(heads, -1))


class MLP(nn.Module):
    """Linear, exact gelu, linear."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)

    def forward(self, x: Any) -> Any:
        """(..., n_embd) -> the same."""
        return self.c_proj(self.gelu(self.c_fc(x)))


class Block(nn.Module):
    """A layer."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(config), Norm(config)
        self.attn, self.mlp = Attention(config), MLP(config)

    def forward(self, x: Any) -> Any:
        """(batch, time, n_embd) -> the same."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The model; without targets it gives the logits of the last position only."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        parts: dict[str, nn.Module] = {
            "wte": nn.Embedding(config.vocab_size, config.n_embd),
            "wpe": nn.Embedding(config.block_size, config.n_embd),
            "h": nn.ModuleList(Block(config) for _ in range(config.n_layer)),
            "ln_f": Norm(config),
        }
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        parts["wte"].weight = self.lm_head.weight

    def forward(self, ids: Any, targets: Any = None) -> Any:
        """ids (batch, time) -> (logits, loss or None)."""
        parts: Any = self.transformer
        x = parts["wte"](ids) + parts["wpe"](torch.arange(ids.shape[1]))
        for block in parts["h"]:
            x = block(x)
        logits = self.lm_head(parts["ln_f"](x))
        if targets is None:
            return logits[:, [-1]], None
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
