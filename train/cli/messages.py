"""Lines that several commands print."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


def command() -> str:
    """How to start this program again: the Python that runs it may be one of an environment."""
    python = Path(sys.executable)
    with contextlib.suppress(OSError):  # the working folder may be gone
        if python.is_relative_to(Path.cwd()):
            python = python.relative_to(Path.cwd())
    return f"{python} -m tinytensor"


def fail(message: str, code: int = 2) -> int:
    """Print one line to standard error; returns the exit code."""
    print(f"tinytensor: {' '.join(message.split())}", file=sys.stderr, flush=True)
    return code
