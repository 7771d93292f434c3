"""Names for what a reference computes on the way, so that its picture can say what a box is."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def named(name: str, x: Any) -> Any:
    """The tensor ``x``, which is in no graph, called ``name``."""
    x.name = name
    return x


def anywhere(condition: Any) -> bool:
    """Whether a boolean tensor is True somewhere. References leave out what changes nothing."""
    return bool(condition.data.any())
