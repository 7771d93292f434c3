"""Which names of a family of ops are public."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def publish(names: dict[str, Any]) -> None:
    """Make ``__all__`` of what the globals of a family hold, in the order of its imports."""
    names["__all__"] = [
        name
        for name, what in names.items()
        if name[0] != "_" and not isinstance(what, ModuleType) and what is not publish
    ]
