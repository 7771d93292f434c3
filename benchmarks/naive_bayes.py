"""What the figure of the task "topics" is to be held against: chance, and naive Bayes.

    python benchmarks/naive_bayes.py

Naive Bayes counts words, or runs of four characters, in the stretches that a CNN learns from, and
tells the passages that it is tested on (McCallum and Nigam, "A comparison of event models for naive
Bayes text classification", 1998). How much is added to each count is chosen on the validation part.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tinytensor.train.config import TrainConfig
from tinytensor.train.tasks import TopicsTask
from tinytensor.train.tasks.task import Batch

#: what may be added to each count
ADDED = (1.0, 0.3, 0.1, 0.03, 0.01)


def words(text: str) -> list[str]:
    """Words and signs, in small letters."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def fours(text: str) -> list[str]:
    """All runs of four characters."""
    return [text[i : i + 4] for i in range(len(text) - 3)]


class NaiveBayes:
    """Multinomial naive Bayes on the counts of some features of a text.

    Args:
        texts: those of each class.
        features: of a text.
    """

    def __init__(self, texts: Iterable[Iterable[str]], features: Callable[[str], list[str]]):
        self.features = features
        self.counts = [Counter(f for text in own for f in features(text)) for own in texts]
        self.known = len(set().union(*self.counts))
        self.totals = [sum(own.values()) for own in self.counts]

    def predict(self, text: str, added: float) -> int:
        """The likeliest class, where ``added`` is added to each count."""
        found = self.features(text)
        scores = [
            np.log(total) - len(found) * np.log(total + added * self.known)
            + sum(np.log(own[feature] + added) for feature in found)
            for own, total in zip(self.counts, self.totals, strict=True)
        ]  # fmt: skip
        return int(np.argmax(scores))


def accuracy(bayes: NaiveBayes, task: TopicsTask, part: Batch, added: float) -> float:
    """The share of a part of the data that is told right."""
    said = [bayes.predict(task.decode(ids), added) for ids in part[0]]
    return float(np.mean(said == part[1]))


def main() -> None:
    """Print a table."""
    task = TopicsTask(TrainConfig(task="topics"))
    targets = task.test[1]
    print(task.describe())
    print(f"always the most common   {np.bincount(targets).max() / len(targets):.4f}")
    texts = [part.train for part in task.parts.values()]
    for name, features in (("words", words), ("runs of 4 characters", fours)):
        bayes = NaiveBayes(texts, features)
        added = max(ADDED, key=lambda added: accuracy(bayes, task, task.val, added))
        figure = accuracy(bayes, task, task.test, added)
        print(f"naive Bayes on {name}: {figure:.4f} ({added} added)")


if __name__ == "__main__":
    main()
