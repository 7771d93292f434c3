"""Lines that several commands print."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

from .output import one_line, printable


def command(*arguments: object) -> str:
    """How to start this program again, with these arguments: a line for the shell.

    The Python that runs it may be one of an environment.
    """
    python = Path(sys.executable)
    with contextlib.suppress(OSError, ValueError):  # the working folder is gone, or elsewhere
        python = python.relative_to(Path.cwd())
    parts = [str(python), "-m", "tinytensor", *map(str, arguments)]
    return one_line(subprocess.list2cmdline(parts) if os.name == "nt" else shlex.join(parts))


def fail(message: str, code: int = 2) -> int:
    """Print one line to standard error; returns the exit code."""
    print(f"tinytensor: {' '.join(printable(message).split())}", file=sys.stderr, flush=True)
    return code
