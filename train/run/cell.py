"""What a cell of a notebook shows while training goes: how far it is, and the loss as a curve."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...shown import html
from ..given.words import clock
from ..system.notebook import Place, in_notebook
from .report import Report

if TYPE_CHECKING:
    from .trainer import Trainer

#: seconds between two updates of a cell
REFRESH = 0.3


class Cell(Report):
    """A bar, numbers and the curve of the loss in the output of the cell that trains."""

    def __init__(self) -> None:
        self._place = Place()
        self._drawn = 0.0
        self._last: Trainer | None = None

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._show(trainer, "")

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._show_now_and_then(trainer, f"{clock(trainer.seconds_left)} left")

    def validating(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        pace = trainer.pace
        self._show_now_and_then(trainer, f"validating {pace.done / max(1, pace.count):.0%}")

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        self._show(trainer, "")

    def close(self) -> None:
        """See :class:`Report`."""
        if self._last is not None:
            done = self._last.step >= self._last.config.steps
            self._show(self._last, "done" if done else "stopped")

    def _show_now_and_then(self, trainer: Trainer, doing: str) -> None:
        self._last = trainer
        if time.monotonic() - self._drawn >= REFRESH:
            self._show(trainer, doing)

    def _show(self, trainer: Trainer, doing: str) -> None:
        self._last, self._drawn = trainer, time.monotonic()
        history, unit = trainer.history, trainer.task.unit
        fields = {}
        if history.train:
            fields["loss"] = f"{trainer.recent_loss:.4f}"
        if history.val:
            fields["validation"] = f"{history.val[-1][1]:.4f}"
        if trainer.step_seconds and doing not in ("done", "stopped"):
            fields[f"{unit}/s"] = f"{trainer.tokens_per_second:,.0f}"
        what = f"{trainer.config.model} on {trainer.task.name}"
        self._place.show(
            *drawn(what, trainer.step, trainer.config.steps, fields, doing, history.train)
        )


def drawn(
    what: str,
    done: int,
    total: int | None,
    fields: Mapping[str, str],
    doing: str = "",
    curve: Sequence[float] = (),
) -> tuple[str, str]:
    """A bar as markup for a notebook, and as a line of text.

    Args:
        what: plain text before all. done, total: steps; None where it is not known how many.
        fields: numbers by name. doing: what is said last. curve: numbers to draw.
    """
    steps = f"step {done:,}" if total is None else f"step {done:,} of {total:,}"
    words = [
        steps,
        *(f"{name} {value}" for name, value in fields.items()),
        *([doing] if doing else []),
    ]
    line = ", ".join(words)
    bar = ""
    if total:
        bar = (
            f'<progress value="{min(done, total)}" max="{total}" aria-label="{html.text(steps)}" '
            'style="width:min(320px,100%);height:14px;vertical-align:middle"></progress>'
        )
    shape = html.curve(curve, f"loss of {len(curve):,} steps") if len(curve) > 1 else ""
    markup = html.framed(what, "", html.line(bar), html.line(html.code(line)), shape)
    return markup, f"{what}: {line}" if what else line


def default_report() -> Report:
    """What a trainer shows if it is told nothing: a bar in a notebook, elsewhere nothing."""
    return Cell() if in_notebook() else Report()
