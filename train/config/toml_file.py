"""Settings in a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..data.decoding import MARKS
from ..given.paths import control_characters
from ..given.values import shown
from ..given.words import cause, shortened
from .config import check_names, check_value
from .fields import PATHS, ConfigError

LARGEST = 1_000_000
#: what to say where a backslash in double quotes may be the cause
BACKSLASH = r"in double quotes \ starts an escape: write a path with / or in 'single quotes'"


def load_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file. Tables are only headings: ``[model] n_layer = 6`` is n_layer.

    Raises:
        ConfigError: it cannot be read, is no TOML, or holds an unknown or unfit setting.
    """
    values: dict[str, Any] = {}
    for key, value in parse(path).items():
        for name, inner in value.items() if isinstance(value, dict) else [(key, value)]:
            if name in values:
                raise ConfigError(f"{path}: {shown(name)} is set twice")
            values[name] = inner
    try:  # one by one: a flag may change what they have to go together with
        check_names(values)
        for name, value in values.items():
            check_value(name, value)
    except ConfigError as error:
        given = [text for name in PATHS for text in _texts(values.get(name))]
        escaped = any(map(control_characters, given))
        advice = f"; {BACKSLASH}" if escaped else ""
        raise ConfigError(f"{path}: {error}{advice}") from None
    return values


def _texts(value: Any) -> list[str]:
    """A text, or those in a list."""
    return [t for t in (value if isinstance(value, list) else [value]) if isinstance(t, str)]


def parse(path: str | Path) -> dict[str, Any]:
    """What a TOML file holds.

    Raises:
        ConfigError: it cannot be read, or is no TOML in UTF-8.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"config: cannot read {path}: {cause(error)}") from None
    if len(content) > LARGEST:
        raise ConfigError(
            f"config: {path} is larger than {LARGEST:,} bytes; expected a few settings in TOML"
        )
    for mark, encoding in MARKS.items():
        if content.startswith(mark) and encoding != "utf-8":
            raise ConfigError(f"config: {path} is in {encoding.upper()}; save it as UTF-8")
    text = ""
    try:
        text = content.decode("utf-8-sig")  # Windows' editors put a byte-order mark first
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start}: {error.reason}"
        raise ConfigError(f"config: {path} is not UTF-8 ({reason}); save it as UTF-8") from None
    except RecursionError:
        raise ConfigError(f"config: {path} is nested too deeply for a file of settings") from None
    except ValueError as error:  # that of tomllib, and what Python says of very long integers
        advice = ""
        if "\0" in text:
            advice = "; it holds NUL bytes: is it in UTF-16? Save it as UTF-8"
        elif any(word in str(error) for word in ("'\\'", "hex value", "escape", "scalar")):
            advice = f"; {BACKSLASH}"
        raise ConfigError(f"config: {path} is not TOML: {shortened(str(error))}{advice}") from None
