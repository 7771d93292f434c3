"""Random streams: named apart, exact to save and restore, never touched by the wrong code."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tinytensor as tt

from .helpers import const, host


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
