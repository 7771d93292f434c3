"""Tasks whose examples are pairs of strings: an input, and the one right answer to it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....arrays.random import Generator, generator
from ....models.ids import END, IGNORED, PAD, START
from ...data import DataError, spread
from ...data.text import Fingerprint
from ..parts import PARTS, part_of
from ..task import Batch, Score, Settings, Task

#: the ids that come before those of characters
SPECIAL = (PAD, START, END)
#: the examples of all runs are the same: these numbers do not depend on a run's seed
SEED = 2015
#: how many times as many examples as a batch has are drawn for it and sorted by length
DRAWN = 8
#: as many times as many examples as a part is to have are drawn for it, at most
MOST = 100
#: examples that are made at once, and those that are answered at once
CHUNK, ANSWERED = 5_000, 250


class Example(NamedTuple):
    """An example: what it is about (see :func:`part_of`), its input and the right answer."""

    content: str
    source: str
    target: str


class Encoded(NamedTuple):
    """A part of the data as ids: sources (n, longest) and targets with an END behind each, both
    padded with PAD; and how long each is, the END counted."""

    sources: np.ndarray
    targets: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    def by_length(self) -> np.ndarray:
        """The indices of all examples, those with short sources first."""
        return np.lexsort((self.target_lengths, self.source_lengths))


def _sizes(characters: str, longest: tuple[int, int]) -> dict[str, Any]:
    """Of a model, for these characters and the longest input and answer."""
    source, target = longest
    return {"vocab_size": len(SPECIAL) + len(characters), "block_size": max(source, target + 1)}


class Pairs(Task):
    """Base of the tasks on pairs of strings. Symbols are characters; the first three ids are
    padding, start and end.

    A batch holds sources (batch, time), answers to be continued, START + target without its last
    symbol, and targets, target + END; the last two (batch, time), too. Batches are of examples of
    about the same length: eight times as many as are needed are drawn and sorted by length, and one
    of the eight stretches is taken, each as often.

    Attributes:
        characters: all that may be in an input or an answer.
        longest: the longest input and the longest answer, in characters.
        counts: how many different examples each part has.
        things: what the examples are, in the plural.
        asked: an input, as an example.
    """

    least = {"vocab_size": len(SPECIAL) + 1, "block_size": 1}

    characters: ClassVar[str]
    longest: ClassVar[tuple[int, int]]
    counts: ClassVar[dict[str, int]] = {"train": 40_000, "val": 1_000, "test": 2_000}
    things: ClassVar[str]
    asked: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.example = ("--input", cls.asked)
        cls.usual_sizes = _sizes(cls.characters, cls.longest)

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        if text is not None:
            raise DataError(f"text: task {self.name} makes its own examples, and reads none")
        characters = self.characters if vocabulary is None else vocabulary
        if not isinstance(characters, str) or not 0 < len(characters) == len(set(characters)):
            raise ValueError(
                f"vocabulary: expected a string of different characters, got {characters!r:.80}"
            )
        self._vocabulary = characters
        self._ids = {character: i for i, character in enumerate(characters, len(SPECIAL))}

    @abstractmethod
    def draw_examples(self, rng: Generator, n: int) -> list[Example]:
        """``n`` examples, some of which may be the same."""

    def draw_training(self, rng: Generator, n: int) -> list[Example]:
        """As :meth:`draw_examples`, where examples to learn from are to be drawn in another way."""
        return self.draw_examples(rng, n)

    def examples(self, part: str) -> list[Example]:
        """The examples of a part ("train", "val", "test"), none twice; always the same."""
        rng = Generator(SEED + PARTS.index(part))
        draw = self.draw_training if part == "train" else self.draw_examples
        found: dict[str, Example] = {}
        drawn = 0
        while len(found) < self.counts[part]:
            drawn += CHUNK
            if drawn > CHUNK + MOST * self.counts[part]:
                raise DataError(
                    f"task {self.name}: counts: expected at most {len(found):,} for part {part}, "
                    f"as there are no more different examples of it, got {self.counts[part]:,}"
                )
            for example in draw(rng, CHUNK):
                if part_of(example.content) == part:
                    found.setdefault(example.source, example)
        return list(found.values())[: self.counts[part]]

    # ---- what a checkpoint keeps ----------------------------------------------------------------

    @property
    def vocabulary(self) -> str:
        """The characters, in the order of their ids, which start at 3."""
        return self._vocabulary

    @cached_property
    def fingerprint(self) -> str:
        """See :class:`Task`; of the examples to learn from."""
        mark = Fingerprint()
        for part in (self.train.sources, self.train.targets):
            mark.update(part.astype("<u2").tobytes().hex())
        return mark.value

    def sizes(self) -> dict[str, Any]:
        """See :class:`Task`."""
        return _sizes(self.vocabulary, self.longest)

    # ---- examples to learn from -----------------------------------------------------------------

    @cached_property
    def train(self) -> Encoded:
        """The part to learn from."""
        return self._encoded("train")

    @cached_property
    def val(self) -> Encoded:
        """The part that watches."""
        return self._encoded("val")

    @cached_property
    def test(self) -> Encoded:
        """The part for the figure at the end."""
        return self._encoded("test")

    def batch(self, size: int) -> Batch:
        """See :class:`Task`."""
        rng, part = generator("data"), self.train
        drawn = rng.integers(0, len(part.sources), (DRAWN * size,))
        drawn = drawn[np.argsort(part.source_lengths[drawn], kind="stable")]
        first = int(rng.integers(0, DRAWN)) * size
        return self._batch(part, drawn[first : first + size])

    def batches(self, size: int) -> int:
        """See :class:`Task`."""
        return -(-len(self.val.sources) // size)

    def blocks(self, size: int, limit: int | None = None) -> Iterator[Batch]:
        """See :class:`Task`; examples of about the same length are together."""
        order = self.val.by_length()
        for i in spread(self.batches(size), limit):
            yield self._batch(self.val, order[i * size : (i + 1) * size])

    @cached_property
    def length(self) -> int:
        """See :class:`Task`: symbols of an input and its answer, the mean."""
        return round(float((self.train.source_lengths + self.train.target_lengths).mean()))

    def describe(self) -> str:
        """See :class:`Task`."""
        train, val, test = (f"{self.counts[part]:,}" for part in PARTS)
        return f"{train} {self.things} to learn from, {val} for validation, {test} for the test"

    @property
    def baseline(self) -> float:
        """See :class:`Task`."""
        return math.log(self.sizes()["vocab_size"])

    # ---- what came of it ------------------------------------------------------------------------

    def score(self, model: Any, stop: object = None) -> Score | None:
        """See :class:`Task`: how many answers of the test part are right in every character."""
        part, right = self.test, 0
        order = part.by_length()
        for first in range(0, len(order), ANSWERED):
            if stop:
                return None
            rows = order[first : first + ANSWERED]
            sources = part.sources[rows, : part.source_lengths[rows].max()]
            for row, answer in zip(rows, self._answers(model, sources)):
                right += answer == part.targets[row, : part.target_lengths[row] - 1].tolist()
        what = f"{self.things} that the run never saw"
        return Score("exact", right / len(order), right, len(order), what)

    def draw(self, model: Any, path: Path) -> Path | None:
        """See :class:`Task`: which characters of an input the model attends to for each one that
        it writes, for three inputs of the test."""
        from .alignment import plot_alignments  # matplotlib is needed here only

        order = self.test.by_length()
        rows = [order[int(share * (len(order) - 1))] for share in (0.5, 0.8, 1.0)]
        return plot_alignments(path, self, model, [self._source(row) for row in rows])

    def show(self, model: Any, seed: int) -> str:
        """See :class:`Task`: some inputs of the test, with the answers and which are wrong."""
        rows = Generator(seed).integers(0, len(self.test.sources), (6,))
        lines = []
        for row in rows:
            right = self.text(self.test.targets[row, : self.test.target_lengths[row] - 1])
            source = self._source(row)
            got = self.answer(model, source)
            wrong = "" if got == right else f"    wrong: it is {right}"
            lines.append(f"{source:{self.longest[0]}}  {got}{wrong}")
        return "\n".join(lines)

    def answer(self, model: Any, text: str, beam: int = 1) -> str:
        """See :class:`Task`."""
        ids = np.array([self.encode(self.read(text))])
        return self.text(self._answers(model, ids, beam)[0])

    def read(self, text: str) -> str:
        """An input as the model is to see it, checked; spaces are made single.

        Raises:
            DataError: no such input can be; the message says what is expected.
        """
        text, most = " ".join(text.split()), self.longest[0]
        if not 0 < len(text) <= most:
            raise DataError(
                f"input: expected 1 to {most} characters, such as {self.asked}, got {len(text)}"
            )
        for character in text:
            if character not in self._ids:
                raise DataError(
                    f"input: {character!r} was in no example of task {self.name}, only "
                    f"{self.vocabulary!r} were; such as {self.asked}"
                )
        return text

    # ---- characters and ids ---------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """The ids of characters that are all in the vocabulary."""
        return [self._ids[character] for character in text]

    def text(self, ids: Sequence[int] | np.ndarray) -> str:
        """The characters of ids; where an id is none of a character, U+FFFD."""
        first = len(SPECIAL)
        return "".join(self.vocabulary[i - first] if i >= first else "\ufffd" for i in ids)

    def _source(self, row: int) -> str:
        return self.text(self.test.sources[row, : self.test.source_lengths[row]])

    def _answers(self, model: Any, sources: np.ndarray, beam: int = 1) -> list[list[int]]:
        """The model's answers; one that is longer than any can be is cut."""
        most = self.longest[1] + 1
        return [
            list(ids)
            for ids in model.translate(sources.astype(np.int64), beam=beam, max_new_tokens=most)
        ]

    def _batch(self, part: Encoded, rows: np.ndarray) -> Batch:
        source_lengths, target_lengths = part.source_lengths[rows], part.target_lengths[rows]
        sources = part.sources[rows, : source_lengths.max()].astype(np.int64)
        targets = part.targets[rows, : target_lengths.max()].astype(np.int64)
        given = np.full_like(targets, START)
        given[:, 1:] = np.where(targets[:, :-1] == END, PAD, targets[:, :-1])
        return sources, given, np.where(targets == PAD, IGNORED, targets)

    def _encoded(self, name: str) -> Encoded:
        part = self.examples(name)
        longest_source, longest_target = self.longest
        sources, source_lengths = self._padded([x.source for x in part], longest_source)
        targets, target_lengths = self._padded([x.target for x in part], longest_target + 1)
        targets[np.arange(len(targets)), target_lengths] = END
        return Encoded(sources, targets, source_lengths, target_lengths + 1)

    def _padded(self, texts: list[str], width: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n, width), and how many of each row are a text's."""
        try:
            ids = self.encode("".join(texts))
        except KeyError as error:
            raise DataError(f"vocabulary: the data have {error}, which is not in it") from None
        lengths = np.array([len(text) for text in texts])
        rows = np.full((len(texts), width), PAD, dtype=np.uint16)
        rows[np.arange(width) < lengths[:, None]] = ids
        return rows, lengths
