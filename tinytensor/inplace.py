"""In-place writes that the graph records, where that is sound.

``x += y`` and ``x[i] = v`` on a tensor inside a graph make a new node, and x becomes its output.
What was computed from x before still has the old numbers: they are saved in arrays of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .hooks import move_retained
from .version import Version, is_shared, owns_array

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
            "one of them first (for x[i] += y: x[i] = x[i] + y)"
        )


def set_at(x: Tensor, index: tuple[Any, ...], value: Any) -> None:
    """``x[index] = value`` as a node of the graph.

    The array is copied if anything else may read it again (a graph that saved it, the caller), and
    else written to, so that filling a tensor row by row takes one pass over it and not one each.
    An array that looks at the memory of another is always copied: who holds that is not known.
    """
    from .operations import scatters
    from .operations.indices import is_basic

    if owns_array(x) and is_basic(index):
        become(x, scatters._index_set(x, value, index=index, overwrite=True))
    else:
        become(x, scatters.index_set(x, value, index))


def become(x: Tensor, out: Tensor) -> None:
    """Let ``x`` be ``out``, which was computed from it: array, node and a counter of its own."""
    move_retained(x.node, out.node)
    x.data, x.node, x.tracked = out.data, out.node, out.tracked
    x.version = Version()
    if x.node is not None:
        x.node.version = x.version
        x.node.name = x.name
