"""Trading time for memory: compute a part of the forward pass again instead of keeping it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import random
from .grad_mode import enable_grad, grad_mode
from .graph import Dropped, Node


class _Segment:
    """One checkpointed call: how to run it again, and what that gave.

    Every node recorded inside gives up its saved arrays. When backward first needs some, the call
    runs again with the same random numbers; its k-th node has the arrays of the k-th node here.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.random = random.state()
        self.count = 0
        self.again: list[tuple[str, Any]] = []

    def drop(self, node: Node) -> None:
        """Observer of the first run."""
        if node.saved:
            node.saved = _Place(self, self.count)
        self.count += 1

    def collect(self, node: Node) -> None:
        """Observer of the second run."""
        self.again.append((node.op.name, node.saved))

    def run_again(self) -> None:
        outer, now = grad_mode.observers, random.state()
        random.set_state(self.random)
        grad_mode.observers = (self.collect,)  # after those that the call itself puts before it
        try:
            with enable_grad():
                self.fn(*self.args, **self.kwargs)
        finally:
            grad_mode.observers = outer
            random.set_state(now)


class _Place(Dropped):
    """Stands for the saved arrays of a segment's node."""

    def __init__(self, segment: _Segment, index: int):
        self.segment, self.index = segment, index

    def recompute(self, node: Node) -> tuple[Any, ...]:
        segment = self.segment
        if not segment.again:
            segment.run_again()
        name, saved = (
            segment.again[self.index] if len(segment.again) == segment.count else ("", None)
        )
        if name != node.op.name:
            raise RuntimeError(
                f"checkpoint: {getattr(segment.fn, '__name__', segment.fn)!r} did not compute the "
                f"same the second time: {len(segment.again)} ops instead of {segment.count}"
                + (f", and op {self.index} is {name!r}, not {node.op.name!r}" if name else "")
            )
        segment.again[self.index] = (name, None)
        if isinstance(saved, Dropped):
            return saved.recompute(node)
        assert saved is not None
        arrays: tuple[Any, ...] = saved
        return arrays


def checkpoint(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``fn(*args, **kwargs)``, keeping for backward only its arguments and results.

    What the ops inside would keep is dropped; backward runs ``fn`` once more to have it (Chen et
    al. 2016, arXiv:1604.06174). Values and gradients of any order are the same as without, dropout
    included: the named generators are set back for the second run (a generator of your own is not).

    Args:
        fn: a function, module or method; it must compute the same when called again (it may read
            parameters, which must not change between forward and backward).
        args, kwargs: passed on; tensors among them stay alive until backward.

    Returns:
        What ``fn`` returns, in the graph.

    Raises:
        RuntimeError: (in ``backward``) the second run applied other ops than the first.

    Example:
        >>> import tinytensor as tt
        >>> x = tt.ones(3, requires_grad=True)
        >>> tt.checkpoint(lambda x: tt.exp(tt.sin(x)), x).sum().backward()
    """
    if not callable(fn):
        raise TypeError(f"checkpoint: fn: expected a function, got {type(fn).__name__}")
    if not grad_mode.enabled:
        return fn(*args, **kwargs)
    segment = _Segment(fn, args, kwargs)
    outer = grad_mode.observers
    grad_mode.observers = (segment.drop, *outer)  # one inside another: the outermost has it last
    try:
        return fn(*args, **kwargs)
    finally:
        grad_mode.observers = outer
