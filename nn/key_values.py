"""What an attention layer remembers of the positions that it has read."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import operations
from ..tensor.tensor import Tensor, make


class KeyValues:
    """The keys and values one attention layer has computed: what generation need not repeat.

    Without a graph they are written into memory for the whole text, so that a token costs no copy
    of what came before it.

    Args:
        block_size: the longest text; 0 for keys and values that stay as they are, those of an
            encoder.

    Attributes:
        parts: keys and values so far, each (batch, heads, time, d); empty before the first.
    """

    def __init__(self, block_size: int = 0) -> None:
        self.block_size = block_size
        self.parts: list[Tensor] = []
        self._memory: list[Any] = []

    def __len__(self) -> int:
        """How many positions are in it."""
        return self.parts[0].shape[2] if self.parts else 0

    def extend(self, *new: Tensor) -> list[Tensor]:
        """Add keys and values of new positions, each (batch, heads, time, d); returns all.

        Raises:
            ValueError: they are of another batch, or of other heads, than those before.
        """
        for old, x in zip(self.parts, new, strict=False):
            if (*x.shape[:2], *x.shape[3:]) != (*old.shape[:2], *old.shape[3:]):
                batch, heads, _, d = old.shape
                raise ValueError(
                    f"cache: it holds keys and values of shape ({batch}, {heads}, time, {d}), got "
                    f"new ones of shape {x.shape}; a new text has a new cache"
                )
        start, recorded = len(self), any(x.requires_grad for x in (*new, *self.parts))
        stop = start + new[0].shape[2]
        if recorded or stop > self.block_size:
            if self.parts:
                new = tuple(
                    operations.concat([old, x], axis=2)
                    for old, x in zip(self.parts, new, strict=True)
                )
            self.parts, self._memory = list(new), []
            return self.parts
        if not self._memory:
            self._memory = [self._room(x) for x in new]
            for memory, old in zip(self._memory, self.parts, strict=False):
                memory[:, :, :start] = old.data
        for memory, x in zip(self._memory, new, strict=True):
            memory[:, :, start:stop] = x.data
        self.parts = [make(memory[:, :, :stop]) for memory in self._memory]
        return self.parts

    def reorder(self, rows: np.ndarray) -> None:
        """Keep those rows of the batch, in that order; a row may come twice."""
        stop = len(self)
        chosen = [part[rows] for part in self.parts]
        if self._memory:
            self._memory = [self._room(x) for x in chosen]
            for memory, x in zip(self._memory, chosen, strict=True):
                memory[:, :, :stop] = x.data
            chosen = [make(memory[:, :, :stop]) for memory in self._memory]
        self.parts = chosen

    def _room(self, like: Tensor) -> Any:
        batch, heads, _, d = like.shape
        return like.device.xp.empty((batch, heads, self.block_size, d), dtype=like.dtype)
