"""Signals: which are noted, which stay ignored, and what comes of them at each moment of a run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinytensor import early_interrupt
from tinytensor.train import checkpoint as files
from tinytensor.train.cli import app as cli
from tinytensor.train.cli import run
from tinytensor.train.system.signals import SIGNALS, Interrupted, Stop

from ..helpers import LEAVING, ROOT, TEXT, command, environment, flags

unix = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent to a process there")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
if sys.platform != "win32":
    CODES[signal.SIGHUP] = 129


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """All handlers as they were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    after = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


def test_every_signal_that_asks_to_leave_is_noted(capfd: pytest.CaptureFixture[str]) -> None:
    assert set(CODES) <= set(SIGNALS)
    for number in SIGNALS:
        with Stop() as stop:
            assert not stop and stop.signal is None
            signal.raise_signal(number)
            assert stop and stop.signal == number
        expected = f"\n{LEAVING}\n" if number == signal.SIGINT else ""
        assert capfd.readouterr().err == expected


def test_a_second_signal_does_what_it_does_without_us() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with Stop() as stop:
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            assert seen == [] and stop.signal == signal.SIGTERM
            signal.raise_signal(signal.SIGTERM)
            assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@unix
def test_a_window_that_closes_hangs_up_twice() -> None:
    with Stop() as stop:
        for _ in range(3):
            signal.raise_signal(signal.SIGHUP)
        assert stop.signal == signal.SIGHUP


def test_what_was_ignored_stays_ignored() -> None:
    for number in SIGNALS:
        before = signal.signal(number, signal.SIG_IGN)
        try:
            with Stop() as stop, stop.at_once():
                signal.raise_signal(number)
                assert not stop
            assert signal.getsignal(number) is signal.SIG_IGN
        finally:
            signal.signal(number, before)


def test_where_nothing_is_to_be_saved_a_signal_leaves_at_once() -> None:
    for number in SIGNALS:
        with Stop() as stop:
            with pytest.raises(Interrupted) as caught, stop.at_once():
                signal.raise_signal(number)
            assert caught.value.signal == number
        with Stop() as stop:
            with stop.at_once():
                pass
            signal.raise_signal(number)
            assert stop


class Raising:
    """Stands for whatever takes long."""

    def __init__(self, number: signal.Signals):
        self.number = number

    def __call__(self, *args: object, **more: object) -> None:
        signal.raise_signal(self.number)

    def __getattr__(self, name: str) -> None:
        self()


