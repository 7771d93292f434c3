"""GPT-2: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.

Learned positions, pre-norm blocks, a head that shares its weight with the embedding. Parameters
are named as in nanoGPT and GPT-2 (``wte``, ``wpe``, ``h.0.attn.c_attn``, ...) and laid out as in
PyTorch's Linear, so nanoGPT checkpoints load; so do those of GPT-2, whose matrices are transposed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..nn import (
    Dropout,
    Embedding,
    LayerNorm,
    LearnedPositions,
    Linear,
    LoadResult,
    Module,
    ModuleList,
    TransformerBlock,
    init,
)
from ..nn.activations import ACTIVATIONS
from ..nn.attention import self_attend
from ..nn.key_values import KeyValues
from ..nn.state import check_state
from ..tensor.tensor import Tensor
from .base import LanguageModel, TextConfig, check_heads
from .ids import check_length
from .shapes import Shapes, weight_and_bias


@dataclass(frozen=True)
class GPTConfig(TextConfig):
    """The numbers that make a GPT.

    Attributes:
        n_layer: number of blocks.
        n_head: attention heads in each.
        n_embd: width of the model; a multiple of ``n_head``.
        dropout: probability for all dropouts.
        bias: False leaves out the biases of Linear and LayerNorm, which trains as well and faster.
        activation: of the feed-forward part: "gelu_tanh" as GPT-2, "gelu" (exact) as nanoGPT.
    """

    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    dropout: float = 0.0
    bias: bool = True
    activation: str = "gelu_tanh"

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        check_heads(self.n_embd, self.n_head)
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation: expected one of {sorted(ACTIVATIONS)}, got {self.activation!r}"
            )

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`; the head's weight is the embedding's."""
        width = self.n_embd
        before: Shapes = {
            "wte.weight": (self.vocab_size, width),
            "wpe.weight": (self.block_size, width),
        }
        return before, self._linear_or_norm("ln_f", width)

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`."""
        width, path = self.n_embd, f"h.{layer}."
        return {
            **self._linear_or_norm(f"{path}ln_1", width),
            **self._linear_or_norm(f"{path}attn.c_attn", 3 * width, width),
            **self._linear_or_norm(f"{path}attn.c_proj", width, width),
            **self._linear_or_norm(f"{path}ln_2", width),
            **self._linear_or_norm(f"{path}mlp.c_fc", 4 * width, width),
            **self._linear_or_norm(f"{path}mlp.c_proj", width, 4 * width),
        }

    def _linear_or_norm(self, name: str, *shape: int) -> Shapes:
        return weight_and_bias(name, *shape, bias=self.bias)

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: what each layer's norms, products and activation read."""
        return 16 * self.n_embd * self.n_layer + self.vocab_size


class CausalSelfAttention(Module):
    """Multi-head attention with GPT-2's names, for a :class:`TransformerBlock`."""

    def __init__(self, config: GPTConfig):
        self.n_head = config.n_head
        self.c_attn = Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = config.dropout

    def forward(self, x: Tensor, cache: KeyValues | None = None, **masks: Any) -> Tensor:
        """(batch, time, n_embd) -> the same; with ``cache``, x follows what is in it."""
        p = self.dropout if self.training else 0.0
        qkv = self.c_attn(x)
        return self.c_proj(self_attend(self, qkv, self.n_head, dropout=p, cache=cache, **masks))


class GPTState:
    """What a GPT remembers between two calls of ``decode``: the window's ids and its keys."""

    def __init__(self, config: GPTConfig):
        self.ids: np.ndarray | None = None
        self.past = [KeyValues(config.block_size) for _ in range(config.n_layer)]


class GPT(LanguageModel[GPTConfig]):
    """A GPT-2 of any size.

    Starting values are GPT-2's: weights N(0, 0.02^2), those that end a residual branch
    (``c_proj``) divided by sqrt(2 n_layer), biases 0.

    Args:
        config: see :class:`GPTConfig`.

    Attributes:
        wte: symbol embedding (vocab_size, n_embd); its weight is also the head's.
        wpe: positions (block_size, n_embd).
        h: the blocks.
        ln_f: the last layer norm.
    """

    about = "a decoder of pre-norm blocks of attention that writes text"
    paper = "Radford et al., 2019 (GPT-2)"
    aliases = {"_orig_mod.": "", "transformer.": ""}  # torch.compile's and nanoGPT's prefixes

    def __init__(self, config: GPTConfig):
        self.config = config
        self.wte = Embedding(config.vocab_size, config.n_embd)
        self.wpe = LearnedPositions(config.block_size, config.n_embd)
        self.dropout = Dropout(config.dropout)
        self.h = ModuleList(
            TransformerBlock(
                config.n_embd,
                config.n_head,
                dropout=config.dropout,
                activation=config.activation,
                bias=config.bias,
                causal=True,
                attn=CausalSelfAttention(config),
            )
            for _ in range(config.n_layer)
        )
        self.ln_f = LayerNorm(config.n_embd, bias=config.bias)
        self.lm_head = Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        for name, param in self.named_parameters():
            if name.endswith("c_proj.weight"):
                init.normal_(param, std=0.02 / math.sqrt(2 * config.n_layer))
            elif param.ndim == 2:
                init.normal_(param, std=0.02)
            elif name.endswith("bias"):
                init.zeros_(param)

    def hidden(self, ids: Tensor, state: GPTState | None = None) -> Tensor:
        """ids (batch, time) -> features after ``ln_f``; with ``state``, ids follow its window."""
        start = 0 if state is None or state.ids is None else state.ids.shape[1]
        check_length(start + ids.shape[1], self.config.block_size)
        x = self.dropout(self.wpe(self.wte(ids), start))
        for i, block in enumerate(self.h):
            x = block(x, cache=None if state is None else state.past[i])
        return self.ln_f(x)

    def decode(self, ids: Any, state: GPTState | None = None) -> tuple[Tensor, GPTState]:
        """See :meth:`LanguageModel.decode`.

        Up to ``block_size`` symbols each call computes the new positions only. Beyond, positions
        shift by one with every symbol, which changes all of them: the last ``block_size`` symbols
        are read again.
        """
        new = self.check_ids(ids)
        seen = new.numpy()
        if state is not None and state.ids is not None:
            seen = np.concatenate([state.ids, seen], axis=1)
        if state is None or seen.shape[1] > self.config.block_size:
            seen = seen[:, -self.config.block_size :]
            new = self.check_ids(seen)
            state = GPTState(self.config)
        features = self.hidden(new, state)
        state.ids = seen
        return self.lm_head(features[:, -1]), state

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """As :meth:`Module.load_state_dict`; also takes nanoGPT's and GPT-2's checkpoints.

        Their prefixes are known, the causal masks that some of them store are left out, and GPT-2's
        matrices, stored as (in, out), are turned. (Use ``activation="gelu"`` for nanoGPT.)
        """
        check_state(state)
        own = {
            key: value
            for key, value in state.items()
            if not key.endswith((".attn.bias", ".attn.masked_bias"))
        }
        width = self.config.n_embd
        turned = any(
            key.endswith("h.0.attn.c_attn.weight") and np.shape(value) == (width, 3 * width)
            for key, value in own.items()
        )
        if turned:
            matrices = ("attn.c_attn.weight", "c_proj.weight", "mlp.c_fc.weight")
            own = {k: v.T if k.endswith(matrices) else v for k, v in own.items()}
        return super().load_state_dict(own, strict)
