"""Causal attention goes by tiles of queries; the tiles never show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.operations import attention

from .helpers import close, leaf

#: leading axes of q, k and v; queries, keys, and the widths of q and v
SHAPES: dict[str, tuple[Any, ...]] = {
    "one head": ((), (), (), 9, 9, 4, 4),
    "batch and heads": ((2, 3), (2, 3), (2, 3), 8, 8, 3, 5),
    "a cache before": ((2,), (2,), (2,), 5, 11, 4, 2),
    "one tile and a bit": ((2,), (2,), (2,), 4, 4, 2, 2),
    "heads share keys": ((2, 3), (2, 1), (2, 1), 7, 7, 4, 4),
    "more values than keys": ((1,), (1,), (4,), 6, 6, 2, 3),
}


def run(
    shapes: tuple[Any, ...], dtype: Any, dropout: float, rng: np.random.Generator
) -> list[tt.Tensor]:
    """Output and gradients, for operands that depend only on the generator."""
    lead_q, lead_k, lead_v, queries, keys, d, e = shapes
    sizes = ((*lead_q, queries, d), (*lead_k, keys, d), (*lead_v, keys, e))
    q, k, v = (leaf(rng.normal(size=size), dtype) for size in sizes)
    y = tt.scaled_dot_product_attention(
        q, k, v, is_causal=True, dropout=dropout, generator=tt.Generator(1)
    )
    seed = tt.tensor(rng.normal(size=y.shape).astype(dtype))
    return [y, *(g for g in tt.grad(y, [q, k, v], seed) if g is not None)]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tile", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_tiles_equal_the_whole(
    name: str, tile: int, dtype: Any, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for size in (tile, 10**6):
        monkeypatch.setattr(attention, "_TILE", size)
        results.append(run(SHAPES[name], dtype, dropout, np.random.default_rng(3)))
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype == dtype
        close(a.detach(), b.detach(), tolerance)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_gradients_by_finite_differences(
    wanted: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(attention, "_TILE", 2)
    xs = [leaf(rng.normal(size=(2, 5, 3))) for _ in range(3)]
    for i, x in enumerate(xs):
        x.requires_grad = i in wanted

    def attend(*_: tt.Tensor) -> tt.Tensor:
        return tt.scaled_dot_product_attention(*xs, is_causal=True)

    assert tt.gradcheck(attend, xs)
    assert tt.gradgradcheck(attend, xs)


def test_a_later_token_changes_nothing_before_it(rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(2, 300, 4)) for _ in range(3))
    before = tt.scaled_dot_product_attention(*map(tt.tensor, (q, k, v)), is_causal=True)
    for x in (k, v):
        x[:, 250] += 10.0
    after = tt.scaled_dot_product_attention(*map(tt.tensor, (q, k, v)), is_causal=True)
    close(before[:, :250], after[:, :250].numpy(), 1e-12)
    assert abs(before[:, 250:] - after[:, 250:]).max().item() > 0.01


def test_half_of_the_weights_are_never_made() -> None:
    q, k, v = (tt.ones(1, 1024, 8, requires_grad=True) for _ in range(3))
    report = tt.memory_report(tt.scaled_dot_product_attention(q, k, v, is_causal=True))
    kept = report.by_op["scaled_dot_product_attention"].bytes
    operands = 4 * 1024 * 8 * 4  # q, k, v and the output
    assert kept - operands < 0.6 * 1024 * 1024 * 4
