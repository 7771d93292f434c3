"""Where in the user's code something happens, for messages and for the stepper."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Any

#: an instruction of the user's code: cheap to take, and :func:`located` tells file and line
Point = tuple[CodeType, int]


@dataclass(frozen=True)
class Location:
    """A piece of a source file.

    Attributes:
        file: its name. line, end_line: from 1.
        column, end_column: characters counted in bytes of UTF-8, from 0; None where unknown.
    """

    file: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None


def caller(depth: int = 2, _frame: Callable[[int], FrameType | None] = sys._getframe) -> Any:
    """The innermost instruction outside this package that is being executed, a :data:`Point`, or
    None. Every op that is recorded asks, so this is written to be fast.

    ``depth``: how many frames are surely inside: that of the function asking counts as 1.
    """
    frame: FrameType | None = None
    try:
        frame = _frame(depth)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith("tinytensor") or module[10:11] not in (".", ""):
                return frame.f_code, frame.f_lasti
            frame = frame.f_back
    except ValueError:  # no frame is outside: a thread, say, that was started with an op
        pass
    except (AttributeError, TypeError):  # its name is no text, so that it is not this package's
        return None if frame is None else (frame.f_code, frame.f_lasti)
    return None


def located(point: Point | None) -> Location | None:
    """Where an instruction stands in its file."""
    if point is None:
        return None
    code, offset = point
    found = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    line, end_line, column, end_column = found
    if line is None:
        return None
    return Location(code.co_filename, line, end_line or line, column, end_column)


def user_line() -> tuple[str, int] | None:
    """File and line of the innermost caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        ours = isinstance(module, str) and f"{module}.".startswith("tinytensor.")
        if not ours:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def place(where: tuple[str, int] | Point | None) -> str:
    """A line of code for a message, or nothing."""
    if where is not None and isinstance(where[0], CodeType):
        found = located(where)
        where = None if found is None else (found.file, found.line)
    return "" if where is None else f" at {where[0]}:{where[1]}"
