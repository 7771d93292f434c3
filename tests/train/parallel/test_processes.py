"""Processes that share the work come and go: exceptions, deaths, signals, and none is left."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tinytensor.train import SGD, DataParallel, WorkerError
from tinytensor.train.parallel import data_parallel as processes
from tinytensor.train.parallel.data_parallel import cores, why_not

from ..helpers import environment
from ..sharing import (
    VOCABULARY,
    Toy,
    adamw,
    alive,
    alone,
    batch,
    children,
    grads,
    make,
    no_process_stays,
    same,
    shared_step,
    step,
    weights,
)

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")
__all__ = ["no_process_stays"]  # a fixture that each test here uses


class Local(Exception):
    """Pickle can write it, but not read it."""

    def __init__(self, code: int, text: str):
        super().__init__(f"{text} {code}")


def test_an_exception_of_another_process_arrives_and_it_goes_on(
    rng: np.random.Generator,
) -> None:
    reference, model, first = Toy(), Toy(), os.getpid()
    one, many = (SGD([m.table, m.gain], 0.1, 0.9) for m in (reference, model))

    class Nested(Exception):
        """Pickle cannot write it."""

    def fail(ids: Any) -> None:
        kind = int(ids[-1, 0]) if os.getpid() != first else 0
        if kind == 1:
            raise KeyError("missing")
        if kind == 2:
            raise Local(7, "local")
        if kind == 3:
            raise Nested("nested")

    model.to_raise = fail
    with DataParallel(model, many, 3) as parallel:  # type: ignore[arg-type]
        for kind, error, text in [
            (1, KeyError, "missing"), (2, RuntimeError, "Local: local 7"),
            (3, RuntimeError, "Nested: nested"),
        ]:  # fmt: skip
            x, y = batch(rng)
            x[:, 0] = 0
            bad = x.copy()
            bad[-1, 0] = kind
            with pytest.raises(error, match=text) as caught:
                parallel.backward(bad, y)
            (note,) = caught.value.__notes__
            assert note.startswith("in worker 2:\nTraceback") and "in fail" in note
            assert model.table.grad is None and model.gain.grad is None
            same(shared_step(parallel, x, y), step(reference, one, x, y), 1e-6)
        with pytest.raises(ValueError, match="shape"):
            parallel.backward(x[:, :0], y[:, 1:])
    same(weights(model), weights(reference), 1e-6)


def test_an_error_in_the_batch_is_the_models(rng: np.random.Generator) -> None:
    model = make()
    x, y = batch(rng)
    with DataParallel(model, adamw(model), 2) as parallel:
        for row in (0, 4):
            bad = x.copy()
            bad[row, 1] = VOCABULARY
            with pytest.raises(IndexError, match="ids: 11 at .* outside the vocabulary"):
                parallel.backward(bad, y)
        with pytest.raises(ValueError, match="neither of them 0"):
            parallel.backward(x[:0], y[:0])
        same([parallel.backward(x, y)], alone(make(), [(x, y)]))


def test_a_process_that_dies_is_named_and_ends_the_others(rng: np.random.Generator) -> None:
    model = make()
    parallel = DataParallel(model, adamw(model), 3)
    parallel.backward(*batch(rng))
    os.kill(parallel._processes[1].pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"worker 2 of 3 has died \(exit code -9, killed\); if"):
        parallel.backward(*batch(rng))
    assert parallel.closed and children() == []
    with pytest.raises(RuntimeError, match="backward: the processes have ended"):
        parallel.backward(*batch(rng))
    parallel.close()
    parallel.close()
    assert all(g is None for g in grads(model))
    with DataParallel(model, adamw(model), 2) as again:
        assert math.isfinite(again.backward(*batch(rng)))


def test_an_interrupt_in_the_middle_ends_all_and_signals_to_the_others_do_nothing(
    rng: np.random.Generator,
) -> None:
    model, first = Toy(), os.getpid()

    def interrupt(ids: Any) -> None:
        if os.getpid() == first and ids[0, 0] == 9:
            signal.raise_signal(signal.SIGINT)
        elif ids[0, 0] == 9:
            time.sleep(30)

    model.to_raise = interrupt
    x, y = batch(rng)
    x[:, 0] = 1
    with DataParallel(model, SGD([model.table]), 3) as parallel:  # type: ignore[arg-type]
        for process in parallel._processes:
            os.kill(process.pid, signal.SIGINT)
            os.kill(process.pid, signal.SIGTERM)
            os.kill(process.pid, signal.SIGHUP)
        shared_step(parallel, x, y)
        before = weights(model)
        x[:, 0] = 9
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            parallel.backward(x, y)
        assert time.monotonic() - started < 15, "the others were still busy, and not waited for"
        assert parallel.closed and children() == []
    same(weights(model), before, 0.0)


def test_processes_end_with_the_object_and_where_a_start_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make()
    parallel = DataParallel(model, adamw(model), 3)
    assert len(children()) == 2
    del parallel
    gc.collect()
    assert children() == []
    context = multiprocessing.get_context("fork")
    start, started = context.Process.start, []

    def second_fails(process: Any) -> None:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        start(process)
        started.append(process.pid)

    monkeypatch.setattr(context.Process, "start", second_fails)
    with pytest.raises(OSError) as caught:  # which keeps what it has half made alive
        DataParallel(model, adamw(model), 3)
    assert caught.value.errno == 11
    assert len(started) == 1 and not alive(started[0])


SCRIPT = """
import sys, numpy as np
import tinytensor as tt
from tinytensor import models
from tinytensor.train import AdamW, DataParallel
model = models.build("rnn", vocab_size=5, block_size=4, n_layer=1, n_embd=2, n_hidden=2)
parallel = DataParallel(model, AdamW(model.parameters()), 3)
parallel.backward(np.ones((3, 4), int), np.ones((3, 4), int))
print(*(process.pid for process in parallel._processes), flush=True)
if sys.argv[1] == "wait":
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["wait", "leave"])
def test_processes_end_with_the_first_one(how: str) -> None:
    """Killed, so that it can't tell them, or gone without a close."""
    first = subprocess.Popen([sys.executable, "-c", SCRIPT, how], env=environment(), text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert first.stdout is not None and first.stdin is not None
    pids = [int(pid) for pid in first.stdout.readline().split()]
    assert len(pids) == 2
    if how == "wait":
        assert all(alive(pid) for pid in pids)
        first.kill()
    assert first.wait(timeout=20) == (-signal.SIGKILL if how == "wait" else 0)
    first.stdin.close()
    first.stdout.close()
    end = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.01)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_memory_is_shared_until_the_end_only(rng: np.random.Generator) -> None:
    """A process forked later must not write into this one's parameters."""
    model = make()
    optimizer = adamw(model)
    with DataParallel(model, optimizer, 2) as parallel:
        shared_step(parallel, *batch(rng))
        parallel.backward(*batch(rng))
        parallel.reduce()
        threads = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
        assert threads <= {*range(1, max(1, cores() // 2) + 1)}
    state = [array for p in model.parameters() for array in optimizer.state[p].values()]
    arrays = [a for a in state if isinstance(a, np.ndarray)]
    arrays += [a for p in model.parameters() for a in (p.data, p.grad.data)]
    assert all(a.flags.owndata for a in arrays) and len(arrays) == 4 * len(weights(model))


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    for workers in (0, True, 1.5):
        with pytest.raises(ValueError, match="workers: expected an integer >= 1, got"):
            DataParallel(model, adamw(model), workers)  # type: ignore[arg-type]
    monkeypatch.setattr(processes.sys, "platform", "win32")
    with pytest.raises(OSError, match="workers: 2 processes: needs Linux.* this is win32"):
        DataParallel(model, adamw(model), 2)
    monkeypatch.undo()
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {"daemon": True})
    with pytest.raises(OSError, match="daemonic"):
        DataParallel(model, adamw(model), 2)
    monkeypatch.undo()
    model.to("strict")
    with pytest.raises(ValueError, match="on a GPU cannot be shared"):
        DataParallel(model, adamw(model), 2)
