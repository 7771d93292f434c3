"""What every task shares: what is learnt, from which data, and how well it went.

A task brings a training run its examples, in batches, and afterwards the figure that tells how well
the model does on examples that it never saw, a picture that explains it, and answers in the task's
own terms. The model brings the loss. Whatever a checkpoint needs of a task to answer is its
``vocabulary``; the examples themselves come from code or from the user's text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from ..data.errors import DataError

#: arrays that share their first axis, one entry for each example. The last one holds the targets;
#: those that are -100 do not count.
Batch = tuple[np.ndarray, ...]


class Settings(Protocol):
    """What a task reads of a run's settings; :class:`TrainConfig` has it all."""

    # fmt: off
    @property
    def data(self) -> tuple[str, ...] | None: ...
    @property
    def encoding(self) -> str: ...
    @property
    def block_size(self) -> int | None: ...
    @property
    def mode(self) -> str | None: ...
    @property
    def window(self) -> int | None: ...
    @property
    def negatives(self) -> int | None: ...
    @property
    def min_count(self) -> int | None: ...
    @property
    def subsample(self) -> float | None: ...
    # fmt: on


@dataclass(frozen=True)
class Score:
    """How well a model does on examples that it never saw.

    Attributes:
        name: of the figure, such as "accuracy".
        value: the figure, from 0 to 1.
        right, count: it is ``right`` of ``count``; 0 and 0 where it is no such share.
        what: what was counted, such as "dates that the run never saw".
    """

    name: str
    value: float
    right: int = 0
    count: int = 0
    what: str = ""

    def __str__(self) -> str:
        of = f" ({self.right:,} of {self.count:,} {self.what})" if self.count else ""
        return f"{self.value:.4f}{of}"


class Task(ABC):
    """Base of the tasks.

    Args:
        settings: those of the run.
        vocabulary: of a checkpoint, where the task is to answer; None takes that of the data.
        text: to learn from, in place of the files that the settings name; for tasks on a text.

    Attributes:
        name, about: what it is called, and a line on what it is.
        models: names of the models that can learn it; the first is taken if none is named.
        recipes: settings that differ from the usual defaults, for each model.
        reads: settings beyond those of the model that the task reads (see ``TASK_FIELDS``).
        least: sizes that the smallest data would give the model; usual_sizes: those of the default
            data, to tell a model's size without reading them.
        unit: what the speed of training counts.
        shown: what :meth:`show` gives, in a few words. more, example: what ``tinytensor sample``
            gives of a run of it, and what that is given besides the run.
        origin: where the data are from, as a checkpoint keeps it.

    Raises:
        ValueError: a vocabulary that cannot be one. DataError: the data are unfit.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    reads: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[Mapping[str, Any]] = {"vocab_size": 1}
    usual_sizes: ClassVar[Mapping[str, Any]] = {}
    unit: ClassVar[str] = "tokens"
    shown: ClassVar[str] = "examples of the test part"
    more: ClassVar[str] = "ask it"
    example: ClassVar[tuple[str, ...]] = ()
    origin: str = "code"

    @abstractmethod
    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None): ...

    # ---- what a checkpoint keeps ----------------------------------------------------------------

    @property
    @abstractmethod
    def vocabulary(self) -> Any:
        """All that is needed to answer, besides the model: plain values, fit for JSON."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A short hash by which to tell whether data are the same as those of a checkpoint."""

    def sizes(self) -> dict[str, Any]:
        """What the data settle of the model's config, such as ``{"vocab_size": 65}``."""
        return {"vocab_size": len(self.vocabulary)}

    def refuse_other(self, saved: Task, note: str) -> None:
        """Raise DataError where the vocabulary is not that of a checkpoint; ``note`` is what is
        known of the reason, or ""."""
        if self.vocabulary != saved.vocabulary:
            reason = note and f"; {note}"
            raise DataError(f"data: the vocabulary is not that of the checkpoint{reason}")

    # ---- examples to learn from -----------------------------------------------------------------

    @abstractmethod
    def batch(self, size: int) -> Batch:
        """Random examples of the training part, at most ``size``. All that is random in them is
        drawn from the generator "data", and nothing else is remembered: so a run can be resumed."""

    @abstractmethod
    def batches(self, size: int) -> int:
        """How many batches :meth:`blocks` gives of the whole validation part; none of them may be
        empty, and then there are fewer."""

    @abstractmethod
    def blocks(self, size: int, limit: int | None = None) -> Iterator[Batch]:
        """The validation part in batches, always the same; at most ``limit``, spread evenly."""

    @property
    @abstractmethod
    def length(self) -> int:
        """About how many symbols an example has: what speed and work are counted in."""

    @abstractmethod
    def describe(self) -> str:
        """The data in a few words, with the sizes of their parts."""

    def describe_batch(self, size: int) -> str:
        """A batch in a few words, such as ``12 blocks of 64 symbols``."""
        return f"{size} examples"

    @property
    def baseline(self) -> float | None:
        """The loss of guessing at random, for the loss curve."""
        return None

    # ---- what came of it ------------------------------------------------------------------------

    def prepare(self, model: Any) -> None:
        """Give a new or loaded model what it needs beyond its config."""
        return

    def score(self, model: Any, stop: object = None) -> Score | None:
        """The task's figure on its test part. Nothing random is drawn from the run's generators.

        Args:
            stop: once it is true, give up and return None.

        Returns:
            None where the loss says all.
        """
        return None

    def draw(self, model: Any, path: Path) -> Path | None:
        """Write the picture that explains what was learnt; None where the task has none."""
        return None

    @abstractmethod
    def show(self, model: Any, seed: int) -> str:
        """Some lines for the end of a run: what the model makes of a few test examples; ``seed`` is
        for what is drawn, so that they are the same each time."""

    def answer(self, model: Any, text: str, beam: int = 1) -> str:
        """What the model makes of an input: ``tinytensor sample RUN --input TEXT``.

        Args:
            beam: how many hypotheses are kept, where the answer is searched for.

        Raises:
            DataError: no such input can be; the message says what is expected.
        """
        raise DataError(f"input: task {self.name} takes none; --prompt starts a text")
