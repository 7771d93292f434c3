"""Word vectors from generated sentences, where it is known what is like what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...data import analogies as known
from ...data.errors import DataError
from ...data.text import fingerprint
from ...data.words import Words
from ..task import Score, Settings
from .word_map import Group, draw_words
from .words import RECIPE, WordsTask

#: sentences that are generated, and the seed
SENTENCES, SEED = 20_000, 1
#: how many neighbours of a word are looked at
NEAREST = 5


class AnalogiesTask(WordsTask):
    """Word vectors of words with known classes and relations; see :class:`Task`.

    The sentences of the validation part are other ones than those of the training part. The figure
    asks the vectors: as paris is to france, what is to japan?
    """

    name = "analogies"
    about = "word vectors of generated sentences: as paris is to france, what is to japan?"
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "word2vec": {**RECIPE, "min_count": 2, "steps": 3000}
    }
    reads: ClassVar[tuple[str, ...]] = ("window", "negatives", "min_count", "subsample")
    usual_sizes: ClassVar[Mapping[str, Any]] = {"vocab_size": 581}
    example = ("--input", "king - man + woman")
    _shown_words = ("france", "queen", "swam", "wolves")
    origin = "code"

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        if text is not None:
            raise DataError("text: task analogies makes its own; task words learns from a text")
        super().__init__(settings, vocabulary)

    @cached_property
    def words(self) -> Words:
        """See :class:`WordsTask`: all words that are asked for are among them."""
        words = super().words
        for word in {word for asked in known.questions() for word in asked}:
            if word not in words.ids:
                raise DataError(
                    f"min_count: expected one that {word!r} reaches, which the analogies are "
                    f"about, got {self._settings.min_count}"
                )
        return words

    @cached_property
    def _text_parts(self) -> tuple[list[str], list[str]]:
        """The sentences of the training and of the validation part."""
        return known.sentences(SENTENCES, SEED)

    def _sentences(self) -> Iterable[list[str]]:
        return (sentence.split() for part in self._text_parts for sentence in part)

    @cached_property
    def _parts(self) -> Any:
        """See :class:`WordsTask`."""
        return tuple(
            self.words.encode(sentence.split() for sentence in part) for part in self._text_parts
        )

    @property
    def fingerprint(self) -> str:
        """See :class:`Task`."""
        return fingerprint("\n\n".join("\n".join(part) for part in self._text_parts))

    def describe(self) -> str:
        """See :class:`Task`."""
        train, val = map(len, self._text_parts)
        return (
            f"{train:,} generated sentences for training, {val:,} others for validation, of "
            f"{len(self.words):,} words; {len(known.questions()):,} analogies are asked"
        )

    def score(self, model: Any, stop: object = None) -> Score | None:
        """See :class:`Task`: analogies, whose answer is the nearest of all words but the three of
        the question; beside it the purity, the share of nearest neighbours in the same class."""
        vectors = model.vectors()
        right, count = answered(vectors, self.words)
        share = purity(vectors, self.words)
        what = f"analogies; of the {NEAREST} nearest words {share:.4f} are in the same class"
        return Score("analogies", right / count, right, count, what)

    def draw(self, model: Any, path: Path) -> Path | None:
        """See :class:`Task`: each family from a view of its own, with arrows between its pairs."""
        vectors = model.vectors()
        panels = []
        for names, pairs in known.families().items():
            words = [[pair.words[side] for pair in pairs] for side in (0, 1)]
            groups = [
                Group(name, listed, vectors[[self.words.ids[word] for word in listed]])
                for name, listed in zip(names, words, strict=True)
            ]
            panels.append((f"from {names[0]} to {names[1]}", groups))
        return draw_words(path, panels)

    def show(self, model: Any, seed: int) -> str:
        """See :class:`Task`."""
        asked = (("king", "man", "woman"), ("tokyo", "japan", "france"), ("wolves", "wolf", "cat"))
        lines = [
            f"{a} - {b} + {c} = {self._near(model, (a, c), (b,), 1)[0][0]}" for a, b, c in asked
        ]
        return "\n".join([super().show(model, seed), *lines])


def answered(vectors: np.ndarray, words: Words) -> tuple[int, int]:
    """How many analogies are answered rightly, and how many there are.

    Args:
        vectors: of all words, of length 1.
    """
    asked = np.array([[words.ids[word] for word in each] for each in known.questions()])
    a, b, c, d = asked.T
    cosines = (vectors[b] - vectors[a] + vectors[c]) @ vectors.T
    rows = np.arange(len(asked))
    for given in (a, b, c):
        cosines[rows, given] = -np.inf
    return int((cosines.argmax(axis=1) == d).sum()), len(asked)


def purity(vectors: np.ndarray, words: Words, nearest: int = NEAREST) -> float:
    """Of the nearest neighbours of each word that has a class, among all words: the share of those
    in the same class."""
    class_of = np.full(len(words), -1)
    for i, listed in enumerate(known.classes().values()):
        class_of[[words.ids[word] for word in listed]] = i
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    some = np.flatnonzero(class_of >= 0)
    near = np.argsort(-cosines[some], axis=1, kind="stable")[:, :nearest]
    return float((class_of[near] == class_of[some][:, None]).mean())
