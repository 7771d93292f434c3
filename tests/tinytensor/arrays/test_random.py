"""Random streams: named apart, exact to save and restore, never touched by the wrong code."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import const, host


def test_same_seed_same_numbers() -> None:
    a, b = tt.Generator(7), tt.Generator(7)
    np.testing.assert_array_equal(a.normal((3, 2)), b.normal((3, 2)))
    np.testing.assert_array_equal(a.random(4), b.random(4))
    np.testing.assert_array_equal(a.integers(0, 10, (5,)), b.integers(0, 10, (5,)))
    assert (tt.Generator(8).random(4) != tt.Generator(7).random(4)).any()


def test_kinds_and_ranges() -> None:
    g = tt.Generator(0)
    assert g.normal((2,)).dtype == np.float64 and g.random((2,)).dtype == np.float64
    numbers = g.integers(-2, 3, (1000,))
    assert numbers.dtype == np.int64 and set(numbers) == {-2, -1, 0, 1, 2}
    assert sorted(g.permutation(6)) == [0, 1, 2, 3, 4, 5]
    assert g.random().shape == () and g.normal(()).shape == ()


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
def test_coins(p: float) -> None:
    coins = tt.Generator(3).coins((300, 1001), p)
    assert coins.shape == (300, 1001) and coins.dtype == bool
    # six standard deviations
    assert abs(coins.mean() - p) <= 6 * (p * (1 - p) / coins.size) ** 0.5
    assert abs(coins[:, ::2].mean() - coins[:, 1::2].mean()) < 0.01
    np.testing.assert_array_equal(coins, tt.Generator(3).coins((300, 1001), p))


def test_coins_of_few() -> None:
    generator = tt.Generator(3)
    assert generator.coins((), 1.0).shape == () and generator.coins((0, 3), 0.5).shape == (0, 3)
    first, second = generator.coins(64, 0.5), generator.coins(64, 0.5)
    assert (first != second).any()


def test_state_survives_json() -> None:
    g = tt.Generator(3)
    g.normal((5,))
    g.integers(0, 2**16, (3,))  # leaves half of a 64-bit draw behind
    saved = json.loads(json.dumps(g.state()))
    expected = [g.normal((4,)), g.random((4,)), g.integers(0, 9, (4,))]
    other = tt.Generator(99)
    other.set_state(saved)
    for made, value in zip(
        [other.normal((4,)), other.random((4,)), other.integers(0, 9, (4,))], expected, strict=True
    ):
        np.testing.assert_array_equal(made, value)


def test_state_is_a_snapshot() -> None:
    g = tt.Generator(3)
    saved = g.state()
    first = g.random((3,))
    g.set_state(saved)
    np.testing.assert_array_equal(g.random((3,)), first)


@pytest.mark.parametrize("bad", [{}, {"state": 1}, "text", None])
def test_bad_state_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="state"):
        tt.Generator(0).set_state(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, 1.5, "1", True])
def test_bad_seed_is_refused(bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match="seed"):
        tt.Generator(bad)  # type: ignore[arg-type]


def test_named_generators_are_independent() -> None:
    tt.random.manual_seed(1)
    streams = {
        n: tt.random.generator(n).random((4,)) for n in ("init", "dropout", "data", "sample")
    }
    assert len({tuple(v) for v in streams.values()}) == 4
    tt.random.manual_seed(1)
    tt.random.generator("sample").random((100,))
    np.testing.assert_array_equal(tt.random.generator("data").random((4,)), streams["data"])
    with pytest.raises(ValueError, match="inits"):
        tt.random.generator("inits")


def test_all_states_survive_json() -> None:
    tt.random.manual_seed(2)
    saved = json.loads(json.dumps(tt.random.state()))
    first = [tt.random.generator(n).random((3,)) for n in saved]
    tt.random.manual_seed(5)
    tt.random.set_state(saved)
    for name, value in zip(saved, first, strict=True):
        np.testing.assert_array_equal(tt.random.generator(name).random((3,)), value)


def test_dropout_draws_from_its_own_stream_only() -> None:
    before = tt.random.state()
    x = const(np.ones((10, 10)))
    first = host(tt.dropout(x, 0.5))
    after = tt.random.state()
    assert before["dropout"] != after["dropout"]
    assert all(before[n] == after[n] for n in ("init", "data", "sample"))
    tt.random.set_state(before)
    np.testing.assert_array_equal(host(tt.dropout(x, 0.5)), first)


def test_what_draws_nothing() -> None:
    x = const(np.ones((4, 4)))
    before = tt.random.state()
    tt.dropout(x, 0.5, training=False)
    tt.dropout(x, 0.0)
    tt.dropout(x, 0.5, generator=tt.Generator(0))
    tt.scaled_dot_product_attention(x, x, x)
    tt.randn(3, generator=tt.Generator(0))
    assert tt.random.state() == before


def test_numpys_global_stream_is_not_used() -> None:
    np.random.seed(0)
    before = np.random.get_state()[1].copy()  # type: ignore[index]
    tt.dropout(const(np.ones(100)), 0.5)
    tt.randn(5)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index]


def test_same_dropout_on_every_device(other_device: tt.device) -> None:  # type: ignore[valid-type]
    x = const(np.ones((8, 8)))
    here = host(tt.dropout(x, 0.5, generator=tt.Generator(4)))
    there = host(tt.dropout(x.to(other_device), 0.5, generator=tt.Generator(4)))
    np.testing.assert_array_equal(here, there)


# -- multinomial --------------------------------------------------------------------------
PROBS = np.array([0.4, 0.0, 0.3, 0.25, 0.05])


def chi_square(counts: np.ndarray, expected: np.ndarray) -> None:
    """Counts agree with expectations, at six standard deviations of their chi-square."""
    assert not counts[expected == 0].any(), "drawn, but impossible"
    counts, expected = counts[expected > 0], expected[expected > 0]
    value = np.sum((counts - expected) ** 2 / expected)
    freedom = counts.size - 1
    assert value < freedom + 6 * math.sqrt(2 * freedom)


def test_draws_with_replacement_follow_the_probabilities() -> None:
    drawn = host(tt.multinomial(const(7 * PROBS), 50_000, replacement=True))
    assert drawn.dtype == np.int64 and drawn.shape == (50_000,)
    chi_square(np.bincount(drawn, minlength=5), 50_000 * PROBS)
    pairs = np.bincount(5 * drawn[::2] + drawn[1::2], minlength=25)
    chi_square(pairs, 25_000 * np.outer(PROBS, PROBS).ravel())


def test_draws_without_replacement_follow_each_other() -> None:
    """The second of a row is drawn among those that the first left."""
    rows = np.broadcast_to(PROBS, (20_000, 5))
    drawn = host(tt.multinomial(const(rows), 2))
    assert drawn.shape == (20_000, 2)
    expected = np.zeros((5, 5))
    for i, j in itertools.permutations(range(5), 2):
        expected[i, j] = PROBS[i] * PROBS[j] / (1 - PROBS[i])
    chi_square(np.bincount(5 * drawn[:, 0] + drawn[:, 1], minlength=25), 20_000 * expected.ravel())
    everything = host(tt.multinomial(const(rows[:100]), 4))
    np.testing.assert_array_equal(np.sort(everything), np.tile([0, 2, 3, 4], (100, 1)))


def test_multinomial_draws_from_the_generator_named_sample() -> None:
    p = const(PROBS)
    tt.manual_seed(3)
    first = host(tt.multinomial(p, 20, True))
    tt.manual_seed(3)
    tt.rand(3)  # of another stream
    np.testing.assert_array_equal(host(tt.multinomial(p, 20, True)), first)
    own = [host(tt.multinomial(p, 3, generator=tt.Generator(5))) for _ in range(2)]
    np.testing.assert_array_equal(*own)
    assert (host(p.multinomial(20, True)) != first).any()


def test_multinomial_of_any_rows_and_scale(device: Device) -> None:
    for shape in ((5,), (3, 5), (2, 0, 5), (2, 3, 5)):
        with device:
            drawn = tt.multinomial(const(np.ones(shape)), 4)
        assert drawn.shape == (*shape[:-1], 4) and drawn.device is device
        assert not drawn.requires_grad
    assert sorted(tt.multinomial(const([1e308, 1e308, 5e-324]), 3).tolist()) == [0, 1, 2]
    assert set(tt.multinomial([2, 0, 3], 50, True).tolist()) == {0, 2}
    assert tt.multinomial(tt.tensor([1.0], requires_grad=True), 1).tolist() == [0]


@pytest.mark.parametrize(
    ("probs", "n", "replacement", "message"),
    [
        ([0.5, -0.5], 1, True, r"probs: expected finite numbers >= 0, got -0\.5 at \(1,\)"),
        ([[1, 1], [math.nan, 1]], 1, True, r"expected finite numbers >= 0, got nan at \(1, 0\)"),
        ([1, math.inf], 1, False, r"expected finite numbers >= 0, got inf at \(1,\)"),
        ([0.0, 0.0], 1, True, r"probs: expected at least 1 above 0$"),
        ([[1.0, 1.0], [0.0, 0.0]], 5, True, r"at least 1 above 0 in row \(1,\)$"),
        ([1.0, 0.0, 1.0], 3, False, r"at least 3 above 0, to draw 3 different indices"),
        ([1.0], 0, True, r"num_samples: expected an integer >= 1, got 0"),
        ([], 1, True, r"probs: expected \(\.\.\., k\) with k >= 1 numbers, got shape \(0,\)"),
        (1.0, 1, True, r"got shape \(\)"),
    ],
)
def test_what_multinomial_cannot_draw_from(
    probs: Any, n: int, replacement: bool, message: str
) -> None:
    with pytest.raises(ValueError, match=f"multinomial: .*{message}"):
        tt.multinomial(const(probs), n, replacement)
    with pytest.raises(TypeError, match="num_samples: expected an integer, got 1.5"):
        tt.multinomial(const([1.0]), 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="generator: expected a tt.Generator or None, got int"):
        tt.multinomial(const([1.0]), 1, generator=3)  # type: ignore[arg-type]
