"""Names for what a reference computes on the way, so that its picture can say what a box is."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ..context.blocks import Block, Manager

__all__: list[str] = []

_names: ContextVar[dict[int, tuple[Any, str]] | None] = ContextVar("names", default=None)


def named(name: str, x: Any) -> Any:
    """The tensor ``x``, which is in no graph, called ``name``."""
    x.name = name
    if (names := _names.get()) is not None:
        names[id(x.data)] = x.data, name
    return x


class listening(Manager):
    """A dict that fills with (array, name) by the array's id: graphs forget large constants."""

    def _enter(self, block: Block) -> dict[int, tuple[Any, str]]:
        heard: dict[int, tuple[Any, str]] = {}
        block.note = _names.set(heard)
        return heard

    def _leave(self, block: Block) -> None:
        if block.note is not None:
            _names.reset(block.note)
            block.note = None


def anywhere(condition: Any) -> bool:
    """Whether a boolean tensor is True somewhere. References leave out what changes nothing."""
    return bool(condition.data.any())
