"""Attention in parts, and looked at: caches of keys and values, recorded weights."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.nn.attention import KeyValues, attention_weights, by_layer, recording, split_heads

from .helpers import double, randomize, values_of


def block(rng: np.random.Generator, **options: Any) -> nn.TransformerBlock:
    made = nn.TransformerBlock(6, 2, 8, **options)
    randomize(made, rng)
    return made


@pytest.mark.parametrize("parts", [[1] * 5, [2, 3], [5], [4, 1]])
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("room", [5, 3, 0, 99])
def test_a_block_reads_in_parts_what_it_reads_at_once(
    parts: list[int], recorded: bool, room: int, rng: np.random.Generator
) -> None:
    layer = block(rng, causal=True, cross=True)
    x, memory = double(rng.standard_normal((2, 5, 6))), double(rng.standard_normal((2, 3, 6)))
    real = np.array([[True] * 3, [True, False, False]])
    with tt.set_grad_enabled(recorded):
        want = values_of(layer(x, memory, memory_key_mask=real))
        own, cross, start = KeyValues(room), KeyValues(), 0
        for n in parts:
            some = x[:, start : start + n]
            got = layer(some, memory, memory_key_mask=real, cache=own, memory_cache=cross)
            np.testing.assert_allclose(values_of(got), want[:, start : start + n], atol=1e-13)
            start += n
            assert len(own) == start and len(cross) == 3


def test_gradients_through_a_cache_are_those_without(rng: np.random.Generator) -> None:
    layer = block(rng, causal=True)
    x = double(rng.standard_normal((1, 4, 6)), requires_grad=True)
    layer(x).sum().backward()
    want = [values_of(t.grad) for t in (x, *layer.parameters())]
    layer.zero_grad()
    x.grad = None
    cache = KeyValues(4)
    a, b = layer(x[:, :2], cache=cache), layer(x[:, 2:], cache=cache)
    (a.sum() + b.sum()).backward()
    for t, expected in zip((x, *layer.parameters()), want, strict=True):
        np.testing.assert_allclose(values_of(t.grad), expected, atol=1e-12)


def test_recording_of_gradients_may_end_in_the_middle(rng: np.random.Generator) -> None:
    layer = block(rng, causal=True)
    x = double(rng.standard_normal((2, 4, 6)))
    want, cache = values_of(layer(x)), KeyValues(4)
    first = layer(x[:, :1], cache=cache)
    with tt.no_grad():
        others = [layer(x[:, t : t + 1], cache=cache) for t in (1, 2, 3)]
    got = np.concatenate([values_of(part) for part in (first, *others)], axis=1)
    np.testing.assert_allclose(got, want, atol=1e-13)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 3, "vdim": 5}, {"bias": False}], ids=str)
def test_keys_of_memory_are_computed_once(
    sizes: dict[str, Any], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = nn.MultiHeadAttention(4, 2, **sizes)
    randomize(layer, rng)
    query = double(rng.standard_normal((2, 3, 4)))
    key = double(rng.standard_normal((2, 5, sizes.get("kdim", 4))))
    value = double(rng.standard_normal((2, 5, sizes["vdim"]))) if "vdim" in sizes else key
    want, cache = values_of(layer(query, key, value)), KeyValues()
    np.testing.assert_allclose(values_of(layer(query, key, value, cache=cache)), want, atol=1e-14)
    monkeypatch.setattr(layer, "_project", None)  # of no use any more
    np.testing.assert_allclose(values_of(layer(query, key, value, cache=cache)), want, atol=1e-14)
    some = layer(query[:, 1:2], key, value, cache=cache, need_weights=True)[0]
    np.testing.assert_allclose(values_of(some), want[:, 1:2], atol=1e-14)


def test_masks_reach_over_the_cache(rng: np.random.Generator) -> None:
    layer = nn.MultiHeadAttention(4, 2)
    randomize(layer, rng)
    x = double(rng.standard_normal((2, 4, 4)))
    real = np.array([[True, False, True, True], [True] * 4])
    want = values_of(layer(x, key_mask=real, is_causal=True))
    cache = KeyValues(4)
    layer(x[:, :2], cache=cache)
    got = layer(x[:, 2:], key_mask=real, is_causal=True, cache=cache)
    np.testing.assert_allclose(values_of(got), want[:, 2:], atol=1e-13)
    with pytest.raises(ValueError, match=r"key_mask: expected bool of shape \(2, 5\)"):
        layer(x[:, :1], key_mask=real, cache=cache)


@pytest.mark.parametrize("recorded", [True, False])
def test_rows_of_a_cache_in_another_order(recorded: bool, rng: np.random.Generator) -> None:
    k, v, more = (double(rng.standard_normal((3, 2, 2, 4)), recorded) for _ in range(3))
    cache, rows = KeyValues(9), np.array([2, 2, 0, 1])
    cache.reorder(rows)  # nothing is in it yet
    cache.extend(k, v)
    cache.reorder(rows)
    for part, x in zip(cache.parts, (k, v), strict=True):
        np.testing.assert_array_equal(values_of(part), values_of(x)[rows])
    again = more[rows]
    parts = cache.extend(again, again)
    want = np.concatenate([values_of(k)[rows], values_of(again)], axis=2)
    np.testing.assert_array_equal(values_of(parts[0]), want)
    assert parts[0].shape == (4, 2, 4, 4) and parts[0].requires_grad == recorded


# ---- recording ----------------------------------------------------------------------------------


def test_recorded_weights_are_those_of_each_call(rng: np.random.Generator) -> None:
    layer = block(rng, causal=True, cross=True)
    x, memory = double(rng.standard_normal((2, 4, 6))), double(rng.standard_normal((2, 3, 6)))
    real = np.array([[True, True, False], [True] * 3])
    want = values_of(layer(x, memory, memory_key_mask=real))
    with recording() as maps:
        np.testing.assert_array_equal(values_of(layer(x, memory, memory_key_mask=real)), want)
    layer(x, memory)
    assert [m for m, _ in maps] == [layer.attn, layer.cross_attn]
    own, cross = (weights for _, weights in maps)
    assert own.shape == (2, 2, 4, 4) and cross.shape == (2, 2, 4, 3)
    assert type(own) is np.ndarray and own.dtype == np.float64
    for weights in (own, cross):
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-12)
    assert not np.triu(own, 1).any() and not cross[0, :, :, 2].any() and cross[1, :, :, 2].all()
    h = layer.ln_1(x)
    assert isinstance(layer.attn, nn.MultiHeadAttention)
    _, shown = layer.attn(h, is_causal=True, need_weights=True, average_weights=False)
    np.testing.assert_allclose(own, values_of(shown), atol=1e-14)
    with recording() as maps:
        layer.attn(h, is_causal=True, need_weights=True)
    np.testing.assert_array_equal(maps[0][1], own)


def test_recording_changes_nothing_also_in_training(rng: np.random.Generator) -> None:
    """Values, gradients and what dropout draws, bit for bit; recorded are weights before it."""

    def step(look: bool) -> tuple[list[np.ndarray], list[Any]]:
        tt.manual_seed(5)
        model: Any = models.build(
            "gpt", vocab_size=9, block_size=8, n_layer=2, n_head=2, n_embd=8, dropout=0.4
        )
        ids = np.arange(16).reshape(2, 8) % 9
        with recording() if look else tt.enable_grad() as maps:
            loss = model(ids, ids)[1]
        loss.backward()
        return [values_of(loss), *(values_of(p.grad) for p in model.parameters())], maps or []

    (plain, _), (looked, maps) = step(False), step(True)
    for a, b in zip(plain, looked, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [w.shape for _, w in maps] == [(2, 2, 8, 8)] * 2
    for _, weights in maps:
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
        assert (weights[:, :, -1] > 0).all()


def test_a_gpt_with_its_cache_records_the_same_rows(rng: np.random.Generator) -> None:
    model: Any = models.build("gpt", vocab_size=9, block_size=8, n_layer=1, n_head=2, n_embd=8)
    randomize(model, rng)
    model.eval()
    ids = np.array([[1, 5, 3, 7, 2]])
    with recording() as whole:
        model(ids)
    with recording() as parts, tt.no_grad():
        _, state = model.decode(ids[:, :3])
        _, state = model.decode(ids[:, 3:4], state)
        model.decode(ids[:, 4:], state)
    assert [m for m, _ in parts] == [model.h[0].attn] * 3
    for (_, weights), rows in zip(parts, (slice(0, 3), slice(3, 4), slice(4, 5)), strict=True):
        want = whole[0][1][:, :, rows, : rows.stop]
        np.testing.assert_allclose(weights, want, atol=1e-13)


def test_weights_by_hand() -> None:
    layer = nn.MultiHeadAttention(2, 1, bias=False)
    layer.load_state_dict(
        {"in_proj_weight": np.vstack([np.eye(2)] * 3), "out_proj.weight": np.eye(2)}
    )
    x = tt.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    with recording() as maps:
        layer(x)
    e = np.exp(0.5**0.5)
    np.testing.assert_allclose(maps[0][1][0, 0], np.array([[e, 1], [1, e]]) / (1 + e), rtol=1e-6)
    q = split_heads(x, 1)
    np.testing.assert_array_equal(values_of(attention_weights(q, q)), maps[0][1])


def test_who_looks_sees_what_is_called_inside_and_in_this_thread() -> None:
    layer, x = nn.MultiHeadAttention(4, 2), tt.ones((1, 2, 4))
    with recording() as outer:
        layer(x)
        with recording() as inner:
            layer(x)
        thread = threading.Thread(target=layer, args=(x,))
        thread.start()
        thread.join()
    layer(x)
    assert len(outer) == 2 and len(inner) == 1
    manager = recording()
    with manager as first:
        layer(x)
    with manager as second:
        layer(x)
    assert first is not second and len(first) == len(second) == 1


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_cache_is_of_one_batch(batch: int, recorded: bool) -> None:
    """Of one sequence, too, which NumPy would repeat for all."""
    layer, own, cross = nn.MultiHeadAttention(4, 2), KeyValues(8), KeyValues()
    x, other = tt.ones((2, 3, 4)), tt.ones((batch, 1, 4))
    with tt.set_grad_enabled(recorded):
        layer(x, cache=own)
        layer(x, tt.ones((2, 5, 4)), cache=cross)
        with pytest.raises(ValueError, match=r"cache: it holds keys .* \(2, 2, time, 2\)"):
            layer(other, cache=own)
        with pytest.raises(ValueError, match="cache: it holds keys and values of 2 sequences"):
            layer(other, tt.ones((batch, 5, 4)), cache=cross)
        assert len(own) == 3


def test_maps_of_one_step_after_the_other_are_joined() -> None:
    one, other = nn.MultiHeadAttention(4, 2), nn.AdditiveAttention(4, 4)
    x, keys = tt.randn((2, 3, 4)), tt.randn((2, 5, 4))
    with recording() as steps:
        for t in range(3):
            other(x[:, t], keys)
            one(x[:, t : t + 1], keys)
    with recording() as whole:
        other(x, keys)
        one(x, keys)
    joined = by_layer(steps)
    assert [layer for layer, _ in joined] == [other, one]
    for (_, found), (_, wanted) in zip(joined, whole, strict=True):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert by_layer([]) == []
