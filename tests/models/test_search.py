"""Greedy and beam search against trying everything, on models whose probabilities are a table."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.models import build
from tinytensor.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from tinytensor.models.ids import END, PAD, START
from tinytensor.models.search import Hypothesis, beam_search, penalty

OTHERS = (3, 4)
WRITTEN = (END, *OTHERS)


class Table(EncoderDecoder[EncoderDecoderConfig]):
    """Logits that are random, but the same for the same source and beginning.

    The state holds what was read, so that a wrong order of its rows changes the answer.
    """

    def __init__(self, seed: int = 0, ends: float = 0.0, longest: int = 4, levels: int = 0):
        self.config = EncoderDecoderConfig(vocab_size=5, block_size=longest)
        self.part = nn.Dropout(0.5)
        self.seed, self.ends, self.levels = seed, ends, levels
        self.rows_decoded = 0

    def logits(self, source: tuple[int, ...], read: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, *source, 99, *read])
        z = 2.0 * rng.standard_normal(5)
        z[END] += self.ends
        z[[PAD, START]] += 3.0  # the most probable, and yet never written
        return np.round(z * self.levels) / self.levels if self.levels else z

    def encode(self, source: Any) -> Any:
        assert not self.training and not tt.is_grad_enabled()
        return [tuple(row) for row in np.asarray(source).tolist()], [()] * len(source)

    def decode(self, ids: Any, state: Any) -> Any:
        sources, read = state
        read = [(*r, *new) for r, new in zip(read, np.asarray(ids).tolist(), strict=True)]
        assert all(r[0] == START and not {PAD, START, END} & set(r[1:]) for r in read)
        self.rows_decoded += len(read)
        rows = [self.logits(*pair) for pair in zip(sources, read, strict=True)]
        return tt.tensor(np.array(rows)), (sources, read)

    def reorder(self, state: Any, rows: np.ndarray) -> Any:
        return tuple([part[i] for i in rows] for part in state)

    def log_probability(self, source: tuple[int, ...], target: tuple[int, ...]) -> float:
        total, read = 0.0, (START,)
        for symbol in target:
            z = self.logits(source, read)
            total += z[symbol] - math.log(np.exp(z).sum())
            read = (*read, symbol)
        return total

    def exhaustive(self, source: tuple[int, ...], alpha: float) -> tuple[list[int], float]:
        """The best of all targets that end within block_size symbols."""
        finished = [
            (*inner, END)
            for n in range(self.config.block_size)
            for inner in itertools.product(OTHERS, repeat=n)
        ]
        scores = [self.log_probability(source, t) / penalty(len(t), alpha) for t in finished]
        best = int(np.argmax(scores))
        return list(finished[best][:-1]), scores[best]


SOURCES = [(3, 4, 4), (4, 3, 0), (3, 0, 0), (4, 4, 4)]


def greedy(model: Table, source: tuple[int, ...]) -> list[int]:
    read: tuple[int, ...] = (START,)
    for _ in range(model.config.block_size):
        z = model.logits(source, read)
        symbol = max(WRITTEN, key=lambda i: (z[i], -i))
        if symbol == END:
            break
        read = (*read, symbol)
    return list(read[1:])


@given(
    seed=st.integers(0, 10**6),
    ends=st.sampled_from([-2.0, 0.0, 2.0]),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 3.0]),
)
def test_a_beam_of_everything_finds_the_best(seed: int, ends: float, alpha: float) -> None:
    model = Table(seed, ends)
    found = beam_search(model, SOURCES, beam=3**4, length_penalty=alpha)
    for source, hypothesis in zip(SOURCES, found, strict=True):
        ids, score = model.exhaustive(source, alpha)
        assert hypothesis.finished and hypothesis.ids == ids
        assert hypothesis.score == pytest.approx(score, rel=1e-12)


@given(seed=st.integers(0, 10**6), ends=st.sampled_from([-2.0, 0.0, 2.0]))
def test_a_beam_of_one_is_greedy(seed: int, ends: float) -> None:
    model = Table(seed, ends)
    want = [greedy(model, source) for source in SOURCES]
    for alpha in (0.0, 5.0):
        assert model.translate(SOURCES, length_penalty=alpha) == want


@given(
    seed=st.integers(0, 10**6),
    beam=st.integers(1, 6),
    levels=st.sampled_from([0, 1]),
    data=st.data(),
)
def test_a_batch_and_one_by_one(seed: int, beam: int, levels: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(SOURCES))
    model = Table(seed, levels=levels)  # with levels many are equally probable
    together = beam_search(model, order, beam)
    alone = [beam_search(model, [source], beam)[0] for source in order]
    assert together == alone


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.6]))
def test_scores_are_those_of_the_targets(seed: int, alpha: float) -> None:
    model = Table(seed)
    for source, found in zip(SOURCES, beam_search(model, SOURCES, 3, alpha), strict=True):
        target = (*found.ids, END) if found.finished else tuple(found.ids)
        want = model.log_probability(source, target) / penalty(len(target), alpha)
        assert found.score == pytest.approx(want, rel=1e-12)


def test_where_end_never_comes_the_longest_length_ends_it() -> None:
    model = Table(ends=-math.inf, longest=3)
    for beam in (1, 4):
        found = beam_search(model, SOURCES, beam)
        assert [(len(h.ids), h.finished) for h in found] == [(3, False)] * 4
        assert END not in sum((h.ids for h in found), [])
    assert [len(ids) for ids in model.translate(SOURCES, max_new_tokens=2)] == [2] * 4
    # a wide beam then has the most probable of all of this length
    everything = beam_search(model, SOURCES, beam=8)
    for source, hypothesis in zip(SOURCES, everything, strict=True):
        all_of_them = itertools.product(OTHERS, repeat=3)
        best = max(all_of_them, key=lambda t: model.log_probability(source, t))
        assert hypothesis.ids == list(best)


class Fixed(Table):
    """The same logits whatever came before."""

    def __init__(self, *values: float, longest: int = 4):
        super().__init__(longest=longest)
        self.values = np.array([-math.inf, -math.inf, *np.log(values)])

    def logits(self, source: tuple[int, ...], read: tuple[int, ...]) -> np.ndarray:
        return self.values


def test_length_penalty_by_hand() -> None:
    assert penalty(1, 0.6) == 1.0 and penalty(7, 1.0) == 2.0 and penalty(100, 0.0) == 1.0
    # END 0.5, "3" 0.4, "4" 0.1: the shortest is the most probable, 3 3 3 END has 0.4^3 0.5
    model = Fixed(0.5, 0.4, 0.1)
    assert beam_search(model, [(3,)], 4, 0.0) == [
        Hypothesis([], pytest.approx(math.log(0.5)), True)
    ]
    long = math.log(0.4**3 * 0.5)
    assert long / (9 / 6) ** 5 > math.log(0.5)
    assert beam_search(model, [(3,)], 27, 5.0) == [
        Hypothesis([3, 3, 3], pytest.approx(long / 1.5**5), True)
    ]


def test_of_equal_ones_the_smaller_id_and_the_earlier() -> None:
    assert Fixed(0.2, 0.4, 0.4, longest=3).translate([(3,)]) == [[3, 3, 3]]
    assert Fixed(0.4, 0.4, 0.2).translate([(3,)]) == [[]]  # END is the smaller id
    flat = beam_search(Fixed(1 / 3, 1 / 3, 1 / 3), [(3,)], beam=81, length_penalty=0.0)
    assert flat[0].ids == []


class Steps(Fixed):
    """Other probabilities of END, "3" and "4" at each step; the last are for all later ones."""

    def __init__(self, *steps: tuple[float, float, float], longest: int = 4):
        Table.__init__(self, longest=longest)
        with np.errstate(divide="ignore"):
            self.steps = [np.array([-math.inf, -math.inf, *np.log(step)]) for step in steps]

    def logits(self, source: tuple[int, ...], read: tuple[int, ...]) -> np.ndarray:
        return self.steps[min(len(read), len(self.steps)) - 1]


def test_of_two_that_end_at_once_and_are_equal_the_first() -> None:
    model = Steps((0.0, 0.5, 0.5), (1.0, 0.0, 0.0))
    assert beam_search(model, [(3,)], 4)[0].ids == [3]


def test_a_beam_stays_as_wide_when_some_have_ended() -> None:
    # after END (0.4) of three candidates "3" and "4" are both followed; "4" leads to the best
    class Turns(Steps):
        def logits(self, source: tuple[int, ...], read: tuple[int, ...]) -> np.ndarray:
            if read[1:2] == (3,):
                return np.array([-math.inf, -math.inf, *np.log([1 / 3, 1 / 3, 1 / 3])])
            return super().logits(source, read)

    model = Turns((0.36, 0.34, 0.3), (1.0, 0.0, 0.0))
    assert beam_search(model, [(3,)], beam=2, length_penalty=0.0)[0].ids == []
    assert beam_search(model, [(3,)], beam=2, length_penalty=5.0)[0].ids == [4]


def test_a_longer_one_may_still_become_better() -> None:
    model = Steps((0.6, 0.4, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    assert beam_search(model, [(3,)], 4, length_penalty=0.0)[0].ids == []
    assert math.log(0.4) / penalty(4, 2.0) > math.log(0.6)
    assert beam_search(model, [(3,)], 4, length_penalty=2.0)[0].ids == [3, 3, 3]


def test_the_search_stops_when_nothing_better_can_come() -> None:
    model = Fixed(0.9, 0.05, 0.05, longest=50)
    model.translate([(3,), (4,)], beam=4, length_penalty=0.0)
    assert model.rows_decoded == 2  # after END, of 0.9, all that could follow others is less
    model.rows_decoded = 0
    model.translate([(3,)], beam=1)
    assert model.rows_decoded == 1


def test_sources_that_are_done_are_not_decoded_further() -> None:
    class OneEnds(Table):
        def logits(self, source: tuple[int, ...], read: tuple[int, ...]) -> np.ndarray:
            z = super().logits(source, read)
            z[END] = 50.0 if source == SOURCES[1] else -50.0
            return z

    model = OneEnds(longest=10)
    assert [len(ids) for ids in model.translate(SOURCES)] == [10, 0, 10, 10]
    assert model.rows_decoded == 4 + 9 * 3


def test_lists_of_any_lengths_are_padded_and_the_mode_comes_back() -> None:
    model = Table()
    assert model.translate([[3, 4, 4], [3]], beam=2) == model.translate(
        np.array([[3, 4, 4], [3, 0, 0]]), beam=2
    )
    assert model.training and model.part.training
    model.eval()
    model.translate(SOURCES)
    assert not model.training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam: expected an integer >= 1, got 0"),
        ({"length_penalty": -1.0}, "length_penalty: expected a number from 0 to 10, got -1.0"),
        ({"length_penalty": math.nan}, "length_penalty"),
        ({"max_new_tokens": 0}, "max_new_tokens: expected an integer >= 1, got 0"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table().translate(SOURCES, **options)


def test_logits_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="logits: the largest of a row is nan, not finite"):
        Fixed(math.nan, 0.5, 0.5).translate(SOURCES)


def test_what_cannot_be_read_or_weighed() -> None:
    model = build("bahdanau", vocab_size=6, block_size=4, n_embd=4, n_hidden=4)
    for source in ([[3.5]], [3, 4], [[[3]]], ["34"]):
        with pytest.raises(TypeError, match="rows: expected sequences of integers"):
            model.translate(source)
    with pytest.raises(ValueError, match="length_penalty: expected a number from 0 to 10"):
        model.translate([[3]], length_penalty=1e6)
