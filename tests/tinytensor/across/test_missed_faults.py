"""Faults that were planted in a rule (`tests.mutation`) and that all other tests let pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.op import OPS
from tinytensor.operations.windows import cross_correlation as correlation

from ..helpers import host, leaf


@pytest.mark.parametrize("fn", [tt.maximum, tt.minimum])
def test_ties_share_the_gradient_that_came(fn: Any) -> None:
    """Half of g, not a half: the cotangent is not 1."""
    x, y = leaf([1.0, 2.0]), leaf([1.0, 3.0])
    dx, dy = tt.grad(fn(x, y), (x, y), tt.tensor([3.0, 5.0]))
    tied, other = (float(host(d)[0]) for d in (dx, dy))
    assert tied == other == 1.5


@pytest.mark.parametrize("shape", [(), (3,)])
def test_both_gelus_in_no_dimension_and_in_one(shape: tuple[int, ...], rng: Any) -> None:
    """The tanh form writes in place, which a 0-d array cannot take."""
    x = leaf(rng.normal(size=shape))
    assert tt.gradcheck(lambda x: tt.gelu(x, "tanh"), x)
    assert tt.gradcheck(lambda x: tt.gelu(x), x)


@pytest.mark.parametrize("padding_idx", [1, -2])
def test_gradient_of_a_table_of_gradients_passes_over_the_padding(padding_idx: int) -> None:
    """embedding_grad drops the rows of the padding id, so no gradient goes back into them."""
    ids = tt.tensor([0, 1, 2, 1])
    g = leaf(np.arange(8.0).reshape(4, 2))
    table = OPS["embedding_grad"](g, ids, 3, padding_idx)
    weights = np.array([[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]])
    (dg,) = tt.grad(table, g, tt.tensor(weights))
    np.testing.assert_array_equal(host(dg), [[2.0, 3.0], [0, 0], [11.0, 13.0], [0, 0]])


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 2)])
def test_trace_of_any_diagonal(shape: tuple[int, int], offset: int) -> None:
    x = leaf(np.arange(float(np.prod(shape))).reshape(shape))
    (dx,) = tt.grad(tt.trace(x, offset), x, tt.tensor(np.array(3.0)))
    np.testing.assert_array_equal(host(dx), 3 * np.eye(*shape, offset))


def test_logit_is_flat_on_both_sides_of_its_bounds() -> None:
    x = leaf([0.05, 0.2, 0.8, 0.95, 1.05])
    (dx,) = tt.grad(tt.logit(x, eps=0.1), x, tt.tensor(np.full(5, 2.0)))
    np.testing.assert_allclose(host(dx), [0, 12.5, 12.5, 0, 0])


@pytest.mark.parametrize("fn", [tt.conv2d, tt.conv_transpose2d])
def test_convolution_adds_up_over_blocks_of_the_batch(fn: Any, monkeypatch: Any, rng: Any) -> None:
    x, weight = leaf(rng.normal(size=(3, 2, 5, 4))), leaf(rng.normal(size=(2, 2, 2, 3)))
    out = fn(x, weight)
    g = tt.tensor(rng.normal(size=out.shape))
    whole = tt.grad(out, (x, weight), g)
    monkeypatch.setattr(correlation, "_BLOCK", 1)
    for a, b in zip(tt.grad(fn(x, weight), (x, weight), g), whole):
        np.testing.assert_allclose(host(a), host(b), rtol=1e-12)


def test_backward_adds_to_a_gradient_that_has_a_graph() -> None:
    x = leaf([2.0])
    (x * x * x).sum().backward(create_graph=True)
    (x * x).sum().backward(create_graph=True)
    grad = x.grad
    assert grad is not None
    np.testing.assert_allclose(host(grad), [3 * 2.0**2 + 2 * 2.0])
    np.testing.assert_allclose(host(tt.grad(grad.sum(), x)[0]), [6 * 2.0 + 2.0])
    (5 * x).sum().backward()  # this one is not recorded, so neither is the sum
    assert x.grad is not None and x.grad.node is None
    np.testing.assert_allclose(host(x.grad), [16.0 + 5.0])


def test_the_slope_of_xlogy_by_y_has_no_derivative_by_x_at_zero() -> None:
    """x / y there is 0 by choice, so that it has none that could be chosen; beside it it has."""
    x, y = leaf([0.0, 0.0, 2.0, 0.0]), leaf([0.0, 2.0, 4.0, -1.0])
    (slope,) = tt.grad(tt.xlogy(x, y).sum(), y, create_graph=True)
    np.testing.assert_array_equal(host(slope), [0.0, 0.0, 0.5, 0.0])
    by_x, by_y = tt.grad(slope.sum(), [x, y])
    np.testing.assert_array_equal(host(by_x), [np.nan, 0.5, 0.25, -1.0])
    np.testing.assert_array_equal(host(by_y), [0.0, 0.0, -0.125, 0.0])
