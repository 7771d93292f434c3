"""Reading the log of a run, ``log.jsonl``: a JSON object on a line for each step and validation.

Lines that are broken, or none of a log, are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..system.files import lines

LOG = "log.jsonl"
#: bytes; a longer line is none of a log
LONGEST = 1 << 16


def entries(path: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """The steps of a log and their numbers, in the order of its lines; of a file that cannot be
    read, none."""
    try:
        for line in lines(path, LONGEST):
            step, values = entry_of(line)
            if step is not None:
                yield step, values
    except OSError:
        return


def entry_of(line: bytes) -> tuple[int | None, dict[str, float]]:
    """The step of a line and its numbers; None and nothing where it is no line of a log."""
    step, entry = _entry(line)
    if step is None or not 0 <= step < 2**63:
        return None, {}
    return step, {name: v for name, v in entry.items() if _is_number(v)}


def _is_number(value: Any) -> bool:
    """Also NaN; not a whole number that no float can be."""
    return type(value) is float or type(value) is int and abs(value) <= sys.float_info.max


def kept(path: Path, step: int, validated: int) -> Iterator[bytes]:
    """The lines of a log that a run keeps which continues at ``step``.

    Args:
        validated: the step of the last validation in the history that it continues.
    """
    if not step or path.is_symlink() or not path.is_file():
        return
    for line in lines(path, LONGEST):
        at, entry = _entry(line)
        if at is None or not line.endswith(b"\n"):  # half a line of a killed process
            continue
        if at < step or at == step and ("loss" in entry or validated == step):
            yield line


def _entry(line: bytes) -> tuple[int | None, dict[str, Any]]:
    """The step of a line, None where it is none of a log, and what else it says."""
    try:
        entry = json.loads(line)
        step = entry.pop("step")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, {}
    return (step, entry) if type(step) is int else (None, {})
