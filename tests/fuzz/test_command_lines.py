"""Odd command lines for every command: each ends in a result or in one clear line.

The commands and their flags are read from the program itself, so that a new one is tried as well.
All values are of the kinds that users, scripts and shells bring about: empty, far too large, of
another type, with control characters, paths that are folders, loops or too long. What takes time
in a valid command (steps, long samples) is cut short.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st

from tinytensor import random
from tinytensor.train import TrainConfig, Trainer, cli
from tinytensor.train.checkpoint import NAME
from tinytensor.train.cli import profile as profiling
from tinytensor.train.cli.app import app
from tinytensor.train.run import outcome
from tinytensor.train.system import signals
from tinytensor.train.tasks import writing as sampling

from ..train.helpers import TEXT, config
from .budget import budget

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
#: values that a command can take; of a flag that has none here, the hostile ones only
GOOD = {
    "data": ["text.txt", "other.txt"], "out": ["run", "new", "picture.gv"], "model": ["gpt", "rnn"],
    "config": ["run.toml"], "checkpoint": ["run", f"run/{NAME}"], "steps": ["1", "2"],
    "n_layer": ["1"], "n_head": ["1"], "n_embd": ["8"], "n_hidden": ["8"], "block_size": ["8"],
    "batch_size": ["2"], "sample_length": ["3"], "length": ["3"], "prompt": ["the"], "lr": ["0.01"],
    "text": ["the"], "input": ["the"], "beam": ["1", "2"], "task": ["text"],
    "workers": ["1"], "seed": ["1", "7"], "unknown": [""], "dropout": ["0.1"], "top_k": ["3"],
}  # fmt: skip
NUMBERS = [
    "0", "-1", "1.5", "1e3", "1_0", "2147483647", "2147483648", "4294967296", str(2**62),
    str(2**63), str(10**18), str(10**20), "9" * 400, "9" * 5000, "nan", "inf", "-inf", "1e308",
    "1e-320", "1e999", "0x10", "٣", "",
]  # fmt: skip
TEXTS = [
    "", " ", ".", "..", "~", "~/x", "~nobody-of-this-name/x", "none", "folder", "empty.txt", "loop",
    "text.txt/x", "x" * 300, "y/" * 3000, "a\tb", "a\nb", "a\x1b[31mb", "a\0b", "\udcff", "\ud800",
    "é" * 200, "-", "--", "-x", "--out", "--steps=3", "run", "run.toml", "bad.toml", "*", "[",
    "utf-8", "cp1252", "base64", "x.svg/", "x.bmp", "/dev/null", "\u202e", "gpt", "cuda",
]  # fmt: skip
DEFAULTS = {
    f.name: [str(f.metadata["default"])]
    for f in fields(TrainConfig)
    if f.metadata["default"] is not None
}
#: numbers for flags of which some would take hours, or all of the machine, and so they should
LONG = dict.fromkeys(("accumulate", "workers"), ["1", "0", "x", "nan", str(10**20)])
#: what Ctrl-C would give, had there been a signal: the training that is cut short
STOPPED = 128
counts: Counter[str] = Counter()


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command with some of its flags and arguments."""
    verb = draw(st.sampled_from(sorted(COMMANDS)))
    parts: list[list[str]] = []
    params = COMMANDS[verb].params
    some = st.lists(st.sampled_from(params), max_size=4, unique=True) if params else st.just([])
    for param in draw(some):
        if getattr(param, "is_flag", False):
            parts.append([draw(st.sampled_from([*param.opts, *param.secondary_opts]))])
            continue
        usual = GOOD.get(param.name) or DEFAULTS.get(param.name) or ["1"]
        kinds = [usual, usual, usual, LONG.get(param.name, NUMBERS), TEXTS]
        value = draw(st.sampled_from(draw(st.sampled_from(kinds))))
        if param.param_type_name == "argument":
            parts.append([value])
        elif draw(st.booleans()):
            parts.append([param.opts[0], value])
        else:
            parts.append([f"{param.opts[0]}={value}"])
        if draw(st.integers(0, 9)) == 0:
            parts.append(parts[-1])
    if verb == "train" or verb == "profile":  # small and ready to go, unless a part says otherwise
        named = " ".join(part[0] for part in parts)
        for flag, value in (("data", "text.txt"), ("out", "new"), ("n-layer", "1"), ("n-embd", "8"),
                            ("n-head", "1"), ("block-size", "8"), ("batch-size", "2"),
                            ("steps", "2")):  # fmt: skip
            known = any(f"--{flag}" in param.opts for param in COMMANDS[verb].params)
            if known and f"--{flag}" not in named and "--resume" not in named:
                parts.append([f"--{flag}", value])
    return [verb, *(word for part in parts for word in part)]


