"""Recurrent language models: embedding, RNN, GRU or LSTM, head.

Unlike a GPT they carry a state of fixed size, so they read texts of any length and generate at
the same cost per symbol for ever. ``block_size`` is only the length of a training block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import no_grad, zeros
from ..nn import GRU, LSTM, RNN, Dropout, Embedding, Linear, init
from ..tensor.tensor import Tensor
from .base import LanguageModel, TextConfig
from .shapes import Shapes, recurrent


@dataclass(frozen=True)
class RecurrentConfig(TextConfig):
    """What RNNConfig, GRUConfig and LSTMConfig share.

    Attributes:
        n_layer: number of recurrent layers.
        n_embd: width of the symbol embedding.
        n_hidden: width of the state.
        dropout: probability, between layers and before the head.
        tie_weights: the head uses the embedding's weight; needs n_embd = n_hidden.
    """

    n_layer: int = 2
    n_embd: int = 128
    n_hidden: int = 256
    dropout: float = 0.0
    tie_weights: bool = False
    gates: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        if self.tie_weights and self.n_embd != self.n_hidden:
            raise ValueError(
                f"tie_weights: needs n_embd = n_hidden, got {self.n_embd} and {self.n_hidden}"
            )

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`; a tied head has only a bias of its own."""
        head: Shapes = {"lm_head.weight": (self.vocab_size, self.n_hidden)}
        after = {**({} if self.tie_weights else head), "lm_head.bias": (self.vocab_size,)}
        return {"wte.weight": (self.vocab_size, self.n_embd)}, after

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`."""
        inputs = self.n_hidden if layer else self.n_embd
        return recurrent("rnn", self.gates, inputs, self.n_hidden, layer)

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: each layer's gates, and logits."""
        return self.gates * self.n_hidden * self.n_layer + self.vocab_size


@dataclass(frozen=True)
class RNNConfig(RecurrentConfig):
    """The numbers that make an RNNLM: those of :class:`RecurrentConfig` and its activation.

    Attributes:
        nonlinearity: "tanh" or "relu".
    """

    n_hidden: int = 480  # as many parameters as the default GPT
    nonlinearity: str = "tanh"

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity: expected 'tanh' or 'relu', got {self.nonlinearity!r}")


@dataclass(frozen=True)
class GRUConfig(RecurrentConfig):
    """The numbers that make a GRULM: those of :class:`RecurrentConfig`."""

    n_hidden: int = 280  # as many parameters as the default GPT
    gates: ClassVar[int] = GRU.gates


@dataclass(frozen=True)
class LSTMConfig(RecurrentConfig):
    """The numbers that make an LSTMLM: those of :class:`RecurrentConfig` and its forget bias.

    Attributes:
        forget_bias: starting bias of the forget gates; 1 lets gradients through from the start
            (Jozefowicz et al., 2015).
    """

    n_hidden: int = 240  # as many parameters as the default GPT
    forget_bias: float = 1.0
    gates: ClassVar[int] = LSTM.gates


R = TypeVar("R", bound=RecurrentConfig)


def start_orthogonal(rnn: RNN | GRU | LSTM) -> None:
    """Give the weights of the states orthogonal blocks, one for each gate: signals stay alive over
    many steps."""
    shape = (rnn.hidden_size, rnn.hidden_size)
    for name, param in rnn.named_parameters():
        if name.startswith("weight_hh"):
            blocks = [init.orthogonal_(zeros(shape)).numpy() for _ in range(rnn.gates)]
            with no_grad():
                param.copy_(np.concatenate(blocks))


class RecurrentLM(LanguageModel[R]):
    """What RNNLM, GRULM and LSTMLM share. The state is the recurrent layer's own.

    Starting values: embedding N(0, 1) (N(0, 1/n_embd) if tied), head and input weights as PyTorch,
    recurrent weights orthogonal, which keeps signals alive over many steps.

    Attributes:
        cell: the class of the recurrent layers.
        wte: symbol embedding (vocab_size, n_embd).
        rnn: the recurrent layers, batch first.
    """

    cell: ClassVar[type[RNN | GRU | LSTM]]

    def __init__(self, config: R, **settings: Any):
        self.config = config
        sizes = (config.n_embd, config.n_hidden, config.n_layer)
        rnn = self.cell(*sizes, batch_first=True, dropout=config.dropout, **settings)
        self.wte = Embedding(config.vocab_size, config.n_embd)
        self.rnn = rnn
        self.dropout = Dropout(config.dropout)
        self.lm_head = Linear(config.n_hidden, config.vocab_size)
        if config.tie_weights:
            init.normal_(self.wte.weight, std=1.0 / math.sqrt(config.n_embd))
            self.lm_head.weight = self.wte.weight
        start_orthogonal(rnn)

    def hidden(self, ids: Tensor) -> Tensor:
        """ids (batch, time) -> the last layer's outputs (batch, time, n_hidden)."""
        return self.dropout(self.rnn(self.wte(ids))[0])

    def decode(self, ids: Any, state: Any = None) -> tuple[Tensor, Any]:
        """See :meth:`LanguageModel.decode`; only the new symbols are computed."""
        outputs, state = self.rnn(self.wte(self.check_ids(ids)), state)
        return self.lm_head(self.dropout(outputs[:, -1])), state


class RNNLM(RecurrentLM[RNNConfig]):
    """A language model on an Elman RNN.

    Args:
        config: see :class:`RNNConfig`.
    """

    about = "a state that each symbol changes, and that writes text"
    paper = "Elman, 1990; Mikolov et al., 2010"
    cell = RNN

    def __init__(self, config: RNNConfig):
        super().__init__(config, nonlinearity=config.nonlinearity)


class GRULM(RecurrentLM[GRUConfig]):
    """A language model on a GRU.

    Args:
        config: see :class:`GRUConfig`.
    """

    about = "an RNN with two gates: what to forget, and what to look at"
    paper = "Cho et al., 2014"
    cell = GRU

    def __init__(self, config: GRUConfig):
        super().__init__(config)


class LSTMLM(RecurrentLM[LSTMConfig]):
    """A language model on an LSTM.

    Args:
        config: see :class:`LSTMConfig`.
    """

    about = "an RNN whose gates keep what it is to remember"
    paper = "Hochreiter and Schmidhuber, 1997; Gers et al., 2000"
    cell = LSTM

    def __init__(self, config: LSTMConfig):
        super().__init__(config)
        forget = slice(config.n_hidden, 2 * config.n_hidden)  # gates i, f, g, o
        for name, param in self.rnn.named_parameters():
            if name.startswith("bias"):
                with no_grad():
                    param[forget] = config.forget_bias if name.startswith("bias_ih") else 0.0
