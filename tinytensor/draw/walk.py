"""Everything behind the ends of a graph, and the modules that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.device import device_of
from ..graph.node import Node
from .picture import BUFFER, PARAMETER


def reachable(ends: Iterable[Any]) -> list[Any]:
    """All graph nodes behind the given ones, in the order they ran. Not recursive."""
    found: dict[int, Any] = {}
    waiting = [node for node in ends if node is not None]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(parent for parent in node.parents if is_node(parent))
    return sorted(found.values(), key=lambda node: node.seq)


def is_node(thing: Any) -> bool:
    """A graph node, as opposed to a leaf tensor or None."""
    return isinstance(thing, Node)


def model_paths(nodes: Iterable[Any]) -> dict[int, tuple[str, str]]:
    """id of each parameter and buffer -> its path in the outermost module called, and its role.

    With several outermost modules, each path starts with its module's class.
    """
    roots: dict[int, Any] = {}
    for node in nodes:
        scope = node.scope
        while scope is not None and scope.parent is not None:
            scope = scope.parent
        module = scope.module() if scope is not None else None
        if module is not None and hasattr(module, "named_parameters"):
            roots.setdefault(id(module), module)
    owners = [m for m in roots.values() if next(iter(m.named_parameters()), None) is not None]
    paths: dict[int, tuple[str, str]] = {}
    used: dict[str, int] = {}
    for module in owners:
        kind = type(module).__name__
        used[kind] = used.get(kind, 0) + 1
        prefix = f"{kind}#{used[kind]}." if used[kind] > 1 else f"{kind}."
        for path, parameter in module.named_parameters():
            paths[id(parameter)] = (prefix if len(owners) > 1 else "") + path, PARAMETER
        for path, buffer in module.named_buffers():
            paths[id(buffer)] = (prefix if len(owners) > 1 else "") + path, BUFFER
    return paths


def several(shape: Any) -> bool:
    """Is this the shape of a node with several outputs: a tuple of tuples?"""
    return len(shape) > 0 and isinstance(shape[0], (tuple, list))


def numbers(array: Any) -> object:
    """An array of any device as nested lists; None stays None."""
    if array is None or isinstance(array, np.generic):
        return None if array is None else array.item()
    return device_of(array).to_host(array).tolist()
