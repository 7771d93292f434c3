"""Texts: one file as a string, and the text that ships with Python."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .decoding import text_pieces
from .errors import DataError
from .files import as_names, open_file


def help_texts() -> dict[str, str]:
    """The help topics of the running Python (``pydoc_data.topics``): name -> text.

    Raises:
        DataError: this installation was stripped of them.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise DataError(
            "data: this Python has no pydoc_data, the default corpus; name a text file instead"
        ) from None
    return dict(topics)


def default_corpus() -> str:
    """The help topics of the running Python, joined in sorted order.

    About 450,000 characters of technical English that every full Python installation carries. Each
    version of Python has its own.

    Raises:
        DataError: this installation was stripped of them.
    """
    topics = help_texts()
    return "\n".join(topics[name] for name in sorted(topics))


def load_text(path: str | Path, encoding: str = "utf-8") -> str:
    """The text of one file, without a byte-order mark; line ends become ``\\n``.

    For several files, and for files larger than memory, there is :class:`TextFiles`.

    Args:
        path: the file; a pipe will do.
        encoding: any text encoding that Python knows.

    Raises:
        DataError: it cannot be read, is empty, or is not in this encoding; the message names the
            file. Or no such encoding is known.
    """
    (name,) = as_names(path)
    file, _ = open_file(name)
    with file:
        text = "".join(text_pieces(file, name, encoding))
    if not text:
        raise DataError(f"data: {name} is empty")
    return text


class Fingerprint:
    """A short hash by which to tell two texts apart, of a text that comes in pieces."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, piece: str) -> None:
        """The next part of the text; how it is cut does not matter."""
        self._hash.update(piece.encode("utf-8", "surrogatepass"))

    @property
    def value(self) -> str:
        """16 hexadecimal digits."""
        return self._hash.hexdigest()[:16]


def fingerprint(text: str) -> str:
    """The :class:`Fingerprint` of a whole text."""
    mark = Fingerprint()
    mark.update(text)
    return mark.value
