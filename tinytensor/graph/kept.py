"""What is kept of the forward pass, and how a gradient rule sees it."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, Any

from ..arrays.device import device_of

if TYPE_CHECKING:
    from ..define.application import Application
    from ..define.op import Op
    from .node import Node


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to record in a call, which depends on which operands are tracked.

    Attributes:
        needs: per operand, whether its gradient is wanted.
        constants: places of the operands that are not tracked.
        unread: places in ``node.saved`` of what no gradient that is wanted reads.
    """

    needs: tuple[bool, ...]
    constants: tuple[int, ...]
    unread: tuple[int, ...]


def plan_for(op: Application, tracked: tuple[bool, ...]) -> Plan:
    """The plan for calls in which these operands are tracked."""
    rules = op.vjps if op.joint is None else (True,) * len(tracked)
    needs = tuple(t and r is not None for t, r in zip(tracked, rules, strict=True))
    constants = tuple(i for i, t in enumerate(tracked) if not t)
    unread: tuple[int, ...] = ()
    if op.selective:
        unread = tuple(n for n, by in enumerate(op.readers) if not any(needs[i] for i in by))
    return Plan(needs, constants, unread)


class Kept:
    """Kept arrays and settings by name: ``k.x``, ``k.out``, ``k.axis``.

    ``k.shape_of(i)`` is operand i's shape, ``k.needs`` says which operands want a gradient, and
    ``k.run(op, ...)`` applies another op on whatever the rule is running on (arrays or Tensors).
    """

    node: Node
    needs: tuple[bool, ...]
    graph: bool

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not there."""
        op = self.node.op
        where = f"add {name!r} to its keeps=" if name in (*op.inputs, "out") else "it has no such"
        raise AttributeError(
            f"the gradient rule of op {op.name!r} reads k.{name}, which is not kept: {where}; kept "
            f"are {list(op.keys)}, settings {list(op.setting_names)}"
        )

    def shape_of(self, operand: int = 0) -> tuple[int, ...]:
        """Shape of an operand."""
        shape: tuple[int, ...] = self.node.in_meta[operand][0]
        return shape

    def run(self, op: Any, *operands: Any, **settings: Any) -> Any:
        """Apply ``op``: recorded when gradients are being recorded, on raw arrays otherwise."""
        if self.graph:
            return op(*operands, **settings)
        return op.forward(device_of(operands[0]).xp, *operands, **settings)


def described(node: Node, key: str) -> str:
    """How a message calls a kept array, with its shape."""
    if key in node.op.inputs:
        return f"its operand {key!r}, shape {node.in_meta[node.op.inputs.index(key)][0]},"
    if key == "out" or node.op.outputs != 1:
        return f"its output, shape {node.shape},"
    return f"its {key!r}"


#: attributes of every Kept
_OWN = ["node", "needs", "graph"]


def class_of(op: Op) -> type[Kept]:
    """:class:`Kept` with attributes for what this op keeps and for its settings: as attributes of a
    class they are written and read in a third of the time that a dict of their own takes."""
    names = [*_OWN, *op.keys, *op.setting_names]
    return make_dataclass("Kept", names, bases=(Kept,), eq=False, repr=False)


def check_names(op: Op, keeps: str | Iterable[str]) -> None:
    """Refuse an op whose kept things a rule could not tell apart or reach.

    Args:
        keeps: as it was given: a string, or per operand what its gradient reads.

    Raises:
        TypeError: names what is wrong.
    """
    if not isinstance(keeps, str) and set(keeps) - set(op.inputs):
        unknown = ", ".join(sorted(set(keeps) - set(op.inputs)))
        raise TypeError(
            f"op {op.name!r}: keeps: {unknown}: expected operands ({', '.join(op.inputs)}), and "
            "per operand what its gradient reads"
        )
    if op.outputs != 1 and "out" in op.keys:
        raise TypeError(
            f"op {op.name!r}: keeps: 'out' is the result of an op that has one; of several, return "
            "those that are needed once more, under names of their own"
        )
    names = [*op.keys, *op.setting_names]
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise TypeError(f"op {op.name!r}: keeps: expected names as in k.name, got {name!r}")
        if name in _OWN or hasattr(Kept, name):
            raise TypeError(
                f"op {op.name!r}: {name}: a gradient rule reads something else as k.{name}; call "
                "the operand, setting or array otherwise"
            )
        if names.count(name) > 1:
            raise TypeError(
                f"op {op.name!r}: {name}: two things of this name would be kept; call one otherwise"
            )
