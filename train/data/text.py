"""Texts: reading files, and the text that ships with Python."""

from __future__ import annotations

import hashlib
from pathlib import Path


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
