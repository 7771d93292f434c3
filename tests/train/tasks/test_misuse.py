"""What a hostile or careless user of the tasks asks for ends in one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor.train import ConfigError, DataError, TrainConfig, Trainer, checkpoint
from tinytensor.train.cli import run
from tinytensor.train.results.export import export
from tinytensor.train.results.restore import restore
from tinytensor.train.tasks import TASKS
from tinytensor.train.tasks.pairs.pairs import Pairs

from ..helpers import TEXT

#: many words, each ten times, and a few once
WORDS = " ".join(f"{word} of many." for word in "abcdefgh" * 10) + " Once upon a rare time. " * 2
SMALL: dict[str, Any] = {"steps": 1, "batch_size": 4, "workers": 1, "eval_batches": 1}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pairs, "counts", {"train": 200, "val": 20, "test": 20})


def trained(folder: Path, task: str, text: str | None = None, **settings: Any) -> Path:
    """The folder of a run of one step."""
    Trainer(TrainConfig(task=task, **{**SMALL, **settings}), text, folder).run()
    return folder


def test_a_resumed_run_keeps_its_words(tmp_path: Path) -> None:
    """The text is the same, but another min_count would give its words other ids."""
    folder = trained(tmp_path / "run", "words", WORDS, min_count=1, n_embd=4)
    before = (folder / checkpoint.NAME).read_bytes()
    with pytest.raises(DataError, match=r"vocabulary is not that of the checkpoint; min_count"):
        Trainer.resume(folder, {"min_count": 5, "steps": 2}, text=WORDS)
    assert (folder / checkpoint.NAME).read_bytes() == before
    assert Trainer.resume(folder, {"min_count": 2, "steps": 2}, text=WORDS).run()
    restore(folder)


def test_runs_of_all_tasks_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trained(tmp_path / "runs" / "a", "words", WORDS, min_count=1, n_embd=4)
    trained(tmp_path / "runs" / "b", "words", WORDS, min_count=1, n_embd=4)
    assert run(["compare"]) == 0 and "not comparable" not in capsys.readouterr().out
    trained(tmp_path / "runs" / "c", "text", TEXT, n_layer=1, n_embd=4, block_size=8)
    trained(tmp_path / "runs" / "d", "topics", n_embd=4, block_size=200)
    assert run(["compare"]) == 0 and "not comparable" in capsys.readouterr().out


ASKED = {"dates": "3 May 1998", "topics": "a function", "words": "many"}


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("task", ASKED)
def test_a_diverged_model_is_said_to_be_one(
    task: str, number: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WORDS if task == "words" else None
    own = {"min_count": 1} if task == "words" else {}
    folder = trained(tmp_path / "run", task, text, n_embd=4, **own)
    saved = checkpoint.load(folder / checkpoint.NAME)
    for array in saved.weights.values():
        array[...] = number
    checkpoint.save(folder / checkpoint.NAME, saved)
    for command in (["sample", str(folder), "--input", ASKED[task]], ["attention", str(folder)]):
        capsys.readouterr()
        assert run(command) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1, lines
        wanted = "not finite" if command[0] == "sample" or task == "dates" else "has no attention"
        assert wanted in lines[0]


def test_what_has_no_format_is_not_exported(tmp_path: Path) -> None:
    folder = trained(tmp_path / "run", "topics", n_embd=4)
    with pytest.raises(ConfigError, match=r"format: .* model 'cnn', there are formats for gpt"):
        export(folder)


def test_words_that_leave_nothing(tmp_path: Path) -> None:
    found = Trainer(TrainConfig(task="words", min_count=1, n_embd=4, **SMALL), WORDS)
    for text in ("many - many", "many - of + of - many"):
        with pytest.raises(DataError, match="nothing is left"):
            found.task.answer(found.model, text)


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("analogies", {"min_count": 100}, "min_count: expected one that '.*' reaches"),
        ("topics", {"block_size": 100_000}, "block_size: expected so few"),
    ],
)
def test_settings_that_leave_nothing_to_learn(
    task: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Trainer(TrainConfig(task=task, **SMALL, **settings))


def test_the_number_of_an_image_may_be_of_any_length() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: it has the digits")
    task = TASKS["digits"](TrainConfig(task="digits"))
    with pytest.raises(DataError, match="the test part has images 0 to"):
        task.answer(None, "9" * 5000)


def test_batches_of_images_beyond_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before they end the process: 17 numbers and more are kept for a pixel."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: it has the digits")
    monkeypatch.setattr("tinytensor.train.run.memory.machine_memory", lambda: 25 * 10**9)
    with pytest.raises(ConfigError, match="lower batch_size"):
        Trainer(TrainConfig(task="digits", **{**SMALL, "batch_size": 10_000_000}))
