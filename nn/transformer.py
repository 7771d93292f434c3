"""The transformer's block: attention and a feed-forward network, each with a residual path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.tensor import Tensor
from .activations import activation_module
from .attention import MultiHeadAttention
from .key_values import KeyValues
from .layers import Dropout, LayerNorm, Linear, check_size
from .module import Module


class FeedForward(Module):
    """Linear, activation, Linear, dropout; the names are GPT-2's.

    Args:
        dim: size of the last axis of input and output.
        hidden: size in between, 4 * dim if None.
        activation: "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid" or "identity".
        dropout: probability for the output.
        bias: False leaves both biases out.
    """

    def __init__(
        self,
        dim: int,
        hidden: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
    ):
        hidden = 4 * check_size("dim", dim) if hidden is None else check_size("hidden", hidden)
        self.c_fc = Linear(dim, hidden, bias=bias)
        self.act = activation_module(activation)
        self.c_proj = Linear(hidden, dim, bias=bias)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(..., dim) -> (..., dim)."""
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class TransformerBlock(Module):
    """One layer of a transformer: an encoder's, a decoder's (``causal``), or one with memory.

    Computes, pre-norm (GPT-2, Xiong et al., 2020)::

        x = x + dropout(attn(ln_1(x)))
        x = x + dropout(cross_attn(ln_cross(x), memory))        # cross=True
        x = x + mlp(ln_2(x))

    or post-norm (Vaswani et al., 2017)::

        x = ln_1(x + dropout(attn(x))), and so on

    State dicts of ``torch.nn.TransformerEncoderLayer`` load as they are, with cross=True those of
    ``TransformerDecoderLayer``. (PyTorch's layers also drop inside the feed-forward part; here
    dropout works on attention weights and on the output of each part.)

    Args:
        dim: size of the last axis.
        heads: number of attention heads; divides ``dim``.
        hidden: width of the feed-forward part, 4 * dim if None.
        dropout: probability for all dropouts.
        activation: of the feed-forward part, see :class:`FeedForward`.
        bias: False leaves out the biases of Linear and LayerNorm.
        norm_first: True for pre-norm, False for post-norm.
        causal: no position sees a later one.
        cross: also attend to ``memory``, the output of an encoder.
        eps: of the layer norms.
        attn: the attention of x to itself, in place of a :class:`MultiHeadAttention`; it is called
            in the same way.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        hidden: int | None = None,
        dropout: float = 0.0,
        activation: str = "gelu",
        bias: bool = True,
        norm_first: bool = True,
        causal: bool = False,
        cross: bool = False,
        eps: float = 1e-5,
        attn: Module | None = None,
    ):
        self.norm_first = norm_first
        self.causal = causal
        self.ln_1 = LayerNorm(dim, eps=eps, bias=bias)
        self.attn: Module = (
            MultiHeadAttention(dim, heads, dropout=dropout, bias=bias) if attn is None else attn
        )
        self.cross_attn: MultiHeadAttention | None = None
        if cross:
            self.ln_cross = LayerNorm(dim, eps=eps, bias=bias)
            self.cross_attn = MultiHeadAttention(dim, heads, dropout=dropout, bias=bias)
        self.ln_2 = LayerNorm(dim, eps=eps, bias=bias)
        self.mlp = FeedForward(dim, hidden, activation, dropout, bias)
        self.dropout = Dropout(dropout)
        names = {"self_attn.": "attn.", "linear1.": "mlp.c_fc.", "linear2.": "mlp.c_proj."}
        if cross:
            names["multihead_attn."] = "cross_attn."
            norms = {"norm1.": "ln_1.", "norm2.": "ln_cross.", "norm3.": "ln_2."}
        else:
            norms = {"norm1.": "ln_1.", "norm2.": "ln_2."}
        self.aliases = names | norms

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Any = None,
        key_mask: Any = None,
        memory_mask: Any = None,
        memory_key_mask: Any = None,
        cache: KeyValues | None = None,
        memory_cache: KeyValues | None = None,
    ) -> Tensor:
        """(batch, time, dim) -> (batch, time, dim).

        Args:
            x: (batch, time, dim).
            memory: (batch, other time, dim), with cross=True only.
            mask: which positions may attend to which, see :class:`MultiHeadAttention`.
            key_mask: boolean (batch, time), True where x is not padding.
            memory_mask: as ``mask``, from x to memory.
            memory_key_mask: boolean (batch, other time), True where memory is not padding.
            cache: of the positions read before x, for reading a text in parts; gets those of x.
            memory_cache: takes what attention computes of memory, which is then not repeated.

        Raises:
            ValueError: ``memory`` is missing for a block with cross=True, or given without.
        """
        if (memory is None) != (self.cross_attn is None):
            raise ValueError(
                "memory: a TransformerBlock with cross=True needs it, one without takes none"
            )

        def attend(h: Tensor) -> Tensor:
            y = self.attn(h, mask=mask, key_mask=key_mask, is_causal=self.causal, cache=cache)
            return self.dropout(y)

        def attend_memory(h: Tensor) -> Tensor:
            assert self.cross_attn is not None
            y = self.cross_attn(
                h, memory, mask=memory_mask, key_mask=memory_key_mask, cache=memory_cache
            )
            return self.dropout(y)

        parts: list[tuple[LayerNorm, Callable[[Tensor], Tensor]]]
        parts = [(self.ln_1, attend), (self.ln_2, self.mlp)]
        if self.cross_attn is not None:
            parts.insert(1, (self.ln_cross, attend_memory))
        for norm, part in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x

    def extra_repr(self) -> str:
        """The arguments that the parts do not show, for ``repr``."""
        return f"norm_first={self.norm_first}, causal={self.causal}"
