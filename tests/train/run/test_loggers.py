"""Logs for spreadsheets and TensorBoard: each step once, however often a run was stopped."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor.train import ConfigError, TrainConfig, Trainer
from tinytensor.train.results.log_file import LOG, entries
from tinytensor.train.run import loggers
from tinytensor.train.run.log import Log
from tinytensor.train.run.loggers import COLUMNS, CSV, EVENTS, TAGS, CsvLog, Logs

from ..helpers import TEXT, config

needs_tensorboard = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None,
    reason="the package tensorboard is not installed: pip install tensorboard",
)
KINDS = ["csv", pytest.param("tensorboard", marks=needs_tensorboard)]


def csv_numbers(folder: Path) -> dict[str, dict[int, float]]:
    """column -> step -> number of a log.csv."""
    with open(folder / CSV, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    assert len(set(steps)) == len(steps), "each step once"
    assert steps == sorted(steps)
    return {
        name: {step: float(row[name]) for step, row in zip(steps, rows) if row[name] != ""}
        for name in COLUMNS[1:]
    }


def tensorboard_numbers(folder: Path) -> dict[str, dict[int, float]]:
    """The same out of TensorBoard's files, read by TensorBoard itself."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder / EVENTS), size_guidance={"tensors": 0, "scalars": 0})
    found.Reload()
    known = set(found.Tags()["scalars"]) | set(found.Tags()["tensors"])
    numbers: dict[str, dict[int, float]] = {}
    for name, tag in TAGS.items():
        events = found.Scalars(tag) if tag in known else []
        steps = [event.step for event in events]
        assert steps == sorted(set(steps)), "each step once"
        times = [event.wall_time for event in events]
        assert times == sorted(times)
        numbers[name] = {event.step: event.value for event in events}
    return numbers


READERS: dict[str, Callable[[Path], dict[str, dict[int, float]]]] = {
    "csv": csv_numbers,
    "tensorboard": tensorboard_numbers,
}


def expected(folder: Path) -> dict[str, dict[int, float]]:
    """The same out of log.jsonl."""
    numbers: dict[str, dict[int, float]] = {name: {} for name in COLUMNS[1:]}
    for line in (folder / LOG).read_text().splitlines():
        entry = json.loads(line)
        step = entry.pop("step")
        for name, value in entry.items():
            numbers[name][step] = value
    return numbers


def same(found: dict[str, dict[int, float]], folder: Path, kind: str) -> None:
    """Assert that a log holds what log.jsonl does."""
    wanted = expected(folder)
    assert {name: set(values) for name, values in found.items()} == {
        name: set(values) for name, values in wanted.items()
    }
    for name, values in wanted.items():
        for step, value in values.items():
            close = 0.0 if kind == "csv" else 1e-6  # TensorBoard keeps float32
            np.testing.assert_allclose(found[name][step], value, rtol=close)


