"""What a field of the settings is: help text, type and limits, and the check of a value.

The flags of the command line are made from the same fields, so the two can't drift apart.
"""

from __future__ import annotations

import math
import operator
import os
from dataclasses import field
from typing import Any

from ...models import MODELS
from ...models.transformer import POSITIONS
from ...models.word2vec import MODES
from ..data import DataError
from ..data.decoding import codec_name
from ..given.paths import given_path
from ..given.values import plain, shown
from ..tasks import TASKS

#: the largest integer of a field without a limit of its own: what a count in 64 bits holds
LARGEST = 2**63 - 1
#: the largest seed: the generators take 128 bits
SEEDS = 2**128 - 1


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it in one line."""


def setting(
    default: Any,
    text: str,
    low: float | None = None,
    *,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    why: str = "",
) -> Any:
    """A dataclass field with its help text and its limits: at least ``low`` or more than ``above``,
    at most ``high`` or less than ``below``; ``why`` explains them where they are passed. Where it
    is not given, the task's recipe for the model decides, and after that the default."""
    limits = {"at least": low, "above": above, "at most": high, "below": below}
    given = {word: limit for word, limit in limits.items() if limit is not None}
    about = {"help": text, "limits": given, "why": why, "default": default}
    return field(default=None, metadata=about)


#: fields with a fixed list of values
CHOICES = {
    "model": tuple(MODELS),
    "task": tuple(TASKS),
    "optimizer": ("adamw", "adagrad", "sgd"),
    "schedule": ("cosine", "exponential", "step", "inverse_sqrt", "constant"),
    "positions": tuple(POSITIONS),
    "mode": MODES,
    "device": ("cpu", "cuda"),
}
#: the logs that a run can keep; the first is always there
LOGS = ("jsonl", "csv", "tensorboard")
#: fields that are names of files or folders
PATHS = ("data", "out")

_KINDS = {"int": int, "float": float, "bool": bool, "str": str, "tuple[str, ...]": tuple}


def kind_of(f: Any) -> tuple[type, bool]:
    """A field's type (int, float, bool, str or, for several strings, tuple), and whether it may be
    None."""
    name = f.type.removesuffix(" | None")
    return _KINDS[name], name != f.type


def check(f: Any, value: Any) -> Any:
    """The value of a field in Python's own type.

    Raises:
        ConfigError: wrong type or out of range; names the field, what came and what was expected.
    """
    kind, optional = kind_of(f)
    if value is None and optional:
        return None
    found = plain(value)
    if isinstance(found, os.PathLike) and f.name in PATHS:
        found = os.fspath(found)
    if kind is tuple:
        found = (found,) if isinstance(found, str) else found
        if isinstance(found, tuple):
            found = tuple(os.fspath(x) if isinstance(x, os.PathLike) else x for x in found)
    if not _fits(kind, found):
        raise ConfigError(f"{f.name}: expected {_EXPECTED[kind]}, got {shown(value)}")
    if f.name in PATHS:
        try:
            return tuple(map(given_path, found)) if kind is tuple else given_path(found)
        except ValueError as error:
            raise ConfigError(f"{f.name}: {error}") from None
    if f.name == "encoding":
        try:
            return codec_name(found)
        except DataError as error:
            raise ConfigError(str(error)) from None
    if kind is float:
        try:
            found = float(found)
        except OverflowError:  # an integer beyond all floats
            found = math.inf
        if not math.isfinite(found):
            raise ConfigError(f"{f.name}: expected a finite number, got {shown(value)}")
    if f.name == "log":
        return _logs(found)
    choices = CHOICES.get(f.name, (found,))
    if found not in choices:
        raise ConfigError(f"{f.name}: expected one of {', '.join(choices)}, got {shown(found)}")
    limits, why = f.metadata["limits"], f.metadata["why"]
    if kind is int and found > LARGEST and "at most" not in limits:
        limits, why = {"at most": LARGEST}, "it has to fit into 64 bits"
    if not all(_WITHIN[word](found, limit) for word, limit in limits.items()):
        range_ = " and ".join(f"{word} {limit}" for word, limit in limits.items())
        reason = why and f"; {why}"
        raise ConfigError(f"{f.name}: expected {range_}, got {shown(value)}{reason}")
    return found


def _fits(kind: type, value: Any) -> bool:
    """Whether a value is of a field's type."""
    if kind is tuple:
        return isinstance(value, tuple) and bool(value) and all(isinstance(x, str) for x in value)
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


_EXPECTED = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a string",
    tuple: "a string or a list of strings",
}


def _logs(names: str) -> str:
    """The logs of a run in their order, each once, the first of them in any case.

    Raises:
        ConfigError: there is no such log.
    """
    given = [name.strip() for name in names.split(",")]
    for name in given:
        if name not in LOGS:
            raise ConfigError(
                f"log: expected {', '.join(LOGS)}, or some of them with commas between, "
                f"got {shown(names)}"
            )
    return ",".join(name for name in LOGS if name == LOGS[0] or name in given)


_WITHIN = {
    "at least": operator.ge,
    "above": operator.gt,
    "at most": operator.le,
    "below": operator.lt,
}
