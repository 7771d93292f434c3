"""Context managers end whenever Ctrl-C comes, in any order, several times and in any thread."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import default_device
from tinytensor.context.thread_state import local
from tinytensor.define.op import Op
from tinytensor.profiling import timers

from ..helpers import close, leaf
from .interrupts import interrupted_everywhere

NET = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
X = leaf([1.0, 2.0])
ONE = leaf(1.0)


def no_grad() -> None:
    with tt.no_grad():
        X * 2.0


def enable_grad() -> None:
    with tt.no_grad(), tt.enable_grad():
        X * 2.0


def inference_mode() -> None:
    with tt.inference_mode():
        X * 2.0


def detect_anomaly() -> None:
    with tt.detect_anomaly():
        X * 2.0


def device() -> None:
    with tt.device("strict"):
        tt.zeros(1)


def profile() -> None:
    with tt.profile() as p, p.phase("one"):
        X * 2.0


def evaluating() -> None:
    with nn.evaluating(NET):
        NET(tt.ones(1, 2))


def decorated() -> None:
    tt.no_grad(lambda: X * 2.0)()


def generator() -> None:
    @tt.no_grad
    def steps() -> Iterator[Any]:
        yield X * 2.0
        yield X * 3.0

    list(steps())


def backward() -> None:
    (X * X).sum().backward()


def create_graph() -> None:
    tt.grad(tt.exp(ONE), ONE, create_graph=True)


def jacobian() -> None:
    tt.jacobian(tt.exp, ONE)


def checkpoint() -> None:
    tt.checkpoint(tt.dropout, X, 0.5, True).sum().backward()


def module_call() -> None:
    NET(X.astype("float32"))


PROGRAMS: list[Callable[[], None]] = [
    no_grad, enable_grad, inference_mode, detect_anomaly, device, profile, evaluating, decorated,
    generator, backward, create_graph, jacobian, checkpoint, module_call,
]  # fmt: skip
APPLY = Op.__call__


def as_before() -> None:
    """Nothing that a manager changes is changed."""
    state = local.state
    assert tt.is_grad_enabled() and default_device().name == "cpu"
    for blocks in (state.recording, state.anomaly, state.devices, state.derivatives, state.others):
        assert not [block.manager for block in blocks if block.running]
    assert state.observers == () and state.scope is None
    assert Op.__call__ is APPLY and not timers._here.running
    assert all(module.training for module in NET.modules())
    X.grad = None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_an_interrupt_at_any_point_leaves_nothing_behind(program: Any) -> None:
    assert interrupted_everywhere(program, as_before) > 10


@pytest.mark.parametrize("what", ["switch", "handle"])
def test_a_change_made_before_its_block_is_undone_by_it(what: str) -> None:
    """The call itself switches, or registers; from when its block is entered it is undone."""
    inside = False

    def program() -> None:
        nonlocal inside
        inside = False
        change = tt.set_grad_enabled(False) if what == "switch" else X.register_hook(print)
        with change:  # type: ignore[attr-defined]
            inside = True
            X * 2.0

    def check() -> None:
        if inside:
            assert tt.is_grad_enabled() and not X.hooks
        tt.set_grad_enabled(True)
        X.hooks = None

    assert interrupted_everywhere(program, check) > 10


def test_the_points_are_those_that_matter() -> None:
    """A manager written in the usual way is caught out: its __exit__ does not begin."""

    class Usual:
        inside = False

        def __enter__(self) -> None:
            self.inside = True

        def __exit__(self, *error: object) -> None:
            self.inside = False

    usual, left = Usual(), []

    def program() -> None:
        with usual:
            X * 2.0

    def check() -> None:
        left.append(usual.inside)
        usual.inside = False

    interrupted_everywhere(program, check)
    assert left.count(True) == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
def test_real_signals_leave_nothing_behind(rng: np.random.Generator) -> None:
    class Struck(BaseException):
        pass

    came = False

    def strike(number: int, frame: Any) -> None:
        nonlocal came
        came = True
        raise Struck

    def until_struck(program: Callable[[], None]) -> None:
        while not came:  # it may come in a weak reference's call, out of which nothing is raised
            program()

    names = [p for p in PROGRAMS if p is not jacobian]
    numpys = np.geterr()  # NumPy's own errstate, which ops use, may be left switched on
    before = signal.signal(signal.SIGALRM, strike)
    struck = 0
    end = time.monotonic() + 6.0
    try:
        while struck < 3000 and time.monotonic() < end:
            program = names[struck % len(names)]
            came = False
            try:
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(2e-5, 3e-4)))
                until_struck(program)
            except Struck:
                pass
            struck += 1
            as_before()
    finally:
        np.seterr(**numpys)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert struck > 500


def test_the_random_numbers_of_a_second_run_are_put_back() -> None:
    before, compared = None, 0

    def program() -> None:
        nonlocal before
        before = None
        y = tt.checkpoint(tt.dropout, X, 0.5, True)
        before = tt.random.state()
        y.backward([1.0, 1.0])

    def check() -> None:
        nonlocal compared
        if before is not None:
            compared += 1
            assert tt.random.state() == before

    interrupted_everywhere(program, check)
    assert compared > 50


def test_one_manager_again_and_inside_itself() -> None:
    quiet, watch = tt.no_grad(), tt.device("cpu")
    for _ in range(2):
        with quiet, watch:
            with tt.enable_grad(), quiet, watch:
                assert not tt.is_grad_enabled()
            assert not tt.is_grad_enabled()
        assert tt.is_grad_enabled()
    as_before()


def test_left_in_any_order() -> None:
    """A generator that waits inside a block is closed while later blocks are still running."""

    def waits(mode: Any) -> Iterator[None]:
        with mode:
            yield

    off = waits(tt.no_grad())
    next(off)
    assert not tt.is_grad_enabled()
    with tt.enable_grad():
        off.close()
        assert tt.is_grad_enabled()
    assert tt.is_grad_enabled()
    x = leaf([1.0])
    off = waits(tt.no_grad())
    y = x * 2.0
    next(off)
    with tt.enable_grad():
        y = y * 1.0
        y.register_hook(lambda g: off.close())
        y.backward()
    assert tt.is_grad_enabled()
    close(x.grad, [2.0])


def test_closed_by_another_thread() -> None:
    def waits() -> Iterator[None]:
        with tt.no_grad(), tt.device("strict"):
            yield

    waiting = waits()
    next(waiting)
    thread = threading.Thread(target=waiting.close)
    thread.start()
    thread.join()
    as_before()


def test_by_hand_and_in_an_exit_stack() -> None:
    mode = tt.no_grad()
    assert mode.__enter__() is None
    assert mode.__enter__() is None
    mode.__exit__(None, None, None)
    assert not tt.is_grad_enabled()
    mode.__exit__(None, None, None)
    assert tt.is_grad_enabled()
    with pytest.raises(RuntimeError, match="_Recording: left in a thread that has not entered it"):
        mode.__exit__(None, None, None)
    with ExitStack() as stack:
        assert stack.enter_context(tt.device("strict")) is tt.device("strict")
        stack.enter_context(mode)
        assert not tt.is_grad_enabled() and default_device().name == "strict"
    as_before()


def test_one_that_cannot_be_entered_changes_nothing() -> None:
    with tt.inference_mode():
        for _ in range(2):
            with pytest.raises(RuntimeError, match="inference_mode"), tt.enable_grad():
                pass
            with pytest.raises(RuntimeError, match="inference_mode"), ExitStack() as stack:
                stack.enter_context(tt.enable_grad())
        with pytest.raises(RuntimeError, match="inference_mode"):
            tt.set_grad_enabled(True)
        assert not tt.is_grad_enabled()
    with tt.profile() as p:
        with pytest.raises(RuntimeError, match="running already"), p:
            pass
        X * 2.0
    assert p.by_op["mul"].forward.calls == 1 and p.wall_ns > 0
    as_before()


def test_a_switch_holds_until_the_block_around_it_ends() -> None:
    with tt.no_grad():
        tt.set_grad_enabled(True)
        assert tt.is_grad_enabled()
    assert tt.is_grad_enabled()
    with tt.enable_grad():
        tt.set_grad_enabled(False)
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()
    x = leaf([1.0])
    try:
        for _ in range(3):
            tt.set_grad_enabled(False)
            assert len(local.state.recording) == 1
            tt.set_grad_enabled(True)
            assert local.state.recording == ()  # at no cost for ops
        tt.set_grad_enabled(False)
        with tt.enable_grad():
            (x * 2.0).backward()
        assert not tt.is_grad_enabled()
    finally:
        tt.set_grad_enabled(True)
    with pytest.raises(TypeError, match="enabled: expected True or False"):
        tt.set_grad_enabled(lambda: None)  # type: ignore[arg-type]
    y = x * 2.0
    y.register_hook(lambda g: tt.set_grad_enabled(True) and None)
    y.backward()
    y = x * 2.0
    y.backward()
    as_before()


def test_managers_are_freed_without_the_collector() -> None:
    with tt.no_grad():
        pass
    before = sys.getrefcount(NET)
    for _ in range(3):
        with nn.evaluating(NET), tt.no_grad():
            pass
    assert tt.is_grad_enabled()
    with nn.evaluating(NET[0]):  # what was left is dropped when the next one is entered
        pass
    assert sys.getrefcount(NET) == before


@pytest.mark.parametrize("first", ["__enter__", "__exit__"])
def test_a_with_may_look_up_its_two_methods_in_either_order(first: str) -> None:
    """Until Python 3.13 it looks for ``__enter__`` first, from 3.14 on for ``__exit__``."""
    m, ends = tt.no_grad(), []
    for _ in range(2):  # the second time inside the first
        found = {first: getattr(m, first)}
        found |= {name: getattr(m, name) for name in ("__enter__", "__exit__") if name != first}
        found["__enter__"]()
        ends.append(found.pop("__exit__"))
        assert not tt.is_grad_enabled()
    ends.pop()(None, None, None)
    assert not tt.is_grad_enabled()
    ends.pop()(None, None, None)
    assert tt.is_grad_enabled()


def test_to_look_at_a_manager_changes_nothing() -> None:
    m = tt.no_grad()
    assert hasattr(m, "__enter__") and hasattr(m, "__exit__") and callable(m.__exit__)
    m.__enter__()
    assert hasattr(m, "__exit__") and hasattr(m, "__enter__") and not tt.is_grad_enabled()
    m.__exit__(None, None, None)
    assert tt.is_grad_enabled()
    with m:
        assert hasattr(m, "__exit__") and not tt.is_grad_enabled()
    assert tt.is_grad_enabled() and not local.state.recording
    with pytest.raises(RuntimeError, match="left in a thread that has not entered it"):
        m.__exit__(None, None, None)


def test_what_with_holds_is_all_that_keeps_a_block_running() -> None:
    m = tt.no_grad()
    end = m.__exit__
    m.__enter__()
    assert not tt.is_grad_enabled()
    del end
    assert tt.is_grad_enabled()
