"""Blocks of a long sequence of ids, for training and validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...arrays.random import Generator, generator
from .text import DataError


class TokenStream:
    """One long sequence of ids, split in two: blocks to train on, blocks to validate on.

    A block is ``x = ids[i : i + block_size]`` with targets ``y = ids[i + 1 : i + block_size + 1]``,
    so a part of L ids has ``L - block_size`` of them, at starts 0 .. L - block_size - 1.

    Args:
        ids: 1-D integers.
        block_size: symbols in a block.
        val_fraction: the last part of the stream, kept for validation.
        rng: the source of random blocks; the generator named "data" if None.

    Attributes:
        train, val: int64 arrays, the two parts.

    Raises:
        DataError: a part is shorter than block_size + 1; the message names it and all lengths.
    """

    def __init__(
        self,
        ids: Sequence[int] | np.ndarray,
        block_size: int,
        val_fraction: float = 0.1,
        rng: Generator | None = None,
    ):
        stream = np.asarray(ids, dtype=np.int64)
        if stream.ndim != 1:
            raise ValueError(f"ids: expected one axis, got shape {stream.shape}")
        if block_size < 1:
            raise ValueError(f"block_size: expected an integer >= 1, got {block_size!r}")
        if not 0.0 < val_fraction < 1.0:
            raise ValueError(f"val_fraction: expected a number in (0, 1), got {val_fraction!r}")
        cut = int(len(stream) * (1.0 - val_fraction))
        self.block_size = block_size
        self.rng = generator("data") if rng is None else rng
        self.train, self.val = stream[:cut], stream[cut:]
        for name, part in (("training", self.train), ("validation", self.val)):
            if len(part) <= block_size:
                raise DataError(
                    f"data: the {name} split is too short for a block: it has {len(part)} of the "
                    f"text's {len(stream)} symbols, block_size {block_size} needs at least "
                    f"{block_size + 1}; use a longer text or a smaller block_size"
                )

    def windows(self, split: str = "train") -> int:
        """How many different blocks a split ("train" or "val") has."""
        return len(self._part(split)) - self.block_size

    def batch(self, batch_size: int) -> tuple[np.ndarray, np.ndarray]:
        """Random training blocks: x and y, int64 (batch_size, block_size)."""
        starts = self.rng.integers(0, self.windows("train"), (batch_size,))
        index = starts[:, None] + np.arange(self.block_size)
        return self.train[index], self.train[index + 1]

    def blocks(
        self, split: str, batch_size: int, limit: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """A whole split in consecutive blocks: every id but the first is a target exactly once.

        Args:
            split: "train" or "val".
            batch_size: blocks in a batch; the last full batch may have fewer, and what is left
                over at the end comes as one shorter block.
            limit: stop after this many batches.

        Yields:
            x and y, int64 (batch, time).
        """
        part = self._part(split)
        size = self.block_size
        count = (len(part) - 1) // size
        full = count * size
        x, y = part[:full].reshape(count, size), part[1 : full + 1].reshape(count, size)
        batches = [
            (x[i : i + batch_size], y[i : i + batch_size]) for i in range(0, count, batch_size)
        ]
        if full < len(part) - 1:
            batches.append((part[None, full:-1], part[None, full + 1 :]))
        yield from batches[:limit]

    def _part(self, split: str) -> np.ndarray:
        if split not in ("train", "val"):
            raise ValueError(f"split: expected 'train' or 'val', got {split!r}")
        return self.train if split == "train" else self.val
