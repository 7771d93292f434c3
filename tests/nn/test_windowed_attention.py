"""WindowedAttention: by blocks it is what the band as a mask makes of MultiHeadAttention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.nn.key_values import KeyValues
from tinytensor.tensor.tensor import Tensor

from .helpers import check_gradients, double, randomize, values_of


def pair(
    rng: np.random.Generator, heads: int, window: int
) -> tuple[nn.WindowedAttention, nn.MultiHeadAttention]:
    """Both kinds with the same weights."""
    layer, plain = (
        nn.WindowedAttention(2 * heads, heads, window),
        nn.MultiHeadAttention(2 * heads, heads),
    )
    randomize(layer, rng)
    randomize(plain, rng)
    plain.load_state_dict(layer.state_dict())
    return layer, plain


def band_of(time: int, window: int) -> np.ndarray:
    places = np.arange(time)
    return np.abs(places[:, None] - places) < window


@settings(deadline=None, max_examples=60)
@given(
    time=st.integers(1, 20),
    window=st.integers(1, 8),
    heads=st.integers(1, 3),
    causal=st.booleans(),
    masked=st.booleans(),
    seed=st.integers(0, 9),
)
def test_it_is_attention_with_a_band_for_a_mask(
    time: int, window: int, heads: int, causal: bool, masked: bool, seed: int
) -> None:
    """Output and every gradient, at each fit of blocks and length."""
    rng = np.random.default_rng(seed)
    layer, plain = pair(rng, heads, window)
    x = double(rng.standard_normal((2, time, 2 * heads)), requires_grad=True)
    options: dict[str, Any] = {"is_causal": causal}
    if masked:
        options["key_mask"] = rng.random((2, time)) < 0.7
    cotangent = tt.tensor(rng.standard_normal(x.shape))
    found: list[dict[str, np.ndarray]] = []
    for module, mask in ((layer, None), (plain, band_of(time, window))):
        module.zero_grad()
        x.grad = None
        y = module(x, mask=mask, **options)
        y.backward(cotangent)
        leaves = {"x": x, **dict(module.named_parameters())}
        found.append({name: values_of(leaf.grad) for name, leaf in leaves.items()})
        found[-1]["y"] = values_of(y)
    for name, want in found[1].items():
        np.testing.assert_allclose(found[0][name], want, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_by_finite_differences(causal: bool, rng: np.random.Generator) -> None:
    layer, _ = pair(rng, 1, 2)
    x = double(rng.standard_normal((1, 5, 2)), requires_grad=True)
    leaves = {"x": x, **dict(layer.named_parameters())}
    check_gradients(lambda: layer(x, is_causal=causal), leaves, rng)


@pytest.mark.parametrize("causal", [False, True])
def test_what_is_out_of_sight_moves_nothing(causal: bool, rng: np.random.Generator) -> None:
    """Bit for bit; and what is in sight does move."""
    layer, _ = pair(rng, 2, 3)
    values = rng.standard_normal((1, 11, 4))
    before = values_of(layer(double(values), is_causal=causal))
    values[:, 5] += 1.0
    moved = (values_of(layer(double(values), is_causal=causal)) != before).any(axis=(0, 2))
    assert np.flatnonzero(moved).tolist() == (list(range(5, 8)) if causal else list(range(3, 8)))


def test_weights_and_masks_of_ones_own_are_banded_too(rng: np.random.Generator) -> None:
    layer, plain = pair(rng, 2, 2)
    x = double(rng.standard_normal((2, 7, 4)))
    band = band_of(7, 2)
    y, weights = layer(x, need_weights=True)
    np.testing.assert_allclose(values_of(y), values_of(layer(x)), atol=1e-12)
    assert (values_of(weights)[:, ~band] == 0).all() and (values_of(weights)[:, band] > 0).all()
    own = rng.random((7, 7)) < 0.6
    want = values_of(plain(x, mask=own & band))
    np.testing.assert_allclose(values_of(layer(x, mask=own)), want, atol=1e-12)
    added = rng.standard_normal((7, 7))
    want = values_of(plain(x, mask=np.where(band, added, -np.inf)))
    np.testing.assert_allclose(values_of(layer(x, mask=added)), want, atol=1e-12)


def test_its_memory_grows_with_the_window_not_with_the_square(rng: np.random.Generator) -> None:
    def kept(time: int) -> int:
        layer = nn.WindowedAttention(8, 2, 16)
        x = tt.tensor(rng.standard_normal((1, time, 8)).astype(np.float32), requires_grad=True)
        return tt.memory_report(layer(x, is_causal=True)).total

    assert kept(512) < 2.1 * kept(256)


def test_dropout_draws_in_training_only(rng: np.random.Generator) -> None:
    layer = nn.WindowedAttention(4, 2, 2, dropout=0.5)
    x = tt.tensor(rng.standard_normal((1, 9, 4)).astype(np.float32))
    first, second = values_of(layer(x)), values_of(layer(x))
    assert (first != second).any()
    layer.eval()
    before = tt.random.state()
    assert (values_of(layer(x)) == values_of(layer(x))).all()
    assert tt.random.state() == before


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="window: "):
        nn.WindowedAttention(4, 2, 0)
    layer, x = nn.WindowedAttention(4, 2, 2), tt.zeros((1, 5, 4))
    other: Tensor = tt.zeros((1, 5, 4))
    with pytest.raises(
        ValueError, match="key: WindowedAttention attends from a sequence to itself"
    ):
        layer(x, other)
    with pytest.raises(ValueError, match=r"query: expected shape \(1, time, 4\), got \(1, 5, 3\)"):
        layer(tt.zeros((1, 5, 3)))
    with pytest.raises(ValueError, match=r"mask: expected shape \(5, 5\)"):
        layer(x, mask=np.ones((4, 5), bool))
    with pytest.raises(ValueError, match=r"key_mask: expected bool of shape \(1, 5\)"):
        layer(x, key_mask=np.ones((1, 4), bool))
    assert repr(layer).startswith("WindowedAttention(4, 2, window=2")


@pytest.mark.parametrize("heads", [1, 2])
def test_reading_in_parts_with_a_cache_gives_the_same(heads: int, rng: np.random.Generator) -> None:
    layer, _ = pair(rng, heads, 3)
    x = double(rng.standard_normal((2, 9, 2 * heads)))
    whole = values_of(layer(x, is_causal=True))
    cache = KeyValues(9)
    parts = [layer(x[:, i:j], is_causal=True, cache=cache) for i, j in ((0, 2), (2, 3), (3, 9))]
    np.testing.assert_allclose(np.concatenate([values_of(p) for p in parts], 1), whole, atol=1e-12)


def test_recording_shows_the_band_and_changes_no_result(rng: np.random.Generator) -> None:
    layer, _ = pair(rng, 2, 2)
    x = double(rng.standard_normal((1, 6, 4)))
    with nn.attention.recording() as maps:
        y = layer(x)
    np.testing.assert_allclose(values_of(y), values_of(layer(x)), atol=1e-12)
    ((module, weights),) = maps
    assert module is layer and weights.shape == (1, 2, 6, 6)
    assert (weights[..., ~band_of(6, 2)] == 0).all()


def test_a_block_of_a_transformer_takes_it(rng: np.random.Generator) -> None:
    block = nn.TransformerBlock(4, 2, causal=True, attn=nn.WindowedAttention(4, 2, 2))
    values = rng.standard_normal((1, 9, 4)).astype(np.float32)
    before = values_of(block(tt.tensor(values)))
    values[:, 4] += 1.0
    moved = (values_of(block(tt.tensor(values))) != before).any(axis=(0, 2))
    assert np.flatnonzero(moved).tolist() == [4, 5]
