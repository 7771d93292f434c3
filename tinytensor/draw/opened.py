"""Looking into a fused op: its reference, run once on zeros, has a graph that can be drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..device import device_of
from ..graph import Seen


def check_names(names: Collection[str] | bool) -> None:
    """Refuse names of ops that cannot be opened.

    Raises:
        ValueError: there is no such op, or it has no reference.
    """
    from ..registry import OPS

    if isinstance(names, bool):
        return
    known = sorted(name for name, op in OPS.items() if op.reference is not None)
    for name in names:
        if name not in known:
            why = "is a primitive" if name in OPS else "is no op"
            raise ValueError(f"open: {name!r} {why}; these can be opened: {', '.join(known)}")


def run_reference(node: Any) -> tuple[list[Any], Sequence[Any]]:
    """The graph of a node's reference: (a stand-in for each operand or None, the results).

    Runs on the CPU, wherever the model is. Nothing random happens: the masks of dropout are
    operands, drawn before the op.
    """
    from .. import enable_grad

    operands = [stand_in(node, i) for i in range(len(node.parents))]
    given = [operands] if node.op.variadic else operands
    with enable_grad(), np.errstate(all="ignore"):
        result = node.op.reference(*given, **node.params)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return [tensor if hasattr(tensor, "node") else None for tensor in operands], results


def stand_in(node: Any, i: int) -> Any:
    """Zeros in place of an operand; numbers and small constants stay what they are."""
    from ..tensor import tensor

    kept = (node.consts or {}).get(i)
    if kept is not None:
        if not isinstance(kept, Seen):
            return kept
        return tensor(device_of(kept.array).to_host(kept.array), device="cpu")
    if node.in_meta[i] is None:
        return None
    shape, dtype = node.in_meta[i]
    needs_grad = node.parents[i] is not None
    return tensor(np.zeros(shape, dtype), requires_grad=needs_grad, device="cpu")
