"""Where the time goes: per op and module, forward and backward, and beside the matrix products.

How it costs nothing when off
    There is no question in the code of ops whether somebody measures. Entering a profile puts a
    timed version in the place of ``Op.__call__`` and of ``autograd.pull_back``, the two doors that
    every application and every step of the walk back goes through; leaving the last one, of any
    thread, puts back what was there. Inside, a thread that profiles nothing goes straight through.
    (The observers of :mod:`grad_mode` would not do: they see recorded nodes only, and only after.)

What is counted where
    An op's time is its own: what runs inside it (the ops that ``create_graph=True`` or a
    checkpoint's second run applies during the walk back) is counted for the inner ops, as forward
    applications. Time outside of ops (Python between them, hooks, adding gradients up, an
    optimiser, reading data) is ``elsewhere``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import autograd, scope
from .device import BY_TYPE, CPU, Device
from .graph import Node
from .matrix_products import Product, has_products, of_backward, of_forward, seconds_alone
from .registry import Op
from .tensor import Tensor


@dataclass
class Cost:
    """What a number of applications, or steps of the walk back, took.

    Attributes:
        calls: how many. ns: their own time, in nanoseconds.
        bytes: size of the results (outputs, or operands' gradients), without views of operands.
        products: the matrix products among it, and how many times each was computed.
    """

    calls: int = 0
    ns: int = 0
    bytes: int = 0
    products: dict[Product, int] = field(default_factory=dict)

    def add(self, ns: int, size: int, products: dict[Product, int], calls: int = 1) -> None:
        """Count ``calls`` more."""
        self.calls += calls
        self.ns += ns
        self.bytes += size
        for product, times in products.items():
            self.products[product] = self.products.get(product, 0) + times

    @property
    def seconds(self) -> float:
        """Their own time."""
        return self.ns * 1e-9

    @property
    def flops(self) -> int:
        """Floating-point operations of the matrix products."""
        return sum(product.flops * times for product, times in self.products.items())

    def __add__(self, other: Cost) -> Cost:
        total = Cost()
        for cost in (self, other):
            total.add(cost.ns, cost.bytes, cost.products, cost.calls)
        return total


@dataclass
class Entry:
    """The forward and the backward cost of an op, a module or a phase."""

    forward: Cost = field(default_factory=Cost)
    backward: Cost = field(default_factory=Cost)

    @property
    def total(self) -> Cost:
        """Both together."""
        return self.forward + self.backward


class Profile:
    """What :func:`profile` gives: a context manager, and the report of what ran inside it.

    Attributes:
        entries: by (phase, op name, module path). The phase is "" outside of :meth:`phase`; the
            path that of :meth:`nn.Module.get_submodule`, for the outermost module its class name,
            and "" outside of any module.
        wall_ns: time from entering to leaving; further uses of the same profile add to it.
        phase_ns: time spent in each phase.
        own_ns: time that the measuring itself took, between the ops.
    """

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], Entry] = {}
        self.wall_ns = 0
        self.phase_ns: dict[str, int] = {}
        self.own_ns = 0
        self._phase = ""
        self._started = 0
        self._alone: dict[Product, float] = {}

    # ---- measuring -----------------------------------------------------------------------------

    def __enter__(self) -> Profile:
        if self._started:
            raise RuntimeError("profile: this one is running already; tt.profile() makes another")
        _put_timers_in()
        _here.profiles = (*_here.profiles, self)
        _wait()
        self._started = time.perf_counter_ns()
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            _wait()
        finally:
            self.wall_ns += time.perf_counter_ns() - self._started
            self._started = 0
            _here.profiles = tuple(p for p in _here.profiles if p is not self)
            _take_timers_out()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """``with p.phase("forward"):`` a part of the time with a name of its own.

        Raises:
            RuntimeError: the profile is not running, or is in another phase.
        """
        if not self._started or self._phase:
            what = f"in phase {self._phase!r} already" if self._phase else "not running"
            raise RuntimeError(f"phase {name!r}: the profile is {what}")
        _wait()
        start = time.perf_counter_ns()
        self._phase = name
        try:
            yield
            _wait()
        finally:
            self._phase = ""
            self.phase_ns[name] = self.phase_ns.get(name, 0) + time.perf_counter_ns() - start

    def _count(
        self, op: str, path: str, back: bool, ns: int, size: int, products: dict[Product, int]
    ) -> None:
        key = (self._phase, op, path)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry()
        (entry.backward if back else entry.forward).add(ns, size, products)

    # ---- results -------------------------------------------------------------------------------

    def _grouped(self, name: Callable[[str, str, str], str]) -> dict[str, Entry]:
        groups: dict[str, Entry] = {}
        for key, entry in self.entries.items():
            group = groups.setdefault(name(*key), Entry())
            group.forward += entry.forward
            group.backward += entry.backward
        return dict(sorted(groups.items(), key=lambda item: -item[1].total.ns))

    @property
    def by_op(self) -> dict[str, Entry]:
        """Costs by op name, the most expensive first."""
        return self._grouped(lambda phase, op, module: op)

    @property
    def by_phase(self) -> dict[str, Entry]:
        """Costs of the ops by phase, the most expensive first."""
        return self._grouped(lambda phase, op, module: phase)

    @property
    def by_module(self) -> dict[str, Entry]:
        """Costs by path of the module whose ``forward`` applied the op, without those below it."""
        return self._grouped(lambda phase, op, module: module)

    def modules(self, depth: int) -> dict[str, Entry]:
        """Costs by module path, down to ``depth`` levels; what is below counts for the level above.

        A number is no level of its own: ``h.0.attn.c_proj`` is ``h.0.attn`` at depth 2.
        """
        return self._grouped(lambda phase, op, module: _folded(module, depth))

    @property
    def total(self) -> Entry:
        """The cost of all ops."""
        return self._grouped(lambda phase, op, module: "").get("", Entry())

    @property
    def elsewhere_ns(self) -> int:
        """Time inside the profile that neither ops nor the measuring took."""
        return self.wall_ns - self.own_ns - self.total.total.ns

    def alone(self, cost: Cost) -> float:
        """Seconds that ``xp.matmul`` alone takes for the matrix products of ``cost``: its floor.

        Each product is measured when it is first asked for, once, and remembered.
        """
        if self._started:
            raise RuntimeError("profile: leave it before asking for the floor, which is measured")
        for product in cost.products:
            if product not in self._alone:
                self._alone[product] = seconds_alone(product)
        return sum(self._alone[product] * times for product, times in cost.products.items())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, fit for JSON; times in seconds."""
        from .profile_report import as_dict

        return as_dict(self)

    def __str__(self) -> str:
        from .profile_report import as_text

        return as_text(self)


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


def _folded(path: str, depth: int) -> str:
    levels: list[str] = []
    for part in path.split("."):
        if part.isdigit() and levels:
            levels[-1] += f".{part}"
        elif len(levels) < max(1, depth):
            levels.append(part)
        else:
            break
    return ".".join(levels)


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
        inner: time in nanoseconds that others took inside it, their measuring included.
    """

    __slots__ = ("op", "back", "inner")

    def __init__(self, op: Op, back: bool):
        self.op, self.back, self.inner = op, back, 0


_here = _Here()
_lock = threading.Lock()
_entered = 0  # profiles that are running now, in all threads
_untimed: dict[str, Any] = {}


def _put_timers_in() -> None:
    global _entered
    with _lock:
        _entered += 1
        if _entered == 1:
            _untimed.update(call=Op.__call__, pull_back=autograd.pull_back)
            Op.__call__ = _timed_call  # type: ignore[method-assign]
            autograd.pull_back = _timed_pull_back


def _take_timers_out() -> None:
    global _entered
    with _lock:
        _entered -= 1
        if _entered == 0:
            Op.__call__ = _untimed["call"]  # type: ignore[method-assign]
            autograd.pull_back = _untimed["pull_back"]


def _wait() -> None:
    """Until the GPU has done what it was given."""
    if len(BY_TYPE) > 1:
        devices: set[Device] = {dev for dev in list(BY_TYPE.values()) if dev is not CPU}
        for dev in devices:
            dev.synchronize()


def _timed_call(self: Op, /, *args: Any, **kwargs: Any) -> Any:
    """``Op.__call__`` with a clock."""
    call, running = _untimed["call"], _here.running
    again = running and running[-1].op is self and not running[-1].back
    if not _here.profiles or again:  # an op that has converted its operands calls itself
        return call(self, *args, **kwargs)
    out, ns, began = _measured(_Running(self, False), lambda: call(self, *args, **kwargs))
    outs = out if isinstance(out, tuple) else (out,)
    size = sum(o.data.nbytes for o in outs if not (self.view and _is_view(o, args)))
    products = of_forward(self, args, kwargs, outs[0]) if has_products(self) else {}
    _report(self.name, scope.current(), False, (ns, size, products), began)
    return out


def _timed_pull_back(node: Node, g: Any, graph: bool) -> list[tuple[Any, Any, bool]]:
    """``pull_back`` with a clock."""
    pull_back = _untimed["pull_back"]
    if not _here.profiles:
        return pull_back(node, g, graph)  # type: ignore[no-any-return]
    results, ns, began = _measured(_Running(node.op, True), lambda: pull_back(node, g, graph))
    size = sum((r.data if graph else r).nbytes for _, r, _ in results if r is not g)
    # on Tensors the rule applies ops, and the products are theirs
    counted = has_products(node.op) and not graph and bool(results)
    products = of_backward(node, results[0][1]) if counted else {}
    _report(node.op.name, node.scope, True, (ns, size, products), began)
    return results


def _measured(now: _Running, run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What ``run()`` returns, its own time, and when it began."""
    running = _here.running
    _wait()
    running.append(now)
    began = time.perf_counter_ns()
    try:
        out = run()
        _wait()
        return out, time.perf_counter_ns() - began - now.inner, began
    except BaseException:
        if len(running) > 1:
            running[-2].inner += time.perf_counter_ns() - began
        raise
    finally:
        running.pop()
