"""``tinytensor models`` and ``tinytensor tasks``."""

from __future__ import annotations

from itertools import starmap
from typing import Annotated, Any

import typer

from ...models import MODELS
from ..config import TrainConfig, usual_task
from ..tasks import TASKS
from .tables import Table, show


def models() -> None:
    """List the models: what each is, its paper, its size with the defaults, and its tasks."""
    rows = []
    for name, (model, config) in MODELS.items():
        task = usual_task(name)
        settings = {**TrainConfig(model=name).model_settings(), **TASKS[task].usual_sizes}
        size = f"{config(**settings).parameter_count():,}"
        tasks = [task, *(t for t, c in TASKS.items() if name in c.models and t != task)]
        rows.append((name, size, ", ".join(tasks), f"{model.about} ({model.paper})"))
    show([], [Table("model", ("parameters, about", "tasks", "what it is"), rows, (1, 2))], [])


def tasks(
    recipes: Annotated[
        bool, typer.Option("--recipes", help="Also the settings that each model has by default")
    ] = False,
) -> None:
    """List the tasks: what each is about, and the models that can learn it."""
    rows = [(name, ", ".join(task.models), task.about) for name, task in TASKS.items()]
    show([], [Table("task", ("models", "what is learnt"), rows, (0, 1))], [])
    if recipes:
        for name, task in TASKS.items():
            for model, recipe in task.recipes.items():
                flags = " ".join(starmap(_flag, recipe.items()))
                print(f"{name}, {model}: {flags}")


def _flag(name: str, value: Any) -> str:
    """A setting as ``tinytensor train`` takes it."""
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {value}"
