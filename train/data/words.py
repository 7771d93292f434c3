"""Words as symbols, and examples for word vectors: words that occur together, and random ones."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...arrays.random import Generator
from .errors import DataError

#: how many parts of a text are searched for examples
_TRIES = 1000
#: a word (of letters, digits and underscores, as names in a program are), or the end of a sentence
_PARTS = re.compile(r"[^\W\d]\w*|[.!?](?=\s)|\n\s*\n")


def sentences_of(pieces: Iterable[str]) -> Iterator[list[str]]:
    """The sentences of a text that comes in pieces, as lower-case words.

    A sentence ends with a full stop, ``!`` or ``?`` before white space, or with an empty line.
    """
    left, sentence = "", list[str]()
    for piece in pieces:
        text = left + piece
        parts = text.rsplit(None, 2)  # the last two may go on, or end a sentence
        end = len(parts[0]) if len(parts) > 2 else 0
        end += len(text) - end - len(text[end:].lstrip())
        yield from _take(text[:end], sentence)
        left = text[end:]
    yield from _take(left + "\n\n", sentence)


def _take(text: str, sentence: list[str]) -> Iterator[list[str]]:
    """The sentences that end in a text; what is left over stays in ``sentence``."""
    for part in _PARTS.findall(text.lower()):
        if part[0] not in ".!?\n":
            sentence.append(part)
        elif sentence:
            yield sentence.copy()
            sentence.clear()


class Words:
    """A vocabulary of words.

    Args:
        words: each once; their ids are their places.

    Raises:
        ValueError: no words, a word twice, or something else than strings.
    """

    def __init__(self, words: Sequence[str]):
        given = words if isinstance(words, (list, tuple)) else ()
        if not given or not all(isinstance(word, str) and word for word in given):
            raise ValueError("words: expected a list of words")
        self.words = list(words)
        self.ids = {word: i for i, word in enumerate(self.words)}
        if len(self.ids) != len(self.words):
            raise ValueError("words: expected each word once")

    @classmethod
    def counted(cls, sentences: Iterable[Sequence[str]], min_count: int) -> Words:
        """The words that occur at least so often, the most frequent first.

        Raises:
            DataError: there are fewer than two.
        """
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(sentence)
        known = [word for word, n in counts.items() if n >= min_count]
        if len(known) < 2:
            raise DataError(
                f"data: expected at least 2 words that occur {min_count} times (min_count), got "
                f"{len(known)} of {len(counts)} different words"
            )
        return cls(sorted(known, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentences: Iterable[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """All sentences in a row, without unknown words.

        Returns:
            ids, int64 (n,), and for each of them the number of its sentence, int64 (n,).
        """
        ids, numbers = array("q"), array("q")
        for i, sentence in enumerate(sentences):
            found = [self.ids[word] for word in sentence if word in self.ids]
            ids.extend(found)
            numbers.extend([i] * len(found))
        return np.array(ids, np.int64), np.array(numbers, np.int64)


class Alias:
    """Draws from a fixed distribution over 0 .. n - 1 in a time that does not depend on n.

    A table of n places of equal weight, each shared by at most two numbers (Walker, 1977).

    Args:
        weights: (n,), finite and >= 0, one above 0.
    """

    def __init__(self, weights: np.ndarray):
        n = len(weights)
        size = np.asarray(weights, np.float64) * (n / np.sum(weights, dtype=np.float64))
        light, heavy = np.flatnonzero(size < 1.0), np.flatnonzero(size >= 1.0)
        self.share = np.ones(n)
        self.other = np.arange(n)
        if not (len(light) and len(heavy)):
            return
        # The heavy ones fill up the places of the light ones, one heavy one after the other. Where
        # the last gift of one is larger than its rest, the next one fills up its own place.
        lacks = np.cumsum(1.0 - size[light])
        gives = np.cumsum(size[heavy] - 1.0)
        begins = np.concatenate(([0.0], lacks[:-1]))
        giver = np.minimum(np.searchsorted(gives, begins, side="right"), len(heavy) - 1)
        self.share[light], self.other[light] = size[light], heavy[giver]
        at = np.minimum(np.searchsorted(lacks, gives, side="left"), len(light) - 1)
        self.share[heavy[:-1]] = 1.0 - np.clip(lacks[at] - gives, 0.0, 1.0)[:-1]
        self.other[heavy[:-1]] = heavy[1:]

    def draw(self, rng: Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Independent numbers, int64 of ``shape``."""
        place = rng.integers(0, len(self.share), shape)
        return np.where(rng.random(shape) < self.share[place], place, self.other[place])


