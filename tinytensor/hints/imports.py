"""What ``import tinytensor.nn.functional`` says, a module that is not there."""

from __future__ import annotations

import sys
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
            advice = str(error).partition(repr(last))[2]
        raise ModuleNotFoundError(f"No module named {name!r}{advice}", name=name)


def install() -> None:
    """Let Python ask it when all others have been asked."""
    sys.meta_path.append(Advice)
