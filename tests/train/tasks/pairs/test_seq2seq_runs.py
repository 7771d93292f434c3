"""Runs of encoder-decoders: the figure gets better, the picture shows where they look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor import models, random
from tinytensor.train import TrainConfig, Trainer
from tinytensor.train.tasks import TASKS, DatesTask, ReverseTask
from tinytensor.train.tasks.pairs.alignment import alignment, plot_alignments

#: small ones that learn dates in a moment
SMALL: dict[str, dict[str, Any]] = {
    "bahdanau": {"n_embd": 24, "n_hidden": 48, "steps": 180, "batch_size": 32, "lr": 1e-2},
    "transformer": {
        "n_layer": 1,
        "n_head": 4,
        "n_embd": 48,
        "norm_first": True,
        "label_smoothing": 0.0,
        "steps": 400,
        "batch_size": 32,
        "lr": 6e-3,
        "warmup": 40,
    },
}


@pytest.fixture(params=SMALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_figure_gets_better(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DatesTask, "counts", {"train": 10_000, "val": 100, "test": 300})
    config = TrainConfig(model=name, task="dates", workers=1, eval_every=1000, **SMALL[name])
    trainer = Trainer(config)
    before = trainer.task.score(trainer.model)
    assert before is not None and before.value == 0.0
    assert trainer.run()
    after = trainer.task.score(trainer.model)
    assert after is not None and after.value > 0.2, str(after)


def test_recipes_are_for_models_of_the_task() -> None:
    for task in (TASKS["dates"], TASKS["addition"], TASKS["reverse"]):
        for model, recipe in task.recipes.items():
            config = TrainConfig(model=model, task=task.name)
            for setting, value in recipe.items():
                assert getattr(config, setting) == value


@pytest.fixture
def untrained(name: str) -> Any:
    random.manual_seed(3)
    sizes = {**ReverseTask.usual_sizes, **{k: v for k, v in SMALL[name].items() if k[:2] == "n_"}}
    return models.build(name, **sizes)


def test_an_alignment(untrained: Any) -> None:
    """A row for each symbol of the answer and its end; each is a distribution over the input; and
    the same whatever the mode of the model, which draws nothing."""
    states = random.state()
    weights = alignment(untrained, [3, 4, 5], [6, 7])
    assert weights.shape == (3, 3)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-6)
    assert (weights > 0).all() and np.ptp(weights, axis=1).min() > 0
    untrained.eval()
    np.testing.assert_array_equal(alignment(untrained, [3, 4, 5], [6, 7]), weights)
    assert random.state() == states
    longer = alignment(untrained, [3, 4, 5], [6, 7, 8])
    np.testing.assert_allclose(longer[:3], weights, rtol=1e-5), "a row follows from those before"


def test_the_picture(untrained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReverseTask, "counts", {"train": 20, "val": 10, "test": 30})
    task: Any = ReverseTask(None)  # type: ignore[arg-type]
    path = task.draw(untrained, tmp_path / "reverse.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    svg = plot_alignments(tmp_path / "maps.svg", task, untrained, ["abc", "z"])
    text = svg.read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == 2, "the end of each answer has a row"
    assert "<!-- abc  →  " in text and "<!-- z  →  " in text


def test_a_model_that_writes_nothing_has_a_picture(untrained: Any, tmp_path: Path) -> None:
    """Of an empty answer, only its end is shown; hostile symbols are drawn as they are."""
    task: Any = ReverseTask(None, "$_\\^\u202e{}")  # type: ignore[arg-type]
    silent = models.build("bahdanau", vocab_size=10, block_size=13, n_embd=4, n_hidden=4)
    silent.translate = lambda source, **_: [[] for _ in source]
    path = plot_alignments(tmp_path / "a.png", task, silent, ["$_\\^\u202e{}$"])
    assert path.read_bytes().startswith(b"\x89PNG")
