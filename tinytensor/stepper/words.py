"""What the panel beside a step shows: the user's own lines, and the op's."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable
from typing import Any

from ..context.source_line import Point, located
from ..draw.words import short
from ..explain.sources import body_source, source, source_of_rules
from ..shown.mathml import mathml

AROUND = 3  # lines shown above the first and below the last that made an op
APART = 12  # lines that nobody used, and a file is cut there
#: the command line itself, which is no user's code
_PROGRAM = ("tinytensor", "tinytensor.exe", "__main__.py")


def _is_others(file: str) -> bool:
    """Is this no code of the user's: an installed package, or the command line?"""
    parts = os.path.normpath(file).split(os.sep)
    return parts[-1] in _PROGRAM or "site-packages" in parts or "dist-packages" in parts


class Lines:
    """The pieces of the user's files in which ops were made.

    Attributes:
        pieces: as the page wants them: file, number of the first line, and the lines.
    """

    def __init__(self, points: Iterable[Point | None]) -> None:
        self.pieces: list[dict[str, Any]] = []
        self._piece: dict[tuple[str, int], int] = {}  # by file and line
        used: dict[str, set[int]] = {}
        for point in points:
            if (where := located(point)) is not None:
                used.setdefault(where.file, set()).update((where.line, where.end_line))
        for file, numbers in used.items():
            if _is_others(file):
                continue
            text = linecache.getlines(file)
            for first, last in _runs(sorted(numbers)):
                self._add(file, text, first, last)

    def _add(self, file: str, text: list[str], first: int, last: int) -> None:
        start, end = max(1, first - AROUND), min(len(text), last + AROUND)
        if last > len(text):  # typed in, or changed since
            return
        lines = [line.rstrip("\r\n") for line in text[start - 1 : end]]
        for number in range(start, end + 1):
            self._piece[file, number] = len(self.pieces)
        # its name alone: a page is handed on, and the folders above are nobody's business
        self.pieces.append({"file": os.path.basename(file), "first": start, "lines": lines})

    def line(self, point: Point | None) -> dict[str, Any] | None:
        """Where an op was made: piece, number of the line, and the part of it that is lit."""
        where = located(point)
        if where is None or (where.file, where.line) not in self._piece:
            return None
        piece = self._piece[where.file, where.line]
        found: dict[str, Any] = {"source": piece, "number": where.line, "end": where.end_line}
        lines = self.pieces[piece]["lines"]
        first = self.pieces[piece]["first"]
        if where.column is not None and where.end_line - first < len(lines):
            found["column"] = _in_utf16(lines[where.line - first], where.column)
            found["end_column"] = _in_utf16(lines[where.end_line - first], where.end_column or 0)
        return found


def _runs(numbers: list[int]) -> Iterable[tuple[int, int]]:
    """The lines in groups that stand near each other."""
    start = before = numbers[0]
    for number in numbers[1:]:
        if number - before > APART:
            yield start, before
            start = number
        before = number
    yield start, before


def _in_utf16(line: str, column: int) -> int:
    """A place in a line as JavaScript counts it, from one in bytes of UTF-8."""
    before = line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
    return len(before.encode("utf-16-le", "surrogatepass")) // 2


def about(op: Any) -> dict[str, Any]:
    """What there is to read about an op."""
    return {
        "formula": op.formula,
        "gradient": op.gradient,
        "doc": op.doc,
        "forward": body_source(op.forward),
        "vjp": "\n".join(source_of_rules(op)),
        "reference": "" if op.reference is None else source(op.reference),
        "mathml": {
            key: mathml(text, {*op.inputs, *op.setting_names}) if text else ""
            for key, text in (("formula", op.formula), ("gradient", op.gradient))
        },
    }


def plain(value: Any) -> Any:
    """A setting as JSON; :class:`TypeError` for what has no such form."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, slice):
        return {"slice": [plain(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    if hasattr(value, "shape") and hasattr(value, "tolist") and value.size <= 256:
        if not value.shape:
            return value.item()
        return {"array": value.reshape(-1).tolist(), "shape": list(value.shape)}
    if hasattr(value, "itemsize") and hasattr(value, "kind"):
        return str(value)
    if isinstance(value, type):
        return value.__name__
    raise TypeError(f"a setting that has no form in JSON: {short(value)}")


def plain_settings(params: dict[str, Any]) -> dict[str, Any] | None:
    """An op's settings as JSON, or None where one has no such form."""
    try:
        return {key: plain(value) for key, value in params.items()}
    except TypeError:
        return None
