"""Module: a part of a model that owns parameters and other modules.

How attributes are found
    Nothing is registered. An attribute whose value is a :class:`Parameter` is a parameter, one
    whose value is a :class:`Module` is a child; lists, tuples, deques, dicts and dataclasses are
    looked into. So ``self.blocks = [Block() for _ in range(4)]`` works, a list may grow later, and
    forgetting ``super().__init__()`` does no harm. Order is the order of assignment; names are
    paths such as ``"blocks.0.attn.weight"``. What would give two parameters one name, or one no
    name that stays (in a set), is refused: see :mod:`.parts`. Iterators are not looked into.

Tied weights
    One Parameter reachable under two names (``head.weight = embedding.weight``) is one parameter:
    counted, saved, moved and updated once, under the first of its names. Copying and pickling keep
    the tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..context.scope import Scope
from ..context.thread_state import local
from ..graph.hooks import RemovableHandle
from ..hints.finding import attribute_missing
from ..tensor.tensor import Tensor
from .hooks import ModuleHooks
from .other_names import OF_MODULE
from .parameter import Parameter
from .parts import Part, check_attribute, check_class, parts, walk, way_into
from .placement import move
from .state import LoadResult, load
from .summary import describe, describe_html

M = TypeVar("M", bound="Module")


class Module(Part):
    """Base class of everything with parameters; see the top of this file for how it finds them.

    A subclass makes its parts in ``__init__`` and computes in ``forward``::

        class Net(nn.Module):
            def __init__(self):
                self.inner = nn.Linear(2, 8)
                self.outer = nn.Linear(8, 1)

            def forward(self, x):
                return self.outer(tt.tanh(self.inner(x)))

        Net()(x)        # calls forward

    Attributes:
        training: True in training mode (dropout works), see :meth:`train` and :meth:`eval`.
        aliases: other names under which a state dict may hold this module's entries: a map from
            the start of a foreign name to the start of ours, for example ``{"norm1.": "ln_1."}``.
            Read by :meth:`load_state_dict`.
    """

    training: bool = True
    aliases: Mapping[str, str] = {}
    _buffers: Mapping[
        str, bool
    ] = {}  # name -> is it saved; becomes the instance's own on first use
    _hooks: ModuleHooks | None = None
    _name: str | None = None  # attribute name in the module that calls it, found on the first call

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_class(cls)

    # ---- calling -------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``; the graph nodes it makes are marked as this module's for drawing."""
        state = local.state
        outer = state.scope
        state.scope = Scope(self, self._name or self._find_name(outer), outer)
        try:
            if self._hooks is None:
                return self.forward(*args, **kwargs)
            return self._hooks.call(self, args, kwargs)
        finally:
            state.scope = outer

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every module that is called defines it."""
        raise TypeError(f"{type(self).__name__} cannot be called: it defines no forward(self, ...)")

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each forward; it may return other arguments.

        ``with_kwargs``: call ``hook(module, args, kwargs)``, which sees what is given by keyword
        too, and may return (args, kwargs). ``prepend``: before the hooks that are there already.
        """
        hooks = self._own_hooks()
        return hooks.add(hooks.before, hook, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each forward; it may return another output.

        ``with_kwargs``: ``hook(module, args, kwargs, output)``. ``prepend``: before the others.
        """
        hooks = self._own_hooks()
        return hooks.add(hooks.after, hook, (hook, with_kwargs), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in backward through each forward.

        Both are tuples with the gradient of each tensor, in order, that requires gradients among
        the arguments (those given by keyword last) and in the output; None where no gradient came.
        The hook may return other input gradients. ``prepend``: before the others.
        """
        hooks = self._own_hooks()
        return hooks.add(hooks.backward, hook, hook, prepend)

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            self.__dict__["_hooks"] = ModuleHooks()
        hooks: ModuleHooks = self.__dict__["_hooks"]
        return hooks

    def _find_name(self, outer: Scope | None) -> str | None:
        """The path from the calling module to this one; remembered, since it seldom changes."""
        caller = outer.module() if outer is not None else None
        if caller is None:
            return None
        found = (name for name, module in caller.named_modules() if module is self)
        name = next(found, None) or type(self).__name__
        self.__dict__["_name"] = name
        return name

    # ---- attributes ----------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        old = self.__dict__.get(name)
        if isinstance(old, Parameter) and not (value is None or isinstance(value, Parameter)):
            raise TypeError(
                f"{type(self).__name__}.{name}: is a Parameter and stays one, got "
                f"{type(value).__name__}; write its numbers with .copy_(...), replace it by "
                "nn.Parameter(...), or delete the attribute first"
            )
        if name in self._buffers and not (value is None or isinstance(value, Tensor)):
            raise TypeError(
                f"{type(self).__name__}.{name}: is a buffer, expected a Tensor or None, got "
                f"{type(value).__name__}"
            )
        if way_into(type(value)) is not None:
            check_attribute(self, name, value)
            if isinstance(value, Module):
                value.__dict__.pop("_name", None)
            elif isinstance(value, Parameter) and name in self._buffers:  # no longer a buffer
                self.__dict__["_buffers"] = {k: v for k, v in self._buffers.items() if k != name}
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # which then knows what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            return attribute_missing(self, name, OF_MODULE)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name in self._buffers:
            self._buffers = {k: v for k, v in self._buffers.items() if k != name}

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a Tensor that is not learned but moves, and if ``persistent`` is saved, with this.

        Raises:
            TypeError: ``tensor`` is neither a Tensor nor None.
            ValueError: ``name`` is taken by something else or is no attribute name.
        """
        self._check_name(name)
        if tensor is not None and (not isinstance(tensor, Tensor) or isinstance(tensor, Parameter)):
            raise TypeError(
                f"tensor: expected a Tensor that is no Parameter, or None, for buffer {name!r}, "
                f"got {type(tensor).__name__}"
            )
        self.__dict__["_buffers"] = {**self._buffers, name: persistent}
        setattr(self, name, tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Same as ``setattr(self, name, param)``, checked."""
        self._check_name(name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"param: expected a Parameter or None, got {type(param).__name__}")
        setattr(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Same as ``setattr(self, name, module)``, checked."""
        self._check_name(name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"module: expected a Module or None, got {type(module).__name__}")
        setattr(self, name, module)

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise ValueError(f"name: expected an attribute name without dots, got {name!r}")
        if name in self._buffers or isinstance(self.__dict__.get(name), (Parameter, Module)):
            return
        if hasattr(self, name):
            raise ValueError(f"name: {type(self).__name__} already has an attribute {name!r}")

    # ---- walking -------------------------------------------------------------------------------

    def _places(self) -> Iterable[tuple[str, Any]]:
        """Where own parameters and children may be: (attribute, value); containers add to it."""
        return self.__dict__.items()

    def _members(self) -> Iterator[tuple[str, Parameter | Module]]:
        """Own parameters and children with their names."""
        return parts(self, self._places())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct children."""
        return ((name, part) for name, part in self._members() if isinstance(part, Module))

    def children(self) -> Iterator[Module]:
        """The direct children."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(path, module) of this module (path ``prefix``) and all below, parents first.

        A module reachable under several names comes once, unless ``remove_duplicate`` is False.
        """
        return walk(self, prefix, set(), remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(path, parameter) of all parameters, each once under its first name.

        Args:
            prefix: put before each path, with a dot.
            recurse: False gives this module's own only.
            remove_duplicate: False gives a tied parameter under each of its names.
        """
        seen: set[int] = set()
        owners = self.named_modules(prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, part in module._members():
                if isinstance(part, Parameter) and id(part) not in seen:
                    if remove_duplicate:
                        seen.add(id(part))
                    yield (f"{path}.{name}" if path else name), part

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once: what an optimiser takes."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_buffers(
        self,
        prefix: str = "",
        recurse: bool = True,
        persistent_only: bool = False,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Tensor]]:
        """(path, tensor) of all buffers, each once unless ``remove_duplicate`` is False."""
        seen: set[int] = set()
        owners = self.named_modules(prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, persistent in module._buffers.items():
                value = module.__dict__.get(name)
                if value is None or id(value) in seen or (persistent_only and not persistent):
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, path: str) -> Module:
        """The module at a path such as ``"h.0.attn"`` (``""`` is this one); KeyError if none."""
        for name, module in self.named_modules(remove_duplicate=False):
            if name == path:
                return module
        raise KeyError(f"path: {type(self).__name__} has no module {path!r}")

    def get_parameter(self, path: str) -> Parameter:
        """The parameter at a path such as ``"h.0.ln_1.weight"``; KeyError if none."""
        for name, param in self.named_parameters(remove_duplicate=False):
            if name == path:
                return param
        raise KeyError(f"path: {type(self).__name__} has no parameter {path!r}")

    def num_parameters(self, trainable_only: bool = False) -> int:
        """How many numbers the parameters hold, tied ones counted once."""
        return sum(p.size for p in self.parameters() if p.requires_grad or not trainable_only)

    # ---- modes and conversion ------------------------------------------------------------------

    def train(self: M, mode: bool = True) -> M:
        """Set training mode (or evaluation mode) here and below; returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: M) -> M:
        """Set evaluation mode: dropout does nothing."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients: they become None, or zeros where ``set_to_none`` is False."""
        for param in self.parameters():
            param.zero_grad(set_to_none)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Freeze (False) or unfreeze all parameters; returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def apply(self: M, fn: Callable[[Module], Any]) -> M:
        """Call ``fn`` on every module, children before parents; returns the module."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self: M, *targets: Any, **named: Any) -> M:
        """Move parameters, buffers and gradients to a device and/or a dtype, in place.

        Tensors keep their identity, so ties and an optimiser's references stay good. Integer and
        boolean buffers change their device only.

        Args:
            targets: a device or its name ("cuda"), a dtype or its name ("float64"), or both.
            named: the same as ``device=`` and ``dtype=``.

        Raises:
            TypeError: a dtype that is no floating one; nothing has changed.
        """
        move(self, targets, named)
        return self

    # ---- saving and loading --------------------------------------------------------------------

    def state_dict(self) -> dict[str, np.ndarray]:
        """Parameters and persistent buffers by path: a snapshot in host NumPy arrays.

        The arrays are copies: training on changes none of them. A tied parameter appears once,
        under its first name. :func:`~tinytensor.nn.save_weights` writes them to a file.
        """
        entries = [*self.named_parameters(), *self.named_buffers(persistent_only=True)]
        return {name: np.array(tensor.detach().numpy(), order="C") for name, tensor in entries}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """Copy the arrays of ``state`` into the parameters and buffers.

        Values may be NumPy arrays, Tensors or PyTorch tensors, as in a PyTorch state dict: both
        names of a tied parameter may be there (with equal values), and bfloat16. Nothing is shared
        with ``state`` afterwards. The dtypes of the module are kept.

        Args:
            state: name -> array; :func:`~tinytensor.nn.load_weights` reads one from a file.
            strict: False allows names that are missing on either side.

        Returns:
            The lists ``missing_keys`` and ``unexpected_keys`` (both empty if strict).

        Raises:
            ValueError: names or shapes do not fit; one message lists all of it, and the module is
                as it was before.
        """
        return load(self, state, strict)

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the tree, whose parts open by a click."""
        return describe_html(self)
