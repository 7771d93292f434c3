"""Faults that were planted in a rule (`tests.mutation`) and that all other tests let pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from .helpers import host, leaf


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
    table = tt.embedding_grad(g, ids, 3, padding_idx)
    weights = np.array([[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]])
    (dg,) = tt.grad(table, g, tt.tensor(weights))
    np.testing.assert_array_equal(host(dg), [[2.0, 3.0], [0, 0], [11.0, 13.0], [0, 0]])
