"""Counting the writes to a piece of memory, so that backward never uses what was changed since."""

from __future__ import annotations

import sys
from typing import Any

from ..context.source_line import user_line
from .node import next_seq


class Version:
    """Writes to one piece of memory; a tensor and its views share one.

    Attributes:
        count: how many writes there were.
        where: ("file.py", line) of the user's code that wrote last, or None.
        written: the running number of graph nodes at the last write: nodes with smaller ones saw
            other numbers.
        left: whether the tensor holds another array now, put there by ``x.data = array``.
        walk: of a leaf's gradient: the number of the backward that made it; where it was added to,
            (first, last, count after the last), in which 0 is none; None: no backward made it.
        holders: a token that every tensor on the memory holds once there are several; its
            reference count tells whether another one is still alive.
    """

    # of the class until there is a write: every op makes one of these, seldom one is written to
    count: int = 0
    where: tuple[str, int] | None = None
    written: int = -1
    left: bool = False
    walk: int | tuple[int, int, int] | None = None
    holders: object | None = None

    def bump(self, where: tuple[str, int] | None = None) -> None:
        """Count one write and remember the line that made it: the user's, unless given."""
        self.count += 1
        self.written = next_seq()
        self.where = where or user_line()


def share(view: Any, source: Any) -> None:
    """Let ``view``, a tensor on the memory of ``source``, share its counter."""
    version = source.version
    if version.holders is None:
        version.holders = source.holder = object()
    view.version = version
    view.holder = version.holders


def is_shared(tensor: Any) -> bool:
    """Whether another living tensor (a view, a base, a ``detach()``) is on the same memory."""
    return tensor.version.holders is not None and _holders(tensor) > _ALONE


def owns_array(tensor: Any) -> bool:
    """Whether nothing else (a graph, the caller, a view) refers to the tensor's array, which is
    not itself a view."""
    return _references(tensor) <= _REFERENCES and tensor._data.base is None


def _holders(tensor: Any) -> int:
    return sys.getrefcount(tensor.version.holders)


def _references(tensor: Any) -> int:
    return sys.getrefcount(tensor._data)


class _Lonely:
    """Stands for a tensor on whose memory no other is."""

    def __init__(self) -> None:
        self.version = Version()
        self._data = object()


_lonely = _Lonely()
share(_Lonely(), _lonely)  # with a view that is gone at once
#: what the two counts are then: how many references a call itself adds is the interpreter's affair
_ALONE, _REFERENCES = _holders(_lonely), _references(_lonely)


def zeroed(version: Version) -> None:
    """Note that the gradient with this counter is zeros now: the next backward's is alone."""
    version.walk = (0, 0, version.count)


def walks(version: Version, walk: int) -> tuple[int, int] | None:
    """The first and last backward that a gradient is the sum of, once one more is added to it;
    None where it was changed by other hands."""
    if version.walk is None:
        return None
    first, last, count = version.walk if isinstance(version.walk, tuple) else (version.walk,) * 3
    if version.count != (count if isinstance(version.walk, tuple) else 0):
        return None
    return first or walk, walk
