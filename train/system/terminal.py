"""What a terminal can take: control characters made visible, what it is able to draw, lines that
tell of something, and command lines to type."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from pathlib import Path

#: characters that act on a terminal or reorder what it shows, but for newline and tab: C0, DEL and
#: C1, line and paragraph separators, embeddings and isolates of bidirectional text, and surrogates,
#: which no encoding has
_ACTING = (
    *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x2028, 0x2029,
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000),
)  # fmt: skip
_VISIBLE = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _ACTING}
_VISIBLE_LINE = {**_VISIBLE, 0x09: "\\t", 0x0A: "\\n"}


def printable(text: str) -> str:
    """The text with its control characters as visible escapes such as ``\\x1b`` and ``\\u202e``.

    Newlines and tabs stay. What a stranger wrote (a training text, a checkpoint's fields) can't
    then move the cursor, change colours, set the window's title or answer for the user.
    """
    return text.translate(_VISIBLE)


def one_line(text: object) -> str:
    """The same for what is to stay on one line, a path or a name: newlines and tabs too."""
    return str(text).translate(_VISIBLE_LINE)


def as_shown(text: str) -> str:
    """A text as standard output should have it: :func:`printable` on a terminal, and as it is in
    a file or a pipe."""
    return printable(text) if sys.stdout is not None and sys.stdout.isatty() else text


def is_terminal() -> bool:
    """Whether standard output is a terminal that can move its cursor."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    return os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def tell(text: str) -> None:
    """Print a text as one line to standard error; where that is gone, nowhere."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            line = one_line(re.sub(r"\s*\n\s*", " ", text.strip()))
            print(line, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Tell of something that went wrong, and cost no more than the text says."""
    tell(f"warning: {text}")


def note(text: str) -> None:
    """Tell of something that is well to know."""
    tell(f"note: {text}")


def command(*arguments: object) -> str:
    """How to start this program again, with these arguments: a line for the shell.

    The Python that runs it may be one of an environment.
    """
    python = Path(sys.executable)
    with contextlib.suppress(OSError, ValueError):  # the working folder is gone, or elsewhere
        python = python.relative_to(Path.cwd())
    parts = [str(python), "-m", "tinytensor", *map(str, arguments)]
    if os.name != "nt":
        return one_line(shlex.join(parts))
    import subprocess

    return one_line(subprocess.list2cmdline(parts))
