"""Functions called around a module's forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..graph.hooks import RemovableHandle
from ..operations.elementwise.conversion import tie
from ..tensor import tree
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

Hook = Callable[..., Any]


class ModuleHooks:
    """The hooks of one module, by kind and handle; see the ``register_...`` methods of Module.

    ``before`` and ``after`` hold pairs of a hook and whether it takes the keyword arguments.
    """

    def __init__(self) -> None:
        self.before: dict[Any, tuple[Hook, bool]] = {}
        self.after: dict[Any, tuple[Hook, bool]] = {}
        self.backward: dict[Any, Hook] = {}

    @staticmethod
    def add(hooks: dict[Any, Any], hook: Hook, entry: Any, prepend: bool) -> RemovableHandle:
        """Put ``entry``, made of ``hook``, last or first; the handle takes it out again."""
        if not callable(hook):
            raise TypeError(f"hook: expected a function, got {type(hook).__name__}")
        others = dict(hooks) if prepend else {}
        handle = RemovableHandle(hooks, entry)
        for key, other in others.items():  # to the end
            del hooks[key]
            hooks[key] = other
        return handle

    def call(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``module.forward`` with everything around it."""
        for hook, with_kwargs in tuple(self.before.values()):
            changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
            if changed is None:
                continue
            if with_kwargs:
                args, kwargs = _args_and_kwargs(hook, changed)
            else:
                args = changed if isinstance(changed, tuple) else (changed,)
        watch = _Backward(self.backward, module) if self.backward else None
        if watch is not None:
            args, kwargs = watch.inputs(args, kwargs)
        result = module.forward(*args, **kwargs)
        for hook, with_kwargs in tuple(self.after.values()):
            given = (args, kwargs) if with_kwargs else (args,)
            changed = hook(module, *given, result)
            if changed is not None:
                result = changed
        return result if watch is None else watch.outputs(result)


def _args_and_kwargs(hook: Hook, changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a hook before forward returned, where it was registered with the keyword arguments."""
    if (
        isinstance(changed, tuple)
        and len(changed) == 2
        and isinstance(changed[0], tuple)
        and isinstance(changed[1], dict)
    ):
        return changed
    got = type(changed).__name__
    if isinstance(changed, tuple):
        got = f"a tuple of {', '.join(type(part).__name__ for part in changed) or 'nothing'}"
    raise TypeError(
        f"forward pre-hook {getattr(hook, '__name__', hook)!r}: with_kwargs=True expects None or "
        f"(args, kwargs), a tuple and a dict, to be returned, got {got}"
    )


class _Backward:
    """One call of a module whose gradients are watched.

    All inputs go through one node, and so do all outputs: it is reached in backward once, when the
    gradients of all of them are complete.
    """

    def __init__(self, hooks: dict[Any, Hook], module: Module):
        self.hooks, self.module = hooks, module
        self.count = 0
        self.grad_output: tuple[Tensor | None, ...] | None = None

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tied, self.count = _through_one_node((args, kwargs), self._at_inputs)
        return tied

    def outputs(self, result: Any) -> Any:
        return _through_one_node(result, self._at_outputs)[0]

    def _at_outputs(self, grads: list[Tensor | None]) -> None:
        self.grad_output = tuple(grads)
        if not self.count:  # no input wants a gradient: this is the last that will be seen
            self._run(())

    def _at_inputs(self, grads: list[Tensor | None]) -> list[Tensor | None] | None:
        if self.grad_output is None:  # a second derivative, which did not come by the outputs
            return None
        return list(self._run(tuple(grads)))

    def _run(self, grad_input: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        grad_output, self.grad_output = self.grad_output, None
        for hook in tuple(self.hooks.values()):
            changed = hook(self.module, grad_input, grad_output)
            if changed is not None:
                new = changed if isinstance(changed, tuple) else (changed,)
                _check_alike(hook, new, grad_input)
                grad_input = new
        return grad_input


def _check_alike(hook: Hook, new: tuple[Any, ...], old: tuple[Tensor | None, ...]) -> None:
    """Raise unless a hook returned as many gradients as it got, of the same shapes."""
    if len(new) != len(old) or any(
        g is not None and (not isinstance(g, Tensor) or (o is not None and g.shape != o.shape))
        for g, o in zip(new, old, strict=True)
    ):
        got, expected = (
            [str(getattr(g, "shape", type(g).__name__)) for g in part] for part in (new, old)
        )
        raise TypeError(
            f"backward hook {getattr(hook, '__name__', hook)!r}: expected None or the gradients of "
            f"the inputs, of shapes ({', '.join(expected)}), got ({', '.join(got)})"
        )


def _through_one_node(nest: Any, hook: Hook) -> tuple[Any, int]:
    """The nest with its tensors that require gradients tied together, and how many they are."""
    found = [x for x in tree.leaves(nest) if isinstance(x, Tensor) and x.requires_grad]
    if not found:
        return nest, 0
    tied = tie(found)
    if tied[0].node is None:  # nothing is recorded
        return nest, 0
    tied[0].node.parents[0].hooks = {hook: hook}
    rest = iter(tied)  # by position: one tensor given twice has a gradient at each place

    def swap(x: Any) -> Any:
        return next(rest) if isinstance(x, Tensor) and x.requires_grad else x

    return tree.map_leaves(swap, nest), len(found)