class Neighbours:
    """Examples of which words occur near each other, with random words beside them.

    Frequent words are left out at random, before the windows are laid: one that makes up the share
    f of the text stays with probability sqrt(t / f). A window reaches 1 to ``window`` words to both
    sides, as drawn for each word, and not beyond the sentence. Random words are drawn in
    proportion to their counts to the power of 3/4, and again where one is the right word (Mikolov
    et al., 2013b).

    Args:
        ids, numbers: what :meth:`Words.encode` returns.
        counts: of each word in the text to learn from, (n_words,).
        mode: "skipgram": of one word each near one is to be told from random ones; "cbow": of the
            near ones together the word itself.
        window: the largest reach.
        negatives: random words for each example.
        subsample: t; 0 leaves no word out.

    Raises:
        DataError: no sentence has two words, or there are no two different words.
    """

    def __init__(
        self,
        ids: np.ndarray,
        numbers: np.ndarray,
        counts: np.ndarray,
        mode: str = "skipgram",
        window: int = 5,
        negatives: int = 5,
        subsample: float = 1e-3,
    ):
        if not (numbers[1:] == numbers[:-1]).any():
            raise DataError(
                f"data: expected sentences of several words of the vocabulary, got {len(ids)} "
                "words, each alone in its sentence; use a longer text or a smaller min_count"
            )
        if np.count_nonzero(counts) < 2:
            raise DataError("data: expected at least 2 different words in the text to learn from")
        self.ids, self.numbers = ids, numbers
        self.mode, self.window, self.negatives = mode, window, negatives
        self.random_words = Alias(np.asarray(counts, np.float64) ** 0.75)
        share = np.maximum(counts, 1) / max(1, int(np.sum(counts)))
        self.keep = np.minimum(1.0, np.sqrt((subsample or np.inf) / share))
        self._sides = np.concatenate((np.arange(-window, 0), np.arange(1, window + 1)))
        self._sentences = int(numbers[-1]) + 1
        some = min(len(ids), 20_000)
        self._rate = len(self.examples(0, some, Generator(0))[0]) / some

    def words_for(self, size: int) -> int:
        """How many words of the text give about so many examples."""
        return max(2 * self.window, int(np.ceil(size / max(self._rate, 1e-3))))

    def batch(self, size: int, rng: Generator) -> tuple[np.ndarray, ...]:
        """At most ``size`` examples, from a random part of the text.

        Returns:
            words, samples, labels, int64: words (n,), or for "cbow" (n, 2 window), with -1 at the
            end of rows with fewer; samples (n, 1 + negatives), the right one first; labels of the
            same shape, 1 and then 0.

        Raises:
            DataError: (nearly) all words are left out.
        """
        for _ in range(_TRIES):
            start = int(rng.integers(0, len(self.ids)))
            found = self.examples(start, self.words_for(size), rng)
            if len(found[0]):
                return tuple(part[:size] for part in found)
        raise DataError(
            f"data: no two words stay near each other in {_TRIES} parts of the text; use a longer "
            "text or a larger subsample"
        )

    def examples(self, start: int, length: int, rng: Generator) -> tuple[np.ndarray, ...]:
        """All examples of ``length`` words from a place on; after the last comes the first."""
        at = start + np.arange(length)
        turn, at = np.divmod(at, len(self.ids))
        ids, numbers = self.ids[at], self.numbers[at] + turn * self._sentences
        stays = rng.random((length,)) < self.keep[ids]
        ids, numbers = ids[stays], numbers[stays]
        reach = rng.integers(1, self.window + 1, (len(ids),))
        near = np.arange(len(ids))[:, None] + self._sides
        there = (near >= 0) & (near < len(ids)) & (np.abs(self._sides) <= reach[:, None])
        near = np.where(there, near, 0)
        there &= numbers[near] == numbers[:, None]
        if self.mode == "skipgram":
            row, column = np.nonzero(there)
            words, right = ids[row], ids[near[row, column]]
        else:
            row, column = np.nonzero(there)
            words = np.full(there.shape, -1)
            words[row, np.cumsum(there, axis=1)[row, column] - 1] = ids[near[row, column]]
            some = words[:, 0] >= 0
            words, right = words[some], ids[some]
        samples = np.empty((len(right), 1 + self.negatives), np.int64)
        samples[:, 0] = right
        samples[:, 1:] = self._others(right, rng)
        labels = np.zeros(samples.shape, np.int64)
        labels[:, 0] = 1
        return words, samples, labels

    def _others(self, right: np.ndarray, rng: Generator) -> np.ndarray:
        """Random words, (n, negatives), none of them the right one of its row."""
        drawn = self.random_words.draw(rng, (len(right), self.negatives))
        row, column = np.nonzero(drawn == right[:, None])
        while len(row):
            again = self.random_words.draw(rng, (len(row),))
            drawn[row, column] = again
            same = again == right[row]
            row, column = row[same], column[same]
        return drawn
