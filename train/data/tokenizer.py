"""Characters as symbols."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .decoding import PIECE
from .errors import DataError


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
        self._codes = codes(self.symbols)
        # id of each code point, -1 for the unknown ones; the last is for all that lie beyond
        self._ids = np.full(int(self._codes[-1]) + 2, -1, dtype=np.int32)
        self._ids[self._codes] = np.arange(len(self.symbols))

    @classmethod
    def from_text(cls, text: str) -> CharTokenizer:
        """The tokenizer whose vocabulary is the characters of ``text``."""
        if not isinstance(text, str):
            raise ValueError(f"text: expected a string, got {text!r}")
        found = Characters()
        for start in range(0, len(text), PIECE):
            found.update(text[start : start + PIECE])
        return cls(found.symbols)

    @property
    def vocab_size(self) -> int:
        """Number of symbols."""
        return len(self.symbols)

    @property
    def start_id(self) -> int:
        """What a text begins after: the id of a newline, 0 where that is no symbol."""
        return max(0, self.symbols.find("\n"))

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
        """The ids of a text, int32 (len(text),); nothing else of that size is made meanwhile.

        Args:
            text: any string.
            unknown: None refuses characters that are not in the vocabulary; a symbol of the
                vocabulary takes their place; ``""`` leaves them out.

        Raises:
            DataError: unknown characters (named), or ``unknown`` is itself not a symbol.
        """
        ids, filled = np.empty(len(text), dtype=np.int32), 0
        for start in range(0, len(text), PIECE):
            part = self._ids.take(codes(text[start : start + PIECE]), mode="clip")
            strange = part < 0
            if strange.any():
                if unknown is None:
                    raise DataError(self._unknown(text))
                if unknown and unknown not in self:
                    raise DataError(f"unknown: expected one known character or '', got {unknown!r}")
                if unknown:
                    part[strange] = self.symbols.index(unknown)
                else:
                    part = part[~strange]
            ids[filled : filled + len(part)] = part
            filled += len(part)
        return ids[:filled]

    def _unknown(self, text: str) -> str:
        """A line that names the characters of a text that are not in the vocabulary."""
        strange = sorted(set(text) - set(self.symbols))
        named = ", ".join(f"{c!r} (U+{ord(c):04X})" for c in strange[:8])
        more = f" and {len(strange) - 8} more" if len(strange) > 8 else ""
        return f"text: not among the {len(self)} known characters: {named}{more}"

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
        return "".join(
            _text(self._codes[array[start : start + PIECE]])
            for start in range(0, array.size, PIECE)
        )


class Characters:
    """The different characters of a text that comes in pieces."""

    def __init__(self) -> None:
        self._seen = np.zeros(sys.maxunicode + 1, dtype=bool)

    def update(self, piece: str) -> None:
        """The next part of the text."""
        self._seen[codes(piece)] = True

    @property
    def symbols(self) -> str:
        """The characters so far, sorted."""
        return "".join(map(chr, np.flatnonzero(self._seen)))


def codes(text: str) -> np.ndarray:
    """Code points of a string, uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _text(codes: np.ndarray) -> str:
    """The string of code points."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
