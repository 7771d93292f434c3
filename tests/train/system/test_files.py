"""Files that are the old one or the whole new one: faults that pass, full disks, planted links."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tinytensor.train.system import files
from tinytensor.train.system.files import lines, open_regular, remove_leftovers, write_atomically

from ..helpers import environment

unix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")


def put(content: bytes) -> Any:
    return lambda file: file.write(content)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("where", ["replace", "fsync"])
def test_what_fails_once_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, number: int
) -> None:
    """A virus scanner has the file open for a moment."""
    path, real, tries = tmp_path / "file", getattr(os, where), []
    path.write_bytes(b"old")

    def once(*args: Any) -> Any:
        tries.append(args)
        if len(tries) == 1:
            raise OSError(number, os.strerror(number))
        return real(*args)

    monkeypatch.setattr(files, "PATIENCE", (0.001, 0.001))
    monkeypatch.setattr(os, where, once)
    assert write_atomically(path, put(b"new")) == path
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]
    assert len(tries) >= 2


def test_the_last_failure_is_raised_and_what_does_not_pass_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tries = tmp_path / "file", []
    path.write_bytes(b"old")
    monkeypatch.setattr(files, "PATIENCE", (0.001, 0.001))
    for number, expected in ((errno.ENOSPC, 3), (errno.EROFS, 1)):

        def full(file: BinaryIO, number: int = number) -> None:
            tries.append(file)
            file.write(b"half")
            raise OSError(number, os.strerror(number))

        tries.clear()
        with pytest.raises(OSError) as caught:
            write_atomically(path, full)
        assert caught.value.errno == number and len(tries) == expected
        assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", put(b""))
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    assert os.listdir(tmp_path) == ["file"]


@unix
def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", put(b""))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@unix
def test_planted_links_and_pipes_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    write_atomically(path, put(b"new"))
    assert not path.is_symlink() and path.read_bytes() == b"new"
    # even a name that could be guessed
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "0" * 16)
    planted = tmp_path / f".file.{'0' * 16}.tmp"
    planted.symlink_to(victim)
    monkeypatch.setattr(files, "PATIENCE", ())
    with pytest.raises(FileExistsError):
        write_atomically(path, put(b"newer"))
    assert planted.is_symlink() and path.read_bytes() == b"new"
    assert victim.read_bytes() == b"precious"
    os.mkfifo(tmp_path / "pipe")
    for name in (planted.name, "pipe"):
        for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND):
            with pytest.raises(OSError):
                open_regular(tmp_path / name, flags)
        with pytest.raises(OSError):
            list(lines(tmp_path / name, 10))


def test_lines_are_read_one_by_one_and_long_ones_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(
        b"one\n" + b"x" * 1000 + b"\ntwo\n\n" + b"y" * 9 + b"\n" + b"z" * 11 + b"\nend"
    )
    assert list(lines(path, 10)) == [b"one\n", b"two\n", b"\n", b"yyyyyyyyy\n", b"end"]
    path.write_bytes(b"")
    assert list(lines(path, 10)) == []


def test_leftovers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".a.12.tmp", ".b.34.tmp", ".c.1.tmp", "a.tmp", "a"):
        (tmp_path / name).touch()
    (tmp_path / ".a.dir.tmp").mkdir()
    remove_leftovers(tmp_path, ["a", "b"])
    assert sorted(os.listdir(tmp_path)) == [".a.dir.tmp", ".c.1.tmp", "a", "a.tmp"]


FULL = """
import sys, pathlib, resource
from tinytensor.train.system import files
files.PATIENCE = (0.01,)
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
path = pathlib.Path(sys.argv[1]) / "file"
files.write_atomically(path, lambda file: file.write(b"a" * 150_000))
try:
    files.write_atomically(path, lambda file: file.write(b"b" * 250_000))
except OSError as error:
    print(error.errno)
print(len(path.read_bytes()), path.read_bytes()[:1], len(list(path.parent.iterdir())))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts and limits of Linux")
@pytest.mark.parametrize("how", ["limit", "disk"])
def test_a_disk_that_is_really_full(tmp_path: Path, how: str) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tinytensor", str(tmp_path)]
    if how == "disk" and (
        os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0
    ):
        pytest.skip("only root can make a small disk here")
    try:
        done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path), how], env=environment(),
                              capture_output=True, text=True, timeout=60)  # fmt: skip
    finally:
        if how == "disk":
            subprocess.run(["umount", str(tmp_path)], check=True)
    number = errno.ENOSPC if how == "disk" else errno.EFBIG
    assert done.stdout.splitlines() == [str(number), "150000 b'a' 1"], done.stderr
