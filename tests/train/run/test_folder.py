"""The folder of a run: nobody else's while the run lasts; full disks and planted links."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import filelock
import pytest

from tinytensor.train import ConfigError, Trainer, TrainingError
from tinytensor.train import checkpoint as files
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.run import folder as module
from tinytensor.train.run.folder import LOCK, OWNER, InUse, RunFolder, last_checkpoint
from tinytensor.train.run.report import Report
from tinytensor.train.system import files as writing
from tinytensor.train.system.signals import Interrupted, Stop

from ..helpers import TEXT, call, command, config, environment, flags
from .test_trainer import whole

unix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")


class At(Report):
    """Does something after a step."""

    def __init__(self, step: int, act: Any):
        self.at, self.act = step, act

    def step(self, trainer: Trainer) -> None:
        if trainer.step == self.at:
            self.act()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# ---- who has it -------------------------------------------------------------------------------


def test_a_folder_is_held_by_one_and_says_by_whom(tmp_path: Path) -> None:
    path = tmp_path / "a" / "run"
    first, second = RunFolder(path), RunFolder(path)
    with first.held():
        with first.held():  # the command line has it, and the trainer
            assert names(path) == [LOCK, OWNER]
        with pytest.raises(
            InUse, match="run is in use by another run of this process since .*wait"
        ):
            second.claim()
        note = json.loads((path / OWNER).read_text())
        assert note["pid"] == os.getpid() and note["host"] == socket.gethostname()
        assert abs(note["since"] - time.time()) < 60
        with pytest.raises(ConfigError, match="in use"):
            Trainer(config(), TEXT, path).run()
        (path / "log.jsonl").touch()
    assert names(path) == ["log.jsonl"]
    with second.held():
        pass
    first.release()
    assert path.exists(), "it has a file"


@pytest.mark.parametrize("note, words", [
    ({"pid": 1, "host": "HOST\x1b[2J", "since": time.time()}, r"process 1 on HOST\\x1b\[2J since"),
    ({"pid": 123, "host": "h", "since": 0}, "on h since 19"),
    ({"pid": 10**30, "host": "x" * 500, "since": 1e300}, "in use by another process; choose"),
    ([], "by another process"), ({"pid": "a"}, "by another process"), ("x" * 9000, "by another pr"),
])  # fmt: skip
def test_the_note_of_the_owner_may_be_anything(
    tmp_path: Path, note: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    with RunFolder(tmp_path).held():
        (tmp_path / OWNER).write_text(json.dumps(note))
        with pytest.raises(InUse, match=words) as caught:
            RunFolder(tmp_path).claim()
    assert "\x1b" not in str(caught.value)


def test_folders_that_were_made_for_nothing_are_removed(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "a" / "b").held():
        assert (tmp_path / "a" / "b").is_dir()
    assert names(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with RunFolder(tmp_path / "mine" / "b").held():
        pass
    assert names(tmp_path) == ["mine"] and names(tmp_path / "mine") == []
    with RunFolder(tmp_path / "mine").held():
        pass
    assert names(tmp_path) == ["mine"], "it was there before"


@pytest.mark.parametrize("at", ["_acquire", "write_bytes"])
def test_a_signal_while_it_is_claimed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise Interrupted(signal.SIGTERM)

    place = tmp_path / "a" / "b"
    with monkeypatch.context() as patch:
        patch.setattr(module if at == "write_bytes" else RunFolder, at, interrupted)
        with pytest.raises(Interrupted):
            RunFolder(place).claim()
    assert list(tmp_path.iterdir()) == []
    with RunFolder(place).held() as folder:
        for again in (folder, RunFolder(place)):
            with pytest.raises(InUse):
                again.claim()
    assert list(tmp_path.iterdir()) == []


def test_the_first_free_folder_is_chosen(tmp_path: Path) -> None:
    chosen = [RunFolder.choose("gpt", tmp_path / "runs") for _ in range(3)]
    assert [folder.path.name for folder in chosen] == ["gpt", "gpt-2", "gpt-3"]
    for folder in reversed(chosen):
        with pytest.raises(InUse):
            RunFolder(folder.path).claim()
        folder.release()
    assert names(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="out: cannot write to .*gpt: Not a directory"):
        RunFolder.choose("gpt", tmp_path / "file")


def test_where_nothing_can_be_locked_it_goes_on_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(self: Any, *args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", none)
    with RunFolder(tmp_path).held():
        assert names(tmp_path) == [OWNER]
    assert names(tmp_path) == []
    assert capsys.readouterr().err == (
        f"warning: {tmp_path} cannot be locked (No locks available); "
        "see that no other run uses it\n"
    )


@unix
def test_a_planted_lock_is_refused_and_other_links_are_replaced(tmp_path: Path) -> None:
    victim, run = tmp_path / "victim", tmp_path / "run"
    victim.write_text("precious")
    run.mkdir()
    for name in (OWNER, "log.jsonl", "loss.png", files.NAME):
        (run / name).symlink_to(victim)
    trainer = Trainer(config(steps=2), TEXT, run)
    trainer.run()
    assert names(run) == [files.NAME, "log.jsonl", "loss.png"]
    assert not any((run / name).is_symlink() for name in names(run))
    (run / LOCK).symlink_to(victim)
    with pytest.raises(ConfigError, match="out: cannot write to .*run: "):
        trainer.run()
    assert victim.read_text() == "precious"


def test_two_commands_at_once_get_two_folders(tmp_path: Path) -> None:
    """Both took runs/gpt, and one result was lost."""
    (tmp_path / "text.txt").write_text(TEXT)
    given = flags("rnn", steps=30)
    start = command("train", "--data", "text.txt", *given)
    runs = [subprocess.Popen(start, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
    for run in runs:
        assert (run.communicate(timeout=120)[1], run.returncode) == ("", 0)
    assert names(tmp_path / "runs") == ["rnn", "rnn-2"]
    for name in ("rnn", "rnn-2"):
        assert names(tmp_path / "runs" / name) == [files.NAME, "log.jsonl", "loss.png"]
        lines = (tmp_path / "runs" / name / "log.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [*range(1, 31), 30]


@unix
def test_one_of_two_commands_is_refused_until_the_other_is_killed(tmp_path: Path) -> None:
    """With several processes, of which the others may live a moment longer."""
    (tmp_path / "text.txt").write_text(TEXT)
    workers = 1 if why_not() else 2
    given = flags(steps=100_000, log_every=5, checkpoint_every=5, eval_batches=1, workers=workers)
    start = command("train", "--data", "text.txt", "--out", "run", *given)
    first = subprocess.Popen(start, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
                             text=True)  # fmt: skip
    try:
        assert first.stdout is not None
        for line in first.stdout:
            if line.startswith("step ") and (tmp_path / "run" / files.NAME).exists():
                break
        expected = (
            f"tinytensor: out: run is in use by process {first.pid} on {socket.gethostname()}"
        )
        for more in (["--resume"], ["--overwrite", "--data", "text.txt", *flags()]):
            done = call("train", "--out", "run", *more, cwd=tmp_path)
            assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
            assert done.stderr.startswith(expected) and "choose another --out" in done.stderr
        first.send_signal(signal.SIGKILL)
        first.wait()
        time.sleep(0.1)
        with RunFolder(tmp_path / "run").held():
            assert not [name for name in names(tmp_path / "run") if name.endswith(".tmp")]
    finally:
        first.kill()
        first.communicate()
    assert files.load(tmp_path / "run").meta["step"] % 5 == 0


def test_a_command_that_fails_before_its_first_step_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("ab")
    for more in ([], ["--out", "a/b"]):
        assert call("train", "--data", "short.txt", *more, cwd=tmp_path).returncode == 2
        assert names(tmp_path) == ["short.txt"]


# ---- what cannot be written -------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, steps: range, name: str = files.NAME) -> None:
    """Let os.replace fail for a file in some of its calls, counted from 1."""
    real, calls = os.replace, []

    def replace(source: Any, target: Any) -> None:
        if Path(target).name == name:
            calls.append(target)
            if len(calls) in steps:
                raise PermissionError(errno.EACCES, "Permission denied")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(writing, "PATIENCE", (0.001,))
    monkeypatch.setattr(module, "LAST_TRIES", (0.001, 0.001))


def test_a_checkpoint_that_fails_on_the_way_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Saved at 2, not at 4 (two tries) and 6 (one more), again at 8."""
    expected = Trainer(config(steps=10), TEXT)
    expected.run()
    failing(monkeypatch, range(2, 5))
    seen = []
    trainer = Trainer(config(steps=10, checkpoint_every=2), TEXT, tmp_path)
    trainer.report = At(7, lambda: seen.append(files.load(tmp_path).meta["step"]))
    assert trainer.run() is True
    assert seen == [2] and files.load(tmp_path).meta["step"] == 10
    assert whole(trainer) == whole(expected)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    for line in lines[:2]:
        assert line.startswith(f"warning: checkpoint: cannot write {tmp_path / files.NAME}: Perm")
        assert line.endswith("the run goes on till the next checkpoint")
    assert lines[2] == f"warning: checkpoints are written again, to {tmp_path / files.NAME}"