@functools.cache
def saved() -> bytes:
    """A checkpoint of two steps."""
    with tempfile.TemporaryDirectory() as name:
        Trainer(config(steps=2), TEXT, name).run()
        return (Path(name) / NAME).read_bytes()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for, a few steps and characters must do."""
    asked: Counter[int] = Counter()

    def stop(self: signals.Stop) -> bool:
        asked[id(self)] += 1
        return asked[id(self)] > 3

    stream, sample, measure = sampling.stream, Trainer.sample, profiling.measure
    monkeypatch.setattr(signals.Stop, "__bool__", stop)
    monkeypatch.setattr(outcome, "plot_losses", lambda file, *rest, **more: file)
    monkeypatch.setattr(
        sampling, "stream", lambda model, ids, n, *rest: stream(model, ids, min(n, 3), *rest)
    )
    monkeypatch.setattr(
        Trainer, "sample", lambda self: sample(self, length=min(3, self.config.sample_length))
    )
    monkeypatch.setattr(profiling, "measure", lambda config, steps: measure(config, min(steps, 1)))


writes: list[str] = []
watched: list[Path] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    """Note every file that is opened for writing, and every folder made, outside of the folder."""
    if not watched or event not in ("open", "os.mkdir", "os.rename", "os.symlink"):
        return
    path, mode = args[0], args[2] if event == "open" else os.O_CREAT
    if not isinstance(path, (str, bytes)) or not isinstance(mode, int):
        return
    if mode & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        full = os.path.abspath(os.fsdecode(path))
        if not full.startswith((str(watched[-1]), os.devnull, "/dev/")):
            writes.append(f"{event} {full}")


sys.addaudithook(_audit)


@contextlib.contextmanager
def guarded(seconds: int = 30) -> Iterator[None]:
    """Memory within limits, and an end to what hangs, where the system has such means."""

    def late(number: int, frame: Any) -> None:
        raise TimeoutError(f"still at work after {seconds} s")

    on = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if on:
        import resource

        before = signal.signal(signal.SIGALRM, late)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if sys.platform == "linux":
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + 3 * 2**30
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        signal.alarm(seconds)
    try:
        yield
    finally:
        if on:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def call(args: list[str], folder: Path) -> tuple[int, str, str]:
    """Run a command line in a folder: exit code, standard output, standard error."""
    state = random.state()
    home = {name: os.environ.get(name) for name in ("HOME", "USERPROFILE")}
    with (
        open(folder / "stdout", "w+", encoding="utf-8", errors="backslashreplace") as out,
        open(folder / "stderr", "w+", encoding="utf-8", errors="backslashreplace") as err,
        contextlib.chdir(folder / "here"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        guarded(),
    ):
        watched.append(folder)
        tempfile.tempdir = str(folder)
        os.environ.update(dict.fromkeys(home, str(folder / "home")))
        try:
            code = cli.run(args)
        except SystemExit as leaving:  # --help and --version
            code = int(leaving.code or 0)
        finally:
            watched.pop()
            tempfile.tempdir = None
            random.set_state(state)
            for name, value in home.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        return code, (out.flush(), out.seek(0), out.read())[2], (err.seek(0), err.read())[1]


def furnish(here: Path) -> None:
    """A folder with texts, a run, and what is neither."""
    for name in ("folder", "run", "empty"):
        (here / name).mkdir(parents=True)
    (here / "run" / NAME).write_bytes(saved())
    (here / "text.txt").write_text(TEXT)
    (here / "other.txt").write_text(TEXT[::-1])
    (here / "empty.txt").write_bytes(b"")
    (here / "run.toml").write_text("lr = 0.02\nsteps = 2\n")
    (here / "bad.toml").write_text('out = "C:\\new"\n')
    (here / "\udcff").write_bytes(b"\xff" * 50)
    with contextlib.suppress(OSError, NotImplementedError):
        (here / "loop").symlink_to("loop")


def refused(code: int, err: str) -> bool:
    """Whether a command said that it can't, in one line; fails where it said so otherwise."""
    assert code in (0, 1, 2, STOPPED), f"exit code {code}: {err}"
    lines = err.splitlines()
    if code in (1, 2):
        assert lines and lines[-1].startswith("tinytensor: ") and len(lines[-1]) > 20, err
        assert code == 1 or len(lines) == 1, err
        assert "Traceback" not in err and len(err) < 20_000
    return code in (1, 2)


@given(lines())
@example(["train", "--seed", "9" * 400, "--data", "text.txt"])
@example(["draw", "gpt", "--n-layer", str(10**9)])
@example(["sample", "run", "--length", str(10**20)])
@budget(120)
def test_any_command_line_ends_in_a_result_or_in_one_line(args: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        furnish(folder / "here")
        (folder / "home").mkdir()
        writes.clear()
        code, _, err = call(args, folder)
        assert not writes, writes
        there = {file.name for file in folder.iterdir()}
        if "export" in args:  # --out .. is a folder, into which it may write
            there -= {"model.safetensors", "config.json", "vocabulary.json", "load.py"}
        assert there <= {"here", "home", "stdout", "stderr"}
    counts["refused" if refused(code, err) else "done"] += 1
    counts["tried"] += 1


def test_how_many_were_tried() -> None:
    print(f"command lines: {counts['tried']} tried, {counts['refused']} refused in one line")
