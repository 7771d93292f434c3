"""Where the parameters and modules of a module are, and what each is called.

A part (a parameter or a module) has a name: the way to it from its module, joined by dots. The
steps are an attribute, a position in a list, tuple or deque, a key of a dict, a field of a
dataclass or namespace. Names are what state dicts, optimiser groups and checkpoints go by, so each
belongs to one part only: keys that would break that are refused, and so are parts where they have
no name that stays, such as in a set. All is checked whenever the parts are listed; an attribute
also when it is set, as far as its first items tell that there are parts in it. Iterators
(generators, zip, map) are not looked into, as that would use them up.
"""

from __future__ import annotations

from collections import UserDict, UserList, deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import islice
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module
    from .parameter import Parameter


class Part:
    """What can be a part of a module: the base of Module and of Parameter."""

    __slots__ = ()


#: parts that were found where they have no name: (the place, the type of what is there, the part)
Nameless = list[tuple[str, str, "Parameter | Module"]]
Look = Callable[[Any], Iterable[tuple[Any, Any]]]
#: how many items tell, of as many containers, whether there are parts in what becomes an attribute
_FIRST = 4


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


_WAYS: tuple[tuple[tuple[type, ...], Look], ...] = (
    ((list, tuple, deque, UserList), enumerate),
    ((dict, UserDict, MappingProxyType), _by_key),
    ((SimpleNamespace,), _by_attribute),
    ((set, frozenset, KeysView, ValuesView, ItemsView, np.ndarray), _without_names),
)


def _way_into(kind: type) -> Look | None:
    if issubclass(kind, Part):
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
            pairs: Iterable[tuple[str, Parameter | Module]] = ((name, value),)
        elif look is not None:
            pairs = _inside(type(module), name, value, look, found)
        else:
            continue
        for pair in pairs:
            if "." in name or not name:  # put into vars(module)
                _refuse_name(module, name)
            yield pair
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
            if not n and (look is _by_key or look is _by_attribute):
                _check_key(owner, path, step, taken)
            yield pair


def _check_key(owner: type, path: str, key: Any, taken: dict[str, Any]) -> None:
    """Raise unless the key of a dict (or namespace) names what is under it, and nothing else."""
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
    return any(True for _ in _all_in(owner, name, value))


def _all_in(owner: type, name: str, value: Any) -> Iterator[Parameter | Module]:
    """The parts that an attribute's value is or has in it, with a name or without."""
    look = way_into(type(value))
    if look is _part:
        yield value
    elif look is not None:
        nameless: Nameless = []
        yield from (part for _, part in _inside(owner, name, value, look, nameless))
        yield from (part for _, _, part in nameless)


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
        if not _begins_with_parts(value, look):
            return
        nameless: Nameless = []
        own = {id(part) for _, part in _inside(type(module), name, value, look, nameless)}
        if not (own or nameless):
            return
        _refuse_nameless(module, [entry for entry in nameless if id(entry[2]) not in own])
    if not name or "." in name:
        _refuse_name(module, name)
    base = next(c for c in type(module).__mro__ if Part in c.__bases__)
    if name in _names_of(base):
        raise ValueError(
            f"{name}: every Module has an attribute of this name of its own; call the parameter or "
            f"module in {type(module).__name__} something else"
        )


def _refuse_name(module: Module, name: str) -> None:
    raise ValueError(
        f"{name!r}: expected a name without dots for the attribute of {type(module).__name__}, "
        "since dots stand between the names of modules"
    )


def _begins_with_parts(value: Any, look: Look) -> bool:
    """Whether a part is among the first items, also those of the first containers in there.

    This is to be quick: a million losses may become an attribute.
    """
    todo = [(value, look)]
    for here, way in todo:  # which grows
        for _, item in islice(way(here), _FIRST):
            deeper = way_into(type(item))
            if deeper is _part:
                return True
            if deeper is not None and len(todo) < _FIRST:
                todo.append((item, deeper))
    return False


@lru_cache(maxsize=1)
def _names_of(base: type) -> frozenset[str]:
    return frozenset(dir(base))


def check_class(cls: type[Module]) -> None:
    """Raise where parameters or buffers are in a class: all its modules would share them, unnamed.

    A module without any, such as ``default = nn.ReLU()``, may be there.

    Raises:
        TypeError: see there.
    """
    for name, value in vars(cls).items():
        if any(_has_numbers(part) for part in _all_in(cls, name, value)):
            raise TypeError(
                f"{cls.__name__}.{name}: a parameter or module in the class itself belongs to no "
                "module and would not be found; make it in __init__, as an attribute of self"
            )


def _has_numbers(part: Parameter | Module) -> bool:
    if isinstance(part, Tensor):
        return True
    return any(True for found in (part.parameters(), part.buffers()) for _ in found)


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
