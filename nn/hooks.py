"""Functions called around a module's forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import operations, tree
from ..hooks import RemovableHandle
from ..tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

Hook = Callable[..., Any]


class ModuleHooks:
    """The hooks of one module, by kind and handle; see the ``register_...`` methods of Module."""

    def __init__(self) -> None:
        self.before: dict[Any, Hook] = {}
        self.after: dict[Any, Hook] = {}
        self.backward: dict[Any, Hook] = {}

    @staticmethod
    def add(hooks: dict[Any, Hook], hook: Hook) -> RemovableHandle:
        """Put one in; the handle takes it out again."""
        if not callable(hook):
            raise TypeError(f"hook: expected a function, got {type(hook).__name__}")
        handle = RemovableHandle(hooks)
        hooks[handle] = hook
        return handle

    def call(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``module.forward`` with everything around it."""
        for hook in tuple(self.before.values()):
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        watch = _Backward(self.backward, module) if self.backward else None
        if watch is not None:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for hook in tuple(self.after.values()):
            changed = hook(module, args, result)
            if changed is not None:
                result = changed
        return result if watch is None else watch.outputs(result)


class _Backward:
    """One call of a module whose gradients are watched.

    All inputs go through one node, and so do all outputs: it is reached in backward once, when the
    gradients of all of them are complete.
    """

    def __init__(self, hooks: dict[Any, Hook], module: Module):
        self.hooks, self.module = hooks, module
        self.count = 0
        self.grad_output: tuple[Tensor | None, ...] = ()

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        new, self.count = _through_one_node(args, self._at_inputs)
        tied: tuple[Any, ...] = new
        return tied

    def outputs(self, result: Any) -> Any:
        return _through_one_node(result, self._at_outputs)[0]

    def _at_outputs(self, grads: list[Tensor | None]) -> None:
        self.grad_output = tuple(grads)
        if not self.count:  # no input wants a gradient: this is the last that will be seen
            self._run(())

    def _at_inputs(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        return list(self._run(tuple(grads)))

    def _run(self, grad_input: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in tuple(self.hooks.values()):
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = changed if isinstance(changed, tuple) else (changed,)
        return grad_input


def _through_one_node(nest: Any, hook: Hook) -> tuple[Any, int]:
    """The nest with its tensors that require gradients tied together, and how many they are."""
    found = [x for x in tree.leaves(nest) if isinstance(x, Tensor) and x.requires_grad]
    if not found:
        return nest, 0
    tied = operations.tie(found)
    if tied[0].node is None:  # nothing is recorded
        return nest, 0
    tied[0].node.parents[0].hooks = {hook: hook}
    new = {id(x): y for x, y in zip(found, tied, strict=True)}
    return tree.map_leaves(lambda x: new.get(id(x), x), nest), len(found)
