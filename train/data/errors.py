"""What is wrong with a text."""

from __future__ import annotations


class DataError(ValueError):
    """A text or dataset that cannot be used; the message says why in one line."""
