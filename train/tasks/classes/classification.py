"""Tasks whose targets are one class for each example."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...data import spread
from ..task import Batch, Score, Task

#: examples that a model is asked for at once
ASKED = 100
#: test examples that are shown at the end of a run
SHOWN = 4


class Classification(Task):
    """Base of the tasks that tell classes apart, for models with ``predict`` and ``probabilities``.

    Batches are examples and their classes, (batch, ...) and (batch,).

    Attributes:
        things: what the examples are, in the plural.
        classes: names of the classes, in the order of their numbers.
    """

    things: ClassVar[str]

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""

    @property
    @abstractmethod
    def val(self) -> Batch:
        """All examples to validate on, and their classes."""

    @property
    @abstractmethod
    def test(self) -> Batch:
        """All examples for the figure at the end, and their classes: none of them is learnt from,
        nor validated on."""

    @property
    @abstractmethod
    def learnt(self) -> np.ndarray:
        """The class of each example to learn from (n,)."""

    @cached_property
    def shares(self) -> np.ndarray:
        """How often each class comes in training (n_classes,); they sum to 1."""
        counts = np.bincount(self.learnt, minlength=len(self.classes))
        return np.asarray(counts / counts.sum())

    @abstractmethod
    def shown_as(self, example: np.ndarray) -> str:
        """An example in a line, or in several."""

    def batches(self, size: int) -> int:
        """See :class:`Task`."""
        return -(-len(self.val[-1]) // size)

    def blocks(self, size: int, limit: int | None = None) -> Iterator[Batch]:
        """See :class:`Task`."""
        for i in spread(self.batches(size), limit):
            yield tuple(part[i * size : (i + 1) * size] for part in self.val)

    @cached_property
    def baseline(self) -> float:
        """See :class:`Task`: of knowing no more than how common each class is."""
        known = self.shares[self.shares > 0]
        return float(-(known * np.log(known)).sum())

    def probabilities(self, model: Any, x: np.ndarray, stop: object = None) -> np.ndarray | None:
        """What a model makes of examples: (n, n_classes), or None once ``stop`` is true."""
        parts = []
        for start in range(0, len(x), ASKED):
            if stop:
                return None
            parts.append(model.probabilities(x[start : start + ASKED]))
        return np.concatenate(parts)

    def score(self, model: Any, stop: object = None) -> Score | None:
        """See :class:`Task`: the share of the test part that is told right."""
        x, targets = self.test
        found = self.probabilities(model, x, stop)
        if found is None:
            return None
        right, count = int((found.argmax(axis=1) == targets).sum()), len(targets)
        return Score("accuracy", right / count, right, count, f"{self.things} never seen")

    def show(self, model: Any, seed: int) -> str:
        """See :class:`Task`: some of the test part, and what the model says of them."""
        x, targets = self.test
        picked = np.random.default_rng(seed).permutation(len(x))[:SHOWN]
        found = model.probabilities(x[picked])
        said = [self._verdict(row, target) for row, target in zip(found, targets[picked])]
        return self.shown_beside(x[picked], said)

    def _verdict(self, found: np.ndarray, target: int) -> str:
        best = int(found.argmax())
        right = "" if best == target else f", is {self.classes[target]}"
        return f"-> {self.classes[best]} ({found[best]:.0%}){right}"

    def shown_beside(self, examples: np.ndarray, said: list[str]) -> str:
        """Examples as lines of text, each with what is said of it."""
        return "\n".join(
            f"{self.shown_as(example)}\n  {words}"
            for example, words in zip(examples, said, strict=True)
        )

    def ranked(self, found: np.ndarray, most: int = 3) -> str:
        """The likeliest classes of one example, a line for each, from their probabilities."""
        best = np.argsort(-found, kind="stable")[:most]
        width = max(len(self.classes[i]) for i in best)
        return "\n".join(f"{self.classes[i]:{width}}  {found[i]:6.1%}" for i in best)
