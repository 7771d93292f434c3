"""Additive attention: Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to
Align and Translate", 2015."""

from __future__ import annotations

import math
from typing import Any

from .. import operations, zeros
from ..tensor.tensor import Tensor
from . import init
from .attention import as_key_mask
from .attention_maps import lists, write
from .layers import Linear, check_size
from .module import Module
from .parameter import Parameter


class AdditiveAttention(Module):
    """How well a query q fits a key k is asked of a small network: v^T tanh(W q + U k)::

        weights = softmax(v^T tanh(W q + U k_j)) over all positions j
        context = the mean of the k_j with these weights

    U k_j does not depend on the query: :meth:`project` computes it once for any number of queries.

    Args:
        query_dim: size of a query.
        key_dim: size of a key, and of the context.
        hidden: size of the layer in between, ``query_dim`` if None.

    Attributes:
        query_proj: W, Linear(query_dim, hidden) without bias.
        key_proj: U, Linear(key_dim, hidden) without bias.
        v: (hidden,), from U(-k, k), k = 1/sqrt(hidden).
    """

    def __init__(self, query_dim: int, key_dim: int, hidden: int | None = None):
        self.query_dim = check_size("query_dim", query_dim)
        self.key_dim = check_size("key_dim", key_dim)
        self.hidden = check_size("hidden", query_dim if hidden is None else hidden)
        self.query_proj = Linear(query_dim, self.hidden, bias=False)
        self.key_proj = Linear(key_dim, self.hidden, bias=False)
        self.v = Parameter(zeros((self.hidden,)))
        init.uniform_(self.v, -1 / math.sqrt(self.hidden), 1 / math.sqrt(self.hidden))

    def project(self, keys: Tensor) -> Tensor:
        """U k of each key: (batch, Tk, key_dim) -> (batch, Tk, hidden)."""
        projected: Tensor = self.key_proj(keys)
        return projected

    def forward(
        self, query: Tensor, keys: Tensor, key_mask: Any = None, projected: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from ``query`` to ``keys``.

        Args:
            query: (batch, query_dim) or, for several queries, (batch, Tq, query_dim).
            keys: (batch, Tk, key_dim).
            key_mask: boolean (batch, Tk), True where the key is real, not padding.
            projected: what :meth:`project` makes of ``keys``, if it is there already.

        Returns:
            The context, (batch, key_dim) or (batch, Tq, key_dim), and the weights, (batch, Tk) or
            (batch, Tq, Tk). Both are zero where there is no real key.

        Raises:
            ValueError: shapes do not fit; the message names the argument and both shapes.
        """
        single = query.ndim == 2
        self._check(query, keys)
        batch, time = keys.shape[:2]
        if projected is None:
            projected = self.project(keys)
        elif projected.shape != (batch, time, self.hidden):
            raise ValueError(
                f"projected: expected shape {(batch, time, self.hidden)}, got {projected.shape}"
            )
        asked = self.query_proj(query).reshape(batch, -1, 1, self.hidden)
        fit = operations.tanh(asked + projected.reshape(batch, 1, time, self.hidden))
        scores = operations.matmul(fit, self.v)
        if key_mask is not None:
            mask = as_key_mask(key_mask, keys, keys.shape[:2]).expand_dims(1)
            scores = operations.where(mask, scores, -math.inf)
        weights = operations.softmax(scores, axis=-1)  # zeros where all of a row is -inf
        into = lists()
        if into:
            write(into, self, operations.expand_dims(weights, 1))
        context = operations.matmul(weights, keys)
        return (context.squeeze(1), weights.squeeze(1)) if single else (context, weights)

    def _check(self, query: Tensor, keys: Tensor) -> None:
        if keys.ndim != 3 or keys.shape[-1] != self.key_dim:
            raise ValueError(
                f"keys: expected shape (batch, time, {self.key_dim}), got {keys.shape}"
            )
        wanted = (len(keys), self.query_dim)
        if query.ndim not in (2, 3) or (len(query), query.shape[-1]) != wanted:
            raise ValueError(
                f"query: expected shape {wanted} or ({len(keys)}, time, {self.query_dim}), got "
                f"{query.shape}"
            )

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{self.query_dim}, {self.key_dim}, hidden={self.hidden}"
