"""What came of a training run: the loss curve, the task's figure and picture, examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...models import Model
from ...shown import html
from ..config import TrainConfig
from ..results.history import History
from ..results.plot import plot_losses
from ..tasks import Score, Task, TextTask
from .folder import RunFolder


class Outcome:
    """What a trainer can tell of its model as it is now; the base of :class:`Trainer`."""

    config: TrainConfig
    task: Task
    model: Model[Any]
    history: History
    run_folder: RunFolder | None
    step: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._in_short()})"

    def _repr_html_(self) -> str:
        """What a notebook shows: how far the run is, and its losses."""
        return html.framed(
            type(self).__name__,
            self._in_short(),
            self.history._repr_html_() if self.history.train else "",
            html.folded("model", self.model._repr_html_()),
            html.folded(
                "settings",
                html.table((), [(k, str(v)) for k, v in vars(self.config).items()], (0, 1)),
            ),
        )

    def _in_short(self) -> str:
        """Model, task, steps and folder in a line."""
        config = self.config
        where = "" if self.run_folder is None else f", in {self.run_folder.path}"
        return f"{config.model} on {config.task}, step {self.step:,} of {config.steps:,}{where}"

    def plot(self) -> Path | None:
        """Draw the losses into the run's folder; None where it has no folder or no loss."""
        if self.run_folder is None or not self.history.train:
            return None
        return plot_losses(
            self.run_folder.picture,
            self.history.train,
            self.history.val,
            title=f"{self.config.model}, {self.model.num_parameters():,} parameters",
            baseline=self.task.baseline,
        )

    def sample(self, prompt: str = "", length: int | None = None) -> str:
        """What the model makes of a prompt now: of a language model a text that goes on from it, of
        others their answer, or where there is no prompt those to some test examples. The same each
        time: what is drawn is seeded.

        Args:
            prompt: a start of a text, or an input of the task.
            length: symbols of a text, ``config.sample_length`` if None.
        """
        seed, task = self.config.seed, self.task
        length = self.config.sample_length if length is None else length
        if isinstance(task, TextTask):
            return task.write(self.model, prompt, length, seed)
        return task.answer(self.model, prompt) if prompt else task.show(self.model, seed)

    def score(self, stop: object = None) -> Score | None:
        """The task's figure on examples that the run never saw; None where the loss says all, or a
        stop came first. It is logged."""
        score = self.task.score(self.model, stop)
        if score is not None and self.run_folder is not None:
            self.run_folder.log(self.step, **{score.name: score.value})
        return score

    def draw(self) -> Path | None:
        """Draw what was learnt into the run's folder; None where the task has no such picture."""
        if self.run_folder is None:
            return None
        return self.task.draw(self.model, self.run_folder.path / f"{self.task.name}.png")
