"""What to train on: a text that is read in pieces, never as a whole.

Reading goes through a text twice: once for its characters, its length and its fingerprint, and once
for its ids. Where the two readings differ, a file has changed meanwhile, and that is an error.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ..given.words import readable
from . import decoding
from .decoding import codec_name, text_pieces
from .errors import DataError
from .files import Names, find_files, open_file
from .storage import keep_ids
from .text import Fingerprint, default_corpus
from .tokenizer import Characters, CharTokenizer


class Survey(NamedTuple):
    """What the first reading of a text finds out."""

    symbols: str
    length: int
    fingerprint: str


class Corpus(ABC):
    """A text to train on, of any size: :class:`TextFiles`, or :class:`TextString`.

    Its ids take up to 64 MB of memory; more of them go to a temporary file (in the folder that
    TMPDIR names, else in /var/tmp), which vanishes with the process.

    Attributes:
        origin: where the text is from, as a checkpoint keeps it: "files", "text" (a string of the
            caller's), or "python" and the version whose help topics it is.
    """

    origin: str

    @abstractmethod
    def pieces(self) -> Generator[str, None, None]:
        """One reading: the text's parts, from its start."""

    @abstractmethod
    def describe(self) -> str:
        """What it is in a few words, such as ``3 files, 12.1 MB``."""

    @cached_property
    def _survey(self) -> Survey:
        """The first reading."""
        length, characters, mark = 0, Characters(), Fingerprint()
        with closing(self.pieces()) as pieces:
            for piece in pieces:
                length += len(piece)
                characters.update(piece)
                mark.update(piece)
        if not length:
            raise DataError(f"data: {self._empty}")
        return Survey(characters.symbols, length, mark.value)

    @cached_property
    def tokenizer(self) -> CharTokenizer:
        """The tokenizer of this text's characters.

        Raises:
            DataError: the text is empty or cannot be read; so too from all below.
        """
        return CharTokenizer(self._survey.symbols)

    @property
    def fingerprint(self) -> str:
        """A short hash by which to tell two texts apart."""
        return self._survey.fingerprint

    def __len__(self) -> int:
        """How many characters."""
        return self._survey.length

    def ids(self) -> np.ndarray:
        """The ids of the text by its :attr:`tokenizer`: (length,), in the smallest unsigned type.

        Raises:
            DataError: a file has changed since its first reading, or a disk is full.
        """
        return keep_ids(self._encoded(), len(self), len(self.tokenizer))

    def _encoded(self) -> Iterator[np.ndarray]:
        """The second reading, which must find what the first one did."""
        survey, length, mark = self._survey, 0, Fingerprint()
        changed = DataError(f"data: {self.describe()} changed while being read; start again")
        with closing(self.pieces()) as pieces:
            for piece in pieces:
                length += len(piece)
                mark.update(piece)
                try:
                    ids = self.tokenizer.encode(piece)
                except DataError:
                    raise changed from None
                if length > survey.length:
                    raise changed
                yield ids
        if mark.value != survey.fingerprint:
            raise changed

    #: what to say of a text without characters
    _empty = "the text is empty"


class TextString(Corpus):
    """A string as a corpus.

    Args:
        text: the string.
        python: the version of Python whose help topics it is, where it is those.

    Raises:
        DataError: it is no string.
    """

    def __init__(self, text: str, python: str | None = None):
        if not isinstance(text, str):
            raise DataError(f"text: expected a string, got a {type(text).__name__}")
        self._text = text
        self.origin = "text" if python is None else f"python {python}"

    def pieces(self) -> Generator[str, None, None]:
        """See :class:`Corpus`."""
        size = decoding.PIECE
        yield from (self._text[i : i + size] for i in range(0, len(self._text), size))

    def describe(self) -> str:
        """See :class:`Corpus`."""
        return "a given text" if self.origin == "text" else "the help topics of Python"


def help_topics() -> TextString:
    """The default corpus: the help topics of the running Python, see :func:`default_corpus`."""
    return TextString(default_corpus(), platform.python_version())


class TextFiles(Corpus):
    """The texts of files, one after the other, with a newline between where one lacks it.

    ::

        corpus = TextFiles(["book.txt", "letters", "more/**/*.txt"], encoding="cp1252")
        stream = TokenStream(corpus.ids(), block_size=64)
        corpus.tokenizer.decode(stream.batch(1)[0][0])

    Args:
        names: a file (a pipe will do), a folder (all regular files in it and in its folders that
            are not hidden, sorted), a pattern such as ``books/**/*.txt`` (sorted; ``**`` is any
            depth of folders), or several of these. What exists by a name comes before what matches
            it as a pattern. A file that is found twice is read once.
        encoding: of all files; any text encoding that Python knows. A byte-order mark is no part
            of the text; line ends become ``\\n``.

    Attributes:
        files: those that were found, in the order in which they are read.
        repeated: names of files that were found again.

    Raises:
        DataError: nothing is there by a name, or no such encoding is known. What is wrong with the
            content of a file is found when it is read, and names it.
    """

    origin = "files"

    def __init__(
        self,
        names: Names,
        encoding: str = "utf-8",
    ):
        codec_name(encoding)
        self.encoding = encoding
        self.files, self.repeated = find_files(names)
        if not self.files:
            raise DataError("data: expected the name of a file, folder or pattern, got none")
        self._bytes: int | None = None
        self._copies: dict[Path, IO[bytes]] = {}  # of what can be read only once

    def pieces(self) -> Generator[str, None, None]:
        """See :class:`Corpus`."""
        size, last = 0, "\n"
        for path in self.files:
            copy = self._copies.get(path)
            file, lasting = (copy, True) if copy is not None else open_file(path)
            if not lasting:
                self._copies[path] = file
            try:
                begun = False
                for piece in text_pieces(file, str(path), self.encoding):
                    if not begun and last != "\n":
                        yield "\n"
                    yield piece
                    begun, last = True, piece[-1]
                size += file.tell()
            finally:
                if path not in self._copies:
                    file.close()
        self._bytes = size

    def describe(self) -> str:
        """See :class:`Corpus`; with the size once the files have been read."""
        parts = [str(self.files[0]) if len(self.files) == 1 else f"{len(self.files):,} files"]
        if self._bytes is not None:
            parts.append(readable(self._bytes))
        if self.repeated:
            more = f" and {len(self.repeated) - 1:,} more" if len(self.repeated) > 1 else ""
            verb = "are" if more else "is"
            parts.append(f"{self.repeated[0]}{more} {verb} named twice and read once")
        return ", ".join(parts)

    @property
    def _empty(self) -> str:  # type: ignore[override]
        if len(self.files) == 1:
            return f"{self.files[0]} is empty"
        return f"all {len(self.files):,} files are empty"


def corpus_of(text: str | None, names: Names | None, encoding: str = "utf-8") -> Corpus:
    """The text of a run: a string, or else files by their names, or else the help topics."""
    if text is not None:
        return TextString(text)
    return help_topics() if names is None else TextFiles(names, encoding)
