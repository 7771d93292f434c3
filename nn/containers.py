"""Modules that hold other modules: in order (Sequential, ModuleList) or by name (ModuleDict)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from .module import Module
from .parts import holds_parts


class _Container(Module):
    """Children by key, in order of insertion."""

    _items: dict[str, Module]

    def __init__(self, items: Iterable[tuple[str, Module]]):
        self._items = {}
        for key, module in items:
            self._put(key, module)

    def _put(self, key: str, module: Any) -> None:
        if not isinstance(key, str) or not key or "." in key:
            raise ValueError(f"key: expected a name without dots, got {key!r}")
        own = self.__dict__.get(key)
        if key in self._buffers or (own is not None and holds_parts(type(self), key, own)):
            raise ValueError(
                f"key: {type(self).__name__} has an attribute {key!r} with parameters, modules or "
                "a buffer; choose another name"
            )
        if not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}[{key!r}]: expected a Module, got {_named(module)}"
            )
        module.__dict__.pop("_name", None)
        self._items[key] = module

    def _places(self) -> Iterator[tuple[str, Any]]:
        yield from self._items.items()
        for name, value in self.__dict__.items():  # a subclass may have attributes of its own
            if name != "_items":
                self._check_attribute(name, value)
                yield name, value

    def __setattr__(self, name: str, value: Any) -> None:
        self._check_attribute(name, value)
        super().__setattr__(name, value)

    def _check_attribute(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_items", ()) and holds_parts(type(self), name, value):
            raise ValueError(
                f"{type(self).__name__}.{name}: one of the modules in it is called {name!r}; "
                "call the attribute something else"
            )

    def _check_name(self, name: str) -> None:
        super()._check_name(name)
        if name in self._items:
            raise ValueError(f"name: {type(self).__name__} already has a module {name!r}")

    def add_module(self, name: str, module: Module | None) -> None:
        """Put a module in, under ``name``, as if it had been given when this was made."""
        self._put(name, module)

    def __len__(self) -> int:
        return len(self._items)


def _named(thing: Any) -> str:
    """What was given in the place of a module, and how it becomes one."""
    if isinstance(thing, type) and issubclass(thing, Module):
        return f"the class {thing.__name__}; write {thing.__name__}()"
    if callable(thing):
        name = getattr(thing, "__name__", type(thing).__name__)
        return (
            f"the function {name}; use the layer of that kind, or a Module whose forward calls it"
        )
    if isinstance(thing, (list, tuple)):
        return f"a {type(thing).__name__}; write nn.Sequential(*layers) for the modules in it"
    return type(thing).__name__


class ModuleList(_Container):
    """Modules named "0", "1", ...: ``self.h = nn.ModuleList(Block() for _ in range(4))``.

    Indexing, slicing (a new ModuleList of the same modules), ``append``, ``extend``, ``insert``,
    iteration, ``len`` and ``del`` work as on a list. It is not called itself.
    """

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__((str(i), module) for i, module in enumerate(modules))

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...

    def __getitem__(self, index: int | slice) -> Module | ModuleList:
        modules = list(self._items.values())
        return ModuleList(modules[index]) if isinstance(index, slice) else modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._put(list(self._items)[index], module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._replace(modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self._items.values()))

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end; returns the list."""
        self._put(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add several at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position ``index``; those after it are renumbered."""
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)

    def _replace(self, modules: list[Module]) -> None:
        self._items = {}
        self.extend(modules)


class Sequential(_Container):
    """Modules called one after the other, each on the output of the one before.

    Args:
        modules: modules (named "0", "1", ...), or one dict of name to module.
    """

    def __init__(self, *modules: Module | Mapping[str, Module]):
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            super().__init__(modules[0].items())
        else:
            super().__init__((str(i), m) for i, m in enumerate(modules))  # type: ignore[misc]

    def forward(self, x: Any) -> Any:
        """``x`` through all modules in order."""
        for module in self._items.values():
            x = module(x)
        return x

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> Sequential: ...

    def __getitem__(self, index: int | slice) -> Module | Sequential:
        modules = list(self._items.values())
        return Sequential(*modules[index]) if isinstance(index, slice) else modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._put(list(self._items)[index], module)

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self._items.values()))

    def append(self, module: Module) -> Sequential:
        """Add a module at the end, named by its position; returns the Sequential.

        Raises:
            ValueError: another module has that name, which only those made of a dict can have.
        """
        name = str(len(self))
        if name in self._items:
            raise ValueError(f"append: Sequential already has a module {name!r}; use add_module")
        self._put(name, module)
        return self


class ModuleDict(_Container):
    """Modules by name: ``self.heads = nn.ModuleDict({"pos": ..., "tag": ...})``."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        super().__init__((modules or {}).items())

    def __getitem__(self, key: str) -> Module:
        return self._items[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self._put(key, module)

    def __delitem__(self, key: str) -> None:
        del self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._items))

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._items.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """(name, module) pairs."""
        return self._items.items()
