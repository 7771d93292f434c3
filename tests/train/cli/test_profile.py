"""``tinytensor profile``: the steps it measures are those of training, and its figures add up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor.train import ConfigError, Trainer
from tinytensor.train.cli import profile as profiling
from tinytensor.train.cli import run

from ..helpers import SMALL, TEXT, call, config


@pytest.mark.parametrize("model", SMALL)
def test_its_step_is_the_one_of_training(model: str) -> None:
    """Bit for bit, dropout and clipping included, watched or not."""
    settings = config(model, dropout=0.2, clip=0.5)
    ours = Trainer(settings, TEXT)
    for i in range(3):
        with profiling.new_profile() as p:
            profiling.run_step(ours, p if i % 2 else None)
    theirs = Trainer(settings, TEXT)
    for _ in range(3):
        theirs.train_step()
    assert ours.step == theirs.step == 3
    for name, array in theirs.model.state_dict().items():
        np.testing.assert_array_equal(array, ours.model.state_dict()[name], err_msg=name)


def test_counts_and_products_of_a_gpt_are_exact() -> None:
    settings = config("gpt", n_layer=2)
    found = profiling.measure(settings, steps=4, text=TEXT)
    p, batch, block, n, vocab = found.profile, 3, 8, 8, 29
    assert (found.steps, len(found.plain)) == (4, 4)
    linear = p.by_op["linear"]
    assert linear.forward.calls == linear.backward.calls == 4 * (2 * 4 + 1)
    multiplied = 2 * batch * block * n * (2 * 12 * n + vocab)
    assert (linear.forward.flops, linear.backward.flops) == (4 * multiplied, 8 * multiplied)
    attention = p.by_op["self_attention"]
    assert attention.forward.flops == 4 * 2 * 2 * (2 * batch * block * block * n)
    assert attention.backward.flops == 2 * attention.forward.flops
    assert set(p.phase_ns) == set(profiling.PHASES)
    assert {name for name, entry in p.by_phase.items() if entry.total.flops} == {
        "forward", "backward",
    }  # fmt: skip
    assert p.by_phase["backward"].forward.calls == p.by_phase["forward"].backward.calls == 0
    assert p.total.total.ns + p.own_ns <= p.wall_ns
    assert 0.5 * p.wall_ns <= sum(p.phase_ns.values()) <= p.wall_ns
    assert p.modules(merge=True)["h.*.mlp.c_fc"].forward.calls == 2 * 4


def test_a_busy_machine_is_told_and_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A floor of 931% was seen. The products are measured between the steps, several times."""
    asked: list[object] = []

    def seconds(product: object, budget: float = 0.05) -> float:
        asked.append(product)
        return 9.31

    monkeypatch.setattr("tinytensor.profiling.costs.seconds_alone", seconds)
    found = profiling.measure(config("rnn"), steps=7, text=TEXT)
    assert {asked.count(product) for product in asked} == {profiling.PARTS}
    shown = profiling.tables(found)
    profiling.show(profiling.heading(found), shown, profiling.legend(shown))
    out = capsys.readouterr().out
    assert "3 blocks of 8 symbols in a step, in one process" in out
    assert "their floor cannot be told, the machine was busy" in out and "%  busy" not in out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("linear ")] == ["busy"]
    assert out.endswith("twice as long here as at best; measure again.\n")
    assert found.to_dict()["profile"]["ops"]["linear"]["forward"]["floor_seconds"] is None
    assert (found.steps, found.profile.by_op["linear"].forward.calls) == (7, 7)


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = profiling.measure(config("rnn", out="here"), steps=1, text=TEXT)
    assert list(tmp_path.iterdir()) == [] and len(found.plain) == 1
    with pytest.raises(ConfigError, match="steps: expected at least 1, got 0"):
        profiling.measure(config("rnn"), steps=0, text=TEXT)


def test_all_times_are_per_step() -> None:
    found = profiling.measure(config("lstm"), steps=3, text=TEXT)
    phases, ops, modules = profiling.tables(found)
    assert [line[0] for line in phases.rows] == list(profiling.PHASES)
    shares = [float(line[2].rstrip("%")) for line in phases.rows]
    assert 50 <= sum(shares) <= 100.3
    calls = {line[0]: line[1] for line in ops.rows}
    assert calls["lstm"] == "2" and calls["linear"] == "1"
    assert "rnn" in {line[0] for line in modules.rows}
    table = profiling.tables(found, depth=1, each_layer=True)[2]
    assert all("." not in line[0] for line in table.rows)
    for table in (phases, ops, modules):
        assert {len(line) for line in table.rows} == {1 + len(table.columns)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with a text in it."""
    (tmp_path / "text.txt").write_text(TEXT)
    return tmp_path


def small(model: str) -> list[str]:
    """Flags of a model that takes a moment."""
    sizes = {**SMALL[model], "block_size": 8, "batch_size": 3, "data": "text.txt", "steps": 2}
    return [p for k, v in sizes.items() for p in (f"--{k.replace('_', '-')}", str(v))]


@pytest.mark.parametrize("model", SMALL)
def test_from_the_command_line_in_plain_text(model: str, folder: Path) -> None:
    done = call("profile", model, *small(model), cwd=folder)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert out.startswith(f"{model}: ") and "3 blocks of 8 symbols in a step" in out
    assert "a step takes" in out and "these 2 steps" in out and out.isascii()
    for word in ("phase", "optimiser", "op ", "linear", "module", "lm_head", "floor:"):
        assert word in out, word
    assert [p.name for p in folder.iterdir()] == ["text.txt"]


def test_from_the_command_line_as_json(folder: Path) -> None:
    done = call("profile", "--json", "--n-head", "2", *small("gpt"), cwd=folder)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["config"]["model"] == "gpt" and values["config"]["n_embd"] == 8
    assert values["steps"] == len(values["plain_step_seconds"]) == 2
    assert values["profile"]["ops"]["linear"]["forward"]["calls"] == 2 * 5
    assert set(values["profile"]["phases"]) == set(profiling.PHASES)


def test_on_a_terminal_the_tables_have_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["profile", "rnn", *small("rnn")]) == 0
    out = capsys.readouterr().out
    assert "│" in out and "backward" in out and "optimiser" in out and "lm_head" in out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["mlp"], "transformer, got 'mlp'"),
        (["gpt", "--steps", "0"], "--steps"),
        (["gpt", "--lr", "1"], "--lr"),
        (["rnn", "--n-head", "2", "--data", "text.txt"], "n_head"),
        (["gpt", "--data", "none.txt"], "cannot read none.txt"),
    ],
)
def test_bad_input_is_one_clear_line(args: list[str], text: str, folder: Path) -> None:
    done = call("profile", *args, cwd=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stdout + done.stderr
    assert done.stderr.startswith("tinytensor: ") and text in done.stderr


def test_help_names_the_settings(folder: Path) -> None:
    done: Any = call("profile", "--help", cwd=folder)
    assert done.returncode == 0
    for name in ("steps", "json", "depth", "each-layer", "n-layer", "batch-size", "device"):
        assert f"--{name}" in done.stdout
    assert "--lr" not in done.stdout
    assert "profile" in call("--help", cwd=folder).stdout
