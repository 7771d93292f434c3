"""Nests of tensors: tuples, lists, named tuples and dicts, to any depth."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """Everything in the nest that is not itself a tuple, list or dict, in order."""
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, (tuple, list)):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


def map_leaves(fn: Callable[[Any], Any], tree: Any) -> Any:
    """The same nest with ``fn`` applied to every leaf."""
    if isinstance(tree, dict):
        new = {} if type(tree) is dict else copy.copy(tree)  # an OrderedDict stays one
        new.update({key: map_leaves(fn, value) for key, value in tree.items()})
        return new
    if isinstance(tree, (tuple, list)):
        values = [map_leaves(fn, value) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return fn(tree)


def rebuild(tree: Any, values: list[Any]) -> Any:
    """The same nest with its leaves replaced by ``values``, in order."""
    rest = iter(values)
    return map_leaves(lambda _: next(rest), tree)
