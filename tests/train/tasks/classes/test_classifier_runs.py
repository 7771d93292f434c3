"""Short runs of the classifiers: their figures get better, and their recipes are settings."""

from __future__ import annotations

from typing import Any

import pytest

from tinytensor.train import TrainConfig, Trainer
from tinytensor.train.tasks import TASKS

#: a moment of each, and the accuracy that it reaches at least; a guess reaches 0.25 and 0.1
SHORT: dict[str, tuple[str, dict[str, Any], float]] = {
    "topics": ("cnn", {"steps": 240, "warmup": 20, "lr": 4e-3}, 0.4),
    "digits": ("image_cnn", {"steps": 120, "warmup": 20, "batch_size": 32}, 0.85),
}


@pytest.mark.parametrize("task", SHORT)
def test_the_figure_gets_better(task: str) -> None:
    if task == "digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed: it has the digits")
    model, settings, least = SHORT[task]
    trainer = Trainer(TrainConfig(task=task, workers=1, eval_every=1000, **settings))
    assert trainer.config.model == model
    before = trainer.task.score(trainer.model)
    assert before is not None and before.value < 0.3
    assert trainer.run()
    after = trainer.task.score(trainer.model)
    assert after is not None and after.value > least, str(after)


@pytest.mark.parametrize("task", SHORT)
def test_recipes_are_settings_of_the_run(task: str) -> None:
    for model, recipe in TASKS[task].recipes.items():
        config = TrainConfig(model=model, task=task)
        assert {name: getattr(config, name) for name in recipe} == dict(recipe)
