"""Which gradients belong to a picture, and what to say of the others."""

from __future__ import annotations

from typing import Any

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