@pytest.mark.parametrize("kind", KINDS)
def test_it_holds_the_numbers_of_the_run(kind: str, tmp_path: Path) -> None:
    trainer = Trainer(config(log=kind, eval_every=5), TEXT, tmp_path)
    trainer.run()
    found = READERS[kind](tmp_path)
    assert list(found["loss"]) == list(range(1, 13)) and list(found["val_loss"]) == [5, 10, 12]
    np.testing.assert_allclose(list(found["loss"].values()), trainer.history.train, rtol=1e-6)
    same(found, tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_continues_it_without_repeating_a_step(kind: str, tmp_path: Path) -> None:
    settings = config(log=kind, eval_every=5, checkpoint_every=4, steps=12)
    trainer = Trainer(settings, TEXT, tmp_path)

    def killed() -> None:
        raise KeyboardInterrupt

    trainer.report.step = lambda t: killed() if t.step == 7 else None  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert max(expected(tmp_path)["loss"]) == 7  # and the checkpoint is of step 4
    Trainer.resume(tmp_path, text=TEXT).run()
    found = READERS[kind](tmp_path)
    assert list(found["loss"]) == list(range(1, 13)) and list(found["val_loss"]) == [5, 10, 12]
    same(found, tmp_path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_may_begin_later_to_keep_it(kind: str, tmp_path: Path) -> None:
    Trainer(config(steps=6), TEXT, tmp_path).run()
    Trainer.resume(tmp_path, {"steps": 9, "log": kind}, TEXT).run()
    found = READERS[kind](tmp_path)
    assert list(found["loss"]) == list(range(1, 10))
    same(found, tmp_path, kind)


@needs_tensorboard
def test_all_of_them_at_once_and_none_any_more(tmp_path: Path) -> None:
    Trainer(config(steps=3, log=" tensorboard, csv "), TEXT, tmp_path).run()
    assert len(list((tmp_path / EVENTS).iterdir())) == 1
    for kind, read in READERS.items():
        same(read(tmp_path), tmp_path, kind)
    resumed = Trainer.resume(tmp_path, {"steps": 4, "log": "jsonl"}, TEXT)
    resumed.run()
    assert len(expected(tmp_path)["loss"]) == 4 and len(csv_numbers(tmp_path)["loss"]) == 3


def test_the_setting_is_checked() -> None:
    assert TrainConfig().log == "jsonl"
    assert TrainConfig(log="csv").log == "jsonl,csv"
    assert TrainConfig(log="tensorboard,csv,csv").log == "jsonl,csv,tensorboard"
    for value in ("xml", "csv,", "", "csv tensorboard"):
        with pytest.raises(ConfigError, match="log: expected jsonl, csv, tensorboard, or some"):
            TrainConfig(log=value)


def test_a_missing_tensorboard_is_said_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="log: tensorboard needs.*; pip install tensorboard$"):
        Trainer(config(log="csv,tensorboard"), TEXT, tmp_path)
    assert list(tmp_path.iterdir()) == []


class Failing:
    """A log that fails at one of its calls."""

    def __init__(self, at: str):
        self.at = at

    def write(self, step: int, **values: Any) -> None:
        if self.at == "write" and step == 3:
            raise OSError(28, "No space left on device")

    def close(self) -> None:
        if self.at == "close":
            raise RuntimeError("broken")


@pytest.mark.parametrize("at", ["open", "write", "close"])
def test_a_failing_log_is_said_once_and_costs_nothing(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(folder: Path) -> Failing:
        if at == "open":
            raise PermissionError(13, "Permission denied")
        return Failing(at)

    monkeypatch.setitem(loggers.MORE, "csv", make)
    assert Trainer(config(log="csv"), TEXT, tmp_path).run()
    said = capsys.readouterr().err
    assert said.count("the csv log cannot be written: ") == 1 and said.count("\n") == 1
    assert len(expected(tmp_path)["loss"]) == 12


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symlinks")
def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / CSV).symlink_to(outside)
    Trainer(config(log="csv"), TEXT, run).run()
    assert outside.read_text() == "mine" and len(csv_numbers(run)["loss"]) == 12


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symlinks")
def test_a_planted_folder_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    elsewhere.mkdir()
    run.mkdir()
    (elsewhere / "events.out.tfevents.1").write_text("mine")
    (run / EVENTS).symlink_to(elsewhere)
    assert Trainer(config(log="tensorboard"), TEXT, run).run()
    assert [p.name for p in elsewhere.iterdir()] == ["events.out.tfevents.1"]
    said = capsys.readouterr().err
    assert f"cannot be written: {run / EVENTS} is a link" in said and said.count("\n") == 1
    Trainer(config(), TEXT, run).run()
    assert (elsewhere / "events.out.tfevents.1").read_text() == "mine"


def test_logs_of_the_run_before_do_not_stay_beside_a_new_one(tmp_path: Path) -> None:
    Trainer(config(log="csv"), TEXT, tmp_path).run()
    events = tmp_path / EVENTS
    events.mkdir()
    (events / "events.out.tfevents.1.host.2.0").touch()
    Trainer.resume(tmp_path, {"steps": 14, "log": "jsonl"}, TEXT).run()
    assert (tmp_path / CSV).is_file() and events.is_dir()  # they are this run's, as far as they go
    Trainer(config(), TEXT, tmp_path).run()
    assert not (tmp_path / CSV).exists() and not events.exists()
    (tmp_path / CSV).write_text("a table of the user's\n")
    events.mkdir()
    (events / "notes").touch()
    Trainer(config(), TEXT, tmp_path).run()
    assert (tmp_path / CSV).is_file() and (events / "notes").is_file()


def test_a_log_of_strange_bytes_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    good = b'{"step": 1, "loss": 2.5, "lr": NaN, "note": "x"}\n'
    strange = [b"\xff\xfe\n", b"[1]\n", b'{"loss": 1}\n', b'{"step": "2"}\n', b"\0\n", b"[" * 9999,
               b'\n{"step": 1e99}\n', b'{"step": -1}\n', b"x" * (1 << 17) + b"\n"]  # fmt: skip
    half = b'{"step": 2, "loss": 2.25}\n{"step": 3, "lo'
    (tmp_path / LOG).write_bytes(b"".join([good, *strange, half]))
    found = list(entries(tmp_path / LOG))
    assert [step for step, _ in found] == [1, 2]
    assert found[0][1]["loss"] == 2.5 and math.isnan(found[0][1]["lr"])
    assert list(entries(tmp_path / "none")) == []
    log = CsvLog(tmp_path)
    log.write(3, loss=2.0)
    log.write(3, val_loss=math.inf)
    log.close()
    assert (tmp_path / CSV).read_text().splitlines()[1:] == [
        "1,2.5,nan,,,", "2,2.25,,,,", "3,2.0,,,,inf",
    ]  # fmt: skip


def test_without_more_logs_only_the_first_is_written(tmp_path: Path) -> None:
    logs = Logs(Log(tmp_path, 0), [], tmp_path, print)
    logs.write(1, loss=2.0)
    logs.close()
    assert [p.name for p in tmp_path.iterdir()] == [LOG]
