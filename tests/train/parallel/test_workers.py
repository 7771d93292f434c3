"""Runs whose batches several processes share: the same losses, the same way to stop and go on."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import ConfigError, Trainer, TrainingError, WorkerError
from tinytensor.train import checkpoint as files
from tinytensor.train.parallel import data_parallel as processes
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.run.report import Report
from tinytensor.train.system.signals import Stop

from ..helpers import LEAVING, TEXT, command, config, environment, flags
from ..run.test_trainer import StopAt, whole
from ..sharing import children, no_process_stays

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")
__all__ = ["no_process_stays"]  # a fixture that each test here uses


class At(Report):
    """Does something after a step."""

    def __init__(self, step: int, act: Any):
        self.at, self.act = step, act

    def step(self, trainer: Trainer) -> None:
        if trainer.step == self.at:
            self.act()


def kill_a_child() -> None:
    os.kill(children()[0], signal.SIGKILL)


@pytest.mark.parametrize("settings", [{}, {"accumulate": 2, "optimizer": "sgd", "clip": 0.0}])
def test_the_losses_are_those_of_one_process(settings: dict[str, Any]) -> None:
    """But for rounding; a batch has two texts, fewer than the last run has processes."""
    chosen = config(steps=20, eval_every=5, oversubscribe=True, **settings)
    losses = []
    for workers in (1, 2, 3):
        trainer = Trainer(chosen.merged({"workers": workers, "batch_size": 2}), TEXT)
        seen: list[int] = []
        trainer.report = At(3, lambda seen=seen: seen.extend(children()))
        assert trainer.run() is True
        assert len(seen) == workers - 1
        losses.append((trainer.history.train, [loss for _, loss in trainer.history.val]))
    for train, val in losses[1:]:
        np.testing.assert_allclose(train, losses[0][0], rtol=1e-4)
        np.testing.assert_allclose(val, losses[0][1], rtol=1e-4)
    assert len(losses[0][0]) == 20 and len(losses[0][1]) == 4


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_an_interrupted_run_is_the_unbroken_one(tmp_path: Path, optimizer: str) -> None:
    """Bit for bit, dropout too: its streams are drawn from one that the checkpoint has."""
    chosen = config(
        oversubscribe=True, workers=2, dropout=0.3, accumulate=2, eval_every=4, optimizer=optimizer
    )
    unbroken = Trainer(chosen, TEXT, tmp_path / "unbroken")
    assert unbroken.run() is True
    broken = Trainer(chosen, TEXT, tmp_path / "broken")
    for at in (4, 7):
        stop = Stop()
        broken.report = StopAt(stop, at)
        assert broken.run(stop) is False and broken.step == at
        assert children() == []
        tt.random.manual_seed(99)
        broken = Trainer.resume(tmp_path / "broken", text=TEXT)
    assert broken.run() is True
    assert whole(broken) == whole(unbroken)
    plain = Trainer(chosen.merged({"workers": 1}), TEXT)
    plain.run()
    assert whole(plain) != whole(unbroken), "dropout drew from other streams"


def test_a_resumed_run_may_have_other_workers(tmp_path: Path) -> None:
    expected = Trainer(config(), TEXT)
    expected.run()
    stop = Stop()
    Trainer(config(oversubscribe=True, workers=2), TEXT, tmp_path, StopAt(stop, 5)).run(stop)
    for workers, at in ((3, 9), (1, 12)):
        trainer = Trainer.resume(tmp_path, {"workers": workers}, TEXT)
        stop = Stop()
        trainer.report = StopAt(stop, at)
        trainer.run(stop)
    assert trainer.step == 12
    np.testing.assert_allclose(trainer.history.train, expected.history.train, rtol=1e-4)


def test_a_killed_process_ends_the_run_and_the_checkpoint_is_good(tmp_path: Path) -> None:
    chosen = config(oversubscribe=True, workers=3, checkpoint_every=2, dropout=0.1)
    unbroken = Trainer(chosen, TEXT)
    unbroken.run()
    trainer = Trainer(chosen, TEXT, tmp_path, At(3, kill_a_child))
    with pytest.raises(WorkerError, match=r"step 4: worker \d of 3 has died .*checkpoint is in"):
        trainer.run()
    assert children() == []
    resumed = Trainer.resume(tmp_path, text=TEXT)
    assert resumed.step == 2
    resumed.run()
    assert whole(resumed) == whole(unbroken)


def test_no_process_stays_when_a_run_ends_in_an_error(tmp_path: Path) -> None:
    """The test's fixture looks; a loss that is no number changes no weight."""

    def fail() -> None:
        assert len(children()) == 1
        raise KeyboardInterrupt

    trainer = Trainer(config(oversubscribe=True, workers=2), TEXT, report=At(2, fail))
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert children() == []
    next(trainer.model.parameters()).data[:] = np.nan
    good = trainer.model.state_dict()
    with pytest.raises(TrainingError, match="step 3: loss nan"):
        trainer.run()
    assert children() == []
    for name, array in trainer.model.state_dict().items():
        np.testing.assert_array_equal(array, good[name])


