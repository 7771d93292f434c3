"""Where the time goes: per op and module, forward and backward, and beside the matrix products.

How it costs nothing when off
    There is no question in the code of ops whether somebody measures. Entering a profile puts a
    timed version in the place of ``Op.__call__`` and of ``backward.pull_back``, the two doors that
    every application and every step of the walk back goes through; leaving the last one, of any
    thread, puts back what was there. Inside, a thread that profiles nothing goes straight through.
    (The observers of ``context/thread_state.py`` would not do: they see recorded nodes, and only
    after.)

What is counted where
    An op's time is its own: what runs inside it (the ops that ``create_graph=True`` or a
    checkpoint's second run applies during the walk back) is counted for the inner ops, as forward
    applications. Time outside of ops (Python between them, hooks, adding gradients up, an
    optimiser, reading data) is ``elsewhere``.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from ..arrays.device import BY_TYPE, CPU, Device
from ..context.blocks import Block, Manager
from ..context.scope import Scope
from ..context.thread_state import ThreadState, local
from ..define.op import Op
from ..graph import backward
from ..graph.node import Node
from ..tensor.tensor import Tensor
from .costs import Costs, Entry
from .floor import Product
from .products import MASKED, has_products, of_backward, of_forward


class Profile(Costs, Manager):
    """What :func:`profile` gives: a context manager, and the report of what ran inside it.

    Its results are described at :class:`Costs`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._phase = ""
        self._started = 0

    def _check(self, state: ThreadState) -> None:
        if self._started:
            raise RuntimeError("profile: this one is running already; tt.profile() makes another")

    def _enter(self, block: Block) -> Profile:
        _wait()
        _put_timers_in(self)
        _here.profiles = (*_here.profiles, self)
        self._started = time.perf_counter_ns()
        return self

    def _leave(self, block: Block) -> None:
        try:
            _wait()
        finally:
            now, started = time.perf_counter_ns(), self._started
            if started:
                self._started = 0
                self.wall_ns += now - started
            _here.profiles = tuple(p for p in _here.profiles if p is not self)
            _take_timers_out(self)

    def phase(self, name: str) -> Any:
        """``with p.phase("forward"):`` a part of the time with a name of its own.

        Raises:
            RuntimeError: the profile is not running, or is in another phase.
        """
        return _Phase(self, name)

    def _count(
        self, op: str, path: str, back: bool, ns: int, size: int, products: dict[Product, int]
    ) -> None:
        key = (self._phase, op, path)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry()
        (entry.backward if back else entry.forward).count(ns, size, products)
        if op in MASKED:
            self._halved.update(products)


class _Phase(Manager):
    """A part of a profile's time."""

    def __init__(self, profile: Profile, name: str):
        self.profile, self.name = profile, name

    def _check(self, state: ThreadState) -> None:
        now = self.profile._phase
        if not self.profile._started or now:
            what = f"in phase {now!r} already" if now else "not running"
            raise RuntimeError(f"phase {self.name!r}: the profile is {what}")

    def _enter(self, block: Block) -> None:
        _wait()
        block.note = time.perf_counter_ns()
        self.profile._phase = self.name

    def _leave(self, block: Block) -> None:
        try:
            _wait()
        finally:
            now, started = time.perf_counter_ns(), block.note
            times = self.profile.phase_ns
            before = times.get(self.name, 0)
            if started is not None:
                block.note = None
                self.profile._phase = ""
                times[self.name] = before + now - started


def profile() -> Profile:
    """A context manager that measures where the time goes; ``print`` it afterwards.

    ::

        with tt.profile() as p:
            loss = model(x, y)[1]
            loss.backward()
        print(p)                        # per op and per module, forward and backward
        p.by_op["linear"].backward.seconds

    What this thread runs is measured, other threads are left alone. Profiles may stand inside one
    another, and an op that raises is not counted. On a GPU the profile waits for each op to end, so
    that its time is its own. Per op, measuring takes a few microseconds, which are kept apart
    (``own_ns``). To profile many steps enter once, around all of them.
    """
    return Profile()


# ---- the timers --------------------------------------------------------------------------------


class _Here(threading.local):
    """The profiles that this thread is in, and what it is in the middle of."""

    profiles: tuple[Profile, ...] = ()

    def __init__(self) -> None:
        self.running: list[_Running] = []


