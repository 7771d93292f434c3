"""What was watched of a run, ``watch.jsonl``: a JSON object on a line for each observation.

A line has a ``step``, a ``kind`` and its ``value``:

=============  ===================================================================================
gradients      ``[[layer, norm], ...]``: of the whole batch, before clipping
activations    ``[[layer, class, *SPREAD], ...]``: of what each layer gives for a fixed batch
attention      ``[{"kind", "layer", "queries", "keys", "heads", "weights"}, ...]``, as
               :class:`.attention.Map` has it, weights as base64 of bytes: a share times 255
sample         a text: what the model writes, or answers
=============  ===================================================================================

A line with ``run`` instead tells of the run, and the last such line counts. Numbers that JSON has
no word for are "nan", "inf" and "-inf". The losses are in the run's ``log.jsonl``. A file may come
from anywhere: lines that are broken, or none of such a file, are left out.
"""

from __future__ import annotations

import binascii
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..system.files import lines, write_atomically

NAME = "watch.jsonl"
#: what is told of the numbers of a layer: their mean, standard deviation, some percentiles, the
#: share that is exactly 0, and how many are no finite numbers, which the others leave out
SPREAD = ("mean", "std", "min", "p5", "p25", "p50", "p75", "p95", "max", "zero", "bad")
#: bytes; a longer line is none of such a file
LONGEST = 1 << 21
#: observations of a kind that a file keeps, and bytes
MOST, MOST_BYTES = 400, 8_000_000
#: layers, symbols and characters that an observation may have
_LAYERS, _SYMBOLS, _CHARACTERS = 2000, 200, 20_000


@dataclass(frozen=True)
class Seen:
    """An observation: its kind, see the top of this file, the step after which it was made, and
    its value."""

    kind: str
    step: int
    value: Any

    def line(self) -> bytes:
        """As a line of the file."""
        entry = {"step": self.step, "kind": self.kind, "value": self.value}
        return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def number(value: float) -> float | str:
    """A number with six digits, as JSON can have it."""
    value = float(value)
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def parsed(line: bytes) -> Seen | dict[str, Any] | None:
    """What a line says: an observation, what the run is, or nothing."""
    try:
        entry = json.loads(line)
        if isinstance(entry.get("run"), dict):
            return {key: _fact(value) for key, value in entry["run"].items()}
        kind, step, value = entry["kind"], entry["step"], entry["value"]
        if type(step) is int and 0 <= step < 2**53 and kind in _CHECKS and _CHECKS[kind](value):
            return Seen(kind, step, value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _fact(value: Any) -> Any:
    """What is told of a run, with a word for a number that JSON has none for."""
    return number(value) if type(value) is float and not math.isfinite(value) else value


def kept(path: Path, step: int) -> Iterator[bytes]:
    """The lines that a run keeps which continues at ``step``: those of later steps were written by
    a process that was killed after its last checkpoint."""
    if not step or path.is_symlink() or not path.is_file():
        return
    for line in lines(path, LONGEST):
        found = parsed(line) if line.endswith(b"\n") else None
        if isinstance(found, dict) or isinstance(found, Seen) and found.step <= step:
            yield line


def cut(folder: Path, step: int) -> None:
    """Take out of a run's folder what was watched beyond the step where the run goes on; all of it
    where that is the first.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / NAME
    if path.is_symlink() or not path.is_file():
        return
    if step:
        write_atomically(path, lambda file: file.writelines(kept(path, step)))
    elif parsed(next(lines(path, LONGEST), b"")) is not None:  # a file of ours
        path.unlink()


def spread_out(steps: Sequence[int], most: int) -> list[int]:
    """At most ``most`` (>= 2) of these rising steps: the first, the last, and between them those
    nearest to even distances."""
    if len(steps) <= most:
        return list(steps)
    there = np.asarray(steps)
    wanted = np.linspace(there[0], there[-1], most)
    right = np.searchsorted(there, wanted).clip(1, len(there) - 1)
    nearer = wanted - there[right - 1] < there[right] - wanted
    chosen: list[int] = there[np.unique(np.where(nearer, right - 1, right))].tolist()
    return chosen


# ---- what a value may be -------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return value in ("nan", "inf", "-inf") if isinstance(value, str) else _is_finite(value)


def _is_finite(value: Any) -> bool:
    if type(value) is int:  # JSON has whole numbers that no float can be
        return abs(value) <= sys.float_info.max
    return type(value) is float and math.isfinite(value)


def _is_list(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most


def _gradients(value: Any) -> bool:
    return _is_list(value, _LAYERS) and all(
        isinstance(name, str) and _is_number(norm) for name, norm in value
    )


def _activations(value: Any) -> bool:
    return _is_list(value, _LAYERS) and all(
        isinstance(name, str)
        and isinstance(kind, str)
        and len(numbers) == len(SPREAD)
        and all(map(_is_number, numbers))
        for name, kind, *numbers in value
    )


def _attention(value: Any) -> bool:
    return _is_list(value, _LAYERS) and all(map(_map, value))


def _map(one: Any) -> bool:
    names = [one["queries"], one["keys"]]
    known = all(_is_list(part, _SYMBOLS) and part for part in names)
    texts = all(isinstance(symbol, str) for part in names for symbol in part)
    counts = type(one["layer"]) is int and type(one["heads"]) is int and 0 < one["heads"] <= 1000
    if not (isinstance(one["kind"], str) and known and texts and counts):
        return False
    size = len(binascii.a2b_base64(one["weights"], strict_mode=True))
    return size == one["heads"] * len(names[0]) * len(names[1])


def _sample(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _CHARACTERS


_CHECKS = {
    "gradients": _gradients,
    "activations": _activations,
    "attention": _attention,
    "sample": _sample,
}
KINDS = tuple(_CHECKS)
