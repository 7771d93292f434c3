"""The one mechanism for what looks upwards: names that arrive once everything is there.

Doors between the rooms of the engine go one way at import time; ``tests/test_layout.py`` has their
order. Yet some ideas need each other: Tensor's methods are ops, and ops make Tensors; the walk back
is what ``Tensor.backward`` calls, and it may run on Tensors. The lower of two such files says what
it will need, by name, and uses it inside of functions only::

    if TYPE_CHECKING:
        from ..tensor.tensor import Tensor
    else:
        late.needs(__name__, Tensor="tensor.tensor.Tensor")

At the end of ``tinytensor/__init__.py`` :func:`arrive` puts them into those files, as the imports
would have done. A call pays nothing for it: they are globals like any other.
"""

from __future__ import annotations

import importlib
import sys

_wanted: list[tuple[str, dict[str, str]]] = []


def needs(module: str, **names: str) -> None:
    """Say that a file needs things of a higher room.

    Args:
        module: its ``__name__``.
        names: global name -> where it is: "file" or "file.name", from ``tinytensor`` on; "" is
            tinytensor itself.
    """
    _wanted.append((module, names))


def arrive() -> None:
    """Give every file what it needs. Called once, when all rooms have been imported."""
    for module, names in _wanted:
        for name, place in names.items():
            setattr(sys.modules[module], name, _found(place))
    _wanted.clear()


def _found(place: str) -> object:
    package = __name__.rpartition(".")[0]
    full = f"{package}.{place}" if place else package
    if full in sys.modules:
        return sys.modules[full]
    file, _, name = full.rpartition(".")
    return getattr(importlib.import_module(file), name)
