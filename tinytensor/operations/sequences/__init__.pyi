# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Attention, and recurrent layers over whole sequences."""

from ...arrays.random import Generator
from ...define.operand import Operand
from ...tensor.tensor import Tensor

def scaled_dot_product_attention(
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Operand | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Attention (Vaswani et al. 2017, arXiv:1706.03762): ``softmax(q kᵀ · scale + mask) v``."""

def self_attention(
    qkv: Operand,
    heads: int,
    is_causal: bool = False,
    dropout: float = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    """:func:`scaled_dot_product_attention` of a sequence to itself, in several heads."""

def gru(
    x: Operand,
    h0: Operand,
    w_ih: Operand,
    w_hh: Operand,
    b_ih: Operand | None = None,
    b_hh: Operand | None = None,
) -> Tensor:
    """Gated recurrent unit over a sequence (Cho et al. 2014, arXiv:1406.1078), in the variant of
    cuDNN and PyTorch, where the reset gate comes after the product: with gates r, z, n in this
    order, n = tanh(W_in x + b_in + r * (W_hn h + b_hn)) and h = (1 - z) * n + z * h."""

def rnn(
    x: Operand,
    h0: Operand,
    w_ih: Operand,
    w_hh: Operand,
    bias: Operand | None = None,
    nonlinearity: str = "tanh",
) -> Tensor:
    """Elman network over a sequence (Elman 1990)."""

def lstm(
    x: Operand,
    h0: Operand,
    c0: Operand,
    w_ih: Operand,
    w_hh: Operand,
    bias: Operand | None = None,
) -> tuple[Tensor, Tensor]:
    """Long short-term memory over a sequence (Hochreiter and Schmidhuber 1997, with the forget gate
    of Gers et al. 2000). Gates are in PyTorch's order: input, forget, cell, output."""
