"""Text as integers: reading it, its characters as symbols, and blocks of it for training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..random import Generator, generator


class DataError(ValueError):
    """A text or dataset that cannot be used; the message says why in one line."""


def default_corpus() -> str:
    """The help topics of the running Python (``pydoc_data.topics``), joined in sorted order.

    About 450,000 characters of technical English that every full Python installation carries.

    Raises:
        DataError: this installation was stripped of them.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise DataError(
            "data: this Python has no pydoc_data, the default corpus; name a text file instead"
        ) from None
    return "\n".join(topics[name] for name in sorted(topics))


def load_text(path: str | Path) -> str:
    """A text file in UTF-8 (with or without a byte-order mark); line ends become ``\\n``.

    Raises:
        DataError: it cannot be read, is empty, or is not UTF-8; the message names the file.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"data: {path} is not UTF-8 text (byte {error.start}: {error.reason})"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"data: cannot read {path}: {reason}") from None
    if not text:
        raise DataError(f"data: {path} is empty")
    return text


def fingerprint(text: str) -> str:
    """A short hash by which to tell two texts apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class CharTokenizer:
    """One symbol for each character: id i is the i-th of the sorted characters.

    Args:
        symbols: the characters, in any order; repeated ones count once. Any Unicode code point
            will do, lone surrogates included.

    Attributes:
        symbols: the vocabulary, a sorted string.
    """

    def __init__(self, symbols: str):
        if not isinstance(symbols, str) or not symbols:
            raise ValueError(f"symbols: expected a non-empty string, got {symbols!r}")
        self.symbols = "".join(sorted(set(symbols)))
        self._codes = _codes(self.symbols)

    @classmethod
    def from_text(cls, text: str) -> CharTokenizer:
        """The tokenizer whose vocabulary is the characters of ``text``."""
        return cls(text)

    @property
    def vocab_size(self) -> int:
        """Number of symbols."""
        return len(self.symbols)

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, character: str) -> bool:
        return len(character) == 1 and character in self.symbols

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharTokenizer) and other.symbols == self.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        return f"CharTokenizer({len(self)} symbols: {self.symbols!r})"

    def encode(self, text: str, unknown: str | None = None) -> np.ndarray:
        """The ids of a text, int64 (len(text),).

        Args:
            text: any string.
            unknown: None refuses characters that are not in the vocabulary; a symbol of the
                vocabulary takes their place; ``""`` leaves them out.

        Raises:
            DataError: unknown characters (named), or ``unknown`` is itself not a symbol.
        """
        codes = _codes(text)
        ids = np.searchsorted(self._codes, codes).astype(np.int64)
        known = self._codes[np.minimum(ids, len(self) - 1)] == codes
        if known.all():
            return ids
        if unknown is None:
            strange = sorted(set(_text(codes[~known])))
            named = ", ".join(f"{c!r} (U+{ord(c):04X})" for c in strange[:8])
            more = f" and {len(strange) - 8} more" if len(strange) > 8 else ""
            raise DataError(f"text: not among the {len(self)} known characters: {named}{more}")
        if unknown == "":
            return ids[known]
        if unknown not in self:
            raise DataError(f"unknown: expected one known character or '', got {unknown!r}")
        ids[~known] = self.symbols.index(unknown)
        return ids

    def decode(self, ids: Any) -> str:
        """The text of ids, a sequence or 1-D array of integers.

        Raises:
            IndexError: an id is not in the vocabulary.
        """
        array = np.asarray(ids)
        if array.size == 0:
            return ""
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"ids: expected 1-D integers, got {array.dtype} of shape {array.shape}")
        if array.min() < 0 or array.max() >= len(self):
            wrong = array[(array < 0) | (array >= len(self))][0]
            raise IndexError(f"ids: {wrong} is outside the vocabulary of {len(self)} symbols")
        return _text(self._codes[array])


def _codes(text: str) -> np.ndarray:
    """Code points of a string, uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _text(codes: np.ndarray) -> str:
    """The string of code points."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


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
