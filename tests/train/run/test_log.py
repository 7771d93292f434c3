"""The log of a run: whole at every moment, of every run a line for each step, never a run's end."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train import Trainer
from tinytensor.train.results.log_file import LOG, LONGEST, kept
from tinytensor.train.run.log import Log
from tinytensor.train.system import files as writing

from ..helpers import TEXT, config


def steps(folder: Path) -> list[tuple[int, bool]]:
    """The steps of the log's lines, and whether they are of validations."""
    lines = (folder / LOG).read_text().splitlines()
    return [(entry["step"], "val_loss" in entry) for entry in map(json.loads, lines)]


def test_a_finished_run_keeps_its_last_validation(tmp_path: Path) -> None:
    Trainer(config(steps=3), TEXT, tmp_path).run()
    before = (tmp_path / LOG).read_bytes()
    assert steps(tmp_path) == [(1, False), (2, False), (3, False), (3, True)]
    Trainer.resume(tmp_path, text=TEXT).run()
    assert (tmp_path / LOG).read_bytes() == before
    Trainer.resume(tmp_path, {"steps": 4}, TEXT).run()
    assert (tmp_path / LOG).read_bytes().startswith(before)
    assert steps(tmp_path)[4:] == [(4, False), (4, True)]


def test_a_validation_that_the_checkpoint_has_not_seen_is_made_again(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text('{"step": 2, "loss": 1.0}\n{"step": 2, "val_loss": 1.0}\n')
    assert len(list(kept(tmp_path / LOG, 2, 2))) == 2
    assert list(kept(tmp_path / LOG, 2, 1)) == [b'{"step": 2, "loss": 1.0}\n']
    assert list(kept(tmp_path / LOG, 0, -1)) == list(kept(tmp_path / "none", 2, 2)) == []


def test_what_is_no_line_of_a_log_is_dropped(tmp_path: Path) -> None:
    good = [b'{"step": 1, "loss": 2.5}\n', b'{"step": 2, "val_loss": NaN, "more": [1, {"a": 2}]}\n']
    bad = [
        b"\xff\xfe\n", b"\0\0\0\n", b"\n", b"[1]\n", b"7\n", b"null\n", b'{"step": "1"}\n',
        b'{"step": 1.0}\n', b'{"step": true}\n', b'{"step": null}\n', b'{"loss": 1}\n',
        b'{"step": 4, "loss": 1}\n', b'{"step": 1, "lo\n', b"[" * 50_000 + b"\n",
        b'{"step": ' + b"9" * 5000 + b"}\n", b'{"step": 1, "a": "' + b"x" * LONGEST + b'"}\n',
        b'{"step": 1}',
    ]  # fmt: skip
    (tmp_path / LOG).write_bytes(good[0] + b"".join(bad[:8]) + good[1] + b"".join(bad[8:]))
    log = Log(tmp_path, 3, 3, pytest.fail)
    log.write(4, loss=0.5)
    log.close()
    log.close()
    assert (tmp_path / LOG).read_bytes() == b"".join(good) + b'{"step": 4, "loss": 0.5}\n'
    assert os.listdir(tmp_path) == [LOG]


def test_the_old_log_is_there_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill while it is written anew, and a full disk, leave the old one."""
    old = b"".join(b'{"step": %d, "loss": 1}\n' % step for step in range(1, 100))
    (tmp_path / LOG).write_bytes(old)
    seen = []
    with monkeypatch.context() as patch:
        real = os.fsync
        patch.setattr(os, "fsync", lambda handle: (seen.append(real(handle)), os.close(-1)))
        patch.setattr(writing, "PATIENCE", (0.001,))
        told: list[str] = []
        log = Log(tmp_path, 50, trouble=told.append)
    log.write(51, loss=1.0)
    log.close()
    assert seen == [None, None]
    assert told == [f"{LOG} cannot be written: Bad file descriptor; the run goes on without it"]
    assert (tmp_path / LOG).read_bytes() == old and os.listdir(tmp_path) == [LOG]
    Log(tmp_path, 50).close()
    assert (tmp_path / LOG).read_bytes() == b"".join(old.splitlines(keepends=True)[:50])


def test_what_a_full_disk_refuses_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk takes half a line too; those beyond a limit are left out."""
    told: list[str] = []
    log = Log(tmp_path, trouble=told.append)
    log.write(1, loss=1.0)
    real, room = os.write, [10]

    def write(handle: int, content: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(handle, bytes(content[: room[0]]))
        room[0] -= taken
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        patch.setattr(Log, "WAITING", 3)
        for step in range(2, 9):
            log.write(step, loss=1.0)
        assert (tmp_path / LOG).read_bytes() == b'{"step": 1, "loss": 1.0}\n'
    log.write(9, loss=1.0)
    log.close()
    log.write(10, loss=1.0)
    assert [at for at, _ in steps(tmp_path)] == [1, 2, 3, 4, 9]
    assert told == [
        f"{LOG} cannot be written: No space left on device; the run goes on, and tries again"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_something_else_at_its_place(tmp_path: Path, kind: str) -> None:
    """A link or a pipe is replaced, neither read nor written; a folder costs the log only."""
    victim, path = tmp_path / "victim", tmp_path / "run" / LOG
    path.parent.mkdir()
    victim.write_text('{"step": 1, "loss": 1.0}\n')
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    told: list[str] = []
    log = Log(path.parent, 2, trouble=told.append)
    log.write(3, loss=1.0)
    log.close()
    assert victim.read_text() == '{"step": 1, "loss": 1.0}\n'
    assert os.listdir(path.parent) == [LOG]
    if kind == "folder":
        assert told == [f"{LOG} cannot be written: Is a directory; the run goes on without it"]
    else:
        assert told == [] and steps(path.parent) == [(3, False)]
