"""Which names of a family of ops are public."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def listing(names: Mapping[str, Any]) -> list[str]:
    """What a family's ``__init__`` has imported of its files, in that order: its ``__all__``."""
    return [
        name
        for name, what in names.items()
        if name[0] != "_" and not isinstance(what, ModuleType) and what is not listing
    ]
