"""Which module call is running: lets a graph be drawn in boxes by the module that made it.

``Module.__call__`` enters a scope; each graph node made inside remembers it. A scope knows its
parent, so the path ("h.0.attn") can be read off without the module tree.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any


class Scope:
    """One call of one module: ``with Scope(module, "attn"):`` marks the nodes made inside.

    Attributes:
        module: weak reference to the module (a picture must not keep a model alive).
        kind: the module's class name.
        name: the module's attribute name in its parent, or its class name for the outermost call.
        parent: the scope of the calling module, or None.
    """

    __slots__ = ("module", "kind", "name", "parent")

    def __init__(self, module: Any, name: str | None = None):
        self.module = weakref.ref(module)
        self.kind = type(module).__name__
        self.parent: Scope | None = _state.current
        self.name = name if name and self.parent is not None else self.kind

    @property
    def path(self) -> str:
        """Names from below the outermost module down to this one, joined by dots."""
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None and scope.parent is not None:
            names.append(scope.name)
            scope = scope.parent
        return ".".join(reversed(names))

    def __enter__(self) -> Scope:
        _state.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        _state.current = self.parent

    def __repr__(self) -> str:
        return f"Scope({self.path or self.name!r}, {self.kind})"


class _State(threading.local):
    current: Scope | None = None


_state = _State()


def current() -> Scope | None:
    """The scope of the innermost module call of this thread, or None outside any module."""
    return _state.current


def replace(scope: Scope | None) -> Scope | None:
    """Make ``scope`` the innermost one of this thread; returns the one that was."""
    before, _state.current = _state.current, scope
    return before
