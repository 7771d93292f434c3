"""Recurrent layers: RNN (Elman, 1990), GRU (Cho et al., 2014) and LSTM (Hochreiter and
Schmidhuber, 1997; Gers et al., 2000).

Each layer projects all time steps in one matrix product and then runs one fused sequence op.
Arguments, results, parameter names and layout are PyTorch's; where PyTorch packs sequences of
several lengths, these layers take ``lengths``.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .. import operations, zeros
from ..tensor.tensor import Tensor
from . import init
from .layers import Dropout, check_size
from .lengths import backwards, check_lengths, forwards, order_of, pieces_of, reordered
from .module import Module
from .parameter import Parameter


class _Recurrent(Module):
    """What RNN, GRU and LSTM share: parameters, layout of input and output, the stack of layers,
    both directions, and sequences of several lengths."""

    gates = 1  # how many blocks of hidden_size rows each weight has
    state_names: tuple[str, ...] = ("h_0",)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ):
        self.input_size = check_size("input_size", input_size)
        self.hidden_size = check_size("hidden_size", hidden_size)
        self.num_layers = check_size("num_layers", num_layers)
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = Dropout(dropout)
        self.bidirectional = bidirectional
        #: what the names of a layer's parameters end in, for each direction
        self.directions = ("", "_reverse") if bidirectional else ("",)
        bound = 1.0 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * len(self.directions)
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (rows, columns),
                "weight_hh": (rows, hidden_size),
            }
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            for direction in self.directions:
                for name, shape in shapes.items():
                    param = Parameter(zeros(shape))
                    init.uniform_(param, -bound, bound)
                    setattr(self, f"{name}_l{layer}{direction}", param)

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any]) -> Any:
        """One layer over time: x (T, B, input), its first states and :meth:`_weights` -> outputs
        (T, B, H) and the last states."""
        raise TypeError(f"{type(self).__name__} defines no _layer")

    def _weights(self, end: str) -> list[Any]:
        """Those of a layer and direction, both biases in one."""
        w_ih, w_hh, b_ih, b_hh = self._parameters_of(end)
        return [w_ih, w_hh, b_ih + b_hh if self.bias else None]

    def _parameters_of(self, end: str) -> list[Any]:
        own = self.__dict__
        return [own.get(name + end) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def _run(
        self, x: Tensor, states: tuple[Tensor, ...] | None, lengths: Any
    ) -> tuple[Tensor, list[Tensor]]:
        unbatched = x.ndim == 2
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size or x.size == 0:
            layout = "(batch, time" if self.batch_first else "(time, batch"
            raise ValueError(
                f"x: expected shape {layout}, {self.input_size}) or (time, {self.input_size}), "
                f"none of it empty, got {x.shape}"
            )
        if unbatched:
            x = operations.expand_dims(x, 1)
        elif self.batch_first:
            x = x.swapaxes(0, 1)
        start = self._start(states, x, unbatched)
        order, pieces = None, [(len(x), x.shape[1])]
        if lengths is not None:
            lengths = check_lengths(lengths, x.shape[1], len(x))
            order, pieces = order_of(lengths), pieces_of(lengths)
            x, *start = (reordered(part, order) for part in (x, *start))
        finals: list[list[Tensor]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction, over in zip(self.directions, (forwards, backwards), strict=False):
                first = [state[len(finals)] for state in start]
                weights = self._weights(f"_l{layer}{direction}")
                y, final = over(partial(self._layer, weights=weights), x, first, pieces)
                outputs.append(y)
                finals.append(final)
            x = operations.concat(outputs, axis=2) if self.bidirectional else outputs[0]
            if layer < self.num_layers - 1:
                x = self.dropout(x)
        ends = [operations.stack(list(parts), axis=0) for parts in zip(*finals, strict=True)]
        if order is not None:
            x, *ends = (reordered(part, np.argsort(order)) for part in (x, *ends))
        if unbatched:
            return x.squeeze(1), [end.squeeze(1) for end in ends]
        return (x.swapaxes(0, 1) if self.batch_first else x), ends

    def _start(
        self, states: tuple[Tensor, ...] | None, x: Tensor, unbatched: bool
    ) -> list[Tensor]:
        """The states before the first step, each (num_layers * directions, batch, hidden_size)."""
        full = (self.num_layers * len(self.directions), x.shape[1], self.hidden_size)
        if states is None:
            start = zeros(full, dtype=x.dtype, device=x.device)
            return [start] * len(self.state_names)
        wanted = (full[0], full[2]) if unbatched else full
        for name, state in zip(self.state_names, states, strict=True):
            if not isinstance(state, Tensor) or state.shape != wanted:
                got = state.shape if isinstance(state, Tensor) else type(state).__name__
                raise ValueError(f"{name}: expected a Tensor of shape {wanted}, got {got}")
        return [operations.expand_dims(s, 1) if unbatched else s for s in states]

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers > 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += ", bias=False"
        if self.batch_first:
            text += ", batch_first=True"
        if self.bidirectional:
            text += ", bidirectional=True"
        return text


class _OneState(_Recurrent):
    """What RNN and GRU share: h is all of their state."""

    def forward(
        self, x: Tensor, h_0: Tensor | None = None, lengths: Any = None
    ) -> tuple[Tensor, Tensor]:
        """Run over a sequence.

        Args:
            x: (time, batch, input_size), batch first if so made, or (time, input_size).
            h_0: (num_layers * directions, batch, hidden_size) or, unbatched,
                (num_layers * directions, hidden_size); None starts from zeros.
            lengths: (batch,) integers from 1 to time, in any order: how many steps of each sequence
                count. The others are not read: outputs there are zeros, states are those after the
                sequence's own last step, where the reverse direction starts. None: all count.

        Returns:
            The last layer's outputs, shaped as x with directions * hidden_size at the end, and h_n,
            every layer's state after the last step, shaped as h_0.
        """
        y, (h_n,) = self._run(x, None if h_0 is None else (h_0,), lengths)
        return y, h_n


class RNN(_OneState):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), in ``num_layers`` layers.

    Args:
        input_size: size of x_t.
        hidden_size: size of h_t.
        num_layers: each layer reads the outputs of the one below.
        nonlinearity: "tanh" or "relu".
        bias: False leaves both biases out.
        batch_first: input and output are (batch, time, size) instead of (time, batch, size);
            states are not affected.
        dropout: probability for the outputs of each layer but the last, in training.
        bidirectional: a second layer, with weights of its own, reads each sequence from its end;
            outputs of both are side by side, and the layer above reads both.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: layer 0's parameters,
            (hidden_size, input_size), (hidden_size, hidden_size) and (hidden_size,) twice; _l1
            and so on above (there with as many columns as the layer below has outputs), and
            _l0_reverse for the other direction. From U(-k, k), k = 1/sqrt(hidden_size).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity: expected 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        settings = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(input_size, hidden_size, *settings)

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any]) -> Any:
        w_ih, w_hh, bias = weights
        hs = operations.rnn(x, state[0], w_ih, w_hh, bias, self.nonlinearity)
        return hs, [hs[-1]]

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity='relu'"


class GRU(_OneState):
    """Gated recurrent unit, in ``num_layers`` layers.

    With gates r, z, n in this order in the rows of the weights::

        r, z = sigmoid(...) of W_ih x_t + b_ih + W_hh h_(t-1) + b_hh
        n = tanh(W_in x_t + b_in + r * (W_hn h_(t-1) + b_hn))
        h_t = (1 - z) * n + z * h_(t-1)

    Args:
        input_size: size of x_t.
        hidden_size: size of h_t.
        num_layers: each layer reads the outputs of the one below.
        bias: False leaves both biases out.
        batch_first: input and output are (batch, time, size) instead of (time, batch, size);
            states are not affected.
        dropout: probability for the outputs of each layer but the last, in training.
        bidirectional: a second layer, with weights of its own, reads each sequence from its end;
            outputs of both are side by side, and the layer above reads both.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: layer 0's parameters,
            (3 hidden_size, input_size), (3 hidden_size, hidden_size) and (3 hidden_size,) twice;
            _l1 and so on above (there with as many columns as the layer below has outputs), and
            _l0_reverse for the other direction. From U(-k, k), k = 1/sqrt(hidden_size).
    """

    gates = 3

    def _weights(self, end: str) -> list[Any]:
        return self._parameters_of(end)  # b_hn is multiplied by r, b_in is not

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any]) -> Any:
        hs = operations.gru(x, *state, *weights)
        return hs, [hs[-1]]


class LSTM(_Recurrent):
    """Long short-term memory, in ``num_layers`` layers.

    With gates i, f, g, o in this order in the rows of the weights::

        i, f, o = sigmoid(...), g = tanh(...) of W_ih x_t + b_ih + W_hh h_(t-1) + b_hh
        c_t = f * c_(t-1) + i * g
        h_t = o * tanh(c_t)

    Args:
        input_size: size of x_t.
        hidden_size: size of h_t and c_t.
        num_layers: each layer reads the outputs of the one below.
        bias: False leaves both biases out.
        batch_first: input and output are (batch, time, size) instead of (time, batch, size);
            states are not affected.
        dropout: probability for the outputs of each layer but the last, in training.
        bidirectional: a second layer, with weights of its own, reads each sequence from its end;
            outputs of both are side by side, and the layer above reads both.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: layer 0's parameters,
            (4 hidden_size, input_size), (4 hidden_size, hidden_size) and (4 hidden_size,) twice;
            _l1 and so on above (there with as many columns as the layer below has outputs), and
            _l0_reverse for the other direction. From U(-k, k), k = 1/sqrt(hidden_size).
    """

    gates = 4
    state_names = ("h_0", "c_0")

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None, lengths: Any = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run over a sequence.

        Args:
            x: (time, batch, input_size), batch first if so made, or (time, input_size).
            state: the pair (h_0, c_0), each (num_layers * directions, batch, hidden_size) or,
                unbatched, (num_layers * directions, hidden_size); None starts from zeros.
            lengths: how many steps of each sequence count, see :meth:`GRU.forward`.

        Returns:
            The last layer's outputs, shaped as x with directions * hidden_size at the end, and the
            pair (h_n, c_n), every layer's state after the last step.
        """
        if state is not None and (not isinstance(state, (tuple, list)) or len(state) != 2):
            raise TypeError(f"state: expected the pair (h_0, c_0), got {type(state).__name__}")
        y, (h_n, c_n) = self._run(x, None if state is None else tuple(state), lengths)
        return y, (h_n, c_n)

    def _layer(self, x: Tensor, state: list[Tensor], weights: list[Any]) -> Any:
        hs, c_last = operations.lstm(x, *state, *weights)
        return hs, [hs[-1], c_last]
