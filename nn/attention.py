"""Multi-head attention: Vaswani et al., "Attention Is All You Need", 2017.

Masks
    A boolean mask is True where a query **may attend** to a key (the opposite of PyTorch's
    ``nn.MultiheadAttention``, the same as its ``scaled_dot_product_attention``). A floating mask is
    added to the scores (0 keeps, -inf blocks). A query that may attend to nothing gets zeros.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import no_grad, operations, random, tensor, zeros
from ..tensor.tensor import Tensor
from . import init
from .attention_maps import by_layer, lists, recording, write
from .key_values import KeyValues
from .layers import Linear, check_probability, check_size
from .module import Module
from .parameter import Parameter

__all__ = [
    "KeyValues",
    "MultiHeadAttention",
    "attend",
    "attention_weights",
    "by_layer",
    "merge_heads",
    "recording",
    "self_attend",
    "split_heads",
]


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, time, heads * d) -> (batch, heads, time, d)."""
    batch, time, dim = x.shape
    return x.reshape(batch, time, heads, dim // heads).swapaxes(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(batch, heads, time, d) -> (batch, time, heads * d); undoes :func:`split_heads`."""
    batch, heads, time, dim = x.shape
    return x.swapaxes(1, 2).reshape(batch, time, heads * dim)


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    """softmax(q k^T / sqrt(d)) with the masked-out keys at 0.

    Args:
        q: (..., Tq, d).
        k: (..., Tk, d).
        mask: broadcasts to (..., Tq, Tk); see the top of this file.
        is_causal: the last query stands at the last key, and none sees a later key than its own.

    Returns:
        (..., Tq, Tk); a row with every key masked out is all zeros.
    """
    scores = operations.matmul(q, k.swapaxes(-1, -2)) * (q.shape[-1] ** -0.5)
    if is_causal:
        rows, columns = q.shape[-2], k.shape[-2]
        allowed = tensor(np.tri(rows, columns, columns - rows, dtype=bool), device=q.device)
        scores = operations.where(allowed, scores, -math.inf)
    if mask is not None:
        scores = (
            operations.where(mask, scores, -math.inf) if mask.dtype == np.bool_ else scores + mask
        )
    return operations.softmax(scores, axis=-1)  # zeros where all of a row is -inf


def attend(
    layer: Module,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """:func:`tinytensor.scaled_dot_product_attention`, which :class:`recording` sees.

    Args:
        layer: whose attention it is.
        q, k, v: (batch, heads, time, d).
        mask, is_causal, dropout: see there.
    """
    _record(layer, q, k, mask, is_causal)
    y: Tensor = operations.scaled_dot_product_attention(
        q, k, v, mask=mask, is_causal=is_causal, dropout=dropout
    )
    return y


def self_attend(
    layer: Module,
    qkv: Tensor,
    heads: int,
    mask: Any = None,
    key_mask: Any = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    cache: KeyValues | None = None,
) -> Tensor:
    """Attention of a sequence to itself, in the fastest way that there is for it.

    Args:
        layer: whose attention it is, for :class:`recording`.
        qkv: (batch, time, 3 * heads * d): queries, keys and values side by side.
        heads: how many heads.
        mask, key_mask, is_causal: see :meth:`MultiHeadAttention.forward`.
        dropout: probability with which attention weights are dropped.
        cache: keys and values of the positions before; those of ``qkv`` are added to it.

    Returns:
        (batch, time, heads * d).
    """
    plain = mask is None and key_mask is None and cache is None
    if plain and not lists():
        y: Tensor = operations.self_attention(qkv, heads, is_causal=is_causal, dropout=dropout)
        return y
    parts = operations.split(qkv, qkv.shape[-1] // 3, axis=-1)
    q, k, v = (split_heads(part, heads) for part in parts)
    if plain:
        _record(layer, q, k, None, is_causal)
        y = operations.self_attention(qkv, heads, is_causal=is_causal, dropout=dropout)
        return y
    if cache is not None:
        k, v = cache.extend(k, v)
    joint = join_masks(mask, key_mask, q, k)
    return merge_heads(attend(layer, q, k, v, joint, is_causal, dropout))


def _record(layer: Module, q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    """For those who look on: the weights."""
    into = lists()
    if into:
        with no_grad():
            write(into, layer, attention_weights(q, k, mask, is_causal))


class MultiHeadAttention(Module):
    """Attention with several heads, of a sequence to itself or to another one.

    The parameters are named and laid out as in ``torch.nn.MultiheadAttention``; the batch comes
    first.

    Args:
        embed_dim: size of the queries and of the output; a multiple of ``num_heads``.
        num_heads: number of heads, each ``embed_dim // num_heads`` wide.
        dropout: probability with which attention weights are dropped in training.
        bias: False leaves the biases of all projections out.
        kdim: size of the keys' input, ``embed_dim`` if None.
        vdim: size of the values' input, ``embed_dim`` if None.

    Attributes:
        in_proj_weight: (3 embed_dim, embed_dim): queries', keys' and values' weights in turn; None
            where kdim or vdim differ, with ``q_proj_weight``, ``k_proj_weight``, ``v_proj_weight``
            in its place.
        in_proj_bias: (3 embed_dim,) or None.
        out_proj: Linear(embed_dim, embed_dim).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
    ):
        self.embed_dim = check_size("embed_dim", embed_dim)
        self.num_heads = check_size("num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim, num_heads: {embed_dim} is not a multiple of {num_heads} heads"
            )
        self.dropout = check_probability("dropout", dropout)
        self.kdim = check_size("kdim", embed_dim if kdim is None else kdim)
        self.vdim = check_size("vdim", embed_dim if vdim is None else vdim)
        self.in_proj_weight: Parameter | None = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = _xavier(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = _xavier(embed_dim, embed_dim)
            self.k_proj_weight = _xavier(embed_dim, self.kdim)
            self.v_proj_weight = _xavier(embed_dim, self.vdim)
        self.in_proj_bias = Parameter(zeros((3 * embed_dim,))) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Any = None,
        key_mask: Any = None,
        is_causal: bool = False,
        need_weights: bool = False,
        average_weights: bool = True,
        cache: KeyValues | None = None,
    ) -> Any:
        """Attend from ``query`` to ``key``.

        Args:
            query: (batch, Tq, embed_dim).
            key: (batch, Tk, kdim); None attends to ``query`` itself.
            value: (batch, Tk, vdim); None takes ``key``.
            mask: boolean (True = may attend) or floating (added), of shape (Tq, Tk),
                (batch, Tq, Tk) or (batch or 1, num_heads or 1, Tq, Tk).
            key_mask: boolean (batch, Tk), True where the key is real, not padding.
            is_causal: no query sees a later key; the last query stands at the last key.
            need_weights: also return the attention weights.
            average_weights: the mean over heads instead of each head's.
            cache: for a text that is read in parts. To itself: what it holds stands before
                ``query``, and is attended to, and gets the new keys and values; masks are for all
                keys then. To another sequence: it takes the keys and values of the first call,
                which stay the same and are not computed again.

        Returns:
            (batch, Tq, embed_dim); with ``need_weights`` a pair of that and the weights
            (batch, Tq, Tk) or, not averaged, (batch, num_heads, Tq, Tk). Those are the weights
            before dropout.

        Raises:
            ValueError: shapes do not fit, also those of the cache; the message names the argument
                and both shapes.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check("query", query, self.embed_dim, query)
        self._check("key", key, self.kdim, query)
        self._check("value", value, self.vdim, query)
        if value.shape[1] != key.shape[1]:
            raise ValueError(
                f"value: expected {key.shape[1]} steps as in key, got {value.shape[1]}"
            )
        p = self.dropout if self.training else 0.0
        itself = query is key is value
        if itself and self.in_proj_weight is not None and not need_weights:
            qkv = operations.linear(query, self.in_proj_weight, self.in_proj_bias)
            y = self_attend(self, qkv, self.num_heads, mask, key_mask, is_causal, p, cache)
            return self.out_proj(y)
        q, k, v = self._heads(query, key, value, cache)
        joint = join_masks(mask, key_mask, q, k)
        if not need_weights:
            return self.out_proj(merge_heads(attend(self, q, k, v, joint, is_causal, p)))
        _record(self, q, k, joint, is_causal)
        weights = attention_weights(q, k, joint, is_causal)
        generator = random.generator("dropout")
        dropped = operations.dropout(weights, p, generator=generator) if p else weights
        y = self.out_proj(merge_heads(operations.matmul(dropped, v)))
        return y, (weights.mean(axis=1) if average_weights else weights)

    def _heads(self, query: Tensor, key: Tensor, value: Tensor, cache: KeyValues | None) -> Any:
        """Queries, keys and values, each (batch, heads, time, d), with the cache's."""
        if cache is None or query is key:
            q, *kv = (split_heads(x, self.num_heads) for x in self._project(query, key, value))
            return (q, *kv) if cache is None else (q, *cache.extend(*kv))
        if not cache.parts:
            q, *cache.parts = self._heads(query, key, value, None)
            return (q, *cache.parts)
        if len(query) != len(cache.parts[0]):
            raise ValueError(
                f"cache: it holds keys and values of {len(cache.parts[0])} sequences, got a query "
                f"of {len(query)}"
            )
        both, biases, dim = self.in_proj_weight, self.in_proj_bias, self.embed_dim
        weight = self.q_proj_weight if both is None else both[:dim]
        q = operations.linear(query, weight, None if biases is None else biases[:dim])
        return (split_heads(q, self.num_heads), *cache.parts)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        """Queries, keys and values, each (batch, time, embed_dim)."""
        weight, bias, dim = self.in_proj_weight, self.in_proj_bias, self.embed_dim
        weights: list[Tensor]
        if weight is None:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        elif query is key is value:
            return operations.split(operations.linear(query, weight, bias), dim, axis=-1)
        elif key is value:
            q = operations.linear(query, weight[:dim], None if bias is None else bias[:dim])
            kv = operations.linear(key, weight[dim:], None if bias is None else bias[dim:])
            return (q, *operations.split(kv, dim, axis=-1))
        else:
            weights = [weight[i * dim : (i + 1) * dim] for i in range(3)]
        biases: Any = [None] * 3
        if bias is not None:
            biases = [bias[i * dim : (i + 1) * dim] for i in range(3)]
        return [
            operations.linear(*xwb)
            for xwb in zip((query, key, value), weights, biases, strict=True)
        ]

    def _check(self, name: str, x: Tensor, dim: int, query: Tensor) -> None:
        if x.ndim != 3 or x.shape[-1] != dim or x.shape[0] != query.shape[0]:
            raise ValueError(
                f"{name}: expected shape ({query.shape[0] if query.ndim == 3 else 'batch'}, time, "
                f"{dim}), got {x.shape}"
            )

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = f"{self.embed_dim}, {self.num_heads}"
        if self.dropout:
            text += f", dropout={self.dropout:g}"
        if self.in_proj_bias is None:
            text += ", bias=False"
        if self.in_proj_weight is None:
            text += f", kdim={self.kdim}, vdim={self.vdim}"
        return text


def _xavier(rows: int, columns: int) -> Parameter:
    weight = Parameter(zeros((rows, columns)))
    init.xavier_uniform_(weight)
    return weight


def join_masks(mask: Any, key_mask: Any, q: Tensor, k: Tensor) -> Tensor | None:
    """One mask that broadcasts to (batch, heads, Tq, Tk), or None."""
    batch, heads, rows = q.shape[:3]
    columns = k.shape[2]
    if mask is not None:
        mask = as_mask("mask", mask, q)
        shape: tuple[int, ...] = mask.shape
        if len(shape) == 3:  # (batch, Tq, Tk): the same for all heads
            mask = operations.expand_dims(mask, 1)
        full = (batch, heads, rows, columns)
        fits = 2 <= mask.ndim <= 4 and all(
            n in (1, m) for n, m in zip(mask.shape[::-1], full[::-1], strict=False)
        )
        if not fits:
            raise ValueError(
                f"mask: expected shape {(rows, columns)}, {(batch, rows, columns)} or {full}, "
                f"got {shape}"
            )
    if key_mask is None:
        return mask
    key_mask = as_key_mask(key_mask, q, (batch, columns)).reshape(batch, 1, 1, columns)
    if mask is None:
        return key_mask
    blocked = False if mask.dtype == np.bool_ else -math.inf
    return operations.where(key_mask, mask, blocked)


def as_key_mask(mask: Any, like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A mask of keys as a boolean Tensor (batch, time), which is ``shape``, beside ``like``."""
    if not isinstance(mask, Tensor):
        mask = tensor(np.asarray(mask), device=like.device)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ValueError(
            f"key_mask: expected bool of shape {shape}, got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def as_mask(name: str, mask: Any, like: Tensor) -> Tensor:
    """A mask as a Tensor beside ``like``: boolean as it is, floating in the dtype of ``like``."""
    if not isinstance(mask, Tensor):
        mask = tensor(np.asarray(mask), device=like.device)
    if mask.dtype == np.bool_:
        return mask
    if not np.issubdtype(mask.dtype, np.floating):
        raise TypeError(
            f"{name}: expected bool (True = may attend) or a floating dtype (added to the scores), "
            f"got {mask.dtype}"
        )
    return mask.astype(like.dtype)
