"""Word vectors from a text: each word is to be told from random ones by the words around it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .... import Generator, no_grad, random
from ...data import Corpus, DataError, corpus_of, spread
from ...data.words import Neighbours, Words, sentences_of
from ...given.words import shortened
from ..task import Batch, Score, Settings, Task
from .word_map import Group, draw_words

#: what word vectors are trained with: fast and steady at once, and no step for other words
RECIPE: Mapping[str, Any] = {
    "n_embd": 100, "mode": "skipgram", "window": 5, "negatives": 5, "min_count": 5,
    "subsample": 1e-3, "steps": 1500, "batch_size": 1024, "optimizer": "adagrad", "lr": 0.1,
    "warmup": 0, "weight_decay": 0.0, "clip": 0.0, "eval_every": 500, "checkpoint_every": 500,
    "workers": 1,
}  # fmt: skip
#: the most frequent words of a text say little; pictures and examples leave out so many
_COMMON = 40
#: words of the validation part that examples are made from, at most
_TESTED = 100_000
_TERM = re.compile(r"([+-]?)\s*([^\W\d]\w*)\s*")


class WordsTask(Task):
    """Word vectors from a text; see :class:`Task`.

    An example is a word, or the words around a place, with the right neighbour and random ones. The
    last tenth of the text is for validation.

    Attributes:
        words: those that have vectors.
        train, val: examples from both parts of the text.
    """

    name = "words"
    about = "word vectors: which words of a text, yours or Python's help topics, are alike"
    models = ("word2vec",)
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {"word2vec": RECIPE}
    reads: ClassVar[tuple[str, ...]] = ("data", "window", "negatives", "min_count", "subsample")
    usual_sizes: ClassVar[Mapping[str, Any]] = {"vocab_size": 1355}
    unit = "pairs"
    shown = "words and those nearest to them"
    example = ("--input", "class")
    #: words and their neighbours at the end of a run
    _shown_words: Sequence[str] = ()

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        self._settings, self._text = settings, text
        self._given = None if vocabulary is None else Words(vocabulary)

    # ---- the text -------------------------------------------------------------------------------

    @cached_property
    def corpus(self) -> Corpus:
        """The text: a string, the files that the settings name, or the default."""
        return corpus_of(self._text, self._settings.data, self._settings.encoding)

    @cached_property
    def words(self) -> Words:
        """The words of the vocabulary."""
        if self._given is not None:
            return self._given
        return Words.counted(self._sentences(), self._settings.min_count or 1)

    def _sentences(self) -> Iterable[list[str]]:
        """One reading of the text."""
        return sentences_of(self.corpus.pieces())

    @cached_property
    def _parts(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Ids of the training part with the numbers of their sentences, and of the validation
        part; a sentence is in one of them."""
        ids, numbers = self.words.encode(self._sentences())
        cut = int(np.searchsorted(numbers, numbers[int(0.9 * len(ids))])) if len(ids) else 0
        return (ids[:cut], numbers[:cut]), (ids[cut:], numbers[cut:])

    @cached_property
    def train(self) -> Neighbours:
        """Examples to learn from."""
        return self._neighbours(0)

    @cached_property
    def val(self) -> Neighbours:
        """Examples to test on; random words are drawn as in training."""
        return self._neighbours(1)

    def _neighbours(self, part: int) -> Neighbours:
        given = self._settings
        counts = np.bincount(self._parts[0][0], minlength=len(self.words))
        return Neighbours(
            *self._parts[part],
            counts,
            given.mode or "skipgram",
            given.window or 1,
            given.negatives or 1,
            given.subsample or 0.0,
        )

    # ---- see Task -------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> list[str]:
        """See :class:`Task`."""
        return self.words.words

    @property
    def fingerprint(self) -> str:
        """See :class:`Task`."""
        return self.corpus.fingerprint

    @property
    def origin(self) -> str:  # type: ignore[override]
        """See :class:`Task`."""
        return self.corpus.origin

    def refuse_other(self, saved: Task, note: str) -> None:
        """See :class:`Task`; of the same text it is the setting that differs."""
        super().refuse_other(saved, note or "min_count has to stay as it was")

    def batch(self, size: int) -> Batch:
        """See :class:`Task`."""
        return self.train.batch(size, random.generator("data"))

    @cached_property
    def _tests(self) -> Batch:
        """The examples of the validation part, of its first words where it is long."""
        return self.val.examples(0, min(len(self.val.ids), _TESTED), Generator(0))

    def batches(self, size: int) -> int:
        """See :class:`Task`."""
        return -(-len(self._tests[0]) // size)

    def blocks(self, size: int, limit: int | None = None) -> Iterator[Batch]:
        """See :class:`Task`."""
        for i in spread(self.batches(size), limit):
            yield tuple(part[i * size : (i + 1) * size] for part in self._tests)

    @property
    def length(self) -> int:
        """See :class:`Task`: an example is one."""
        return 1

    def describe(self) -> str:
        """See :class:`Task`."""
        train, val = (len(part[0]) for part in self._parts)
        return (
            f"{self.corpus.describe()}, {len(self.words):,} words with vectors, which make up "
            f"{train:,} words for training and {val:,} for validation"
        )

    def describe_batch(self, size: int) -> str:
        """See :class:`Task`."""
        return (
            f"about {size} examples of {self.train.words_for(size):,} words of text, each with "
            f"{self.train.negatives} random words"
        )

    @property
    def baseline(self) -> float:
        """See :class:`Task`: that of a coin."""
        return math.log(2)

    def score(self, model: Any, stop: object = None) -> Score | None:
        """See :class:`Task`: how often the right word is above all random ones."""
        right = count = 0
        for words, samples, _ in self.blocks(1024):
            if stop:
                return None
            with no_grad():
                logits = model(words, samples).cpu().numpy()
            right += int((logits[:, :1] > logits[:, 1:]).all(axis=1).sum())
            count += len(logits)
        what = f"right words before {self.val.negatives} random ones, in text it never saw"
        return Score("accuracy", right / max(1, count), right, count, what)

    def draw(self, model: Any, path: Path) -> Path | None:
        """See :class:`Task`: the more frequent words in two dimensions."""
        frequent = self.vocabulary[_COMMON : _COMMON + 120] or self.vocabulary
        ids = np.array([self.words.ids[word] for word in frequent])
        return draw_words(path, [("", [Group("", frequent, model.vectors()[ids])])])

    def show(self, model: Any, seed: int) -> str:
        """See :class:`Task`."""
        some = self._shown_words or self.vocabulary[_COMMON:]
        known = [word for word in some if word in self.words.ids][:5] or self.vocabulary[:5]
        width = max(map(len, known))
        return "\n".join(f"{word:<{width}}  {self._nearest(model, [word])}" for word in known)

    def answer(self, model: Any, text: str, beam: int = 1) -> str:
        """See :class:`Task`: the words nearest to a word, or to a sum such as "king - man + woman".

        Raises:
            DataError: a word has no vector, or it is no such sum.
        """
        plus: list[str] = []
        minus: list[str] = []
        at = 0
        while match := _TERM.match(text.strip(), at):
            (minus if match[1] == "-" else plus).append(match[2].lower())
            at = match.end()
        if at < len(text.strip()) or not plus:
            raise DataError(
                f"input: expected a word, or words with + and - between, such as 'king - man + "
                f"woman', got {shortened(text)!r}"
            )
        for word in (*plus, *minus):
            if word not in self.words.ids:
                raise DataError(f"input: {word!r} is not among the {len(self.words):,} words")
        if sorted(plus) == sorted(minus):
            raise DataError(f"input: nothing is left of {shortened(text)!r}")
        return "\n".join(
            f"{word}  {cosine:.3f}" for word, cosine in self._near(model, plus, minus, 10)
        )

    def _nearest(self, model: Any, plus: Sequence[str], minus: Sequence[str] = ()) -> str:
        """Some words that are near, in a line."""
        return ", ".join(word for word, _ in self._near(model, plus, minus, 6))

    def _near(
        self, model: Any, plus: Sequence[str], minus: Sequence[str], n: int
    ) -> list[tuple[str, float]]:
        """The words nearest to a sum, with their cosines."""
        ids = [[self.words.ids[word] for word in side] for side in (plus, minus)]
        return [(self.vocabulary[i], c) for i, c in model.most_similar(*ids, n=n)]