@unix
@pytest.mark.parametrize("number", CODES)
def test_a_signal_while_a_text_is_read(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Or a model built, or a checkpoint read."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    arguments = ["train", "--data", "text.txt", "--out", "run", *flags(steps=1)]
    assert run(arguments) == 0
    before = (tmp_path / "run" / files.NAME).read_bytes()
    capsys.readouterr()
    from tinytensor.train.data import corpus
    from tinytensor.train.run import trainer

    for module, where in ((corpus, "TextFiles"), (trainer, "build"), (trainer, "restore")):
        with monkeypatch.context() as patch:
            patch.setattr(module, where, Raising(number))
            word = "--resume" if where == "restore" else "--overwrite"
            again = arguments[:5] + [word] if where == "restore" else [*arguments, word]
            assert run(again) == CODES[number], where
        name = signal.Signals(number).name
        expected = "interrupted" if number == signal.SIGINT else f"ended by {name}"
        assert capsys.readouterr().err.strip() == f"tinytensor: {expected}", where
    assert (tmp_path / "run" / files.NAME).read_bytes() == before


def start(folder: Path, steps: int, *more: str) -> subprocess.Popen[str]:
    """A run that has begun to print steps."""
    settings = flags(steps=steps, log_every=5)
    arguments = command("train", "--data", "text.txt", "--out", "run", *settings)
    process = subprocess.Popen(
        [*more, *arguments], cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            return process
    raise AssertionError(process.communicate())


@unix
def test_a_hang_up_saves(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    process = start(tmp_path, 100_000)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (129, "")
    found = re.search(r"stopped at step (\d+) of 100000, all is saved", out)
    assert found is not None and files.load(tmp_path / "run").meta["step"] == int(found[1])


@unix
def test_nohup_and_a_shells_background_run_go_on(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    process = start(tmp_path, 400, "sh", "-c", 'trap "" INT HUP; exec "$0" "$@"')
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "") and "stopped" not in out
    assert files.load(tmp_path / "run").meta["step"] == 400


PROBE = """
import signal, sys
{before}
import tinytensor
from tinytensor import early_interrupt
print(early_interrupt.is_command_line(), signal.getsignal(signal.SIGINT) is {expected})
"""


def probe(path: Path, *arguments: str, before: str = "", expected: str) -> str:
    """What a program called ``path`` finds after it has imported the package."""
    path.write_text(PROBE.format(before=before, expected=expected))
    return subprocess.run(
        [sys.executable, path, *arguments], env=environment(), capture_output=True, text=True
    ).stdout.strip()


def test_importing_the_package_touches_no_signal(tmp_path: Path) -> None:
    untouched = "signal.default_int_handler"
    assert probe(tmp_path / "other.py", "tinytensor", expected=untouched) == "False True"
    assert not early_interrupt.is_command_line()
    if sys.platform != "win32":
        script = tmp_path / "tinytensor"
        assert probe(script, "info", expected="early_interrupt._leave") == "True True"
        ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
        assert probe(script, before=ignored, expected="signal.SIG_IGN") == "True True"


@pytest.mark.parametrize(
    ("started", "arguments", "right"),
    [
        (["python", "-m", "tinytensor", "info"], ["-m", "info"], True),
        (["python", "-X", "dev", "-Im", "tinytensor"], ["-m"], True),
        (["python", "-mtinytensor", "-m"], ["-m", "-m"], True),
        (["python", "/usr/bin/tinytensor", "train"], ["/usr/bin/tinytensor", "train"], True),
        (["python", "-m", "pytest", "tinytensor"], ["-m", "tinytensor"], False),
        (["python", "-m", "pytest", "tinytensor"], ["/x/pytest/__main__.py", "tinytensor"], False),
        (["python", "-c", "import tinytensor", "tinytensor"], ["-c", "tinytensor"], False),
        (["python", "my.py", "-m", "tinytensor"], ["my.py", "-m", "tinytensor"], False),
        (["python"], [""], False),
        (["python"], [], False),
        (["python"], ["a", "b", "c"], False),
    ],
)
def test_which_process_is_the_command_line(
    started: list[str], arguments: list[str], right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", started)
    monkeypatch.setattr(sys, "argv", arguments)
    assert early_interrupt.is_command_line() == right


@unix
def test_ctrl_c_while_the_command_line_is_imported_is_one_line(tmp_path: Path) -> None:
    """Sent from within, at the first line of a module that the command line imports."""
    for name in ("numpy", "typer", "threadpoolctl"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
        )
        env = {**environment(), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        done = subprocess.run(command("info"), env=env, cwd=tmp_path, capture_output=True,
                              text=True, timeout=60)  # fmt: skip
        assert (done.returncode, done.stdout) == (130, ""), done.stderr
        assert done.stderr == "tinytensor: interrupted\n", name
        (tmp_path / name / "__init__.py").unlink()
        (tmp_path / name).rmdir()


def test_ctrl_c_in_a_command_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["tinytensor.train.cli.info"], "environment_facts", interrupt)
        assert run(["info"]) == 130
        assert capsys.readouterr().err == "tinytensor: interrupted\n"
    monkeypatch.setattr(cli, "app", lambda **_: interrupt())
    assert run(["info"]) == 130
    assert capsys.readouterr().err == "tinytensor: interrupted\n"
