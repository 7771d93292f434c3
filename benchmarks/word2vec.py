"""Word vectors: what a step costs as the vocabulary grows, and words a second beside gensim.

``python -m benchmarks.word2vec`` prints the time of a training step for 10^3 to 10^6 words, with
sparse gradients and with gradients of the whole table; and, where gensim is installed, a table of
both on the same generated text with the same settings, one thread each, with the neighbours that
they agree on.

gensim's inner loop is compiled C that makes a step for each pair of words. Ours are steps of about
a thousand pairs on NumPy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

if __name__ == "__main__":  # before NumPy is imported
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_name] = "1"

import numpy as np

import tinytensor as tt
from tinytensor.models import Word2Vec, build
from tinytensor.train import SGD, Adagrad, Adam, AdamW
from tinytensor.train.data import analogies
from tinytensor.train.data.words import Alias, Neighbours, Words
from tinytensor.train.tasks.vectors.analogies import answered, purity

PAIRS, NEGATIVES, WIDTH = 1024, 5, 100
OPTIMISERS: dict[str, Any] = {"sgd": SGD, "adagrad": Adagrad, "adam": Adam, "adamw": AdamW}


class Text:
    """Words whose frequencies fall as 1 / rank (Zipf). The right words are of 1,000 that are spread
    over the vocabulary; random words are of the same where ``few``, else of all."""

    def __init__(self, vocabulary: int, few: bool):
        weights = 1.0 / np.arange(1, vocabulary + 1)
        self.all = np.random.default_rng(0).permutation(vocabulary)
        self.right = Alias(weights[:1000])
        self.random = Alias(weights[: 1000 if few else None] ** 0.75)

    def batch(self, rng: tt.Generator) -> tuple[np.ndarray, ...]:
        """Words, samples and labels of ``PAIRS`` pairs."""
        words, right = self.all[self.right.draw(rng, (2, PAIRS))]
        samples = np.empty((PAIRS, 1 + NEGATIVES), np.int64)
        samples[:, 0] = right
        samples[:, 1:] = self.all[self.random.draw(rng, (PAIRS, NEGATIVES))]
        labels = np.zeros(samples.shape, np.int64)
        labels[:, 0] = 1
        return words, samples, labels


class Step(NamedTuple):
    """Milliseconds, and how many rows of both tables have a gradient."""

    draw: float
    compute: float
    update: float
    rows: float

    @property
    def whole(self) -> float:
        """All of a step."""
        return self.draw + self.compute + self.update


def measured(vocabulary: int, optimiser: str, sparse: bool, few: bool, steps: int) -> Step:
    """Medians of the processor's time, which other programs disturb less than that of the clock."""
    tt.manual_seed(0)
    text, rng = Text(vocabulary, few), tt.random.generator("data")
    model: Word2Vec = build("word2vec", vocab_size=vocabulary, n_embd=WIDTH)
    model.words.sparse = model.contexts.sparse = sparse
    optimizer = OPTIMISERS[optimiser](model.parameters(), lr=0.01)
    found = []
    for _ in range(steps + 3):
        start = time.process_time()
        batch = text.batch(rng)
        drawn = time.process_time()
        model.loss(*batch).backward()
        computed = time.process_time()
        optimizer.step()
        end = time.process_time()
        rows = sum(len(getattr(p.grad, "rows", p)) for p in model.parameters())
        optimizer.zero_grad()
        spans = (drawn - start, computed - drawn, end - computed)
        found.append((*(1e3 * span for span in spans), rows))
    return Step(*(statistics.median(column) for column in zip(*found[3:], strict=True)))


def by_vocabulary(sizes: Sequence[int], optimiser: str, steps: int, rounds: int) -> None:
    """Print the first tables. Sizes take turns, and the best of each counts."""
    for few, what in (
        (True, "all words of a batch are of 1,000, spread over the vocabulary"),
        (False, "random words are drawn from the whole vocabulary: the more there are, the fewer "
                "come twice"),
    ):  # fmt: skip
        best: dict[int, Step] = {}
        for _ in range(rounds):
            for size in sizes:
                found = measured(size, optimiser, True, few, steps)
                best[size] = min(best.get(size, found), found, key=lambda step: step.whole)
        print(f"{what}\n    words    rows    draw  compute  update    step  ratio  whole table")
        for size in sizes:
            step, dense = best[size], measured(size, optimiser, False, few, 3).whole
            ratio = step.whole / best[sizes[0]].whole
            print(
                f"{size:>9,}  {step.rows:>6,.0f}  {step.draw:>6.2f}  {step.compute:>7.2f}  "
                f"{step.update:>6.2f}  {step.whole:>6.2f}  {ratio:>5.2f}  {dense:>11.1f}"
            )


