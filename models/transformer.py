"""The Transformer: Vaswani et al., "Attention Is All You Need", 2017.

An encoder whose positions attend to each other, and a decoder whose positions attend to those
before them and to the encoder's last layer. Embeddings of source and target and the head share one
weight; positions are sines and cosines; each part is followed by a layer norm (post-norm), which
needs a learning rate that warms up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import operations
from ..nn import (
    Dropout,
    Embedding,
    LayerNorm,
    LearnedPositions,
    Linear,
    ModuleList,
    SinusoidalPositions,
    TransformerBlock,
    init,
)
from ..nn.key_values import KeyValues
from ..nn.layers import check_size
from ..tensor.tensor import Tensor
from .base import check_heads
from .encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from .ids import PAD, check_length
from .shapes import Shapes, weight_and_bias

#: name -> what tells where a symbol stands: a module of (longest text, width)
POSITIONS: dict[str, Callable[[int, int], Any]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "none": lambda block_size, width: None,
}


@dataclass(frozen=True)
class TransformerConfig(EncoderDecoderConfig):
    """The numbers that make a Transformer: those of :class:`EncoderDecoderConfig`, and

    Attributes:
        dropout: probability for all dropouts.
        label_smoothing: see :class:`EncoderDecoderConfig`.
        n_layer: number of blocks of the encoder, and of the decoder.
        n_head: attention heads in each.
        n_embd: width of the model; a multiple of ``n_head``.
        n_hidden: width inside the feed-forward parts, 4 n_embd if None.
        norm_first: True for pre-norm blocks (Xiong et al., 2020), with one more layer norm after
            the last of each stack; False for the paper's.
        positions: "sinusoidal", "learned" (one table for source and target), or "none": then order
            is known from the decoder's mask alone, and that of a source not at all.
    """

    dropout: float = 0.1
    label_smoothing: float = 0.1
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 128
    n_hidden: int | None = None
    norm_first: bool = False
    positions: str = "sinusoidal"

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        check_heads(self.n_embd, self.n_head)
        if self.n_hidden is not None:
            object.__setattr__(self, "n_hidden", check_size("n_hidden", self.n_hidden))
        if self.positions not in POSITIONS:
            raise ValueError(
                f"positions: expected one of {sorted(POSITIONS)}, got {self.positions!r}"
            )

    @property
    def hidden_width(self) -> int:
        """Width inside the feed-forward parts."""
        return 4 * self.n_embd if self.n_hidden is None else self.n_hidden

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`; the head's weight is the embedding's."""
        width = self.n_embd
        before: Shapes = {"wte.weight": (self.vocab_size, width)}
        if self.positions == "learned":
            before["wpe.weight"] = (self.block_size, width)
        after: Shapes = {}
        if self.norm_first:
            after = {**weight_and_bias("ln_encoder", width), **weight_and_bias("ln_decoder", width)}
        return before, after

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`; the decoder's blocks come after the encoder's."""
        width, hidden, decoder = self.n_embd, self.hidden_width, layer >= self.n_layer
        path = f"decoder.{layer - self.n_layer}." if decoder else f"encoder.{layer}."
        return {
            **weight_and_bias(f"{path}ln_1", width),
            **_attention(f"{path}attn", width),
            **(_attention(f"{path}cross_attn", width) if decoder else {}),
            **(weight_and_bias(f"{path}ln_cross", width) if decoder else {}),
            **weight_and_bias(f"{path}ln_2", width),
            **weight_and_bias(f"{path}mlp.c_fc", hidden, width),
            **weight_and_bias(f"{path}mlp.c_proj", width, hidden),
        }

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: what an encoder's norms, products and activation read."""
        return (6 * self.n_embd + self.hidden_width) * self.n_layer

    def _sum(self, of: Callable[[Shapes], int]) -> int:
        """A sum over all parameters: here layers are of two kinds."""
        both = of(self.shapes_of_layer(0)) + of(self.shapes_of_layer(self.n_layer))
        return sum(map(of, self.shapes_outside())) + self.n_layer * both

    @property
    def _layers(self) -> int:
        return 2 * self.n_layer


def _attention(name: str, width: int) -> Shapes:
    inner: Shapes = {
        f"{name}.in_proj_weight": (3 * width, width),
        f"{name}.in_proj_bias": (3 * width,),
    }
    return inner | weight_and_bias(f"{name}.out_proj", width, width)


@dataclass
class TransformerState:
    """What writing a target needs of what was read.

    Attributes:
        memory: (batch, S, n_embd), the encoder's last features.
        mask: (batch, S), True where the source is not padding; None where nothing is.
        own, cross: keys and values of each block of the decoder: of the target's symbols so far,
            and of ``memory``.
        length: how many symbols of the target were read.
    """

    memory: Tensor
    mask: Tensor | None
    own: list[KeyValues] = field(default_factory=list)
    cross: list[KeyValues] = field(default_factory=list)
    length: int = 0


class Transformer(EncoderDecoder[TransformerConfig]):
    """An encoder and decoder of attention alone.

    Starting values: matrices Xavier's, biases 0, embeddings N(0, 1 / n_embd), which the input
    multiplies by sqrt(n_embd).

    The state dict of ``torch.nn.Transformer`` loads as it is (``strict=False``, for it has no
    embeddings; without ``norm_first`` its two last norms are not the paper's, and are left over).

    Args:
        config: see :class:`TransformerConfig`.

    Attributes:
        wte: embedding of source and target (vocab_size, n_embd); its weight is also the head's.
        wpe: adds positions; None for positions="none".
        encoder, decoder: the blocks.
        ln_encoder, ln_decoder: the layer norms after them with ``norm_first``, or None.
    """

    about = "encoder and decoder of attention alone, with which the era of Transformers began"
    paper = "Vaswani et al., 2017"
    aliases = {
        "encoder.layers.": "encoder.",
        "decoder.layers.": "decoder.",
        "encoder.norm.": "ln_encoder.",
        "decoder.norm.": "ln_decoder.",
    }

    def __init__(self, config: TransformerConfig):
        self.config = config
        width = config.n_embd
        self.wte = Embedding(config.vocab_size, width)
        self.wpe = POSITIONS[config.positions](config.block_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder, self.decoder = (
            ModuleList(_block(config, decoder) for _ in range(config.n_layer))
            for decoder in (False, True)
        )
        self.ln_encoder = LayerNorm(width) if config.norm_first else None
        self.ln_decoder = LayerNorm(width) if config.norm_first else None
        self.lm_head = Linear(width, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        init.normal_(self.wte.weight, std=width**-0.5)
        for block in (*self.encoder, *self.decoder):
            for linear in (block.mlp.c_fc, block.mlp.c_proj):
                init.xavier_uniform_(linear.weight)
                init.zeros_(linear.bias)

    def hidden(self, source: Tensor, given: Tensor) -> Tensor:
        """See :class:`EncoderDecoder`."""
        return self._write(given, self._read(source))

    def encode(self, source: Any) -> TransformerState:
        """See :class:`EncoderDecoder`."""
        state = self._read(self.check_source(source))
        state.own = [KeyValues(self.config.block_size) for _ in self.decoder]
        state.cross = [KeyValues() for _ in self.decoder]
        return state

    def decode(self, ids: Any, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """See :class:`EncoderDecoder`; only the new symbols are computed.

        Raises:
            ValueError: the target is longer than ``block_size``.
        """
        ids = self.check_ids(ids)
        length = state.length + ids.shape[1]
        check_length(length, self.config.block_size)
        features = self._write(ids, state)
        state.length = length
        return self.lm_head(features[:, -1]), state

    def reorder(self, state: TransformerState, rows: np.ndarray) -> TransformerState:
        """See :class:`EncoderDecoder`."""
        for cache in (*state.own, *state.cross):
            cache.reorder(rows)
        mask = None if state.mask is None else state.mask[rows]
        return TransformerState(state.memory[rows], mask, state.own, state.cross, state.length)

    def _embed(self, ids: Tensor, start: int = 0) -> tuple[Tensor, Tensor | None]:
        """ids (batch, time) -> features, and True where a symbol is, or None where none is PAD.

        Those of PAD are zeros, so that not even the rounding of others depends on them.
        """
        x = self.wte(ids) * math.sqrt(self.config.n_embd)
        if self.wpe is not None:
            x = self.wpe(x, start)
        real = ids != PAD if bool((ids.numpy() == PAD).any()) else None
        if real is not None:
            x = operations.where(operations.expand_dims(real, -1), x, 0.0)
        return self.dropout(x), real

    def _read(self, source: Tensor) -> TransformerState:
        """The encoder."""
        x, mask = self._embed(source)
        for block in self.encoder:
            x = block(x, key_mask=mask)
        return TransformerState(x if self.ln_encoder is None else self.ln_encoder(x), mask)

    def _write(self, ids: Tensor, state: TransformerState) -> Tensor:
        """The decoder, on symbols that follow those that the state has read.

        Padding at the end of a target needs no mask: no symbol before sees it.
        """
        x, _ = self._embed(ids, state.length)
        for i, block in enumerate(self.decoder):
            x = block(
                x,
                state.memory,
                memory_key_mask=state.mask,
                cache=state.own[i] if state.own else None,
                memory_cache=state.cross[i] if state.cross else None,
            )
        return x if self.ln_decoder is None else self.ln_decoder(x)


def _block(config: TransformerConfig, decoder: bool) -> TransformerBlock:
    return TransformerBlock(
        config.n_embd,
        config.n_head,
        config.n_hidden,
        dropout=config.dropout,
        activation="relu",
        norm_first=config.norm_first,
        causal=decoder,
        cross=decoder,
    )