def test_many_failures_are_few_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(tmp_path)
    for _ in range(100):
        folder.save_failed(files.SaveError("no"))
    assert capsys.readouterr().err.count("\n") == 7


def test_the_last_checkpoint_is_tried_longer_and_then_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, range(1, 6))
        assert Trainer(config(steps=2), TEXT, tmp_path).run() is True
    assert capsys.readouterr().err.count("another try in 0 s") == 2
    failing(monkeypatch, range(1, 100))
    trainer = Trainer.resume(tmp_path, {"steps": 4}, TEXT)
    with pytest.raises(files.SaveError, match="Permission denied; the last good one, if any, is"):
        trainer.run()
    assert trainer.step == 4 and trainer.history.validated == 4
    assert files.load(tmp_path).meta["step"] == 2
    assert last_checkpoint(trainer.run_folder).endswith("of step 2")


FULL = """
import os, resource, sys
from tinytensor.train.run import folder
from tinytensor.train.cli import run
folder.LAST_TRIES = (0.01,)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_disk_without_room_shows_the_results_all_the_same(tmp_path: Path) -> None:
    """A limit on the size of files: 100 bytes are too few for a checkpoint, picture and log."""
    (tmp_path / "text.txt").write_text(TEXT)
    args = ["train", "--data", "text.txt", "--out", "run", *flags(steps=6, checkpoint_every=2)]
    done = subprocess.run([sys.executable, "-c", FULL, "100", *args], cwd=tmp_path,
                          env=environment(), capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "warning: run: log.jsonl cannot be written: File too large; the run goes " \
        "on, and tries again"  # fmt: skip
    assert lines[-1].startswith("tinytensor: checkpoint: cannot write run/checkpoint.safetensors: ")
    assert len(lines) == 5 and "Traceback" not in done.stderr
    assert "\nsample:\n" in done.stdout and "\nvalidation loss  " in done.stdout
    assert "checkpoint  " not in done.stdout
    assert names(tmp_path / "run") == ["log.jsonl"]


def test_a_picture_that_fails_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, range(1, 100), "loss.png")
    trainer = Trainer(config(steps=2), TEXT, tmp_path)
    assert trainer.run() is True
    assert capsys.readouterr().err == (
        "warning: the loss curve could not be drawn: [Errno 13] Permission denied\n"
    )
    assert names(tmp_path) == [files.NAME, "log.jsonl"]


def test_no_picture_is_named_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "run" / "loss.png").mkdir(parents=True)
    words = ["--data", "text.txt", "--out", "run", *flags(steps=2)]
    done = call("train", *words, cwd=tmp_path)
    assert done.returncode == 0 and "the loss curve could not be drawn" in done.stderr
    assert "checkpoint  " in done.stdout and "loss curve" not in done.stdout


# ---- stopping ---------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_stop_while_processes_start_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    from tinytensor.train.parallel import workers as loop

    if why_not() is not None:
        pytest.skip(f"several processes: {why_not()}")
    stop, started, real = Stop(), [], loop.DataParallel

    def start(*args: Any, **more: Any) -> Any:
        started.append(args)
        stop.request()
        return real(*args, **more)

    monkeypatch.setattr(loop, "DataParallel", start)
    if when == "before":
        stop.request()
    trainer = Trainer(config(workers=2), TEXT, tmp_path)
    assert trainer.run(stop) is False
    assert trainer.step == 0 and len(started) == (when == "meanwhile")
    resumed = Trainer.resume(tmp_path, text=TEXT)
    monkeypatch.undo()
    assert resumed.run() is True
    expected = Trainer(config(workers=2), TEXT)
    expected.run()
    assert whole(resumed) == whole(expected)


def test_the_folder_is_free_after_each_kind_of_end(tmp_path: Path) -> None:
    trainer = Trainer(config(steps=3), TEXT, tmp_path)

    def fail() -> None:
        raise KeyError("x")

    trainer.report = At(1, fail)
    with pytest.raises(KeyError):
        trainer.run()
    trainer.report = Report()
    next(trainer.model.parameters()).data[...] = float("nan")
    with pytest.raises(TrainingError):
        trainer.run()
    again = Trainer(config(steps=3), TEXT, tmp_path)
    assert again.run() is True and again.run() is True
    assert names(tmp_path) == [files.NAME, "log.jsonl", "loss.png"]
