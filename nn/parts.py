"""Where the parameters and modules of a module are, and what each is called.

A part (a parameter or a module) has a name: the way to it from its module, joined by dots. The
steps are an attribute, a position in a list, tuple or deque, a key of a dict, a field of a
dataclass or namespace. Names are what state dicts, optimiser groups and checkpoints go by, so each
belongs to one part only: keys that would break that are refused, and so are parts where they have
no name that stays, such as in a set. Attributes are checked when they are set; what grows later,
whenever the parts are listed.
"""

from __future__ import annotations

from collections import UserDict, UserList, deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import GeneratorType, MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor import Tensor

if TYPE_CHECKING:
    from .module import Module, Parameter

#: parts that were found where they have no name: (the place, the type of what is there, the part)
Nameless = list[tuple[str, str, "Parameter | Module"]]
Look = Callable[[Any], Iterable[tuple[Any, Any]]]


def _part(value: Any) -> Iterable[tuple[Any, Any]]:
    """Marks the types that are parts themselves."""
    return ()


def _by_key(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items()


def _by_attribute(value: Any) -> Iterable[tuple[Any, Any]]:
    return vars(value).items()


def _without_names(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, np.ndarray):
        value = value.flat if value.dtype.hasobject else ()
    return (("", item) for item in value)


def _only_once(value: Any) -> Iterable[tuple[Any, Any]]:
    """Marks iterators, which looking into would use up."""
    return ()


_WAYS: tuple[tuple[tuple[type, ...], Look], ...] = (
    ((list, tuple, deque, UserList), enumerate),
    ((dict, UserDict, MappingProxyType), _by_key),
    ((SimpleNamespace,), _by_attribute),
    ((set, frozenset, KeysView, ValuesView, ItemsView, np.ndarray), _without_names),
    ((GeneratorType, map, filter, zip), _only_once),
)


def _way_into(kind: type) -> Look | None:
    from .module import Module, Parameter

    if issubclass(kind, (Parameter, Module)):
        return _part
    for kinds, look in _WAYS:
        if issubclass(kind, kinds):
            return look
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return lambda value: [(name, getattr(value, name, None)) for name in names]
    return None


#: how to go through a value of a type, as (step, item) pairs; None where no parts can be
way_into: Callable[[type], Look | None] = lru_cache(maxsize=1024)(_way_into)


def parts(
    module: Module, places: Iterable[tuple[str, Any]], nameless: Nameless | None = None
) -> Iterator[tuple[str, Parameter | Module]]:
    """(name, part) of the parts of ``module`` that lie in ``places``, its (attribute, value) pairs.

    Parts without a name are refused, or where ``nameless`` is a list, added to it.

    Raises:
        TypeError: parts lie where they have no name, and nowhere else in the module.
        ValueError: a key makes no name, or the name that another part has.
    """
    found: Nameless = [] if nameless is None else nameless
    for name, value in places:
        look = way_into(type(value))
        if look is _part:
            yield name, value
        elif look is not None:
            yield from _inside(type(module), name, value, look, found)
    if found and nameless is None:
        _refuse_nameless(module, found)


def _inside(
    owner: type,
    path: str,
    value: Any,
    look: Look,
    nameless: Nameless,
    outer: tuple[int, ...] = (),  # the ids of what ``value`` lies in, which may lie in it too
) -> Iterator[tuple[str, Parameter | Module]]:
    if id(value) in outer:
        return
    outer = (*outer, id(value))
    if look is _only_once:
        raise TypeError(
            f"{owner.__name__}.{path}: a {type(value).__name__} can be gone through only once, so "
            "that parameters and modules in it cannot be found; write list(...) around it"
        )
    taken: dict[str, Any] = {}
    for step, item in look(value):
        deeper = way_into(type(item))
        if deeper is None:
            continue
        name = f"{path}.{step!s}"
        found: Iterable[tuple[str, Parameter | Module]]
        if deeper is _part:
            found = ((name, item),)
        else:
            found = _inside(owner, name, item, deeper, nameless, outer)
        if look is _without_names:
            nameless += ((path, type(value).__name__, part) for _, part in found)
            continue
        for n, pair in enumerate(found):
            if not n and look is _by_key:
                _check_key(owner, path, step, taken)
            yield pair


def _check_key(owner: type, path: str, key: Any, taken: dict[str, Any]) -> None:
    """Raise unless the key of a dict names what is under it, and nothing else in that dict."""
    step, place = str(key), f"{owner.__name__}.{path}"
    if not step or "." in step:
        raise ValueError(
            f"{place}: the key {key!r} is part of the name of a parameter or module, and so cannot "
            f"be {'empty' if not step else 'one with dots'}"
        )
    if step in taken:
        raise ValueError(
            f"{place}: the keys {taken[step]!r} and {key!r} give two parts one name, "
            f"{path + '.' + step!r}"
        )
    taken[step] = key


def _refuse_nameless(module: Module, nameless: Nameless) -> None:
    """Raise where one of them has no other place in the module, from which it has its name."""
    known = _all_below(module) if nameless else set()
    for place, kind, part in nameless:
        if id(part) not in known:
            owner, what = type(module).__name__, type(part).__name__
            raise TypeError(
                f"{owner}.{place}: holds a {what} in a {kind}, where it has no name to be trained "
                "and saved under; use a list or a dict, or first make it an attribute too"
            )


def _all_below(module: Module) -> set[int]:
    """The ids of a module and of all parts in and below it that have a name."""
    seen, todo = {id(module)}, [module]
    while todo:
        here = todo.pop()
        for _, part in parts(here, here._places(), []):
            if id(part) not in seen:
                seen.add(id(part))
                if not isinstance(part, Tensor):
                    todo.append(part)
    return seen


def holds_parts(owner: type, name: str, value: Any) -> bool:
    """Whether an attribute's value is, or has in it, a parameter or module."""
    look = way_into(type(value))
    if look is None or look is _part or look is _only_once:
        return look is _part
    nameless: Nameless = []
    return any(True for _ in _inside(owner, name, value, look, nameless)) or bool(nameless)


def check_attribute(module: Module, name: str, value: Any) -> None:
    """Raise where ``value`` cannot be an attribute of this name, because of the parts in it.

    Raises:
        TypeError, ValueError: as :func:`parts`.
        ValueError: a name that is empty, has dots, or is one of Module's own.
    """
    look = way_into(type(value))
    if look is None:
        return
    if look is not _part:
        nameless: Nameless = []
        own = {id(part) for _, part in _inside(type(module), name, value, look, nameless)}
        if not (own or nameless):
            return
        _refuse_nameless(module, [entry for entry in nameless if id(entry[2]) not in own])
    if not name or "." in name:
        raise ValueError(
            f"{name!r}: expected a name without dots for the attribute of {type(module).__name__}, "
            "since dots stand between the names of modules"
        )
    if name in _names_of_module():
        raise ValueError(
            f"{name}: every Module has an attribute of this name of its own; call the parameter or "
            f"module in {type(module).__name__} something else"
        )


@lru_cache(maxsize=1)
def _names_of_module() -> frozenset[str]:
    from .module import Module

    return frozenset(dir(Module))


def check_class(cls: type[Module]) -> None:
    """Raise where a class has a part as an attribute: all its modules would share it, unnamed.

    Raises:
        TypeError: see there.
    """
    for name, value in vars(cls).items():
        if holds_parts(cls, name, value):
            raise TypeError(
                f"{cls.__name__}.{name}: a parameter or module in the class itself belongs to no "
                "module and would not be found; make it in __init__, as an attribute of self"
            )


def walk(
    module: Module, path: str, seen: set[int], remove_duplicate: bool
) -> Iterator[tuple[str, Module]]:
    """(path, module) of a module and all below it; see :meth:`Module.named_modules`."""
    if id(module) in seen:
        return
    seen.add(id(module))
    yield path, module
    for name, child in module.named_children():
        yield from walk(child, f"{path}.{name}" if path else name, seen, remove_duplicate)
    if not remove_duplicate:
        seen.discard(id(module))  # only a module inside itself is left out
