"""Validation: the mean loss over a split, which of them are to come, and how long they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ... import no_grad
from ...models import Model
from ...models.ids import IGNORED
from ...nn import evaluating
from ..parallel.data_parallel import DataParallel
from ..tasks import Batch

#: called with how many batches are read
Told = Callable[[int], None]
#: before any validation was measured: what a batch of it takes, in parts of a training step's batch
_GUESS = 1 / 3


def mean_loss(
    model: Model[Any],
    blocks: Iterator[Batch],
    parallel: DataParallel | None = None,
    stop: object = None,
    told: Told | None = None,
) -> float | None:
    """The mean loss over all targets of some batches; nothing random is drawn.

    Args:
        blocks: the batches. parallel: processes that take a batch each.
        stop: once it is true, give up and return None.
        told: called now and then.
    """
    total, symbols, done = 0.0, 0, 0
    at_once = 1 if parallel is None else parallel.workers
    with no_grad(), evaluating(model):
        while group := list(islice(blocks, at_once)):
            if stop:
                return None
            if parallel is not None:
                losses = parallel.losses(group)
            else:
                losses = [float(model.loss(*batch).item()) for batch in group]
            for loss, batch in zip(losses, group, strict=True):
                count = int((batch[-1] != IGNORED).sum())
                total += loss * count
                symbols += count
            done += len(group)
            if told is not None:
                told(done)
    return total / symbols


def due(step: int, steps: int, every: int, validated: int) -> bool:
    """Whether a validation belongs to this step and was not made yet.

    Args:
        step: how many are done, of ``steps``. every: steps between two validations.
        validated: the step of the last one, -1 before the first.
    """
    here = step >= steps or step > 0 and step % every == 0
    return here and validated != step


def to_come(step: int, steps: int, every: int, validated: int) -> int:
    """How many validations a run still makes, one that is due included; see :func:`due`."""
    later = 0
    if step < steps:
        later = steps // every - step // every + (steps % every > 0)
    return later + due(step, steps, every, validated)


class Pace:
    """How far the validation is that goes on now, and what a batch of one takes.

    Attributes:
        done, count: batches read and to read; 0 where there is no validation now.
        seconds: of a batch, by the latest validation; 0 before the first.
    """

    def __init__(self) -> None:
        self.done = self.count = 0
        self.seconds = 0.0

    @contextmanager
    def measured(self, count: int, show: Callable[[], None]) -> Iterator[Told]:
        """A validation of ``count`` batches: gives what is to be told of its progress.

        Args:
            show: called after each time.
        """
        started = time.perf_counter()
        self.count = count

        def told(done: int) -> None:
            self.done = done
            self.seconds = (time.perf_counter() - started) / done
            show()

        try:
            yield told
        finally:
            self.done = self.count = 0

    def left(self, validations: int, batches: int, step_batch: float) -> float:
        """Seconds that validations still take.

        Args:
            validations: how many, that of now included. batches: of each.
            step_batch: seconds of a training step for each of its batches.
        """
        return (validations * batches - self.done) * (self.seconds or step_batch * _GUESS)