def test_steps_outside_of_a_run() -> None:
    """They start the processes, which stay for the next one, and end with close, run or the
    trainer; one that has died is replaced."""
    one = Trainer(config(), TEXT)
    expected = [one.train_step() for _ in range(2)]
    trainer = Trainer(config(oversubscribe=True, workers=2), TEXT)
    assert [trainer.train_step() for _ in range(2)] == pytest.approx(expected, rel=1e-5)
    (pid,) = children()
    trainer.close()
    trainer.close()
    assert children() == []
    trainer.train_step()
    assert len(children()) == 1 and children() != [pid]
    kill_a_child()
    with pytest.raises(WorkerError):
        trainer.train_step()
    assert children() == []
    trainer.train_step()
    trainer.run()
    assert children() == [] and trainer.step == 12
    trainer.train_step()
    assert len(children()) == 1
    del trainer
    assert children() == []


def test_what_cannot_be_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="workers: expected 1 with device cuda, got 2"):
        config(workers=2, device="cuda")
    monkeypatch.setattr(os, "fork", lambda: os.close(-1))
    with pytest.raises(ConfigError, match="workers: cannot start 2 processes: Bad file desc"):
        Trainer(config(oversubscribe=True, workers=2), TEXT).run()
    monkeypatch.undo()
    monkeypatch.setattr(processes.sys, "platform", "darwin")
    with pytest.raises(ConfigError, match="workers: expected 1 here, got 2; needs Linux"):
        Trainer(config(oversubscribe=True, workers=2), TEXT)


@pytest.mark.parametrize("what", ["kill", "interrupt"])
def test_on_the_command_line(what: str, tmp_path: Path) -> None:
    """A killed process is one line; Ctrl-C, which reaches all processes, saves and leaves."""
    (tmp_path / "text.txt").write_text(TEXT)
    given = flags(
        workers=3,
        oversubscribe=True,
        steps=100_000,
        log_every=10,
        checkpoint_every=5,
        eval_batches=1,
    )
    args = command("train", "--data", "text.txt", "--out", "run", *given)
    pipe = subprocess.PIPE
    process = subprocess.Popen(args, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe,
                               text=True, start_new_session=True)  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            break
    workers = children(process.pid)
    assert len(workers) == 2
    if what == "kill":
        os.kill(workers[1], signal.SIGKILL)
    else:
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    step = files.load(tmp_path / "run").meta["step"]
    assert step >= 5
    if what == "kill":
        assert process.returncode == 1, out + err
        assert err.count("\n") == 1 and err.startswith("tinytensor: step "), err
        assert "of 3 has died (exit code -9, killed)" in err
        assert step % 5 == 0
    else:
        assert (process.returncode, err.strip()) == (130, LEAVING), out + err
        assert f"stopped at step {step} of 100000" in out
