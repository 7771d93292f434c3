"""Recurrent layers: RNN (Elman, 1990) and LSTM (Hochreiter and Schmidhuber, 1997; Gers, 2000).

Each layer projects all time steps in one matrix product and then runs one fused sequence op.
Arguments, results, parameter names and layout are PyTorch's.
"""

from __future__ import annotations

import math
from typing import Any

from .. import operations, zeros
from ..tensor.tensor import Tensor
from . import init
from .layers import Dropout, check_size
from .module import Module
from .parameter import Parameter


class _Recurrent(Module):
    """What RNN and LSTM share: parameters, layout of input and output, the stack of layers."""

    gates = 1  # how many blocks of hidden_size rows each weight has
    state_names: tuple[str, ...] = ("h_0",)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
    ):
        self.input_size = check_size("input_size", input_size)
        self.hidden_size = check_size("hidden_size", hidden_size)
        self.num_layers = check_size("num_layers", num_layers)
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = Dropout(dropout)
        bound = 1.0 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size
            shapes: dict[str, tuple[int, ...]] = {
                f"weight_ih_l{layer}": (rows, columns),
                f"weight_hh_l{layer}": (rows, hidden_size),
            }
            if bias:
                shapes |= {f"bias_ih_l{layer}": (rows,), f"bias_hh_l{layer}": (rows,)}
            for name, shape in shapes.items():
                param = Parameter(zeros(shape))
                init.uniform_(param, -bound, bound)
                setattr(self, name, param)

    def _layer(self, x: Tensor, state: list[Tensor], *weights: Tensor | None) -> Any:
        """One layer over time: x (T, B, input), its first states and w_ih, w_hh, bias -> outputs
        (T, B, H) and the last states."""
        raise TypeError(f"{type(self).__name__} defines no _layer")

    def _run(self, x: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Tensor, list[Tensor]]:
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
        states = self._start(states, x, unbatched)
        finals: list[list[Tensor]] = []
        for layer in range(self.num_layers):
            weights = self.__dict__
            bias = None
            if self.bias:
                bias = weights[f"bias_ih_l{layer}"] + weights[f"bias_hh_l{layer}"]
            first = [state[layer] for state in states]
            matrices = (weights[f"weight_ih_l{layer}"], weights[f"weight_hh_l{layer}"])
            x, final = self._layer(x, first, *matrices, bias)
            finals.append(final)
            if layer < self.num_layers - 1:
                x = self.dropout(x)
        ends = [operations.stack(list(parts), axis=0) for parts in zip(*finals, strict=True)]
        if unbatched:
            return x.squeeze(1), [end.squeeze(1) for end in ends]
        return (x.swapaxes(0, 1) if self.batch_first else x), ends

    def _start(
        self, states: tuple[Tensor, ...] | None, x: Tensor, unbatched: bool
    ) -> tuple[Tensor, ...]:
        """The states before the first step, each (num_layers, batch, hidden_size)."""
        full = (self.num_layers, x.shape[1], self.hidden_size)
        if states is None:
            start = zeros(full, dtype=x.dtype, device=x.device)
            return (start,) * len(self.state_names)
        wanted = (full[0], full[2]) if unbatched else full
        for name, state in zip(self.state_names, states, strict=True):
            if not isinstance(state, Tensor) or state.shape != wanted:
                got = state.shape if isinstance(state, Tensor) else type(state).__name__
                raise ValueError(f"{name}: expected a Tensor of shape {wanted}, got {got}")
        return tuple(operations.expand_dims(s, 1) for s in states) if unbatched else states

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers > 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += ", bias=False"
        if self.batch_first:
            text += ", batch_first=True"
        return text


class RNN(_Recurrent):
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

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: layer 0's parameters,
            (hidden_size, input_size), (hidden_size, hidden_size) and (hidden_size,) twice; _l1
            and so on above. From U(-k, k), k = 1/sqrt(hidden_size).
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
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity: expected 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout)

    def forward(self, x: Tensor, h_0: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run over a sequence.

        Args:
            x: (time, batch, input_size), batch first if so made, or (time, input_size).
            h_0: (num_layers, batch, hidden_size) or, unbatched, (num_layers, hidden_size); None
                starts from zeros.

        Returns:
            The last layer's outputs, shaped as x with hidden_size at the end, and h_n, every
            layer's state after the last step, shaped as h_0.
        """
        y, (h_n,) = self._run(x, None if h_0 is None else (h_0,))
        return y, h_n

    def _layer(self, x: Tensor, state: list[Tensor], *weights: Any) -> Any:
        w_ih, w_hh, bias = weights
        hs = operations.rnn(x, state[0], w_ih, w_hh, bias, self.nonlinearity)
        return hs, [hs[-1]]

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity='relu'"


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

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0: layer 0's parameters,
            (4 hidden_size, input_size), (4 hidden_size, hidden_size) and (4 hidden_size,) twice;
            _l1 and so on above. From U(-k, k), k = 1/sqrt(hidden_size).
    """

    gates = 4
    state_names = ("h_0", "c_0")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run over a sequence.

        Args:
            x: (time, batch, input_size), batch first if so made, or (time, input_size).
            state: the pair (h_0, c_0), each (num_layers, batch, hidden_size) or, unbatched,
                (num_layers, hidden_size); None starts from zeros.

        Returns:
            The last layer's outputs, shaped as x with hidden_size at the end, and the pair
            (h_n, c_n), every layer's state after the last step.
        """
        if state is not None and (not isinstance(state, (tuple, list)) or len(state) != 2):
            raise TypeError(f"state: expected the pair (h_0, c_0), got {type(state).__name__}")
        y, (h_n, c_n) = self._run(x, None if state is None else tuple(state))
        return y, (h_n, c_n)

    def _layer(self, x: Tensor, state: list[Tensor], *weights: Tensor | None) -> Any:
        hs, c_last = operations.lstm(x, *state, *weights)
        return hs, [hs[-1], c_last]
