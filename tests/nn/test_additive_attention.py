"""Additive attention: by hand, masks, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of


def layer(rng: np.random.Generator, *sizes: int) -> nn.AdditiveAttention:
    made = nn.AdditiveAttention(*sizes)
    randomize(made, rng)
    return made


def by_hand(made: nn.AdditiveAttention, query: Any, keys: Any, mask: Any = None) -> Any:
    """The paper's formulas for one query (query_dim,) and its keys (Tk, key_dim), one by one."""
    w, u, v = (values_of(p) for p in (made.query_proj.weight, made.key_proj.weight, made.v))
    scores = [float(v @ np.tanh(w @ query + u @ key)) for key in keys]
    exps = [np.exp(s) if mask is None or mask[j] else 0.0 for j, s in enumerate(scores)]
    weights = np.array(exps) / sum(exps)
    return sum(a * key for a, key in zip(weights, keys)), weights


def test_a_query_by_hand(rng: np.random.Generator) -> None:
    made = layer(rng, 3, 2, 4)
    query, keys = rng.standard_normal((2, 3)), rng.standard_normal((2, 5, 2))
    mask = np.array([[True] * 5, [True, True, False, True, False]])
    for given in (None, mask):
        context, weights = made(double(query), double(keys), given)
        assert context.shape == (2, 2) and weights.shape == (2, 5)
        for i in range(2):
            want = by_hand(made, query[i], keys[i], None if given is None else given[i])
            np.testing.assert_allclose(values_of(context)[i], want[0], rtol=1e-12)
            np.testing.assert_allclose(values_of(weights)[i], want[1], rtol=1e-12)


def test_numbers_of_one_feature() -> None:
    """W = 1, U = 2, v = 3, q = 0.5: scores 3 tanh(0.5 + 2 k) of k = 0 and k = -0.25 are 3 tanh 0.5
    and 0."""
    made = nn.AdditiveAttention(1, 1, 1)
    with tt.no_grad():
        made.query_proj.weight.copy_([[1.0]])
        made.key_proj.weight.copy_([[2.0]])
        made.v.copy_([3.0])
    context, weights = made(tt.tensor([[0.5]]), tt.tensor([[[0.0], [-0.25]]]))
    first = 1 / (1 + np.exp(-3 * np.tanh(0.5)))
    np.testing.assert_allclose(values_of(weights), [[first, 1 - first]], rtol=1e-6)
    np.testing.assert_allclose(values_of(context), [[-0.25 * (1 - first)]], rtol=1e-6)


