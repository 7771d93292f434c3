"""A source checkout: where tinytensor.nn, tinytensor.models and tinytensor.train are."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

_BESIDE = ("tinytensor.nn", "tinytensor.models", "tinytensor.train")


class Beside:
    """Finds the three folders that stand beside the engine's; installed, they stand in it.

    In a checkout ``tinytensor/nn`` and so on are links, so that editors and type checkers, which
    run nothing, find them too. Python takes the folders themselves: a file has one path, in
    tracebacks and for a debugger. The place beside the engine could be added to ``__path__``
    instead, but ``help(tinytensor)`` would list all that stands there, tests included.
    """

    root = ""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Where a module is, if it is one of the three."""
        return PathFinder.find_spec(name, [cls.root]) if name in _BESIDE else None


def install(engine: str) -> None:
    """Let Python find the three folders, if this is a checkout. ``engine``: the engine's folder."""
    inside = os.path.join(engine, "nn")
    if os.path.islink(inside) or not os.path.isdir(inside):
        Beside.root = os.path.dirname(engine)
        sys.meta_path.insert(0, Beside)
