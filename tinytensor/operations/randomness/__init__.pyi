# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Dropout, and draws from a distribution."""

from ...arrays.random import Generator
from ...define.operand import Operand
from ...tensor.tensor import Tensor

def dropout(
    x: Operand,
    p: float = 0.5,
    training: bool = True,
    generator: Generator | None = None,
) -> Tensor:
    """Inverted dropout (Srivastava et al. 2014): zero each element with probability ``p`` and scale
    the rest by ``1 / (1 - p)``; ``x`` itself where ``training`` is False or ``p`` is 0, and zeros
    where ``p`` is 1."""

def multinomial(
    probs: Operand,
    num_samples: int,
    replacement: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with given probabilities: (..., k) -> (..., num_samples), int64."""
