"""Looking into a fused op: its reference, run on the op's own operands, has a graph to be drawn.

The operands' numbers are known where the graph still has them: kept for backward, of a small
result, or of a leaf, and not written to since. Where one is not, the reference runs on zeros, and
nothing but shapes may be read off.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType

import numpy as np

from ..arrays.device import device_of
from ..arrays.dtypes import F16, F32
from ..context.blocks import Block, Manager
from ..context.thread_state import local
from ..define.naming import listening
from ..define.op import OPS
from ..graph.backward import backward
from ..graph.grad_mode import enable_grad, no_grad
from ..graph.node import Node, Seen
from ..hints.finding import alike
from ..tensor.tensor import tensor
from .picture import Picture


@dataclass
class Inside:
    """What is inside an op.

    Attributes:
        operands: a tensor that stands for each operand, or None where that is a number or left out.
        results: what the reference made of them.
        real: whether they have the numbers that the op saw, or are zeros.
        names: of constants that it made: (array, name) by the array's id.
    """

    operands: list[Any]
    results: Sequence[Any]
    real: bool
    names: dict[int, tuple[Any, str]]


def check_names(names: Collection[str] | bool) -> None:
    """Refuse names of ops that cannot be opened.

    Raises:
        TypeError: neither names nor True or False.
        ValueError: there is no such op, or it has no reference.
    """
    if isinstance(names, bool):
        return
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"open: expected the name of an op, several, or True, got {names!r}")
    known = sorted(name for name, op in OPS.items() if op.reference is not None)
    for name in names:
        if name not in known:
            why = "is a primitive" if name in OPS else "is no op"
            meant = [k for k in known if len(name) > 2 and name.lower() in k]
            meant = meant or alike(name.lower(), known, 2, 0.6)
            guess = f" (did you mean {' or '.join(meant)}?)" if meant else ""
            raise ValueError(
                f"open: {name!r} {why}{guess}; these can be opened: {', '.join(known)}"
            )


def warn_unopened(names: Collection[str] | bool, picture: Picture) -> None:
    """Warn of ops that were to be opened and are not in the picture."""
    if isinstance(names, bool):
        return
    there = {group.title for group in picture.groups() if group.kind == "reference"}
    if missing := sorted(set(names) - there):
        could = sorted({step.title for step in picture.steps if step.fused} - {*names})
        inside = any(step.module is not None for step in picture.steps)
        advice = f"; it has {', '.join(could)}" if could else ""
        advice += "; more modules are opened by a larger depth" if inside else ""
        warnings.warn(
            f"open: this picture has no {' or '.join(missing)} to be opened{advice}", stacklevel=5
        )


def look_inside(node: Node, grads: Sequence[Any] | None) -> Inside:
    """Run a node's reference on its operands, and back if the gradients of its results are known.

    Runs on the CPU, wherever the model is. Nothing random happens: the masks of dropout are
    operands, drawn before the op.

    Args:
        grads: an array, or None for zero, per result; None where they are not known.
    """
    found = [operand(node, i) for i in range(len(node.parents))]
    real = all(known for _, known in found)
    operands = [stand_in(node, i, value if real else None) for i, (value, _) in enumerate(found)]
    given = [operands] if node.op.variadic else operands
    with unwatched():
        with enable_grad(), listening() as names:
            made = node.op.reference(*given, **node.params)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        if real and grads is not None:
            pairs = [
                (result, device_of(g).to_host(g).astype(result.dtype))
                for result, g in zip(results, grads, strict=True)
                if result.tracked and g is not None
            ]
            with no_grad():
                backward([r for r, _ in pairs], [g for _, g in pairs], retain_graph=True)
    tensors = [tensor if hasattr(tensor, "node") else None for tensor in operands]
    return Inside(tensors, results, real, names)


class unwatched(Manager):
    """Neither warnings nor detect_anomaly nor checkpointing: these are about the user's own ops."""

    def _enter(self, block: Block) -> None:
        state = local.state
        block.note = state.observers, state.anomaly, np.seterr(all="ignore")
        state.observers, state.anomaly = (), ()

    def _leave(self, block: Block) -> None:
        if block.note is not None:
            local.state.observers, local.state.anomaly, warnings = block.note
            np.seterr(**warnings)


def operand(node: Node, i: int) -> tuple[Any, bool]:
    """What operand ``i`` was: an array, a number or None; and whether that is known."""
    if node.in_meta[i] is None:
        return (node.consts or {}).get(i), True
    parent, const = node.parents[i], (node.consts or {}).get(i)
    array = None if node.op.variadic else saved(node, node.op.inputs[i])
    if array is None and isinstance(const, Seen):
        array = const.array
    elif array is None and isinstance(const, ReferenceType):
        tensor = const()
        array = None if tensor is None or rewritten(tensor, node) else tensor.data
    elif array is None and isinstance(parent, Node):
        array = saved(parent, "out")
        if array is None and parent.value is not None and not written(parent.version, parent):
            array = parent.value
    elif array is None and parent is not None and not rewritten(parent, node):
        array = parent.data
    shape, dtype = node.in_meta[i]
    fits = array is not None and array.shape == shape and array.dtype in (dtype, F32)
    return array, fits


def saved(node: Node, key: str) -> Any:
    """What a node keeps for backward under this name, or None: freed, or written to since."""
    if type(node.saved) is not tuple or key not in node.op.keys:
        return None
    at = node.op.keys.index(key)
    version = node.versions[at]
    return node.saved[at] if version is None or version[0].count == version[1] else None


def written(version: Any, node: Node) -> bool:
    """Was the memory that this counter belongs to written to after the node was made?"""
    return bool(version.written > node.seq)


def rewritten(leaf: Any, node: Node) -> bool:
    """Was this leaf written to, or given another array, after the node was made?"""
    return written(leaf.version, node) or replaced(leaf) > node.seq


def replaced(leaf: Any) -> int:
    """When a leaf was given another array, as a running number of nodes; -1 for never."""
    try:  # a tensor's own __getattr__ would look for what else may have been meant
        return int(object.__getattribute__(leaf, "replaced"))
    except AttributeError:
        return -1


def stand_in(node: Node, i: int, value: Any) -> Any:
    """A tensor on the CPU for an operand, zeros where it has no value; numbers stay what they are.

    What computes in float32 on float16 does so here.
    """
    if node.in_meta[i] is None:
        return (node.consts or {}).get(i)
    shape, dtype = node.in_meta[i]
    if value is None:
        # integers that are not a setting at the same time, such as the index to be ignored
        fill = int(any(type(v) is int and v == 0 for v in node.params.values()))
        array = np.full(shape, fill if dtype.kind in "iu" else 0, dtype)
    else:
        array = device_of(value).to_host(value)
    dtype = F32 if node.op.wide and dtype == F16 else dtype
    needs_grad = node.parents[i] is not None
    return tensor(array.astype(dtype), requires_grad=needs_grad, device="cpu")
