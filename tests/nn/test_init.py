"""Initialisers: moments and bounds, shapes, seeds, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.nn import init

from .helpers import values_of

SHAPE = (300, 200)  # fan_out, fan_in


@pytest.mark.parametrize(
    ("fill", "std", "bound"),
    [
        (lambda t: init.normal_(t, 3.0, 0.5), 0.5, None),
        (lambda t: init.uniform_(t, -2, 4), 6 / 12**0.5, 4),
        (lambda t: init.xavier_uniform_(t, gain=2), 2 * (2 / 500) ** 0.5, 2 * (6 / 500) ** 0.5),
        (init.xavier_normal_, (2 / 500) ** 0.5, None),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), 0.1, 0.1 * 3**0.5),
        (lambda t: init.kaiming_normal_(t, nonlinearity="relu"), 0.1, None),
        (lambda t: init.kaiming_normal_(t, mode="fan_out"), (2 / 300) ** 0.5, None),
        (lambda t: init.kaiming_uniform_(t, a=5**0.5), (1 / 600) ** 0.5, (1 / 200) ** 0.5),
        (lambda t: init.trunc_normal_(t, std=1.0, low=-1, high=1), 0.5396, 1),
    ],
)
def test_spread(fill: object, std: float, bound: float | None) -> None:
    tensor = tt.empty(SHAPE)
    assert fill(tensor) is tensor  # type: ignore[operator]
    values = values_of(tensor)
    assert values.std() == pytest.approx(std, rel=0.02)
    if bound is not None:
        assert bound * 0.98 < np.abs(values).max() <= bound * (1 + 1e-6)
    assert tensor.dtype == np.float32


def test_constants_and_identity(device: Device) -> None:
    assert (values_of(init.zeros_(tt.empty((2, 3)))) == 0).all()
    assert (values_of(init.ones_(tt.empty(()))) == 1).all()
    assert (values_of(init.constant_(tt.empty((3,)), 0.5)) == 0.5).all()
    np.testing.assert_array_equal(values_of(init.eye_(tt.empty((2, 3)))), np.eye(2, 3))


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    q = values_of(init.orthogonal_(tt.empty(shape, dtype="float64"), gain=2.0))
    q = q.reshape(shape[0], -1) / 2
    small = min(q.shape)
    product = q @ q.T if q.shape[0] == small else q.T @ q
    np.testing.assert_allclose(product, np.eye(small), atol=1e-12)


def test_gains_and_errors() -> None:
    assert init.calculate_gain("leaky_relu", 5**0.5) == pytest.approx(math.sqrt(1 / 3))
    assert init.calculate_gain("tanh") == pytest.approx(5 / 3)
    with pytest.raises(ValueError, match="nonlinearity: expected one of.*got 'maxout'"):
        init.calculate_gain("maxout")
    with pytest.raises(ValueError, match=r"at least 2 axes to have fans, got shape \(3,\)"):
        init.xavier_normal_(tt.empty((3,)))
    with pytest.raises(ValueError, match="mode: expected 'fan_in' or 'fan_out', got 'fan'"):
        init.kaiming_normal_(tt.empty(SHAPE), mode="fan")
    with pytest.raises(ValueError, match="holds almost nothing"):
        init.trunc_normal_(tt.empty(SHAPE), low=50, high=60)
    with pytest.raises(ValueError, match="tensor: expected 2 axes"):
        init.eye_(tt.empty((2, 2, 2)))


def test_own_generator_leaves_the_named_one_alone() -> None:
    before = tt.random.state()
    a = values_of(init.normal_(tt.empty((3,)), generator=tt.Generator(1)))
    b = values_of(init.normal_(tt.empty((3,)), generator=tt.Generator(1)))
    np.testing.assert_array_equal(a, b)
    assert tt.random.state() == before
    param = nn.Linear(2, 2).weight
    init.zeros_(param)
    assert param.requires_grad and param.is_leaf
