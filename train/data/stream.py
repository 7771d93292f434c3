"""Blocks of a long sequence of ids, for training and validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...arrays.random import Generator, generator
from .errors import DataError

FAULT = 128 << 10  # bytes of a file that a block may bring into memory, by reading ahead
RESIDENT = 64 << 20  # bytes of a file, read by then, that are let go


class TokenStream:
    """One long sequence of ids, split in two: blocks to train on, blocks to validate on.

    A block is ``x = ids[i : i + block_size]`` with targets ``y = ids[i + 1 : i + block_size + 1]``,
    so a part of L ids has ``L - block_size`` of them, at starts 0 .. L - block_size - 1.

    Args:
        ids: 1-D integers. An array is not copied; one in a file (:class:`numpy.memmap`) is read
            from there block by block, and may be larger than memory.
        block_size: symbols in a block.
        val_fraction: the last part of the stream, kept for validation.
        rng: the source of random blocks; the generator named "data" if None.

    Attributes:
        train, val: the two parts, arrays of the type of ``ids``.

    Raises:
        DataError: a part is shorter than block_size + 1; the message names it and all lengths.
        TypeError: ids are not integers.
    """

    def __init__(
        self,
        ids: Sequence[int] | np.ndarray,
        block_size: int,
        val_fraction: float = 0.1,
        rng: Generator | None = None,
    ):
        stream = ids if isinstance(ids, np.memmap) else np.asarray(ids)
        if not stream.size:
            stream = stream.astype(np.int64)
        if stream.ndim != 1:
            raise ValueError(f"ids: expected one axis, got shape {stream.shape}")
        if stream.dtype.kind not in "iu":
            raise TypeError(f"ids: expected integers, got dtype {stream.dtype}")
        if block_size < 1:
            raise ValueError(f"block_size: expected an integer >= 1, got {block_size!r}")
        if not 0.0 < val_fraction < 1.0:
            raise ValueError(f"val_fraction: expected a number in (0, 1), got {val_fraction!r}")
        cut = int(len(stream) * (1.0 - val_fraction))
        self.block_size = block_size
        self.rng = generator("data") if rng is None else rng
        self.train, self.val = stream[:cut], stream[cut:]
        self._file: Any = ids.base if isinstance(ids, np.memmap) and ids.mode == "r" else None
        self._taken = 0
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
        return self._taken_out(self.train[index]), self._taken_out(self.train[index + 1])

    def batches(self, split: str, batch_size: int) -> int:
        """How many batches :meth:`blocks` makes of a whole split."""
        targets = len(self._part(split)) - 1
        count = targets // self.block_size
        return -(-count // batch_size) + (targets % self.block_size > 0)

    def blocks(
        self, split: str, batch_size: int, limit: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """A whole split in consecutive blocks: every id but the first is a target exactly once.

        Args:
            split: "train" or "val".
            batch_size: blocks in a batch; the last full batch may have fewer, and what is left
                over at the end comes as one shorter block.
            limit: at most so many of these batches, spread evenly over the split; always the same.

        Yields:
            x and y, int64 (batch, time).
        """
        part, size = self._part(split), self.block_size
        count = (len(part) - 1) // size
        for batch in spread(self.batches(split, batch_size), limit):
            start = min(batch * batch_size, count) * size
            end = min(start + batch_size * size, count * size)
            if start < end:
                shape = (-1, size)
                x, y = part[start:end].reshape(shape), part[start + 1 : end + 1].reshape(shape)
            else:
                x, y = part[None, start:-1], part[None, start + 1 :]
            yield self._taken_out(x), self._taken_out(y)

    def _taken_out(self, ids: np.ndarray) -> np.ndarray:
        """Blocks as int64, in memory of their own.

        Pages of a file that were read stay in the process's memory until it is short, so that it
        would look as if the whole file was needed; they are let go now and then.
        """
        blocks = np.array(ids, dtype=np.int64, subok=False)
        if hasattr(self._file, "madvise"):
            import mmap

            self._taken += len(blocks)
            if self._taken * (FAULT + blocks.shape[-1]) > RESIDENT:
                self._file.madvise(mmap.MADV_DONTNEED)
                self._taken = 0
        return blocks

    def _part(self, split: str) -> np.ndarray:
        if split not in ("train", "val"):
            raise ValueError(f"split: expected 'train' or 'val', got {split!r}")
        return self.train if split == "train" else self.val


def spread(total: int, limit: int | None = None) -> Iterator[int]:
    """Which of ``total`` batches to read where at most ``limit`` are: the middle of each stretch,
    of as many equal stretches as are read; all where there is no limit, or a higher one."""
    wanted = total if limit is None else min(limit, total)
    return ((2 * i + 1) * total // (2 * wanted) for i in range(wanted))
