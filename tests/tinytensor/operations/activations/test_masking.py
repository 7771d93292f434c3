"""Masks: nothing that was masked out may touch a value or a gradient, and NaN never spreads."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def attention(q, k, v, mask=None, scale=None):  # type: ignore[no-untyped-def]
    """Attention in NumPy, one query at a time; True or a finite number means "may attend"."""
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    for i in np.ndindex(q.shape[:-1]):
        scores = k[i[:-1]] @ q[i] * scale
        if mask is not None:
            row = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))[i]
            scores = np.where(row, scores, -np.inf) if row.dtype == bool else scores + row
        if np.isneginf(scores).all():
            continue
        weights = np.exp(scores - scores.max())
        out[i] = weights / weights.sum() @ v[i[:-1]]
    return out


@pytest.fixture
def qkv(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=(2, 3, n, 4)) for n in (5, 6, 6)]


MASKS = {
    "none": None,
    "all may": np.ones((5, 6), bool),
    "causal": np.tri(5, 6, 1, dtype=bool),
    "one row closed": np.tri(5, 6, -1, dtype=bool),
    "per batch": np.arange(2 * 6).reshape(2, 1, 1, 6) % 4 != 1,
    "everything closed": np.zeros((5, 6), bool),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_equals_a_loop_over_queries(name: str, qkv: list[np.ndarray]) -> None:
    mask = MASKS[name]
    tensors = [leaf(a) for a in qkv]
    expected = attention(*qkv, mask)
    out = tt.scaled_dot_product_attention(
        *tensors, mask=None if mask is None else const(mask, bool)
    )
    close(out, expected, 1e-9)
    (out * const(np.linspace(-1, 1, out.size).reshape(out.shape))).sum().backward()
    for t in tensors:
        assert np.isfinite(grad_of(t)).all()
    if name == "everything closed":
        assert all((grad_of(t) == 0).all() for t in tensors)


@pytest.mark.parametrize("name", [n for n in MASKS if MASKS[n] is not None])
def test_boolean_and_additive_masks_agree(name: str, qkv: list[np.ndarray]) -> None:
    mask = MASKS[name]
    additive = np.where(mask, 0.0, -np.inf)
    upstream = const(np.linspace(-1, 1, 2 * 3 * 5 * 4).reshape(2, 3, 5, 4))
    results = []
    for m in (const(mask, bool), const(additive)):
        tensors = [leaf(a) for a in qkv]
        out = tt.scaled_dot_product_attention(*tensors, mask=m)
        out.backward(upstream)
        results.append([host(out), *(grad_of(t) for t in tensors)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_finite_additive_mask_is_a_bias(qkv: list[np.ndarray]) -> None:
    bias = np.linspace(-2, 2, 30).reshape(5, 6)
    out = tt.scaled_dot_product_attention(*(const(a) for a in qkv), mask=const(bias))
    close(out, attention(*qkv, bias), 1e-9)


@pytest.mark.parametrize("queries, keys", [(4, 4), (1, 6), (3, 6), (6, 3)])
def test_causal_is_aligned_bottom_right(queries: int, keys: int, rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(n, 4)) for n in (queries, keys, keys))
    mask = np.tri(queries, keys, keys - queries, dtype=bool)
    out = tt.scaled_dot_product_attention(const(q), const(k), const(v), is_causal=True)
    close(out, attention(q, k, v, mask), 1e-9)


def test_causal_and_mask_together(qkv: list[np.ndarray]) -> None:
    padding = np.arange(6) < 4
    out = tt.scaled_dot_product_attention(
        *(const(a) for a in qkv), mask=const(padding, bool), is_causal=True
    )
    close(out, attention(*qkv, padding & np.tri(5, 6, 1, dtype=bool)), 1e-9)


def test_masked_keys_have_no_influence(qkv: list[np.ndarray]) -> None:
    """Not even when they hold NaN-free but enormous values; their gradients are exactly zero."""
    q, k, v = qkv
    mask = np.arange(6) < 4
    big_k, big_v = k.copy(), v.copy()
    big_k[..., 4:, :], big_v[..., 4:, :] = 1e6, -1e6
    plain = tt.scaled_dot_product_attention(const(q), const(k), const(v), mask=const(mask, bool))
    k_leaf, v_leaf = leaf(big_k), leaf(big_v)
    out = tt.scaled_dot_product_attention(const(q), k_leaf, v_leaf, mask=const(mask, bool))
    close(out, plain, 1e-12)
    (out * out).sum().backward()
    assert (grad_of(k_leaf)[..., 4:, :] == 0).all() and (grad_of(v_leaf)[..., 4:, :] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_of_a_closed_row_is_zero(dtype: type) -> None:
    x = leaf([[0.0, 1.0, -np.inf], [-np.inf, -np.inf, -np.inf]], dtype)
    p = tt.softmax(x, axis=-1)
    close(p, [[0.268941, 0.731059, 0], [0, 0, 0]], 1e-5)
    p.backward(const([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], dtype))
    close(x.grad, [[-0.196612, 0.196612, 0], [0, 0, 0]], 1e-5)


def test_softmax_and_log_softmax_of_large_values() -> None:
    x = leaf([1000.0, 1001.0, -1000.0])
    close(tt.softmax(x), [0.268941, 0.731059, 0])
    log = tt.log_softmax(x)
    close(log, [-1.313262, -0.313262, -2001.313262])
    log[1].backward()
    close(x.grad, [-0.268941, 1 - 0.731059, 0])


def test_masked_fill() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = tt.masked_fill(x, const([True, False], bool), -np.inf)
    close(y, [[-np.inf, 2], [-np.inf, 4]])
    (tt.softmax(y, axis=-1) * const([[1.0, 3.0], [2.0, 5.0]])).sum().backward()
    close(x.grad, np.zeros((2, 2)))
    z = leaf([1.0, 2.0])
    (tt.masked_fill(z, const([True, False], bool), 0.0) * const([5.0, 7.0])).sum().backward()
    close(z.grad, [0, 7])


@pytest.mark.parametrize("shape, mask_shape", [((2, 3), (2, 3)), ((2, 1), (3,)), ((), ()), ((), 4)])
def test_masked_select(shape: tuple, mask_shape: tuple, rng: np.random.Generator) -> None:
    """Both sides broadcast; the gradient adds up over what was broadcast."""
    values, mask = rng.normal(size=shape), rng.random(mask_shape) < 0.7
    full, where = np.broadcast_arrays(values, mask)
    x = leaf(values)
    y = tt.masked_select(x, const(mask, bool))
    close(y, full[where])
    upstream = rng.normal(size=y.shape)
    y.backward(const(upstream))
    spread = np.zeros(full.shape)
    spread[where] = upstream
    axes = tuple(i - len(shape) for i in range(len(shape)) if shape[i] != spread.shape[i])
    spread = spread.sum(axis=tuple(range(spread.ndim - len(shape)))) if not axes else spread
    close(x.grad, spread.sum(axis=axes, keepdims=True) if axes else spread)


def test_masked_select_of_nothing() -> None:
    x = leaf(np.ones((2, 3)))
    y = tt.masked_select(x, const(np.zeros((2, 3)), bool))
    assert y.shape == (0,)
    y.sum().backward()
    close(x.grad, np.zeros((2, 3)))
    assert tt.masked_select(leaf(np.zeros((0, 3))), const(np.zeros(3), bool)).shape == (0,)


def test_masked_scatter(rng: np.random.Generator) -> None:
    """Source elements in C order; those that no place is left for get no gradient."""
    values, source = rng.normal(size=(2, 3)), rng.normal(size=(2, 2))
    mask = np.array([True, False, True])
    x, s = leaf(values), leaf(source)
    y = tt.masked_scatter(x, const(mask, bool), s)
    expected = values.copy()
    expected[:, mask] = source
    close(y, expected)
    upstream = rng.normal(size=(2, 3))
    y.backward(const(upstream))
    close(x.grad, np.where(mask, 0, upstream))
    close(s.grad, upstream[:, mask])
    row, s = leaf([1.0, 2.0, 3.0]), leaf([5.0, 6.0, 7.0])
    z = tt.masked_scatter(row, const([[True, False, False], [False, False, True]], bool), s)
    close(z, [[5, 2, 3], [1, 2, 6]])
    (z * const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    close(row.grad, [4, 7, 3])
    close(s.grad, [1, 6, 0])


def test_masks_are_booleans_and_sources_long_enough() -> None:
    x = leaf([1.0, 2.0])
    for fn in (tt.masked_select, lambda x, m: tt.masked_scatter(x, m, x)):
        with pytest.raises(TypeError, match="mask: expected booleans, got int64"):
            fn(x, const([0, 1], np.int64))
        with pytest.raises(ValueError, match="mask"):
            fn(x, const([True, False, True], bool))
    with pytest.raises(ValueError, match="at least 2 elements.*got 1"):
        tt.masked_scatter(x, const([True, True], bool), const([1.0]))


def test_where_takes_values_from_both_sides() -> None:
    a, b = leaf([1.0, 2.0, 3.0]), leaf([[10.0], [20.0]])
    condition = const([[True, False, True], [False, False, True]], bool)
    out = tt.where(condition, a, b)
    close(out, [[1, 10, 3], [20, 20, 3]])
    (out * const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    close(a.grad, [1, 0, 9])
    close(b.grad, [[2], [9]])


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 3])
def test_tril_and_triu(k: int) -> None:
    values = np.arange(1.0, 25.0).reshape(2, 3, 4)
    for op, same in ((tt.tril, np.tril), (tt.triu, np.triu)):
        x = leaf(values)
        y = op(x, k)
        close(y, same(values, k))
        (y * 2).sum().backward()
        close(x.grad, same(np.full_like(values, 2), k))


def test_dropout_masks_scale_and_stop() -> None:
    x = leaf(np.ones((200, 200)))
    y = tt.dropout(x, 0.25, generator=tt.Generator(1))
    values = host(y)
    kept = values != 0
    assert abs(kept.mean() - 0.75) < 0.01
    np.testing.assert_allclose(values[kept], 1 / 0.75)
    y.sum().backward()
    np.testing.assert_allclose(grad_of(x), values)
    close(tt.dropout(x, 0.25, training=False), np.ones((200, 200)))
    close(tt.dropout(x, 0.0), np.ones((200, 200)))
    for bad in (1.5, -0.1, math.nan):
        with pytest.raises(ValueError, match="dropout: p: expected a probability 0 <= p <= 1"):
            tt.dropout(x, bad)


def test_dropout_of_everything_is_zero_and_so_are_its_gradients(qkv: list[np.ndarray]) -> None:
    x = leaf(np.full((3, 4), 2.0))
    y = tt.dropout(x, 1.0)
    (g,) = tt.grad((y * y + x).sum(), x, create_graph=True)
    (second,) = tt.grad((g * g * x).sum(), x)
    np.testing.assert_array_equal(host(y), np.zeros((3, 4)))
    np.testing.assert_array_equal(host(g.detach()), np.ones((3, 4)))
    np.testing.assert_array_equal(host(second), np.ones((3, 4)))
    assert tt.dropout(x, 1.0, training=False) is x
    leaves = [leaf(a) for a in qkv]
    out = tt.scaled_dot_product_attention(*leaves, dropout=1.0)
    out.sum().backward()
    for zero in (out, *(t.grad for t in leaves)):
        assert zero is not None and not host(zero.detach()).any()


def test_attention_dropout_uses_its_generator(qkv: list[np.ndarray]) -> None:
    def run(seed: int) -> np.ndarray:
        return host(
            tt.scaled_dot_product_attention(
                *(const(a) for a in qkv), dropout=0.5, generator=tt.Generator(seed)
            )
        )

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).any()
    mean = np.mean([run(s) for s in range(400)], axis=0)
    np.testing.assert_allclose(mean, attention(*qkv), atol=0.35)


def test_cross_entropy_of_a_masked_class() -> None:
    """A class at -inf costs nothing while it is not the target, and gets no gradient."""
    z = leaf([[0.0, 1.0, -np.inf]])
    loss = tt.cross_entropy(z, const([1], np.int64))
    loss.backward()
    close(loss, 0.313262)
    close(z.grad, [[0.268941, -0.268941, 0]])
