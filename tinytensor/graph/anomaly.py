"""Finding the op whose gradient first became NaN or infinite, or that kept what was changed since,
and the line of code that used it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.device import BY_TYPE, device_of
from ..arrays.dtypes import F16
from ..arrays.rows import Rows
from ..context.blocks import innermost
from ..context.source_line import place
from ..context.thread_state import ThreadState
from .grad_mode import Mode
from .kept import described
from .node import Dropped


class _Watching(Mode):
    name = "detect_anomaly"
    lists = ("anomaly",)


def detect_anomaly(func: Any = None) -> Any:
    """Context manager and decorator: backward raises where a gradient becomes NaN or infinite, and
    where an array kept for it was written to behind the engine's back (``w.data[...] = 5``).

    The forward pass has to run inside too, for changes to be seen. Every gradient and every array
    that is kept is looked at, which costs a few passes over each::

        with tt.detect_anomaly():
            loss = model(x)
            loss.backward()

    Raises:
        RuntimeError: (in ``backward``) names the op, its line, and which operand's gradient it was,
            or which operand was changed.
    """
    return _Watching() if func is None else _Watching()(func)


def is_watching(state: ThreadState) -> bool:
    """Whether the thread is inside :func:`detect_anomaly`."""
    return bool(state.anomaly) and innermost(state.anomaly) is not None


def note_application(node: Any) -> None:
    """Write down, on a node just recorded, what its kept arrays hold."""
    node.sums = tuple(_checksum(array) for array in node.saved)


def check_unchanged(node: Any) -> None:
    """Raise if an array that the op kept is not what it was when the op was applied.

    Of arrays that a checkpoint dropped only those of leaves are still there to be looked at. Writes
    that were counted are told by backward itself, which knows their line.
    """
    sums = getattr(node, "sums", None)
    if sums is None or node.saved is None:
        return
    for i, (key, before, version) in enumerate(zip(node.op.keys, sums, node.versions, strict=True)):
        if before is None or version is not None and version[0].count != version[1]:
            continue
        if not isinstance(node.saved, Dropped):
            array = node.saved[i]
        else:
            array = _of_leaf(node, key)
        if array is not None and _checksum(array) != before:
            raise RuntimeError(
                f"detect_anomaly: backward through {node.op.name!r}, applied{place(node.where)}: "
                f"{described(node, key)} was kept for the gradient, and its array was written to "
                "since, past the engine (through .data, .numpy() or an array that shares the "
                "memory); write under tt.no_grad() with x[...] = v or x.copy_(v), or after backward"
            )


def _of_leaf(node: Any, key: str) -> Any:
    """The array of an operand that is a leaf, if that is what was kept (float16 is widened)."""
    leaf: Any = node.parents[node.op.inputs.index(key)] if key in node.op.inputs else None
    return leaf.data if hasattr(leaf, "requires_grad") and leaf.dtype != F16 else None


def _checksum(array: Any) -> int | None:
    """A number that tells whether an array's elements are bit by bit the same; None for no array.

    Modulo 2^64, the bits of each are mixed (times an odd number, then the upper half onto the
    lower), multiplied by the odd number of their place, and added up: one element changed always
    changes it, and several, also exchanged ones, but for a chance of 2^-60.
    """
    if type(array) not in BY_TYPE or not array.size:
        return None
    xp = device_of(array).xp
    flat = xp.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(32)
    bits *= xp.arange(1, 2 * bits.size, 2, dtype=np.uint64)
    return int(bits.sum())


def check_finite(node: Any, g: Any, results: list[tuple[Any, Any, bool]]) -> None:
    """Raise if the op turned a gradient ``g`` into one that is not finite.

    Args:
        node: the application that was walked through.
        g: its output's gradient. results: (parent, gradient of that operand, _) as computed.
    """
    for parent, r, _ in results:
        bad = _count_bad(r)
        if not bad:
            continue
        names = [
            node.op.inputs[0] + f"[{i}]" if node.op.variadic else node.op.inputs[i]
            for i, p in enumerate(node.parents)
            if p is parent
        ]
        incoming = sum(_count_bad(part) for part in (g if type(g) in (list, tuple) else [g]))
        came = "was finite" if not incoming else f"was not finite in {incoming} elements already"
        raise RuntimeError(
            f"detect_anomaly: backward through {node.op.name!r}, applied{place(node.where)}: the "
            f"gradient of its operand {names[0]!r} is NaN or infinite in {bad} of {r.size} "
            f"elements; the gradient that came in from above {came}"
        )


def _count_bad(g: Any) -> int:
    """How many elements are NaN or infinite."""
    if g is None:
        return 0
    array = getattr(g, "data", g) if hasattr(g, "requires_grad") else g
    array = array.values if type(array) is Rows else array
    xp = device_of(array).xp
    return int(array.size - xp.count_nonzero(xp.isfinite(array)))
