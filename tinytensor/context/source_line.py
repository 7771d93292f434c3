"""Where in the user's code something happens, for messages."""

from __future__ import annotations

import sys
from types import FrameType


def user_line() -> tuple[str, int] | None:
    """File and line of the innermost caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "tinytensor" and not module.startswith("tinytensor."):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def place(where: tuple[str, int] | None) -> str:
    """A line of code for a message, or nothing."""
    return "" if where is None else f" at {where[0]}:{where[1]}"
