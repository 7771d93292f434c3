"""Attention to near positions only: the sliding window of Longformer (Beltagy et al., 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import operations, random, tensor
from ..tensor.tensor import Tensor
from .attention import MultiHeadAttention, as_mask, join_masks, merge_heads, split_heads
from .attention_maps import lists
from .key_values import KeyValues
from .layers import check_size


class WindowedAttention(MultiHeadAttention):
    """Attention of a sequence to itself in which a position sees those less than ``window`` away.

    The parameters are those of :class:`MultiHeadAttention`, and so is the result where its ``mask``
    is the band. Time and memory grow with time · window instead of time²: the sequence is cut into
    blocks of ``window`` positions, and each sees its own and its neighbours' keys only. With
    ``mask``, ``cache`` or ``need_weights`` all pairs are computed, and those
    outside of the band masked.

    Args:
        embed_dim: size of the input and of the output; a multiple of ``num_heads``.
        num_heads: number of heads, each ``embed_dim // num_heads`` wide.
        window: position i sees the positions j with |i - j| < window, itself among them, and
            with ``is_causal`` those of them up to i.
        dropout: probability with which attention weights are dropped in training.
        bias: False leaves the biases of all projections out.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        window: int,
        dropout: float = 0.0,
        bias: bool = True,
    ):
        super().__init__(embed_dim, num_heads, dropout=dropout, bias=bias)
        self.window = check_size("window", window)

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
        """See :meth:`MultiHeadAttention.forward`.

        Raises:
            ValueError: ``key`` or ``value`` is another sequence than ``query``.
        """
        for name, given in (("key", key), ("value", value)):
            if given is not None and given is not query:
                raise ValueError(
                    f"{name}: WindowedAttention attends from a sequence to itself; expected None "
                    f"or query, got another Tensor of shape {given.shape}"
                )
        self._check("query", query, self.embed_dim, query)
        time = seen = query.shape[1]
        if cache is not None and cache.parts:
            seen += cache.parts[0].shape[2]
        if seen > self.window:
            if mask is None and cache is None and not need_weights and not lists():
                return self._in_blocks(query, key_mask, is_causal)
            mask = self._banded(mask, time, seen, query)
        return super().forward(
            query, query, query, mask, key_mask, is_causal, need_weights, average_weights, cache
        )

    def _in_blocks(self, x: Tensor, key_mask: Any, is_causal: bool) -> Tensor:
        """The output, (batch, time, embed_dim) as the input."""
        q, k, v = (split_heads(y, self.num_heads) for y in self._project(x, x, x))
        y = self._attend_in_blocks(q, k, v, join_masks(None, key_mask, q, k), is_causal)
        return self.out_proj(merge_heads(y))

    def _attend_in_blocks(
        self, q: Tensor, k: Tensor, v: Tensor, key_mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """q, k, v (batch, heads, time, d) -> the same shape; key_mask (batch, 1, 1, time)."""
        window, time = self.window, q.shape[2]
        blocks = -(-time // window)
        # the blocks that a block of queries sees, seen from its own
        seen = (-1, 0) if is_causal else (-1, 0, 1)
        before, after = window, (blocks + len(seen) - 2) * window - time

        def cut(x: Tensor, start: int, end: int) -> Tensor:
            """(..., time, d) -> (..., blocks, window, d), with so much padding at both ends."""
            x = operations.pad(x, {-2: (start, end)})
            return x.reshape(*x.shape[:-2], x.shape[-2] // window, window, x.shape[-1])

        def neighbours(x: Tensor) -> Tensor:
            """(..., time, d) -> (..., blocks, len(seen) * window, d): what each block sees."""
            x = cut(x, before, after)
            parts = [x[..., i : i + blocks, :, :] for i in range(len(seen))]
            return operations.concat(parts, axis=-2)

        # where the queries of a block and the keys that it sees stand, counted from its first
        rows = np.arange(window)[:, None]
        columns = np.arange(-window, (len(seen) - 1) * window)[None, :]
        band = columns > rows - window
        band &= (columns <= rows) if is_causal else (columns < rows + window)
        places = columns + window * np.arange(blocks)[:, None, None]
        mask = tensor(band & (places >= 0) & (places < time), device=q.device)
        if key_mask is not None:
            mask = mask & neighbours(key_mask.swapaxes(-1, -2)).swapaxes(-1, -2)
        p = self.dropout if self.training else 0.0
        y = operations.scaled_dot_product_attention(
            cut(q, 0, blocks * window - time),
            neighbours(k),
            neighbours(v),
            mask=mask,
            dropout=p,
            generator=random.generator("dropout") if p else None,
        )
        return y.reshape(*y.shape[:2], blocks * window, y.shape[-1])[:, :, :time]

    def _banded(self, mask: Any, rows: int, columns: int, like: Tensor) -> Tensor:
        """``mask`` with all hidden that is outside of the band; the last query stands at the last
        key."""
        distance = np.arange(columns) - np.arange(columns - rows, columns)[:, None]
        band = tensor(np.abs(distance) < self.window, device=like.device)
        if mask is None:
            return band
        mask = as_mask("mask", mask, like)
        shape = mask.shape[-2:]
        if len(shape) < 2 or any(n not in (1, m) for n, m in zip(shape, (rows, columns))):
            return mask  # which is going to be refused
        return operations.where(band, mask, False if mask.dtype == np.bool_ else -np.inf)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{super().extra_repr()}, window={self.window}"
