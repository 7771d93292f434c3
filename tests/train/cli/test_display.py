"""The bar of a run, on real terminals (ptys) of every kind, and on one that is closed."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tinytensor.train import checkpoint as files
from tinytensor.train.system.bar import BarLine

from ..helpers import TEXT, command, environment

if sys.platform == "win32":
    pytest.skip("Windows has no ptys", allow_module_level=True)
import pty
import termios

FIELDS = {"loss": "loss 2.345", "val": "val 2.456", "speed": "12,345 tok/s", "left": "1:05 left"}
SMALL = ["--n-layer", "1", "--n-head", "1", "--n-embd", "4", "--block-size", "4", "--batch-size",
         "2", "--sample-length", "20", "--log-every", "50"]  # fmt: skip


def test_the_two_parts_of_a_bar_differ_in_shape_and_colour() -> None:
    for done in (0, 1, 50, 99, 100):
        line = BarLine(done, 100, FIELDS).text(100)
        bar = re.search("[━─]+", line.plain)
        assert bar is not None and bar[0].count("━") == done * len(bar[0]) // 100
        assert ("─" in bar[0]) == (done < 100) and ("━" in bar[0]) == (done >= 50)
        styles = {line.plain[span.start]: str(span.style) for span in line.spans}
        assert styles.get("━", "green") == "green" and styles.get("─", "dim") == "dim"


@pytest.mark.parametrize(
    ("width", "right"),
    [
        (78, "step  50/100 ━━━━━━━━━━─────────── loss 2.345 val 2.456 12,345 tok/s 1:05 left"),
        (60, "step  50/100 ━━━━━━━━──────── loss 2.345 val 2.456 1:05 left"),
        (44, "step  50/100 ━━━━━───── loss 2.345 1:05 left"),
        (40, "step  50/100 ━━━━──── loss 2.345 1:05 left"),
        (27, "50/100 loss 2.345 1:05 left"),
        (20, "50/100 loss 2.345"),
        (16, "50/100 ━━━━─────"),
        (8, "50/100"),
        (3, "50/"),
        (1, "5"),
    ],
)
def test_a_narrow_line_keeps_what_matters(width: int, right: str) -> None:
    line = BarLine(50, 100, FIELDS).text(width)
    assert line.cell_len <= width
    assert re.sub("[━─]+", "━", line.plain) == re.sub("[━─]+", "━", right)


def test_a_field_that_nobody_knows_goes_first() -> None:
    more = {**FIELDS, "state": "validating 34%"}
    assert BarLine(1, 2, more).text(100).plain.endswith("1:05 left validating 34%")
    assert "validating" not in BarLine(1, 2, more).text(75).plain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with a text in it."""
    (tmp_path / "text.txt").write_text(TEXT)
    return tmp_path


class Window:
    """A terminal with a program in it."""

    def __init__(self, folder: Path, columns: int, arguments: list[str], env: dict[str, str]):
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, env)
        self.resize(columns)

    def resize(self, columns: int) -> None:
        """Give it another width."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, until: Callable[[bytes], bool] = lambda raw: False) -> bytes:
        """All that it shows, to the program's end or until something is seen."""
        end = time.monotonic() + 60
        while not until(self.raw) and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.raw += os.read(self.fd, 65536)
                except OSError:  # Linux says so at the end
                    break
        return self.raw

    def wait(self) -> int:
        """The program's exit code."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def window(folder: Path, steps: int, columns: int = 80, **env: str) -> Window:
    """A run in a terminal."""
    start = command("train", "--data", "text.txt", "--out", "run", "--steps", steps, *SMALL)
    base = {k: v for k, v in environment().items() if k not in ("COLUMNS", "COLORTERM", "NO_COLOR")}
    return Window(folder, columns, start, {**base, "PYTHONIOENCODING": "utf-8", **env})


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., Window]]:
    """Makes windows, and closes them."""
    made: list[Window] = []

    def make(*arguments: object, **env: str) -> Window:
        made.append(window(folder, *arguments, **env))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        os.close(one.fd)


def test_a_dumb_terminal_gets_lines(opened: Callable[..., Window]) -> None:
    run = opened(100, TERM="dumb")
    out = run.read().decode()
    assert run.wait() == 0
    assert re.search(r"step +50  loss .*\r\nstep +100  loss .*\r\nstep +100  validation", out), out
    assert "\x1b" not in out


@pytest.mark.parametrize("env", [{"TERM": "xterm"}, {"TERM": "xterm", "NO_COLOR": "1"},
                                 {"TERM": "linux", "PYTHONIOENCODING": "ascii"}])  # fmt: skip
def test_a_bar_on_sixteen_colours_on_none_and_in_ascii(
    env: dict[str, str], opened: Callable[..., Window]
) -> None:
    run = opened(300, **env)
    out = run.read().decode()
    assert run.wait() == 0 and "Traceback" not in out
    full, empty = ("=", "-") if "PYTHONIOENCODING" in env else ("━", "─")
    color = "" if "NO_COLOR" in env else "\x1b[32m"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out)
    last = plain.rpartition("step 300/300 ")[2]
    assert last.startswith(full * 20) and empty not in last.partition(" loss")[0]
    assert re.search(f"step   0/300 {empty}{{20,}} loss - val - - tok/s - left", plain), plain[:999]
    assert f"step 300/300 {color}{full}" in out
    assert not re.search(r"\x1b\[[0-9;]*[34]8;[25];", out), "no colour beyond the sixteen"
    if "NO_COLOR" in env:
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", out)


def test_a_narrow_window_that_is_resized(opened: Callable[..., Window]) -> None:
    run = opened(800, 20, TERM="xterm")
    run.read(lambda raw: b"0/800" in raw)
    run.resize(120)
    out = run.read().decode()
    assert run.wait() == 0 and "Traceback" not in out
    assert " tok/s" not in out.partition("800")[2][:60] and " tok/s" in out


@pytest.mark.parametrize("ignored", [True, False])
def test_a_window_that_is_closed(ignored: bool, folder: Path) -> None:
    """After ``disown`` or ``nohup`` the run goes on to its end; else it is saved."""
    start = command("train", "--data", "text.txt", "--out", "run", "--steps", 800, *SMALL)
    if ignored:
        start = ["sh", "-c", 'trap "" HUP; exec "$0" "$@"', *start]
    run = Window(folder, 80, start, {**environment(), "TERM": "xterm"})
    run.read(lambda raw: re.search(rb"step [1-9]\d*/", raw) is not None)
    os.close(run.fd)
    code = run.wait()
    step = files.load(folder / "run").meta["step"]
    if ignored:
        assert (code, step) == (0, 800)
        assert (folder / "run" / "loss.png").stat().st_size > 0
    else:
        assert code == 129 and 0 < step < 800