def test_several_queries_are_those_one_by_one(rng: np.random.Generator) -> None:
    made = layer(rng, 3, 4)
    assert made.hidden == 3, "that of the query"
    queries, keys = double(rng.standard_normal((2, 6, 3))), double(rng.standard_normal((2, 5, 4)))
    mask = rng.random((2, 5)) < 0.7
    mask[:, 0] = True
    context, weights = made(queries, keys, mask)
    assert context.shape == (2, 6, 4) and weights.shape == (2, 6, 5)
    projected = made.project(keys)
    for t in range(6):
        one, its_weights = made(queries[:, t], keys, tt.tensor(mask), projected)
        np.testing.assert_allclose(values_of(one), values_of(context)[:, t], rtol=1e-12)
        np.testing.assert_allclose(values_of(its_weights), values_of(weights)[:, t], rtol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_finite_differences(masked: bool, rng: np.random.Generator) -> None:
    made = layer(rng, 3, 2, 4)
    leaves = dict(made.named_parameters())
    leaves["query"] = double(rng.standard_normal((2, 3)), requires_grad=True)
    leaves["keys"] = double(rng.standard_normal((2, 4, 2)), requires_grad=True)
    mask = np.array([[True, True, True, False], [True, False, True, True]]) if masked else None

    def both() -> tt.Tensor:
        context, weights = made(leaves["query"], leaves["keys"], mask)
        return tt.concat([context, weights], axis=-1)

    check_gradients(both, leaves, rng)
    several = {**leaves, "query": double(rng.standard_normal((2, 3, 3)), requires_grad=True)}
    check_gradients(lambda: made(several["query"], several["keys"], mask)[0], several, rng)


def test_masked_keys_leave_no_trace(rng: np.random.Generator) -> None:
    made = layer(rng, 3, 2)
    query = double(rng.standard_normal((2, 3)), requires_grad=True)
    mask = np.array([[True, True, False, False], [True, False, True, False]])
    values = rng.standard_normal((2, 4, 2))
    results = []
    for filling in (0.0, 1e3, -7.0):
        keys = double(np.where(mask[..., None], values, filling), requires_grad=True)
        context, weights = made(query, keys, mask)
        query.grad = None
        context.sum().backward()
        assert not values_of(weights)[~mask].any() and not values_of(keys.grad)[~mask].any()
        results.append([values_of(x) for x in (context, weights, query.grad, keys.grad)])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
    nothing, weights = made(query, keys, np.zeros((2, 4), dtype=bool))
    assert not values_of(nothing).any() and not values_of(weights).any()


def test_recording(rng: np.random.Generator) -> None:
    made = layer(rng, 3, 2)
    query, keys = double(rng.standard_normal((2, 3, 3))), double(rng.standard_normal((2, 4, 2)))
    with nn.attention.recording() as maps:
        _, weights = made(query, keys)
        _, single = made(query[:, 0], keys)
    assert [found for found, _ in maps] == [made, made]
    np.testing.assert_array_equal(maps[0][1], values_of(weights)[:, None])
    np.testing.assert_array_equal(maps[1][1], values_of(single)[:, None, None])


def test_on_each_device(device: Device) -> None:
    made = nn.AdditiveAttention(3, 2)
    mask = np.array([[True, True], [False, True]])
    context, weights = made(tt.ones((2, 3)), tt.ones((2, 2, 2)), mask)
    assert context.dtype == np.float32 and context.device is weights.device is device
    np.testing.assert_allclose(values_of(weights), [[0.5, 0.5], [0, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("query", "keys", "more", "match"),
    [
        ((2, 3), (2, 4, 5), {}, r"keys: expected shape \(batch, time, 2\), got \(2, 4, 5\)"),
        ((2, 3), (2, 2), {}, r"keys: expected shape \(batch, time, 2\), got \(2, 2\)"),
        ((2, 4), (2, 4, 2), {}, r"query: expected shape \(2, 3\) or \(2, time, 3\), got \(2, 4\)"),
        ((3, 3), (2, 4, 2), {}, r"query: expected shape \(2, 3\) or \(2, time, 3\), got \(3, 3\)"),
        ((3,), (2, 4, 2), {}, r"query: expected shape \(2, 3\) .*got \(3,\)"),
        ((2, 3), (2, 4, 2), {"key_mask": np.ones((2, 4))}, r"key_mask: expected bool of shape \(2"),
        ((2, 3), (2, 4, 2), {"key_mask": np.ones((2, 3), bool)}, r"key_mask: .*\(2, 4\), got bool"),
        ((2, 3), (2, 4, 2), {"projected": tt.ones((2, 3, 3))}, r"projected: expected shape \(2, 4"),
    ],
)
def test_wrong_shapes_are_named(query: Any, keys: Any, more: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        nn.AdditiveAttention(3, 2)(tt.ones(query), tt.ones(keys), **more)


def test_the_starting_values(rng: np.random.Generator) -> None:
    made = nn.AdditiveAttention(16, 20, 25)
    assert [p.shape for p in made.parameters()] == [(25,), (25, 16), (25, 20)]
    assert 0.15 < np.abs(values_of(made.v)).max() <= 0.2
    assert "16, 20, hidden=25" in repr(made)
