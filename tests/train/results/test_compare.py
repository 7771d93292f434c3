"""``tinytensor compare``: runs side by side."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor.train import CheckpointError, Trainer, checkpoint
from tinytensor.train.cli import run
from tinytensor.train.results import compare
from tinytensor.train.results.log_file import LOG

from ..helpers import TEXT, config


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder runs/ with three of them."""
    root = tmp_path_factory.mktemp("here")
    for name, settings in {
        "gpt": config("gpt", eval_every=5, steps=60),
        "gpt-2": config("gpt", eval_every=5, steps=12, lr=3e-3, dropout=0.1),
        "gpt-10": config("lstm", eval_every=5, steps=12),
    }.items():
        Trainer(settings, TEXT, root / "runs" / name).run()
    return root


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Inside of a copy of it."""
    import shutil

    shutil.copytree(made / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(out: str) -> dict[str, list[str]]:
    """fact -> the cells of each run, of a table with a column for each run."""
    rows = [line.split("  ") for line in out.split("\n\n")[0].splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    return {name: values for name, *values in cells}


def test_the_numbers_are_those_of_the_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\n\nloss curves: compare.png\n") and out.isascii()
    found = table(out)
    assert found["run"] == ["runs/gpt", "runs/gpt-2", "runs/gpt-10"], "in natural order"
    assert found["model"] == ["gpt", "gpt", "lstm"]
    assert found["data"] == ["default text"] * 3 and found["steps"] == ["60", "12", "12"]
    for i, name in enumerate(["gpt", "gpt-2", "gpt-10"]):
        trainer = Trainer.resume(here / "runs" / name, text=TEXT)
        history = trainer.history
        assert found["parameters"][i] == f"{trainer.model.num_parameters():,}"
        assert found["train loss"][i] == f"{np.mean(history.train[-50:]):.4f}"
        assert found["last val loss"][i] == f"{history.val[-1][1]:.4f}"
        step, best = min(history.val, key=lambda pair: pair[1])
        assert (found["best val loss"][i], found["at step"][i]) == (f"{best:.4f}", str(step))
        lines = (here / "runs" / name / LOG).read_text().splitlines()
        seconds = sum(json.loads(line).get("seconds", 0.0) for line in lines)
        assert found["time"][i] == f"{seconds:.1f} s"
        speed = float(found["tokens/s"][i].replace(",", ""))
        assert speed == pytest.approx(3 * 8 * len(history.train) / seconds, rel=1e-3, abs=1)
    differ = dict(list(found.items())[11:])
    assert differ == {
        "n_embd": ["8", "8", "6"],
        "n_layer": ["1", "1", "2"],
        "dropout": ["0", "0.1", "0"],
        "lr": ["0.01", "0.003", "0.01"],
    }
    from matplotlib.image import imread

    assert imread(here / "compare.png")[..., :3].std() > 0.01


def test_runs_may_be_named_in_any_way(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"runs/gpt/{checkpoint.NAME}"
    assert run(["compare", "runs/gpt-2", file, "runs/gpt", "--out", "a.svg"]) == 0
    out = capsys.readouterr().out
    assert table(out)["run"] == ["runs/gpt-2", "runs/gpt"], "each once, in the order given"
    assert (here / "a.svg").read_text().count("runs/gpt") == 2
    (here / file).rename(here / "other.safetensors")
    assert run(["compare", "other.safetensors", "runs"]) == 0
    found = table(capsys.readouterr().out)
    assert found["run"] == ["other.safetensors", "runs/gpt-2", "runs/gpt-10"]
    assert found["time"][0] == found["tokens/s"][0] == "-", "its log is elsewhere"


def test_many_runs_stand_below_each_other(here: Path) -> None:
    runs = compare.read(here / "runs" / "gpt" / checkpoint.NAME)
    facts = compare.facts([runs] * 6)
    assert {len(values) for values in facts.values()} == {6} and "lr" not in facts


def test_on_a_terminal_the_table_has_lines(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for columns in ("100", "30"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["compare", "runs", "runs/gpt"]) == 0
        out = capsys.readouterr().out
        assert "│" in out and "lstm" in out


def test_other_texts_are_not_comparable(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Trainer(config(steps=1), TEXT + "!", "runs/more").run()
    Trainer(config(steps=1), TEXT[::-1], "runs/turned").run()
    assert run(["compare", "runs/gpt", "runs/more"]) == 0
    assert "have different vocabularies, so their losses are not comp" in capsys.readouterr().out
    assert run(["compare", "runs/gpt", "runs/turned"]) == 0
    assert "read different texts, so their losses are not comp" in capsys.readouterr().out
    assert run(["compare", "runs/gpt", "runs/gpt-2"]) == 0
    assert "comparable" not in capsys.readouterr().out


def test_a_vocabulary_may_be_a_list_or_a_dict(here: Path) -> None:
    """As those of words and of classes are."""
    one = compare.read(here / "runs" / "gpt" / checkpoint.NAME)
    words, topics = (replace(one, symbols=symbols) for symbols in (["a"], {"classes": ["a"]}))
    for other in (words, topics):
        assert compare.warnings([other, other]) == []
        assert "different vocabularies" in compare.warnings([one, other])[0]


def test_a_missing_or_damaged_run_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(*args: str) -> str:
        assert run(["compare", *args]) == 2
        said = capsys.readouterr()
        assert said.err.count("\n") == 1 and not said.out
        return said.err

    assert "run: there is none at runs/none" in error("runs/gpt", "runs/none")
    (here / "empty").mkdir()
    assert "there is no checkpoint in empty, nor in a folder in it" in error("empty")
    (here / "runs/gpt-2" / checkpoint.NAME).write_bytes(b"x" * 100)
    assert f"runs/gpt-2/{checkpoint.NAME} is truncated, damaged" in error("runs/gpt", "runs/gpt-2")
    assert run(["compare"]) == 0
    said = capsys.readouterr()
    assert table(said.out)["run"] == ["runs/gpt", "runs/gpt-10"]
    assert said.err.startswith("note: left out: checkpoint: runs/gpt-2/")
    assert "out: cannot write nowhere/a.png" in error("runs/gpt", "--out", "nowhere/a.png")
    assert "out: a.foo: Format 'foo' is not" in error("runs/gpt", "--out", "a.foo")


@pytest.mark.parametrize(
    "change",
    [
        {"config": None},
        {"config": [1]},
        {"model": "gpt"},
        {"model": {"name": 3, "config": {}}},
        {"model": {"name": "gpt", "config": 7}},
        {"step": "12"},
        {"step": -1},
        {"symbols": None},
    ],
)
def test_damaged_settings_are_one_clear_error(change: dict[str, Any], here: Path) -> None:
    file = here / "runs" / "gpt-2" / checkpoint.NAME
    saved = checkpoint.load(file)
    saved.meta.update(change)
    checkpoint.save(file, saved)
    with pytest.raises(CheckpointError, match="damaged settings"):
        compare.read(file)


def test_odd_values_and_a_broken_log_do_no_harm(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here / "runs" / "gpt-2" / checkpoint.NAME
    saved = checkpoint.load(file)
    saved.meta["config"] |= {"steps": "many", "batch_size": 2.5, "data": {"a": 1}, "lr": [1]}
    checkpoint.save(file, saved)
    log = here / "runs" / "gpt" / LOG
    log.write_bytes(b"\xff\n{" + log.read_bytes() + b'{"step": 3, "seconds": "x"}\n{"st')
    assert run(["compare", "runs"]) == 0
    found = table(capsys.readouterr().out)
    assert found["train loss"][1] != "-" and found["best val loss"][1] != "-"
    assert found["time"][0] == "-" and found["tokens/s"][0] != "-", "one of its lines is lost"


def test_losses_that_are_no_numbers_are_damage(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here / "runs" / "gpt-2" / checkpoint.NAME
    saved = checkpoint.load(file)
    saved.history["train"][3] = math.nan
    checkpoint.save(file, saved)
    assert run(["compare", "runs"]) == 0
    out, err = capsys.readouterr()
    assert "note: left out: checkpoint: runs/gpt-2/" in err.replace("\\", "/")
    assert "gpt-2" not in out


def test_times_are_shown_as_people_write_them() -> None:
    shown = [compare.duration(seconds) for seconds in (0.04, 59.94, 60, 245.4, 3599.6, 7325)]
    assert shown == ["0.0 s", "59.9 s", "1:00", "4:05", "1:00:00", "2:02:05"]
