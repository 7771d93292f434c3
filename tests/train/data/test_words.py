"""Words of a text, random words in their proportions, and examples of words that are near."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor import Generator
from tinytensor.train.data import DataError, analogies
from tinytensor.train.data.words import Alias, Neighbours, Words, sentences_of

TEXT = "The cat sat. The cat_2 -- a cat! -- ran; 3 x4\n\nIt's\nover ... Version 3.11 is\n \nÉlan?"


def test_words_and_sentences() -> None:
    assert list(sentences_of([TEXT])) == [
        ["the", "cat", "sat"],
        ["the", "cat_2", "a", "cat"],
        ["ran", "x4"],
        ["it", "s", "over"],
        ["version", "is"],
        ["élan"],
    ]


@given(st.text(alphabet="ab_1.!? \n", max_size=40), st.lists(st.integers(0, 40), max_size=8))
def test_how_a_text_is_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[i:j] for i, j in zip(edges, edges[1:], strict=False)]
    assert list(sentences_of(pieces)) == list(sentences_of([text]))


def test_a_vocabulary_is_of_what_is_frequent() -> None:
    sentences = [["b", "a", "c"], ["a", "b", "d"], [], ["b", "d"]]
    words = Words.counted(sentences, 2)
    assert words.words == ["b", "a", "d"] and len(words) == 3
    ids, numbers = words.encode(sentences)
    assert ids.tolist() == [0, 1, 1, 0, 2, 0, 2] and numbers.tolist() == [0, 0, 1, 1, 1, 3, 3]
    with pytest.raises(DataError, match="at least 2 words that occur 3 times .*got 1 of 4"):
        Words.counted(sentences, 3)
    wrong: list[Any] = [[], ["a", "a"], ["a", 3], [""], "", ["a", None]]
    for given_words in wrong:
        with pytest.raises(ValueError, match="words: expected"):
            Words(given_words)


WEIGHTS = st.lists(st.floats(0, 100), min_size=1, max_size=60).filter(lambda w: sum(w) > 1e-6)


@given(WEIGHTS)
def test_the_table_has_exactly_the_proportions(weights: list[float]) -> None:
    """Whatever the weights: the parts of its places that belong to a number, added up."""
    n = len(weights)
    table = Alias(np.array(weights))
    assert ((table.share >= 0) & (table.share <= 1)).all()
    found = table.share / n
    np.add.at(found, table.other, (1 - table.share) / n)
    np.testing.assert_allclose(found, np.array(weights) / sum(weights), atol=1e-12)


def test_draws_are_of_the_power_of_three_quarters() -> None:
    """Chi-square of 200,000 random words against counts ** 0.75; against the counts it is huge."""
    counts = np.array([10_000, 3000, 800, 200, 50, 10, 1])
    ids = np.repeat(np.arange(7), counts)
    near = Neighbours(ids, np.zeros(len(ids), np.int64), counts, negatives=5)
    drawn = near.random_words.draw(Generator(0), (200_000,))
    seen = np.bincount(drawn, minlength=7)

    def chi_square(weights: np.ndarray) -> float:
        expected = weights / weights.sum() * len(drawn)
        return float(((seen - expected) ** 2 / expected).sum())

    assert chi_square(counts**0.75) < 22.5, "0.1% of right ones are above, for 6 degrees of freedom"
    assert chi_square(counts.astype(float)) > 1000


def neighbours(sentences: list[list[int]], **settings: Any) -> Neighbours:
    ids = np.array([i for sentence in sentences for i in sentence])
    numbers = np.array([n for n, sentence in enumerate(sentences) for _ in sentence])
    counts = np.bincount(ids, minlength=int(ids.max()) + 1)
    return Neighbours(ids, numbers, counts, **{"subsample": 0.0, **settings})


def test_pairs_of_a_window_of_one() -> None:
    near = neighbours([[0, 1, 2], [3, 4], [5]], window=1, negatives=2)
    words, samples, labels = near.examples(0, 6, Generator(0))
    pairs = sorted(zip(words.tolist(), samples[:, 0].tolist(), strict=True))
    assert pairs == [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)]
    assert labels.tolist() == [[1, 0, 0]] * 6
    assert {a.dtype for a in (words, samples, labels)} == {np.dtype(np.int64)}


def test_what_is_around_in_cbow() -> None:
    near = neighbours([[0, 1, 2], [3, 4], [5]], mode="cbow", window=1, negatives=1)
    words, samples, _ = near.examples(0, 6, Generator(0))
    assert words.tolist() == [[1, -1], [0, 2], [1, -1], [4, -1], [3, -1]]
    assert samples[:, 0].tolist() == [0, 1, 2, 3, 4], "a word alone in its sentence is left out"


def test_windows_reach_uniformly_far() -> None:
    """Of reaches 1 to 4 each is as likely, so that a word 1 away always counts and one 4 away in a
    quarter of the cases."""
    near = neighbours([[*range(50)]], window=4, negatives=1)
    distances = np.zeros(5)
    for seed in range(200):
        words, samples, _ = near.examples(0, 50, Generator(seed))
        distances += np.bincount(np.abs(words - samples[:, 0]), minlength=5)[:5]
    pairs = 200 * 2 * (50 - np.arange(1, 5))
    np.testing.assert_allclose(distances[1:] / pairs, [1, 0.75, 0.5, 0.25], atol=0.02)


def test_frequent_words_are_left_out_before_windows_are_laid() -> None:
    """A word of share f stays with sqrt(t / f); what is left moves together."""
    text = [0, 0, 0, 1, 0, 0, 0, 2] * 100
    near = neighbours([text], window=1, subsample=0.03)
    np.testing.assert_allclose(
        near.keep, [math.sqrt(0.03 / 0.75), math.sqrt(0.03 / 0.125), math.sqrt(0.03 / 0.125)]
    )
    words, samples, _ = near.examples(0, len(text), Generator(0))
    assert ((words > 0) & (samples[:, 0] > 0)).any(), "across the words that were left out"
    shares = np.bincount(words, minlength=3) / len(words)
    expected = near.keep * [0.75, 0.125, 0.125]
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.06)


@pytest.mark.parametrize("mode", ["skipgram", "cbow"])
@given(seed=st.integers(0, 1000))
def test_no_random_word_is_the_right_one(mode: str, seed: int) -> None:
    """Of three words, one of which is nearly all of the text."""
    near = neighbours([[0, 0, 0, 0, 1, 0, 0, 2] * 4], mode=mode, negatives=7)
    _, samples, _ = near.batch(50, Generator(seed))
    assert (samples[:, 1:] != samples[:, :1]).all()


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=6).filter(
        lambda s: any(len(set(one)) > 1 for one in s) and len({i for one in s for i in one}) > 1
    ),
    st.sampled_from(["skipgram", "cbow"]),
    st.integers(1, 4),
)
def test_right_words_are_near_in_the_same_sentence(
    sentences: list[list[int]], mode: str, window: int
) -> None:
    near = neighbours(sentences, mode=mode, window=window)
    words, samples, _ = near.batch(40, Generator(1))
    assert 0 < len(words) <= 40
    together = {
        (one[i], one[j])
        for one in sentences
        for i in range(len(one))
        for j in range(max(0, i - window), min(len(one), i + window + 1))
        if i != j
    }
    for around, right in zip(words, samples[:, 0], strict=True):
        there = np.atleast_1d(around)
        there = there[there >= 0]
        assert len(there) and all((int(i), int(right)) in together for i in there)


def test_a_batch_is_about_as_large_as_asked_for() -> None:
    rng = np.random.default_rng(0)
    near = neighbours([rng.integers(0, 100, 12).tolist() for _ in range(300)], subsample=1e-2)
    sizes = [len(near.batch(500, Generator(seed))[0]) for seed in range(30)]
    assert max(sizes) <= 500 and np.mean(sizes) > 450


def test_texts_without_examples() -> None:
    """Each is refused, and none searched for ever."""
    with pytest.raises(DataError, match="sentences of several words of the .* got 0 words"):
        Neighbours(np.zeros(0, np.int64), np.zeros(0, np.int64), np.ones(3))
    with pytest.raises(DataError, match="got 3 words, each alone in its sentence"):
        neighbours([[0], [1], [2]])
    with pytest.raises(DataError, match="at least 2 different words"):
        neighbours([[1, 1, 1]])
    near = neighbours([[0, 1, 2, 0, 1]], subsample=1e-13)
    with pytest.raises(DataError, match="a larger subsample"):
        near.batch(3, Generator(0))


def test_generated_sentences() -> None:
    train, val = analogies.sentences(3000, 5)
    assert analogies.sentences(3000, 5) == (train, val) != analogies.sentences(3000, 6)
    assert not set(train) & set(val) and len(set(val)) == len(val) > 100
    families = analogies.families()
    assert all(len(pairs) == 20 for pairs in families.values())
    classes = analogies.classes()
    words = [word for listed in classes.values() for word in listed]
    things = [t for pairs in families.values() for pair in pairs for t in pair.things]
    assert len(set(words)) == len(words) == 160
    assert len(set(things)) == len(things) == 240 and not set(things) & set(words)
    questions = analogies.questions()
    assert ("france", "paris", "japan", "tokyo") in questions
    assert ("queen", "king", "woman", "man") in questions
    assert len(set(questions)) == len(questions) == 4 * 2 * 20 * 19
    for sentence in (*train, *val):
        assert len(set(sentence.split()) & set(words)) == 1, "of one class at a time"
