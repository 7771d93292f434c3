"""A translator that learns to align: Bahdanau, Cho and Bengio, "Neural Machine Translation by
Jointly Learning to Align and Translate", 2015.

A bidirectional GRU reads the source, so that each position knows both its past and its future. The
decoder, another GRU, asks at each step which positions matter now, and gets the mean of them,
weighted by that: before, a whole sentence had to fit into one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import operations, tensor
from ..nn import GRU, AdditiveAttention, Dropout, Embedding, Linear
from ..tensor.tensor import Tensor
from .encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from .ids import PAD
from .recurrent import start_orthogonal
from .shapes import Shapes, recurrent, weight_and_bias


@dataclass(frozen=True)
class BahdanauConfig(EncoderDecoderConfig):
    """The numbers that make a Bahdanau; the dropout is of embeddings and of what the head reads.

    Attributes:
        n_embd: width of the symbol embeddings, and of what the head reads (m and l in the paper).
        n_hidden: width of the decoder's state, of each direction of the encoder's, and of the
            layer within attention (n and n').
    """

    n_embd: int = 128
    n_hidden: int = 128

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`."""
        vocab, embd, hidden = self.vocab_size, self.n_embd, self.n_hidden
        both = 2 * hidden
        shapes: Shapes = {"source_embedding.weight": (vocab, embd)}
        for direction in ("", "_reverse"):
            shapes |= recurrent("encoder", GRU.gates, embd, hidden, direction=direction)
        shapes |= {
            **weight_and_bias("start", hidden, hidden),
            "target_embedding.weight": (vocab, embd),
            "attention.v": (hidden,),
            "attention.query_proj.weight": (hidden, hidden),
            "attention.key_proj.weight": (hidden, both),
        }
        shapes |= recurrent("decoder", GRU.gates, embd + both, hidden)
        after = weight_and_bias("output", 2 * embd, hidden + embd + both)
        return shapes, after | weight_and_bias("lm_head", vocab, embd)

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`: there are no layers that come several times."""
        return {}

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: the gates of a GRU, for symbols of source and target alike."""
        return GRU.gates * self.n_hidden


class Reading(NamedTuple):
    """How far a batch of translations is.

    Attributes:
        keys: what the encoder says of each position, (batch, S, 2 n_hidden).
        projected: the same, as attention compares it, (batch, S, n_hidden).
        mask: where there is a symbol and no padding, bool (batch, S).
        h: the decoder's state, (1, batch, n_hidden).
    """

    keys: Tensor
    projected: Tensor
    mask: Tensor
    h: Tensor


class Bahdanau(EncoderDecoder[BahdanauConfig]):
    """The translator of the paper's appendix A; see the top of this file::

        h_j = [forward GRU; backward GRU] of E x, at position j        the encoder
        s_0 = tanh(W_s h_1 + b), of the backward GRU's h_1
        c_i = mean of the h_j, weighted by softmax of v^T tanh(W s_(i-1) + U h_j)
        s_i = GRU of [E' y_(i-1); c_i] and s_(i-1)
        t_i = maxout of a Linear of [s_i; E' y_(i-1); c_i], in pairs
        logits of y_i = a Linear of t_i

    Where it differs from the appendix: the output reads s_i, as the paper's equation 4 says,
    instead of s_(i-1); the reset gate of the GRUs comes after the product with the state, and there
    are biases, as in cuDNN and PyTorch; weights start as in PyTorch, those of states orthogonal as
    in the paper.

    Attributes:
        source_embedding, target_embedding: E and E', (vocab_size, n_embd).
        encoder, decoder: the GRUs. start: the Linear to s_0. output: that to t_i.
        attention: see :class:`tinytensor.nn.AdditiveAttention`.
    """

    about = "an encoder and decoder of GRUs; the decoder attends to what the encoder read"
    paper = "Bahdanau et al., 2015"

    def __init__(self, config: BahdanauConfig):
        self.config = config
        hidden, embd = config.n_hidden, config.n_embd
        self.source_embedding = Embedding(config.vocab_size, embd)
        self.encoder = GRU(embd, hidden, batch_first=True, bidirectional=True)
        self.start = Linear(hidden, hidden)
        self.target_embedding = Embedding(config.vocab_size, embd)
        self.attention = AdditiveAttention(hidden, 2 * hidden)
        self.decoder = GRU(embd + 2 * hidden, hidden)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden + embd + 2 * hidden, 2 * embd)
        self.lm_head = Linear(embd, config.vocab_size)
        for gru in (self.encoder, self.decoder):
            start_orthogonal(gru)

    def hidden(self, source: Tensor, given: Tensor) -> Tensor:
        """See :class:`EncoderDecoder`."""
        return self._go_on(given, self._read(source))[0]

    def encode(self, source: Any) -> Reading:
        """See :class:`EncoderDecoder`."""
        return self._read(self.check_source(source))

    def decode(self, ids: Any, state: Reading) -> tuple[Tensor, Reading]:
        """See :class:`EncoderDecoder`."""
        features, state = self._go_on(self.check_ids(ids), state)
        return self.lm_head(features[:, -1]), state

    def reorder(self, state: Reading, rows: np.ndarray) -> Reading:
        """See :class:`EncoderDecoder`."""
        keys, projected, mask, h = state
        return Reading(keys[rows], projected[rows], mask[rows], h[:, rows])

    def _read(self, source: Tensor) -> Reading:
        real = source.numpy() != PAD
        embedded = self.dropout(self.source_embedding(source))
        keys, h = self.encoder(embedded, lengths=real.sum(axis=1))
        mask = tensor(real, device=source.device)
        start = operations.tanh(self.start(h[1]))  # of the reverse direction: it ends at h_1
        return Reading(keys, self.attention.project(keys), mask, operations.expand_dims(start, 0))

    def _go_on(self, given: Tensor, state: Reading) -> tuple[Tensor, Reading]:
        """Features (batch, time, n_embd) after each of ``given``, and the state after the last."""
        keys, projected, mask, h = state
        embedded = self.dropout(self.target_embedding(given))
        states, contexts = [], []
        for y in operations.unbind(embedded, 1):
            context, _ = self.attention(h[0], keys, mask, projected)
            _, h = self.decoder(operations.expand_dims(operations.concat([y, context], -1), 0), h)
            states.append(h[0])
            contexts.append(context)
        seen = [operations.stack(states, 1), embedded, operations.stack(contexts, 1)]
        one, other = operations.split(
            self.output(operations.concat(seen, -1)), self.config.n_embd, axis=-1
        )
        features = self.dropout(operations.maximum(one, other))
        return features, Reading(keys, projected, mask, h)
