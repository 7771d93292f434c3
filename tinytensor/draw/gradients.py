"""Which gradients belong to a picture, and what to say of the others."""

from __future__ import annotations

from typing import Any

from .picture import Value

# notes on the gradients of leaves
SEVERAL = "grad changed since, or of several backwards"
BY_HAND = "grad not made by backward"
BOTH = "grad of all boxes of this tensor"


def walks_behind(nodes: list[Any]) -> dict[int, frozenset[int]]:
    """For each node and leaf, by id, the walks back that came by the ends it was used for.

    ``nodes`` are in the order they ran. An end is what no other node reads. A gradient belongs to
    the picture if it is of the one walk that is named here.
    """
    none: frozenset[int] = frozenset()
    found: dict[int, frozenset[int]] = {}
    for node in reversed(nodes):
        walks = found.get(id(node))
        if walks is None:
            walk = getattr(node, "walk", None)
            walks = found[id(node)] = none if walk is None else frozenset((walk,))
        for parent in node.parents:
            if parent is not None:
                before = found.get(id(parent), none)
                found[id(parent)] = walks if before <= walks else before | walks
    return found


def doubt(version: Any, walks: frozenset[int]) -> str | None:
    """What to say of a leaf's gradient, whose memory has this counter, in a picture of ``walks``;
    None where it is of other walks."""
    of = version.walk
    if of is None:
        return BY_HAND
    first, last, count = of if isinstance(of, tuple) else (of, of, 0)
    if not any(first <= walk <= last for walk in walks):
        return None
    alone = first == last and len(walks) == 1
    return "" if alone and version.count == count else SEVERAL


def doubt_leaves(
    leaves: dict[tuple[int, bool], Value],
    tensors: dict[int, Any],
    walks: dict[int, frozenset[int]],
) -> None:
    """Show the gradient of a leaf only where the backward of what is drawn had a part in it.

    It is one number for a tensor that is drawn twice, before and after a write to it.

    Args:
        leaves: by id of the tensor, and whether it was written to since. tensors: by id of a value.
        walks: by id of the tensor, see :func:`walks_behind`; none where the backward was ours.
    """
    for (key, _), value in leaves.items():
        tensor = tensors.get(id(value))
        if tensor is None or (value.grad is None and value.grad_looked is None):
            continue
        if key in walks:  # not a leaf drawn alone, or of an opened op
            note = doubt(tensor.grad.version, walks[key])
            value.grad_note = note or ""
            if note is None:
                value.grad = value.grad_looked = None
    for (key, changed), value in leaves.items():
        now = leaves.get((key, False))
        if changed and now is not None and (now.grad is not None or now.grad_looked is not None):
            value.grad, value.grad_note, value.grad_looked = None, "", None
            now.grad_note = "\n".join(filter(None, (now.grad_note, BOTH)))
