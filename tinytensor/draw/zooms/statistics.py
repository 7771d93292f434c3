"""Where a graph still has the numbers of its tensors, and the statistics of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...arrays.rows import dense
from ...graph.node import Node
from ...shown.statistics import Stats, measured
from ..opened import operand, saved, written
from ..walk import is_node


def on_host(array: Any) -> np.ndarray:
    """An array of any device as NumPy's; a gradient of a few rows with all of them."""
    array = dense(array)
    return np.asarray(array if isinstance(array, np.generic) else device_of(array).to_host(array))


KEPT = 256  # arrays of up to this many elements are kept whole, of others their statistics


@dataclass(frozen=True)
class Looked:
    """An array that was looked at: its statistics, and itself where it is small."""

    stats: Stats | None
    array: np.ndarray | None


def look(array: Any) -> Looked | None:
    """Look at an array now: it may be freed or written to later."""
    if array is None:
        return None
    host = on_host(array)
    return Looked(measured(host), host.copy() if host.size <= KEPT else None)


def pooled(several: list[Looked | None]) -> Looked | None:
    """Statistics of several tensors of one shape as if they were one; None if one is not known."""
    found = [looked.stats for looked in several if looked is not None]
    known = [stats for stats in found if stats is not None]
    if not several or len(known) != len(several):
        return None
    size = sum(stats.size for stats in known)
    bad = sum(stats.bad for stats in known)
    fine = [stats for stats in known if stats.size > stats.bad]
    if not fine:
        return Looked(known[0], None)
    share = [(stats.size - stats.bad) / (size - bad) for stats in fine]
    mean = sum(p * stats.mean for p, stats in zip(share, fine, strict=True))
    roots = [math.sqrt(p) for p in share]
    pairs = list(zip(roots, fine, strict=True))
    apart = [root * stats.mean - root * mean for root, stats in pairs]
    spread = math.hypot(*apart, *(root * stats.std for root, stats in pairs))
    square = math.hypot(*(root * stats.rms for root, stats in pairs))
    low, high = min(stats.low for stats in fine), max(stats.high for stats in fine)
    zero = sum(stats.zero * stats.size for stats in known) / size
    return Looked(Stats(mean, spread, low, high, square, zero, bad, size), None)


class Numbers:
    """The numbers of a graph that was made before anybody asked for them: what it still has.

    It keeps results of up to ``SMALL`` elements, and what backward needs until it is freed.
    """

    own_grads = False  # gradients of leaves are those in ``.grad``, made by whichever backward

    def __init__(self, nodes: list[Node]) -> None:
        self.readers: dict[int, list[tuple[Node, int]]] = {}
        for node in nodes:
            for i, parent in enumerate(node.parents):
                if is_node(parent):
                    self.readers.setdefault(id(parent), []).append((node, i))

    def of_node(self, node: Node) -> Looked | None:
        """What a node made, or None where the graph has it no more."""
        if node.value is not None:
            apart = getattr(node, "apart", False)
            return look(node.value) if apart or not written(node.version, node) else None
        array = saved(node, "out")
        for reader, i in self.readers.get(id(node), []) if array is None else ():
            array, known = operand(reader, i)
            if array is not None and known and tuple(array.shape) == tuple(node.shape):
                break
            array = None
        return look(array)

    def grad_of_node(self, node: Node) -> Looked | None:
        """The gradient that a node keeps; None for those of more than ``SMALL`` elements."""
        return look(node.grad)

    def grad_of_leaf(self, leaf: Any) -> Any:
        """The gradient that backward left in a leaf, an array."""
        return None if leaf.grad is None else leaf.grad.data
