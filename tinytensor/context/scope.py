"""Which module call is running: lets a graph be drawn in boxes by the module that made it.

While ``Module.__call__`` runs, it has one as the thread's ``local.state.scope``; each graph node
made inside remembers it. A scope knows its parent, so the path ("h.0.attn") can be read off without
the module tree.
"""

from __future__ import annotations

import weakref
from typing import Any


class Scope:
    """One call of one module.

    Attributes:
        module: weak reference to the module (a picture must not keep a model alive).
        kind: the module's class name.
        name: the module's attribute name in its parent, or its class name for the outermost call.
        parent: the scope of the calling module, or None.
    """

    __slots__ = ("module", "kind", "name", "parent")

    def __init__(self, module: Any, name: str | None, parent: Scope | None):
        self.module = weakref.ref(module)
        self.kind = type(module).__name__
        self.parent = parent
        self.name = name if name and parent is not None else self.kind

    @property
    def path(self) -> str:
        """Names from below the outermost module down to this one, joined by dots."""
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None and scope.parent is not None:
            names.append(scope.name)
            scope = scope.parent
        return ".".join(reversed(names))

    def __repr__(self) -> str:
        return f"Scope({self.path or self.name!r}, {self.kind})"