class _Running:
    """An op, or a step of the walk back, that has begun.

    Attributes:
        op: which. back: whether it is a step of the walk back.
        profiles: those that were running when it began.
        inner: time in nanoseconds that others took inside it, their measuring included.
        began, ended: the clock.
    """

    __slots__ = ("op", "back", "profiles", "inner", "began", "ended")

    def __init__(self, op: Op, back: bool):
        self.op, self.back = op, back
        self.profiles = _here.profiles
        self.inner = self.began = self.ended = 0

    def begin(self) -> None:
        """The work begins."""
        _wait()
        _here.running.append(self)
        self.began = self.ended = time.perf_counter_ns()

    def end(self) -> None:
        """The work is done."""
        _wait()
        self.ended = time.perf_counter_ns()
        _here.running.pop()

    def fail(self) -> None:
        """It raised: not counted, but its time is not that of the op around it either."""
        running = _here.running
        if self in running:
            del running[running.index(self) :]
            if running:
                running[-1].inner += time.perf_counter_ns() - self.began

    def count(self, where: Scope | None, size: int, products: dict[Product, int]) -> None:
        """Tell the profiles, those that were running all the while."""
        path = "" if where is None else where.path or where.name
        ns = self.ended - self.began - self.inner
        now = _here.profiles
        for watching in self.profiles:
            if watching in now:
                watching._count(self.op.name, path, self.back, ns, size, products)
        done = time.perf_counter_ns()
        if _here.running:
            _here.running[-1].inner += done - self.began
        for watching in now:
            watching.own_ns += done - self.ended


_here = _Here()
_lock = threading.Lock()
_profiling: set[int] = set()  # by id, the profiles that are running now, in all threads
_untimed: dict[str, Any] = {}


def _put_timers_in(profile: Profile) -> None:
    with _lock:
        if Op.__call__ is not _timed_call:
            _untimed.update(call=Op.__call__, pull_back=backward.pull_back)
        _profiling.add(id(profile))
        Op.__call__ = _timed_call  # type: ignore[method-assign, assignment]
        backward.pull_back = _timed_pull_back


def _take_timers_out(profile: Profile) -> None:
    with _lock:
        _profiling.discard(id(profile))
        if not _profiling and _untimed:
            Op.__call__ = _untimed["call"]  # type: ignore[method-assign]
            backward.pull_back = _untimed["pull_back"]


def _wait() -> None:
    """Until the GPU has done what it was given."""
    if len(BY_TYPE) > 1:
        devices: set[Device] = {dev for dev in list(BY_TYPE.values()) if dev is not CPU}
        for dev in devices:
            dev.synchronize()


def _timed_call(self: Op, *args: Any, **kwargs: Any) -> Any:
    """``Op.__call__`` with a clock."""
    call, running = _untimed["call"], _here.running
    again = running and running[-1].op is self and not running[-1].back
    if not _here.profiles or again:  # an op that has converted its operands calls itself
        return call(self, *args, **kwargs)
    now = _Running(self, back=False)
    try:
        now.begin()
        out = call(self, *args, **kwargs)
        now.end()
    except BaseException:
        now.fail()
        raise
    outs = out if isinstance(out, tuple) else (out,)
    size = sum(o.data.nbytes for o in outs if not (self.view and _is_view(o, args)))
    products = of_forward(self, args, kwargs, outs[0]) if has_products(self) else {}
    now.count(local.state.scope, size, products)
    return out


def _is_view(out: Tensor, args: tuple[Any, ...]) -> bool:
    """Whether the output of a view op is on its operand's memory: a reshape may be a copy."""
    return bool(args) and isinstance(args[0], Tensor) and out.version is args[0].version


def _timed_pull_back(node: Node, g: Any, graph: bool) -> list[tuple[Any, Any, bool]]:
    """``pull_back`` with a clock."""
    pull_back = _untimed["pull_back"]
    results: list[tuple[Any, Any, bool]]
    if not _here.profiles:
        results = pull_back(node, g, graph)
        return results
    now = _Running(node.op, back=True)
    try:
        now.begin()
        results = pull_back(node, g, graph)
        now.end()
    except BaseException:
        now.fail()
        raise
    size = sum((r.data if graph else r).nbytes for _, r, _ in results if r is not g)
    # on Tensors the rule applies ops, and the products are theirs
    counted = results and not graph and has_products(node.op)
    now.count(node.scope, size, of_backward(node, results[0][1]) if counted else {})
    return results
