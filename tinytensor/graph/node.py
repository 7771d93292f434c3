"""The computation graph: one node per application of an op.

A node points to its parents only, so a graph has no reference cycles and is freed as soon as its
last output is. Nodes carry a running number; decreasing numbers are a topological order.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..context.source_line import Point
    from ..tensor.tensor import Tensor
    from .version import Version

#: outputs of at most this many elements stay readable on their node (value and gradient), which
#: is what lets a picture of a small expression show every number
SMALL = 16

next_seq = itertools.count().__next__

#: numbers of walks back; 0 is none
next_walk = itertools.count(1).__next__


class Node:
    """One application of an op.

    Attributes:
        op: the registered op; ``op.name`` names it.
        params: its settings, such as ``{"axis": 1}``.
        parents: per operand the node that made it, the leaf tensor itself, or None (a constant).
        consts: the operands without a gradient by position, or None: numbers, small tensors as
            :class:`Seen`, and weak references to larger ones.
        in_meta: per operand (shape, dtype), or None for a number.
        needs: per operand, whether a gradient is wanted.
        saved: what is kept for backward, by ``op.keys``; None once freed.
        versions: for each of these the counter of writes and where it stood, or None for a thing
            that nobody can write to.
        shape, dtype: of the output (a tuple of shapes for several outputs).
        value, grad: arrays, kept for outputs of at most ``SMALL`` elements. version: where there
            is a value, the counter of the writes to its memory. apart: set where ``value`` is not
            the tensor's own memory (any more), and later writes do not show in it.
        walk: the number of the last walk back that came by; not set before the first.
        scope: the module call that made it. seq: creation order. name: given by the user.
        hooks: functions to call with the gradient of the output, by handle, or None.
        where: the instruction of the user's code that made it; see ``context/source_line.py``.
        sums: a checksum per kept array, as ``saved``, under ``detect_anomaly`` only.
    """

    __slots__ = (
        "op", "params", "parents", "consts", "in_meta", "needs", "saved", "versions", "shape",
        "dtype", "value", "version", "apart", "grad", "walk", "scope", "seq", "name", "hooks",
        "where", "sums", "__weakref__",
    )  # fmt: skip

    op: Any
    params: dict[str, Any]
    parents: tuple[Any, ...]
    consts: dict[int, Any] | None
    in_meta: tuple[Any, ...]
    needs: tuple[bool, ...]
    saved: tuple[Any, ...] | Dropped | None
    versions: tuple[tuple[Version, int] | None, ...]
    shape: Any
    dtype: Any
    scope: Any
    where: Point | None
    seq: int
    version: Version
    apart: bool
    walk: int

    def __init__(self) -> None:
        self.value: Any = None
        self.grad: Any = None
        self.name: str | None = None
        self.hooks: dict[Any, Callable[[Any], Any]] | None = None

    @property
    def made_by(self) -> str:
        """The name of the op that was applied, also for one output of several."""
        return str((self.parents[0] if self.op.name == "output" else self).op.name)

    def __repr__(self) -> str:
        return f"<Node {self.seq}: {self.op.name} {self.shape}>"


class Seen:
    """A small constant tensor as it was when an op read it.

    Attributes:
        array: a copy of its elements. name: the one it had.
        tensor: weak reference to it: a graph must not keep alive what may become part of it.
    """

    __slots__ = ("array", "name", "tensor")

    def __init__(self, tensor: Tensor):
        self.array = tensor.data.copy()
        self.name = tensor.name
        self.tensor = weakref.ref(tensor)


def seen(tensor: Tensor) -> Seen | weakref.ref[Tensor]:
    """What a node remembers of a constant tensor."""
    return Seen(tensor) if tensor._data.size <= SMALL else weakref.ref(tensor)


class Dropped:
    """Stands in ``node.saved`` for arrays that are computed again when backward needs them."""

    def recompute(self, node: Node) -> tuple[Any, ...]:
        """The arrays of ``node``."""
        raise RuntimeError("what was dropped cannot be computed again")  # a subclass can
