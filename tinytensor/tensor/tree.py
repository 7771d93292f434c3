"""Nests of tensors: tuples, lists, named tuples and dicts, to any depth."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..hints.finding import kind_of


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


def matching(tree: Any, like: Any, what: str) -> list[Any]:
    """The leaves of ``tree`` in the order of those of ``like``, a nest of the same form.

    Raises:
        ValueError: a tuple or list of another length, a dict with other keys, or a leaf in place
            of a nest; the message calls it ``what``.
    """
    if isinstance(like, dict):
        if not isinstance(tree, dict) or set(tree) != set(like):
            got = f"keys {list(tree)}" if isinstance(tree, dict) else kind_of(tree)
            raise ValueError(f"{what}: expected a dict with keys {list(like)}, got {got}")
        return [leaf for key in like for leaf in matching(tree[key], like[key], what)]
    if isinstance(like, (tuple, list)):
        if not isinstance(tree, (tuple, list)) or len(tree) != len(like):
            got = f"{len(tree)}" if isinstance(tree, (tuple, list)) else kind_of(tree)
            raise ValueError(
                f"{what}: expected {len(like)}, one for each tensor or nest, got {got}"
            )
        return [leaf for a, b in zip(tree, like, strict=True) for leaf in matching(a, b, what)]
    return [tree]
