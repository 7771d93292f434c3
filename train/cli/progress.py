"""What a training run shows while it goes: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ..given.words import clock
from ..run.cell import Cell
from ..run.report import Report
from ..system.notebook import in_notebook
from ..system.terminal import is_terminal, one_line

if TYPE_CHECKING:
    from ..run.trainer import Trainer


class Lines(Report):
    """A line now and then, for log files and pipes.

    Args:
        every: steps between two lines.
    """

    #: seconds of a validation before its first line, and between that and the next
    PATIENCE, BETWEEN = 2.0, 10.0

    def __init__(self, every: int):
        self.every = every
        self._next: float | None = None

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        print(describe(trainer), flush=True)

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        if trainer.step % self.every == 0 or trainer.step == trainer.config.steps:
            print(
                f"step {trainer.step:>6}  loss {trainer.recent_loss:.4f}  "
                f"{trainer.tokens_per_second:,.0f} {trainer.task.unit}/s  "
                f"{clock(trainer.seconds_left)} left",
                flush=True,
            )

    def validating(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        pace, now = trainer.pace, time.monotonic()
        if self._next is None:
            self._next = now - pace.done * pace.seconds + self.PATIENCE
        if now >= self._next and pace.done < pace.count:
            self._next = now + self.BETWEEN
            left = f"  {clock(trainer.seconds_left)} left" if trainer.seconds_left else ""
            print(f"step {trainer.step:>6}  validating {pace.done / pace.count:.0%}{left}",
                  flush=True)  # fmt: skip

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._next = None
        step, loss = trainer.history.val[-1]
        print(f"step {step:>6}  validation loss {loss:.4f}{part_read(trainer)}", flush=True)


class Bar(Report):
    """A progress bar with loss, tokens per second and time left, drawn by rich."""

    REFRESH = 0.1  # seconds; drawn from the training thread, which leaves the cores to NumPy

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        from rich.live import Live

        print(describe(trainer), flush=True)
        # Where errors go elsewhere (2> file) they are to arrive there, not above the bar.
        self._live: Any = Live(
            self._line(trainer), auto_refresh=False, redirect_stderr=sys.stderr.isatty()
        )
        self._drawn = 0.0
        self._live.start(refresh=True)

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        now = time.monotonic()
        if now - self._drawn >= self.REFRESH or trainer.step == trainer.config.steps:
            self._drawn = now
            self._show(trainer)

    def validating(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        now = time.monotonic()
        if now - self._drawn >= self.REFRESH:
            self._drawn = now
            self._show(trainer)

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._show(trainer)

    def close(self) -> None:
        """See :class:`Report`."""
        live = self.__dict__.pop("_live", None)
        if live is not None:
            live.stop()

    def _show(self, trainer: Trainer) -> None:
        self._live.update(self._line(trainer), refresh=True)

    def _line(self, trainer: Trainer) -> Any:
        from ..system.bar import BarLine

        return BarLine(trainer.step, trainer.config.steps, self._fields(trainer))

    @staticmethod
    def _fields(trainer: Trainer) -> dict[str, str]:
        fresh = not trainer.step_seconds
        pace = trainer.pace
        unit = {"tokens": "tok"}.get(trainer.task.unit, trainer.task.unit)
        return {
            "loss": f"loss {trainer.recent_loss:.3f}" if trainer.history.train else "loss -",
            "val": f"val {trainer.history.val[-1][1]:.3f}" if trainer.history.val else "val -",
            "speed": f"- {unit}/s" if fresh else f"{trainer.tokens_per_second:,.0f} {unit}/s",
            "left": "- left" if fresh else f"{clock(trainer.seconds_left)} left",
            **({"doing": f"validating {pace.done / pace.count:.0%}"} if pace.count else {}),
        }


def make_report(every: int) -> Report:
    """A bar in a notebook or on a terminal that can redraw a line, else lines."""
    if in_notebook():
        return Cell()
    return Bar() if is_terminal() else Lines(every)


def describe(trainer: Trainer) -> str:
    """Model and data in two lines."""
    config, task, workers = trainer.config, trainer.task, trainer.workers
    processes = f", {workers} processes" if workers > 1 else ""
    start = f", from step {trainer.step}" if trainer.step else ""
    return (
        f"{config.model}: {trainer.model.num_parameters():,} parameters on {config.device}"
        f"{processes}, {config.steps} steps of "
        f"{task.describe_batch(config.batch_size * config.accumulate)}{start}\n"
        f"data: {one_line(task.describe())}"
    )


def part_read(trainer: Trainer) -> str:
    """`` (200 of 6,510 batches)`` where a validation reads a part of its split, else nothing."""
    read, there = trainer.val_batches
    return f" ({read:,} of {there:,} batches)" if read < there else ""
