"""Looking at where attention layers look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..context.blocks import Block, Manager
from ..context.thread_state import local
from ..tensor.tensor import Tensor
from .module import Module

#: the layer, and its weights (batch, heads, queries, keys)
Map = tuple[Module, np.ndarray]


class recording(Manager):
    """``with recording() as maps:`` each attention layer called inside adds what it attends to.

    ``maps`` is a list of pairs, in the order of the calls: the layer, and its weights as an array
    (batch, heads, queries, keys) on the host. Weights are those before dropout; what the layers
    return, and what they draw at random, is the same as without. With a cache a call adds the
    weights of its new queries. Calls in other threads add nothing.
    """

    def _enter(self, block: Block) -> list[Map]:
        maps: list[Map] = []
        block.note = maps
        return maps


def by_layer(maps: Sequence[Map]) -> list[Map]:
    """What :class:`recording` gave as one map for each layer, in the order of their first calls:
    those of a layer that was called for one step after the other are joined along the queries.

    Raises:
        ValueError: two calls of a layer have other numbers of keys.
    """
    parts: dict[int, tuple[Module, list[np.ndarray]]] = {}
    for layer, weights in maps:
        parts.setdefault(id(layer), (layer, []))[1].append(weights)
    return [(layer, np.concatenate(weights, axis=2)) for layer, weights in parts.values()]


def lists() -> list[list[Map]]:
    """The lists that are being written, for :func:`write`; most often none."""
    return [
        block.note
        for block in local.state.others
        if isinstance(block.manager, recording) and block.running
    ]


def write(into: list[list[Map]], layer: Module, weights: Tensor) -> None:
    """Add a layer's weights (batch, heads, queries, keys) to all of the lists."""
    values = np.array(weights.detach().numpy())
    for maps in into:
        maps.append((layer, values))
