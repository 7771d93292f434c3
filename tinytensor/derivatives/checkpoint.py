"""Trading time for memory: compute a part of the forward pass again instead of keeping it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import random
from ..context.blocks import Block, Manager
from ..context.source_line import place
from ..context.thread_state import local
from ..graph.grad_mode import enable_grad, is_recording
from ..graph.node import Dropped, Node
from ..hints.finding import kind_of
from ..tensor import tree
from ..tensor.tensor import Tensor, make


class _Segment:
    """One checkpointed call: how to run it again, and what that gave.

    Every node recorded inside gives up its saved arrays. When backward first needs some, the call
    runs again with the same random numbers; its k-th node has the arrays of the k-th node here.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.fn = fn
        self.args, self.kwargs = tree.map_leaves(_as_it_is_now, (args, kwargs))
        given = [x for x in tree.leaves([args, kwargs]) if isinstance(x, Tensor)]
        self.versions = [(x.version, x.version.count) for x in given]
        self.random = random.state()
        self.scope = local.state.scope
        self.count = 0
        self.again: list[tuple[str, Any]] = []

    @property
    def called(self) -> Any:
        """What to call the function in a message."""
        return getattr(self.fn, "__name__", self.fn)

    def drop(self, node: Node) -> None:
        """Observer of the first run."""
        if node.saved:
            node.saved = _Place(self, self.count)
        self.count += 1

    def collect(self, node: Node) -> None:
        """Observer of the second run."""
        self.again.append((node.op.name, node.saved))

    def run_again(self) -> None:
        for version, count in self.versions:
            if version.count != count:
                raise RuntimeError(
                    f"checkpoint: an argument of {self.called!r} was changed in place before "
                    f"backward could compute it again, last{place(version.where)}; give it a copy"
                )
        state = local.state
        outer, around = state.observers, state.scope
        state.scope = self.scope  # in the modules of the first run
        state.observers = (self.collect,)  # after those that the call itself puts before it
        try:
            with _random_state(self.random), enable_grad():
                self.fn(*self.args, **self.kwargs)
        except BaseException:
            self.again = []  # a later backward starts afresh
            raise
        finally:
            state.observers, state.scope = outer, around


class _random_state(Manager):
    """Random numbers as they were inside, and afterwards as they are."""

    def __init__(self, states: dict[str, dict[str, Any]]):
        self.states = states

    def _enter(self, block: Block) -> None:
        block.note = random.state()
        random.set_state(self.states)

    def _leave(self, block: Block) -> None:
        if block.note is not None:
            random.set_state(block.note)


def _as_it_is_now(x: Any) -> Any:
    """A tensor of its own for the second run: a recorded write makes another one of ``x``."""
    if not isinstance(x, Tensor) or x.is_leaf and x.requires_grad:
        return x
    now = make(x.data, x.node)
    now.version = x.version
    return now


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
                f"checkpoint: {segment.called!r} did not compute the same the second time: "
                f"{len(segment.again)} ops instead of {segment.count}"
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
            parameters, which must not change between forward and backward). What else it does,
            such as the running statistics of batch norm, it does twice.
        args, kwargs: passed on; tensors among them stay alive until backward.

    Returns:
        What ``fn`` returns, in the graph.

    Raises:
        RuntimeError: (in ``backward``) the second run applied other ops than the first, or a
            tensor among the arguments was written to in between.

    Example:
        >>> import tinytensor as tt
        >>> x = tt.ones(3, requires_grad=True)
        >>> tt.checkpoint(lambda x: tt.exp(tt.sin(x)), x).sum().backward()
    """
    if not callable(fn):
        raise TypeError(f"checkpoint: fn: expected a function, got {kind_of(fn)}")
    state = local.state
    if not is_recording(state):
        return fn(*args, **kwargs)
    segment = _Segment(fn, args, kwargs)
    outer = state.observers
    state.observers = (segment.drop, *outer)  # one inside another: the outermost has it last
    try:
        return fn(*args, **kwargs)
    finally:
        state.observers = outer
