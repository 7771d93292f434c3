"""In-place writes that the graph records, where that is sound.

``x += y`` and ``x[i] = v`` on a tensor inside a graph make a new node, and x becomes its output.
What was computed from x before still has the old numbers: they are saved in arrays of their own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .version import Version, is_shared

if TYPE_CHECKING:
    from .tensor import Tensor


def check_recordable(x: Tensor, what: str, instead: str) -> None:
    """Raise unless a write to ``x`` can be recorded; ``instead`` is what to do then."""
    if x.node is None and x.requires_grad:
        raise RuntimeError(
            f"{what}: x is a leaf that requires gradients, and its old value would be lost to "
            f"backward; {instead}, or write under tt.no_grad() (as an optimiser does)"
        )
    if is_shared(x):
        raise RuntimeError(
            f"{what}: another tensor shares the memory of x (a view such as x[0] or x.T, or a "
            f"detach()), and the write would change it without a record; {instead}, or .copy() "
            "one of them first"
        )


def owns_memory(x: Tensor) -> bool:
    """Whether nothing else (a view, a graph, the caller) refers to the array of ``x``."""
    return sys.getrefcount(x.data) == 2  # the tensor and the argument of this call


def become(x: Tensor, out: Tensor) -> None:
    """Let ``x`` be ``out``, which was computed from it: array, node and a counter of its own."""
    x.data, x.node, x.requires_grad = out.data, out.node, out.requires_grad
    x.version = Version()
    if x.node is not None:
        x.node.name = x.name
