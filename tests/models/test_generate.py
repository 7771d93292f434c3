"""Sampling: probabilities by hand, the generation loop, caches and states."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.models import probabilities, sample

from ..nn.helpers import randomize, values_of
from .test_models import TINY

LOGITS = [1.0, 3.0, 2.0]


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(params=TINY)
def model(request: pytest.FixtureRequest, rng: np.random.Generator) -> Any:
    made = models.build(request.param, **TINY[request.param])
    randomize(made, rng, scale=1.0)
    return made


def test_probabilities_by_hand() -> None:
    # C43
    full = [0.090031, 0.665241, 0.244728]
    np.testing.assert_allclose(probabilities(LOGITS), full, atol=1e-6)
    for off in ({"top_k": 200}, {"top_k": 3}, {"top_p": 1.0}):
        np.testing.assert_array_equal(probabilities(LOGITS, **off), probabilities(LOGITS))
    np.testing.assert_allclose(probabilities(LOGITS, top_k=2), [0, 0.731059, 0.268941], atol=1e-6)
    np.testing.assert_array_equal(probabilities(LOGITS, temperature=0), [0, 1, 0])
    np.testing.assert_array_equal(probabilities(LOGITS, top_k=1), [0, 1, 0])
    hot = np.exp(np.array(LOGITS) / 2)
    np.testing.assert_allclose(probabilities(LOGITS, temperature=2.0), hot / hot.sum(), atol=1e-12)


def test_nucleus_keeps_the_fewest_that_reach_p() -> None:
    logits = np.log([0.1, 0.5, 0.4])
    np.testing.assert_allclose(probabilities(logits, top_p=0.3), [0, 1, 0])
    np.testing.assert_allclose(probabilities(logits, top_p=0.5 - 1e-9), [0, 1, 0])
    np.testing.assert_allclose(probabilities(logits, top_p=0.6), [0, 5 / 9, 4 / 9])
    np.testing.assert_allclose(probabilities(logits, top_p=0.95), [0.1, 0.5, 0.4])
    np.testing.assert_allclose(probabilities(logits, top_p=1e-9), [0, 1, 0])
    # after top_k: of the two that are left, the first has 5/9
    np.testing.assert_allclose(probabilities(logits, top_k=2, top_p=0.55), [0, 1, 0])


def test_ties_keep_exactly_k_in_order_of_ids() -> None:
    np.testing.assert_array_equal(probabilities([2.0, 2.0, 2.0], top_k=2), [0.5, 0.5, 0])
    np.testing.assert_array_equal(probabilities([2.0, 2.0, 2.0], temperature=0), [1, 0, 0])
    many = np.arange(1000) % 7 // 3 * 1.0  # the largest at 6, 13, 20, ...
    assert np.flatnonzero(probabilities(many, top_k=3)).tolist() == [6, 13, 20]


def test_extreme_logits_stay_finite() -> None:
    np.testing.assert_array_equal(probabilities(LOGITS, temperature=1e-300), [0, 1, 0])
    np.testing.assert_array_equal(probabilities([1e308, -1e308]), [1, 0])
    np.testing.assert_array_equal(probabilities([-np.inf, 0.0, 0.0]), [0, 0.5, 0.5])
    np.testing.assert_array_equal(probabilities([-np.inf, 0.0, -1.0], top_k=1), [0, 1, 0])
    np.testing.assert_array_equal(probabilities(np.array(LOGITS, np.float16), top_k=1), [0, 1, 0])
    for bad in ([np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]):
        with pytest.raises(ValueError, match="logits: the largest of a row is .* not finite"):
            probabilities([bad, [0.0, 1.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "temperature: expected a number >= 0"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"top_k": 0}, "top_k: expected an integer >= 1, or None"),
        ({"top_k": -3}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"top_p": 0.0}, r"top_p: expected a number in \(0, 1\]"),
        ({"top_p": 1.1}, "top_p"),
        ({"max_new_tokens": -1}, "max_new_tokens: expected an integer >= 0"),
    ],
)
def test_settings_are_checked(model: Any, options: dict[str, Any], message: str) -> None:
    arguments = {"max_new_tokens": 3, **options}
    with pytest.raises(ValueError, match=message):
        model.generate([1], **arguments)
    if "max_new_tokens" not in options:
        with pytest.raises(ValueError, match=message):
            sample(LOGITS, **options)


def test_sampling_frequencies_and_shapes() -> None:
    rows = np.broadcast_to(np.array(LOGITS), (20000, 3))
    ids = sample(rows, generator=tt.Generator(1))
    assert ids.shape == (20000,) and ids.dtype == np.int64
    np.testing.assert_allclose(np.bincount(ids) / 20000, probabilities(LOGITS), atol=0.01)
    two = sample(rows, top_k=2, generator=tt.Generator(1))
    assert set(two) == {1, 2}
    assert sample(LOGITS, generator=tt.Generator(2)).shape == ()
    greedy = {int(sample(LOGITS, temperature=0)) for _ in range(100)}
    single = {int(sample(LOGITS, top_k=1)) for _ in range(100)}
    assert greedy == single == {1}


def test_impossible_symbols_are_never_drawn() -> None:
    class Edge(tt.Generator):
        """Draws the ends of [0, 1)."""

        def random(self, shape: Any = (), dtype: Any = np.float64) -> np.ndarray:
            return np.resize([0.0, np.nextafter(1, 0)], shape)

    rows = np.broadcast_to([-np.inf, 0.0, 0.3, 0.1, -np.inf], (6, 5))
    assert set(sample(rows, generator=Edge(0))) == {1, 3}


def test_prompt_shapes(model: Any) -> None:
    assert model.generate([[1, 2], [3, 4]], 3).shape == (2, 5)
    flat = model.generate(tt.tensor([1, 2]), 3)
    assert flat.shape == (5,) and flat.dtype == np.int64 and list(flat[:2]) == [1, 2]
    assert model.generate(np.array([[1]]), 0).tolist() == [[1]]
    with pytest.raises(TypeError, match="ids: expected integers, got dtype float"):
        model.generate([1.5], 1)
    with pytest.raises(ValueError, match="ids: expected shape"):
        model.generate(np.zeros((1, 1, 1), int), 1)
    with pytest.raises(IndexError, match=r"ids: 9 at \(0, 1\) is outside the vocabulary of 5"):
        model.generate([1, 9], 1)


def test_empty_prompt_starts_from_start_id(model: Any) -> None:
    for empty in (None, [], [[]], np.zeros((1, 0), int)):
        out = model.generate(empty, 4, temperature=0)
        assert out.ravel().tolist() == model.generate([0], 4, temperature=0)[1:].tolist()
    model.start_id = 3
    want = model.generate([3], 4, temperature=0)[1:].tolist()
    assert model.generate([], 4, temperature=0).tolist() == want
    want = model.generate([2], 4, temperature=0)[1:].tolist()
    assert model.generate([], 4, temperature=0, start_id=2).tolist() == want
    assert model.generate(np.zeros((3, 0), int), 4).shape == (3, 4)
    with pytest.raises(IndexError, match="ids: 5 at"):
        model.generate([], 1, start_id=5)


def test_greedy_equals_running_the_whole_text_each_time(model: Any) -> None:
    """The cache and the carried state change nothing, also past the end of the block."""
    crop = 6 if isinstance(model, models.GPT) else 10**9
    ids = [[1, 2, 3], [4, 0, 0]]
    want = np.array(ids)
    for _ in range(12):
        logits = values_of(model(want[:, -crop:]))[:, -1]
        want = np.concatenate([want, logits.argmax(-1)[:, None]], axis=1)
    assert len(np.unique(want)) > 1, "a constant text would prove little"
    np.testing.assert_array_equal(model.generate(ids, 12, temperature=0), want)


def test_decode_in_pieces_equals_forward(model: Any) -> None:
    ids = np.array([[0, 3, 1, 4, 2, 2]])
    want = values_of(model(ids))[0]
    for cuts in ([1, 1, 1, 1, 1, 1], [2, 3, 1], [6]):
        state, at = None, 0
        for n in cuts:
            logits, state = model.decode(ids[:, at : at + n], state)
            at += n
            np.testing.assert_allclose(values_of(logits)[0], want[at - 1], atol=1e-12)


def test_long_prompts_are_cropped_for_gpt_only(rng: np.random.Generator) -> None:
    long = rng.integers(0, 5, 40)
    gpt: Any = models.build("gpt", **TINY["gpt"])
    randomize(gpt, rng, 1.0)
    out = gpt.generate(long, 5, temperature=0)
    np.testing.assert_array_equal(out[:40], long)
    np.testing.assert_array_equal(out[40:], gpt.generate(long[-6:], 5, temperature=0)[6:])
    lstm: Any = models.build("lstm", **TINY["lstm"])
    np.testing.assert_array_equal(lstm.generate(long, 5)[:40], long)


def test_mode_gradients_and_generators_are_left_alone(model: Any) -> None:
    model.wte.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    before = {name: state for name, state in tt.random.state().items() if name != "sample"}
    generator = tt.Generator(3)
    first = model.generate([1], 10, generator=generator)
    assert model.training and not model.wte.training and model.dropout.training
    assert tt.is_grad_enabled() and all(p.grad is None for p in model.parameters())
    assert {n: s for n, s in tt.random.state().items() if n != "sample"} == before
    np.testing.assert_array_equal(model.generate([1], 10, generator=tt.Generator(3)), first)
    sampled = tt.random.state()["sample"]
    model.generate([1], 3)
    assert tt.random.state()["sample"] != sampled
    with pytest.raises(IndexError):
        model.generate([9], 3)
    assert model.training and tt.is_grad_enabled()


def test_a_stream_leaves_grad_mode_alone_between_symbols(model: Any) -> None:
    steps = models.stream(model, [[1, 2]], 5, temperature=0)
    got = []
    for new in steps:
        assert tt.is_grad_enabled() and model.training
        got.append(int(new[0]))
    assert got == model.generate([1, 2], 5, temperature=0)[2:].tolist()
    with pytest.raises(ValueError, match="top_k"):
        models.stream(model, [1], 5, top_k=0)  # at once, not at the first symbol
    with pytest.raises(IndexError, match="ids: 9 at"):
        models.stream(model, [9], 5)


def test_gpt_cache_grows_one_position_at_a_time(rng: np.random.Generator) -> None:
    gpt: Any = models.build("gpt", **TINY["gpt"])
    lengths = []
    hidden = gpt.hidden
    gpt.hidden = lambda ids, state=None: (lengths.append(ids.shape[1]), hidden(ids, state))[1]
    gpt.generate([1, 2, 3], 6, temperature=0)
    assert lengths == [3, 1, 1, 1, 6, 6]
