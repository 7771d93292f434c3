"""What a training run shows while it goes: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from .config import text_name

if TYPE_CHECKING:
    from .trainer import Trainer


class Report:
    """Shows nothing; the base of those that do. A trainer calls these methods."""

    def start(self, trainer: Trainer) -> None:
        """Training begins or continues."""

    def step(self, trainer: Trainer) -> None:
        """A step is done."""

    def validated(self, trainer: Trainer) -> None:
        """A validation is done."""

    def close(self) -> None:
        """Training ends, whether or not it is complete."""


class Lines(Report):
    """A line now and then, for log files and pipes.

    Args:
        every: steps between two lines.
    """

    def __init__(self, every: int):
        self.every = every

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        print(describe(trainer), flush=True)

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        if trainer.step % self.every == 0 or trainer.step == trainer.config.steps:
            left = (trainer.config.steps - trainer.step) * trainer.step_seconds
            print(
                f"step {trainer.step:>6}  loss {trainer.recent_loss:.4f}  "
                f"{trainer.tokens_per_second:,.0f} tokens/s  {duration(left)} left",
                flush=True,
            )

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        step, loss = trainer.history.val[-1]
        print(f"step {step:>6}  validation loss {loss:.4f}", flush=True)


class Bar(Report):
    """A progress bar with loss, tokens per second and time left, drawn by rich."""

    REFRESH = 0.1  # seconds; drawn from the training thread, which leaves the cores to NumPy

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        print(describe(trainer), flush=True)
        self._progress: Any = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=None),
            TextColumn("loss [bold]{task.fields[loss]}[/]"),
            TextColumn("val [bold]{task.fields[val]}[/]"),
            TextColumn("{task.fields[speed]} tok/s"),
            TextColumn("[cyan]{task.fields[left]}[/] left"),
            auto_refresh=False,
            expand=True,
        )
        self._drawn = 0.0
        fields: dict[str, Any] = self._fields(trainer)
        self._task = self._progress.add_task(
            "", total=trainer.config.steps, completed=trainer.step, **fields
        )
        self._progress.start()

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        now = time.monotonic()
        if now - self._drawn >= self.REFRESH or trainer.step == trainer.config.steps:
            self._drawn = now
            self._show(trainer)

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._show(trainer)

    def close(self) -> None:
        """See :class:`Report`."""
        progress = self.__dict__.pop("_progress", None)
        if progress is not None:
            progress.stop()

    def _show(self, trainer: Trainer) -> None:
        fields = self._fields(trainer)
        self._progress.update(self._task, completed=trainer.step, refresh=True, **fields)

    @staticmethod
    def _fields(trainer: Trainer) -> dict[str, str]:
        fresh = not trainer.step_seconds
        left = (trainer.config.steps - trainer.step) * trainer.step_seconds
        return {
            "loss": f"{trainer.recent_loss:.3f}" if trainer.history.train else "-",
            "val": f"{trainer.history.val[-1][1]:.3f}" if trainer.history.val else "-",
            "speed": "-" if fresh else f"{trainer.tokens_per_second:,.0f}",
            "left": "-" if fresh else duration(left),
        }


def make_report(every: int) -> Report:
    """A bar where standard output is a terminal, else lines."""
    return Bar() if sys.stdout.isatty() else Lines(every)


def describe(trainer: Trainer) -> str:
    """Model and data in two lines."""
    config, data = trainer.config, trainer.data
    start = f", from step {trainer.step}" if trainer.step else ""
    return (
        f"{config.model}: {trainer.model.num_parameters():,} parameters on {config.device}, "
        f"{config.steps} steps of {config.batch_size * config.accumulate} blocks of "
        f"{config.block_size} symbols{start}\n"
        f"data: {text_name(config.data)}, {len(trainer.tokenizer)} symbols, "
        f"{len(data.train):,} for training and {len(data.val):,} for validation"
    )


def duration(seconds: float) -> str:
    """A time as ``1:05`` or ``2:03:04``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
