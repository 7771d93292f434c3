"""Attention on the CPU goes by tiles of queries; the tiles never show."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.operations.sequences import attention
from tinytensor.operations.sequences import attention_tiles as tiles

from ...helpers import close, leaf

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
    shapes: tuple[Any, ...],
    dtype: Any,
    dropout: float,
    is_causal: bool,
    size: float,
) -> list[tt.Tensor]:
    """Output and gradients, always of the same operands; ``size`` is that of the queries."""
    lead_q, lead_k, lead_v, queries, keys, d, e = shapes
    sizes = ((*lead_q, queries, d), (*lead_k, keys, d), (*lead_v, keys, e))
    rng = np.random.default_rng(3)
    q, k, v = (leaf(rng.normal(size=shape), dtype) for shape in sizes)
    y = tt.scaled_dot_product_attention(
        q * size, k, v, is_causal=is_causal, dropout=dropout, generator=tt.Generator(1)
    )
    seed = tt.tensor(rng.normal(size=y.shape).astype(dtype))
    return [y, *(g for g in tt.grad(y, [q, k, v], seed) if g is not None)]


@pytest.fixture(params=["kept", "again"])
def small_tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of two queries of a single entry, with the weights kept and computed again."""
    monkeypatch.setattr(tiles, "_QUERIES", 2)
    monkeypatch.setattr(tiles, "_SCORES", 1)
    monkeypatch.setattr(tiles, "_KEPT", 512 if request.param == "kept" else 0)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("size", [1.0, 300.0], ids=["small scores", "large scores"])
@pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "open"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SHAPES)
def test_tiles_equal_the_whole(
    name: str,
    dtype: Any,
    dropout: float,
    is_causal: bool,
    size: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = (SHAPES[name], dtype, dropout, is_causal, size)
    by_tiles = run(*arguments)
    monkeypatch.setattr(attention, "_in_tiles", lambda *_: None)
    whole = run(*arguments)
    tolerance = 1e-10 if dtype == np.float64 else 3e-6
    for a, b in zip(by_tiles, whole, strict=True):
        assert a.dtype == b.dtype == dtype
        close(a.detach(), b.detach(), tolerance * max(10.0, size))  # the gradient grows with size


def test_which_attention_goes_by_tiles() -> None:
    q = np.ones((2, 5, 3), np.float32)
    assert attention._in_tiles(np, q, q, q, None, True) is not None
    assert attention._in_tiles(np, q, q, q, None, False) is not None
    assert attention._in_tiles(np, q[0], q[0], q[0], None, True) is None
    assert attention._in_tiles(np, q, q, q, np.ones((5, 5), bool), True) is None
    assert attention._in_tiles(np, q, q[:1], q[:1], None, True) is None
    assert attention._in_tiles(np, q, q[:, :4], q[:, :4], None, False) is None


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite(bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN and infinity come out where they do without tiles: in the rows that see them."""
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 2, 7, 4))
    k[0, 3, 1] = bad
    results = []
    for _ in range(2):
        with np.errstate(all="ignore"):
            results.append(tt.scaled_dot_product_attention(q, k, v, is_causal=True).numpy())
        monkeypatch.setattr(attention, "_in_tiles", lambda *_: None)
    np.testing.assert_allclose(*results, rtol=1e-6)
    assert np.isfinite(results[0][0, :3]).all() and np.isfinite(results[0][1]).all()


@pytest.mark.parametrize("kept", [512, 0])
@pytest.mark.parametrize("score", [88.0, -90.0, 300.0, -300.0])
def test_scores_too_large_for_sums_of_exponentials(
    score: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exp(88) is a float32, the sum of eight is none; nobody is told of what is then mended."""
    monkeypatch.setattr(tiles, "_KEPT", kept)
    q, k = leaf(np.ones((1, 8, 1)), np.float32), leaf(np.full((1, 8, 1), score), np.float32)
    v = leaf(np.arange(8.0).reshape(1, 8, 1), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = tt.scaled_dot_product_attention(q, k, v, scale=1.0)
        y.sum().backward()
    close(y.detach(), np.full((1, 8, 1), 3.5), 1e-5)
    close(v.grad, np.ones((1, 8, 1)), 1e-5)
    close(k.grad, np.arange(8.0).reshape(1, 8, 1) - 3.5, 1e-4)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_gradients_by_finite_differences(wanted: tuple[int, ...], rng: np.random.Generator) -> None:
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


@pytest.mark.parametrize(("length", "most"), [(512, 0.6), (1024, 0.02)])
def test_what_is_kept(length: int, most: float) -> None:
    """Up to 512 keys half of the weights, beyond nothing that grows with the square."""
    q, k, v = (tt.ones(1, length, 8, requires_grad=True) for _ in range(3))
    report = tt.memory_report(tt.scaled_dot_product_attention(q, k, v, is_causal=True))
    kept = report.by_op["scaled_dot_product_attention"].bytes
    operands = 4 * length * 8 * 4  # q, k, v and the output
    assert kept - operands < most * length * length * 4


def test_long_sequences_in_little_memory() -> None:
    """Forward and backward over 4,096 positions never hold a whole matrix of weights."""
    q, k, v = (tt.ones(1, 4096, 16, requires_grad=True) for _ in range(3))
    tracemalloc.start()
    try:
        tt.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.15 * 4096 * 4096 * 4
