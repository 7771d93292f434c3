"""Six kinds of layers that turn a sequence into another of the same length, two of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tinytensor as tt
from tinytensor import nn

LAYERS = 2
#: positions that a convolution's output sees, and that windowed attention does, its own included
KERNEL, WINDOW = 9, 32
HEADS = 2


class Recurrent(nn.Module):
    """A stack of recurrent layers. The forget gates of an LSTM start open: their bias is 1."""

    def __init__(self, layer: type[nn.Module], width: int, layers: int) -> None:
        self.rnn = layer(width, width, layers, batch_first=True)
        if layer is nn.LSTM:
            for name, bias in self.rnn.named_parameters():
                if name.startswith("bias_ih"):
                    with tt.no_grad():
                        bias[width : 2 * width] = 1.0

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        """(batch, time, width) -> the same shape."""
        return self.rnn(x)[0]


class Convolutions(nn.Module):
    """Convolutions over time, each of which sees a position and the KERNEL - 1 before it."""

    def __init__(self, width: int, layers: int) -> None:
        self.layers = nn.ModuleList(nn.Conv1d(width, width, KERNEL) for _ in range(layers))

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        """(batch, time, width) -> the same shape."""
        x = x.swapaxes(1, 2)
        for layer in self.layers:
            x = tt.relu(layer(tt.pad(x, {-1: (KERNEL - 1, 0)})))
        return x.swapaxes(1, 2)


class Attention(nn.Module):
    """Blocks of causal self-attention and a feed-forward part, of positions told by sines.

    Args:
        window: how many positions one sees, itself included; None for all up to itself.
    """

    def __init__(self, width: int, layers: int, window: int | None = None, longest: int = 4096):
        self.positions = nn.SinusoidalPositions(longest, width)

        def attention() -> nn.Module | None:
            return None if window is None else nn.WindowedAttention(width, HEADS, window)

        self.blocks = nn.ModuleList(
            nn.TransformerBlock(width, HEADS, causal=True, attn=attention()) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        """(batch, time, width) -> the same shape."""
        x = self.positions(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


@dataclass(frozen=True)
class Kind:
    """One of the six.

    Attributes:
        name: of the table. key: a short one.
        make: a body of so many layers: (width, layers).
        width: of its vectors; all six have equally many parameters then, within 2%.
        work: how many multiplications a layer's forward pass has, for (length, width).
        cost, steps, path: what theory says of time, of sequential steps, and of how far it is from
            the first input to the last output, in words.
        reach: how far back one layer sees; None where nothing bounds it.
        recurrent: it goes step by step.
    """

    name: str
    key: str
    make: Callable[[int, int], nn.Module]
    width: int
    work: Callable[[float, float], float]
    cost: str
    steps: str
    path: str
    reach: int | None = None
    recurrent: bool = False

    def body(self, scale: int = 1, layers: int = LAYERS) -> nn.Module:
        """A body ``scale`` times as wide as its width."""
        return self.make(self.width * scale, layers)

    def hops(self, distance: int) -> int:
        """Steps that a signal takes from an input to the output ``distance`` later, in theory."""
        if self.recurrent:
            return distance
        return 1 if self.reach is None else math.ceil(distance / self.reach)


def _recurrent(name: str, layer: type[nn.Module], gates: int, width: int) -> Kind:
    return Kind(
        name, name.lower(), lambda width, layers: Recurrent(layer, width, layers), width,
        lambda n, d: 2 * gates * n * d * d, "n·d²", "n", "n", recurrent=True,
    )  # fmt: skip


#: multiplications with weights in a TransformerBlock, in d² for each position: attention's four
#: projections, and 4 + 4 of the feed-forward part
_BLOCK = 12

KINDS = (
    _recurrent("RNN", nn.RNN, gates=1, width=108),
    _recurrent("GRU", nn.GRU, gates=3, width=62),
    _recurrent("LSTM", nn.LSTM, gates=4, width=54),
    Kind(
        "CNN", "cnn", Convolutions, 51, lambda n, d: KERNEL * n * d * d,
        "k·n·d²", "1", "n / (k - 1)", reach=KERNEL - 1,
    ),
    Kind(
        "windowed attention", "windowed",
        lambda width, layers: Attention(width, layers, WINDOW), 44,
        # each block of queries meets its own keys and those of the block before it
        lambda n, d: _BLOCK * n * d * d + 2 * n * min(n, 2 * WINDOW) * d,
        "n·d² + n·w·d", "1", "n / (w - 1)", reach=WINDOW - 1,
    ),
    Kind(
        "self-attention", "attention", Attention, 44,
        # two products with each of the positions up to one's own
        lambda n, d: _BLOCK * n * d * d + n * n * d, "n·d² + n²·d", "1", "1",
    ),
)  # fmt: skip


def spread(scale: int = 1) -> float:
    """By how much the largest of the six has more parameters than the smallest, as a share."""
    counts = [kind.body(scale).num_parameters() for kind in KINDS]
    return max(counts) / min(counts) - 1


def sequence(rng: np.random.Generator, batch: int, length: int, width: int) -> tt.Tensor:
    """Random input (batch, length, width) that wants a gradient."""
    values = rng.standard_normal((batch, length, width)).astype(np.float32)
    return tt.tensor(values, requires_grad=True)
