"""Functions called with a gradient when it is complete, and the handle that removes one."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import late
from ..context.blocks import Block, Manager
from ..hints.finding import kind_of

if TYPE_CHECKING:
    from ..operations import copy
    from ..tensor.row_grad import RowGrad, as_grad
    from ..tensor.tensor import Tensor
    from .node import Node
else:
    late.needs(
        __name__,
        copy="operations.copy",
        RowGrad="tensor.row_grad.RowGrad",
        Tensor="tensor.tensor.Tensor",
        as_grad="tensor.row_grad.as_grad",
    )

#: key of the hook that :func:`retain_grad` puts after all others
_RETAIN = "retain"

_next_key = itertools.count().__next__


class RemovableHandle(Manager):
    """What registering a hook returns: :meth:`remove` takes the hook out again.

    Also a context manager that removes the hook at the end of the ``with`` block.
    """

    def __init__(self, hooks: dict[Any, Callable[..., Any]], hook: Callable[..., Any]):
        self._hooks = hooks
        self._key = _next_key()  # not the handle itself, which would close a reference cycle
        hooks[self._key] = hook

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        self._hooks.pop(self._key, None)

    def _enter(self, block: Block) -> RemovableHandle:
        return self

    def _leave(self, block: Block) -> None:
        self.remove()


def _hooks_for(x: Tensor, what: str) -> dict[Any, Callable[..., Any]]:
    if not x.requires_grad:
        raise RuntimeError(
            f"{what}: this tensor (shape {x.shape}, {x.dtype}) does not require gradients, so none "
            "will ever come; set requires_grad=True first"
        )
    key: Any = x if x.node is None else x.node
    if key.hooks is None:
        key.hooks = {}
    hooks: dict[Any, Callable[..., Any]] = key.hooks
    return hooks


def register_hook(x: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(gradient)`` in each backward, when the gradient of ``x`` is complete."""
    if not callable(hook):
        raise TypeError(f"register_hook: hook: expected a function, got {kind_of(hook)}")
    hooks = _hooks_for(x, "register_hook")
    handle = RemovableHandle(hooks, hook)
    if _RETAIN in hooks:
        hooks[_RETAIN] = hooks.pop(_RETAIN)
    return handle


def retain_grad(x: Tensor) -> None:
    """Let ``backward`` fill ``x.grad`` although ``x`` is no leaf."""
    hooks = _hooks_for(x, "retain_grad")
    if x.node is None:
        return
    reference = weakref.ref(x)  # the graph must not keep its own output alive

    def keep(gradient: Tensor) -> None:
        tensor = reference()
        if tensor is not None:
            tensor.grad = gradient if tensor._grad is None else tensor._grad + gradient

    hooks[_RETAIN] = keep


def move_retained(old: Node | None, new: Node | None) -> None:
    """After a write in place, ``retain_grad`` is about the tensor as it is then."""
    if old is not None and new is not None and old.hooks and _RETAIN in old.hooks:
        new.hooks = {_RETAIN: old.hooks.pop(_RETAIN)}


def run_hooks(hooks: dict[Any, Callable[..., Any]] | None, g: Any, graph: bool) -> Any:
    """The gradient after the hooks: each sees a copy, and may return another gradient.

    ``g`` is an array, or a Tensor where ``graph``; for an op with several outputs a list of them,
    with None where no gradient came.
    """
    if not hooks:
        return g

    def shown(part: Any) -> Any:
        return copy(part) if graph else as_grad(part.copy())

    for hook in tuple(hooks.values()):
        if type(g) is list:
            result = hook([None if p is None else shown(p) for p in g])
            if result is not None:
                g = [p if p is None or graph else p.data for p in result]
            continue
        result = hook(shown(g))
        if result is None:
            continue
        if not isinstance(result, Tensor) or result.shape != g.shape:
            got = f"shape {result.shape}" if isinstance(result, Tensor) else kind_of(result)
            raise TypeError(
                f"hook {getattr(hook, '__name__', hook)!r}: expected None or a Tensor of the "
                f"gradient's shape {g.shape} to be returned, got {got}"
            )
        result = result.to(str(g.dtype))
        g = result if graph else result.sparse if isinstance(result, RowGrad) else result.data
    return g
