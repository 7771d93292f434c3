"""Paths as a user writes them: on the command line, in a TOML file, in Python."""

from __future__ import annotations

import os
import unicodedata


def given_path(value: str | os.PathLike[str]) -> str:
    """A path with its home folder filled in: ``~/x`` and ``~user/x`` as in a shell.

    A shell leaves the ``~`` of ``--out=~/run`` as it is, and in a TOML file there is no shell.

    Raises:
        ValueError: it is empty, names a home that is not known, or holds what no name of a file
            should: control characters, or half a character. The message is for the end of a line.
    """
    text = os.fspath(value)
    if not text.strip():
        raise ValueError(f"expected a path, got {text!r}")
    if control := control_characters(text):
        raise ValueError(
            f"expected a path without control characters, got {control[0]!r} in {text!r}"
        )
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"expected a path that this system can write, got {text!r}") from None
    expanded = os.path.expanduser(text)
    if text.startswith("~") and expanded == text:
        user = text[1:].replace("\\", "/").split("/")[0]
        who = f"there is no user {user!r}" if user else "the home folder is not known"
        raise ValueError(f"{who}; for a name that starts with ~ write {os.path.join('.', text)}")
    return expanded


def control_characters(text: str) -> str:
    """Those in a text: a tab, a line end and the like."""
    return "".join(c for c in text if unicodedata.category(c) == "Cc")
