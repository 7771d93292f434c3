"""Word vectors: what a step costs as the vocabulary grows, and words a second beside gensim.

``python -m benchmarks.word2vec`` prints two tables: the time of a training step for 10^3 to 10^6
words, with sparse gradients and with gradients of the whole table; and, where gensim is installed,
both on the same generated text with the same settings, one thread each, with the neighbours that
they agree on.

gensim's inner loop is compiled C that makes a step for each pair of words. Ours are steps of about a
thousand pairs on NumPy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

import tinytensor as tt  # noqa: E402
from tinytensor.models import Word2Vec, build  # noqa: E402
from tinytensor.train import SGD, Adagrad, Adam, AdamW  # noqa: E402
from tinytensor.train.data import analogies  # noqa: E402
from tinytensor.train.data.words import Neighbours, Words  # noqa: E402
from tinytensor.train.tasks.analogies import answered, purity  # noqa: E402

PAIRS, NEGATIVES, WIDTH = 1024, 5, 100
OPTIMISERS: dict[str, Any] = {"sgd": SGD, "adagrad": Adagrad, "adam": Adam, "adamw": AdamW}


def examples(vocabulary: int, seed: int) -> Neighbours:
    """A text of 500,000 words whose frequencies fall as 1 / rank (Zipf), with the same number of
    different words in a batch for every vocabulary: the ranks are drawn from 1,000 words, which are
    spread over the vocabulary. Negative samples come from all of it."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, 1001)
    ranks = rng.choice(1000, 500_000, p=weights / weights.sum())
    ids = rng.permutation(vocabulary)[:1000][ranks]
    numbers = np.arange(len(ids)) // 20
    counts = np.bincount(ids, minlength=vocabulary) + 1
    return Neighbours(ids, numbers, counts, negatives=NEGATIVES)


def step_times(
    vocabulary: int, optimiser: str, sparse: bool, steps: int
) -> tuple[float, float, float]:
    """Milliseconds of drawing a batch, of forward and backward, and of the update: medians."""
    tt.manual_seed(0)
    text, rng = examples(vocabulary, 0), tt.random.generator("data")
    model: Word2Vec = build("word2vec", vocab_size=vocabulary, n_embd=WIDTH)
    model.words.sparse = model.contexts.sparse = sparse
    optimizer = OPTIMISERS[optimiser](model.parameters(), lr=0.01)
    times: list[tuple[float, float, float]] = []
    for _ in range(steps + 3):
        start = time.perf_counter()
        batch = text.batch(PAIRS, rng)
        drawn = time.perf_counter()
        model.loss(*batch).backward()
        computed = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad()
        times.append((drawn - start, computed - drawn, time.perf_counter() - computed))
    draw, compute, update = (1e3 * statistics.median(t) for t in zip(*times[3:], strict=True))
    return draw, compute, update


def by_vocabulary(sizes: Sequence[int], optimiser: str, steps: int, rounds: int) -> None:
    """Print the first table. Sizes take turns, and the best of each counts."""
    print(
        f"one step: {PAIRS} pairs, {NEGATIVES} random words each, vectors of {WIDTH} numbers, "
        f"{optimiser}; milliseconds, the best of {rounds} medians of {steps} steps"
    )
    best: dict[int, tuple[float, ...]] = {}
    for _ in range(rounds):
        for size in sizes:
            found = step_times(size, optimiser, True, steps)
            best[size] = min(best.get(size, found), found, key=sum)
    print(f"{'words':>9}  {'draw':>6}  {'compute':>7}  {'update':>6}  {'step':>6}  {'ratio':>5}"
          f"  {'whole table':>11}")  # fmt: skip
    first = sum(best[sizes[0]])
    for size in sizes:
        dense = sum(step_times(size, optimiser, False, 3 if size > 10_000 else steps))
        draw, compute, update = best[size]
        print(
            f"{size:>9,}  {draw:>6.2f}  {compute:>7.2f}  {update:>6.2f}  {sum(best[size]):>6.2f}  "
            f"{sum(best[size]) / first:>5.2f}  {dense:>11.1f}"
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
        f"\n{len(sentences):,} generated sentences, {sum(map(len, sentences)):,} words; one thread; "
        f"ours {epochs} epochs, gensim {theirs}"
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
        print(
            f"  of the 5 nearest of each of {len(classed)} words {overlap(*found, classed):.2f} are "
            f"the same as gensim's, {overlap(found[0], again, classed):.2f} as ours of another seed"
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optimizer", choices=OPTIMISERS, default="adagrad")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--gensim-epochs", type=int, default=100)
    given = parser.parse_args()
    by_vocabulary([10**3, 10**4, 10**5, 10**6], given.optimizer, given.steps, given.rounds)
    try:
        import gensim  # noqa: F401
    except ImportError:
        print("\ngensim is not installed: pip install gensim, for the second table")
        return
    beside_gensim(given.epochs, given.gensim_epochs)


if __name__ == "__main__":
    main()
