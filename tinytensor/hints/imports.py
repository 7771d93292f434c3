"""What ``import tinytensor.nn.functional`` says, a module that is not there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .finding import PLACES


class Advice:
    """The last of Python's finders. It finds nothing: where a module below ``tinytensor`` is being
    imported that nobody found, it says what to write, in the words of its package."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise ModuleNotFoundError with a hint, or leave it to others."""
        if not name.startswith("tinytensor.") or name in PLACES:
            return
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return  # importlib.util.find_spec only asks, and takes None for an answer
        package, _, last = name.rpartition(".")
        try:
            getattr(sys.modules[package], last)
            advice = f"; it is no module: from {package} import {last}"
        except AttributeError as error:
            advice = str(error).partition(repr(last))[2] or _in_a_room(last)
        raise ModuleNotFoundError(f"No module named {name!r}{advice}", name=name)


def _in_a_room(file: str) -> str:
    """A hint at a file of this name elsewhere in the engine."""
    found = [m for m in sorted(sys.modules) if m[:11] == "tinytensor." and m.endswith(f".{file}")]
    return f"; did you mean {' or '.join(found[:2])}?" if found else ""


def install(modules: Mapping[str, ModuleType]) -> None:
    """Let Python ask it when all others have been asked.

    Args:
        modules: public modules by their short names: ``import tinytensor.random`` works as
            ``tt.random`` does, wherever the file is.
    """
    sys.modules.update({f"tinytensor.{name}": module for name, module in modules.items()})
    sys.meta_path.append(Advice)