def overlap(one: np.ndarray, other: np.ndarray, among: Sequence[int], nearest: int = 5) -> float:
    """Of the nearest neighbours of some words by one set of vectors, those that are nearest by
    another as well: the mean share."""
    sides = []
    for vectors in (one, other):
        cosines = vectors[among] @ vectors.T
        cosines[np.arange(len(among)), among] = -np.inf
        sides.append(np.argsort(-cosines, axis=1)[:, :nearest])
    shares = [len(set(a) & set(b)) / nearest for a, b in zip(*sides, strict=True)]
    return float(np.mean(shares))


def ours(
    sentences: list[list[str]], words: Words, mode: str, epochs: int, seed: int
) -> tuple[np.ndarray, float]:
    """Vectors after so many passes over the text, and words a second."""
    tt.manual_seed(seed)
    ids, numbers = words.encode(sentences)
    counts = np.bincount(ids, minlength=len(words))
    text = Neighbours(ids, numbers, counts, mode, 5, NEGATIVES, 1e-3)
    model: Word2Vec = build("word2vec", vocab_size=len(words), n_embd=WIDTH, mode=mode)
    optimizer = Adagrad(model.parameters(), lr=0.1)
    rng, steps = tt.random.generator("data"), epochs * len(ids) // text.words_for(PAIRS)
    start = time.perf_counter()
    for step in range(steps):
        optimizer.lr = 0.1 * (1 - 0.9 * step / steps)
        model.loss(*text.batch(PAIRS, rng)).backward()
        optimizer.step()
        optimizer.zero_grad()
    speed = steps * text.words_for(PAIRS) / (time.perf_counter() - start)
    return model.vectors(), speed


def gensims(
    sentences: list[list[str]], words: Words, mode: str, epochs: int, seed: int
) -> tuple[np.ndarray, float]:
    """The same by gensim."""
    from gensim.models import Word2Vec as Gensim

    model = Gensim(
        vector_size=WIDTH, window=5, negative=NEGATIVES, sample=1e-3, min_count=1,
        sg=int(mode == "skipgram"), workers=1, seed=seed,
    )  # fmt: skip
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=len(sentences), epochs=epochs)
    speed = epochs * sum(map(len, sentences)) / (time.perf_counter() - start)
    vectors = np.array([model.wv[word] for word in words.words])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), speed


def beside_gensim(epochs: int, theirs: int) -> None:
    """Print the second table."""
    train, _ = analogies.sentences(20_000, 1)
    sentences = [sentence.split() for sentence in train]
    words = Words.counted(sentences, 1)
    classed = [words.ids[word] for group in analogies.classes().values() for word in group]
    print(
        f"\n{len(sentences):,} generated sentences, {sum(map(len, sentences)):,} words; one "
        f"thread; ours {epochs} epochs, gensim {theirs}"
    )
    print(f"{'':<24}  {'words/s':>9}  {'ratio':>6}  {'purity':>6}  {'analogies':>9}")
    for mode in ("skipgram", "cbow"):
        makers: list[tuple[str, Callable[..., Any], int]] = [
            ("tinytensor", ours, epochs), ("gensim", gensims, theirs),
        ]  # fmt: skip
        found, speeds = [], []
        for name, make, passes in makers:
            vectors, speed = make(sentences, words, mode, passes, 1)
            right, count = answered(vectors, words)
            found.append(vectors)
            speeds.append(speed)
            print(
                f"{name + ', ' + mode:<24}  {speed:>9,.0f}  {speed / speeds[0]:>6.1f}  "
                f"{purity(vectors, words):>6.3f}  {right / count:>9.3f}"
            )
        again, _ = ours(sentences, words, mode, epochs, 2)
        for n, which in ((5, "5 nearest"), (19, "19 nearest, as many as its class has,")):
            shared = [overlap(found[0], other, classed, n) for other in (found[1], again)]
            print(
                f"  of the {which} of each of {len(classed)} words {shared[0]:.2f} are the same by "
                f"gensim, {shared[1]:.2f} by another seed of ours"
            )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optimizer", choices=OPTIMISERS, default="adagrad")
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12, help="0 leaves out gensim")
    parser.add_argument("--gensim-epochs", type=int, default=100)
    given = parser.parse_args()
    print(
        f"one step: {PAIRS} pairs, {NEGATIVES} random words each, vectors of {WIDTH} numbers, "
        f"{given.optimizer}; ms of the processor, the best of {given.rounds} medians of "
        f"{given.steps} steps"
    )
    by_vocabulary(given.vocabulary, given.optimizer, given.steps, given.rounds)
    if not given.epochs:
        return
    try:
        import gensim  # noqa: F401
    except ImportError:
        print("\ngensim is not installed: pip install gensim, for the second table")
        return
    beside_gensim(given.epochs, given.gensim_epochs)


if __name__ == "__main__":
    main()
