"""Attention on queries, keys and values that lie side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.nn import merge_heads, split_heads
from tinytensor.operations.sequences import attention
from tinytensor.operations.sequences import attention_tiles as tiles

from ...helpers import close, leaf


def by_parts(qkv: tt.Tensor, heads: int, **settings: Any) -> tt.Tensor:
    parts = tt.split(qkv, qkv.shape[-1] // 3, axis=-1)
    q, k, v = (split_heads(part, heads) for part in parts)
    return merge_heads(tt.scaled_dot_product_attention(q, k, v, **settings))


@pytest.mark.parametrize("way", ["one tile", "tiles", "weights again", "whole"])
@pytest.mark.parametrize("dropout", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("is_causal", [False, True], ids=["open", "causal"])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_it_equals_splitting_and_joining(
    heads: int, is_causal: bool, dropout: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tiles of every kind, and as a whole, which is the way on a GPU."""
    if way == "whole":
        ways = [lambda *_: None, attention._in_tiles]
    else:
        ways = [attention._in_tiles] * 2
    if way != "one tile":
        monkeypatch.setattr(tiles, "_QUERIES", 2)
        monkeypatch.setattr(tiles, "_SCORES", 1)
    if way == "weights again":
        monkeypatch.setattr(tiles, "_KEPT", 0)
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 5, 24)), tt.tensor(rng.normal(size=(2, 5, 8)))
    results = []
    for attend, in_tiles in zip((tt.self_attention, by_parts), ways, strict=True):
        monkeypatch.setattr(attention, "_in_tiles", in_tiles)
        qkv = leaf(x)
        y = attend(qkv, heads, is_causal=is_causal, dropout=dropout, generator=tt.Generator(1))
        results.append((y, *tt.grad(y, [qkv], g)))
    (y, dx), (want, want_dx) = results
    close(y.detach(), want.detach(), 1e-12)
    close(dx, want_dx, 1e-12)
    if dropout == 1:
        assert not (y.detach() != 0).any() and not (dx != 0).any()


def test_a_later_symbol_changes_nothing_before_it() -> None:
    x = np.random.default_rng(0).normal(size=(1, 70, 12))
    before = tt.self_attention(tt.tensor(x), 2, is_causal=True)
    x[0, 40] += 1
    after = tt.self_attention(tt.tensor(x), 2, is_causal=True)
    np.testing.assert_array_equal(before[0, :40], after[0, :40])
    assert (abs(before[0, 40:] - after[0, 40:]).max(axis=-1) > 0).all()


@pytest.mark.parametrize(
    ("shape", "settings", "says"),
    [
        ((2, 4, 12), {"heads": 0}, "heads: expected an integer >= 1, got 0"),
        ((2, 4, 12), {"heads": True}, "heads: expected an integer >= 1, got True"),
        ((2, 4, 12), {"heads": 3}, r"3 \* 3 heads \* d\), got \(2, 4, 12\)"),
        ((12,), {"heads": 1}, r"qkv: expected shape .* got \(12,\)"),
        ((4, 0), {"heads": 1}, r"qkv: expected shape .* got \(4, 0\)"),
        ((2, 4, 12), {"heads": 2, "dropout": 1.1}, "dropout: expected 0 <= dropout <= 1, got 1.1"),
    ],
)
def test_what_does_not_fit_is_refused(shape: Any, settings: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        tt.self_attention(tt.zeros(*shape), **settings)
