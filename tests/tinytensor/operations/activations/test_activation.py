"""Activation functions at their kinks, far out, at NaN, and with wrong settings.

The expected values are PyTorch 2.13's unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")

nan, inf = math.nan, math.inf
SMOOTH = ["sigmoid", "log_sigmoid", "softplus", "softsign", "silu", "mish", "gelu"]
KINKED = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "hardtanh", "hard_sigmoid",
          "hard_swish"]  # fmt: skip


@pytest.fixture(autouse=True)
def _singular_points_are_meant() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def run(name: str, x: Any, dtype: Any = np.float64, **settings: Any) -> tuple[Any, Any]:
    """Values and gradient for a cotangent of ones."""
    x = leaf(x, dtype)
    y = getattr(tt, name)(x, **settings)
    y.backward(const(np.ones(y.shape), dtype))
    assert y.dtype == dtype
    return host(y), grad_of(x)


@pytest.mark.parametrize(
    ("name", "kinks", "values", "gradient", "settings"),
    [
        ("relu", [0, -0.0], [0, 0], [0, 0], {}),
        ("relu6", [0, 6], [0, 6], [0, 0], {}),
        ("leaky_relu", [0, -1], [0, -0.2], [0.2, 0.2], {"negative_slope": 0.2}),
        ("elu", [0, -0.0], [0, 0], [2, 2], {"alpha": 2}),
        ("selu", [0], [0], [1.758099], {}),
        ("celu", [0], [0], [1], {"alpha": 2}),
        ("hardtanh", [-1, 1], [-1, 1], [0, 0], {}),
        ("hardtanh", [2, 3, 4], [2, 3, 4], [0, 1, 0], {"min_val": 2, "max_val": 4}),
        ("hard_sigmoid", [-3, 3, 0], [0, 1, 0.5], [0, 0, 1 / 6], {}),
        ("hard_swish", [-3, 3, 0], [0, 3, 0], [0, 1, 0.5], {}),
        ("softsign", [0], [0], [1], {}),
    ],
)
def test_slope_at_the_kinks(
    name: str, kinks: list, values: list, gradient: list, settings: dict
) -> None:
    y, g = run(name, kinks, **settings)
    np.testing.assert_allclose(y, values, atol=1e-9)
    np.testing.assert_allclose(g, gradient, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "gradient"),
    [
        ("relu", 1), ("relu6", 0), ("leaky_relu", 0.01), ("elu", nan), ("selu", nan),
        ("celu", nan), ("hardtanh", 0), ("hard_sigmoid", 0), ("hard_swish", nan), ("sigmoid", nan),
        ("log_sigmoid", nan), ("softplus", nan), ("softsign", nan), ("silu", nan), ("mish", nan),
        ("gelu", nan), ("tanh", nan),
    ],
)  # fmt: skip
def test_nan_gives_nan_and_the_gradient_of_its_branch(name: str, gradient: float) -> None:
    y, g = run(name, [nan, 0.7])
    assert np.isnan(y[0]) and not np.isnan(y[1])
    np.testing.assert_allclose(g[0], gradient, rtol=1e-6)
    assert np.isfinite(g[1])


def test_prelu_at_nan() -> None:
    x, w = leaf([nan, -2.0, 3.0]), leaf([0.25])
    tt.prelu(x, w).backward(const([1.0, 1.0, 1.0]))
    close(x.grad, [0.25, 0.25, 1])
    assert np.isnan(grad_of(w)).all()


FAR = {  # value and slope at -300, and the slope at 300 (the value there is 300 or the limit)
    "sigmoid": (0, 0, 1, 0),
    "log_sigmoid": (-300, 1, 0, 0),
    "softplus": (0, 0, 300, 1),
    "softsign": (-300 / 301, 1 / 301**2, 300 / 301, 1 / 301**2),
    "silu": (0, 0, 300, 1),
    "mish": (0, 0, 300, 1),
    "gelu": (0, 0, 300, 1),
    "tanh": (-1, 0, 1, 0),
    "relu": (0, 0, 300, 1),
    "relu6": (0, 0, 6, 0),
    "leaky_relu": (-3, 0.01, 300, 1),
    "elu": (-1, 0, 300, 1),
    "selu": (-1.758099, 0, 315.2103, 1.0507010),
    "celu": (-1, 0, 300, 1),
    "hardtanh": (-1, 0, 1, 0),
    "hard_sigmoid": (0, 0, 1, 0),
    "hard_swish": (0, 0, 300, 1),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", FAR)
def test_far_out_no_overflow_and_no_nan(name: str, dtype: Any) -> None:
    # 300² is infinite in float16, e^300 in float32
    low, low_slope, high, high_slope = FAR[name]
    for settings in [{}, {"approximate": "tanh"}] if name == "gelu" else [{}]:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            y, g = run(name, [-300, 300], dtype, **settings)
        np.testing.assert_allclose(y, [low, high], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(g, [low_slope, high_slope], rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_float32_far_out_is_finite(name: str) -> None:
    y, g = run(name, [-1e9, -1e4, -90, 90, 1e4, 1e9], np.float32)
    assert np.isfinite(y).all() and np.isfinite(g).all()
    np.testing.assert_array_less(np.abs(g), 1.0001)


def test_mish_at_the_end_of_the_range() -> None:
    y, g = run("mish", [3e38, inf], np.float32)
    np.testing.assert_allclose(y, [3e38, inf], rtol=1e-6)
    np.testing.assert_allclose(g, [1, 1])  # PyTorch: NaN at infinity


@pytest.mark.parametrize("name", ["relu", "sigmoid", "silu", "mish", "gelu"])
def test_reference_agrees_far_out_too(name: str) -> None:
    from tinytensor.define import op as registry

    op = registry.OPS[name]
    points = [-700.0, -60, -20, -1, 0.3, 20, 39.9, 40.1, 60, 700]
    x, r = leaf(points), leaf(points)
    op(x).sum().backward()
    op.reference(r).sum().backward()
    close(op(x), op.reference(r), 1e-12)
    close(x.grad, grad_of(r), 1e-12)


def test_log_sigmoid_and_softplus_keep_their_digits() -> None:
    y, g = run("log_sigmoid", [-1000, 0, 40], np.float64)
    np.testing.assert_allclose(y, [-1000, -math.log(2), -math.exp(-40)], rtol=1e-12)
    np.testing.assert_allclose(g, [1, 0.5, math.exp(-40)], rtol=1e-12)
    y, g = run("softplus", [-40, 0])
    np.testing.assert_allclose(y, [math.exp(-40), math.log(2)], rtol=1e-12)
    np.testing.assert_allclose(g, [math.exp(-40), 0.5], rtol=1e-12)


def test_softplus_with_beta_and_threshold() -> None:
    y, g = run("softplus", [0.4, 0.6, -1], beta=2, threshold=1)
    np.testing.assert_allclose(y, [math.log1p(math.exp(0.8)) / 2, 0.6, 0.063464], rtol=1e-5)
    np.testing.assert_allclose(g, [1 / (1 + math.exp(-0.8)), 1, 0.119203], rtol=1e-5)
    with pytest.raises(ValueError, match="softplus.*beta: expected a number other than 0, got 0"):
        tt.softplus(const([1.0]), beta=0)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="celu.*alpha: expected a number other than 0, got 0"):
        tt.celu(const([1.0]), alpha=0)
    with pytest.raises(ValueError, match="hardtanh.*min_val: expected at most max_val, -1, got 2"):
        tt.hardtanh(const([1.0]), 2, -1)
    with pytest.raises(ValueError, match="gelu.*approximate: expected 'none' or 'tanh', got 'no'"):
        tt.gelu(const([1.0]), "no")


def test_values_of_the_self_normalising_units() -> None:
    np.testing.assert_allclose(run("selu", [1, -1])[0], [1.050701, -1.111331], rtol=1e-6)
    y, g = run("celu", [1, -1], alpha=2)
    np.testing.assert_allclose(y, [1, 2 * math.expm1(-0.5)], rtol=1e-12)
    np.testing.assert_allclose(g, [1, math.exp(-0.5)], rtol=1e-12)
    y, g = run("mish", [1.0, -1.0, 0.0])
    np.testing.assert_allclose(y, [0.865098, -0.303401, 0], rtol=2e-6)
    np.testing.assert_allclose(g, [1.049036, 0.059217, 0.6], rtol=2e-5)


def test_prelu_has_one_weight_per_channel() -> None:
    x = leaf(-np.arange(1.0, 13).reshape(2, 3, 2))
    w = leaf([0.5, 1.0, 2.0])
    y = tt.prelu(x, w)
    close(y, host(x) * np.array([0.5, 1, 2])[None, :, None])
    y.sum().backward()
    close(x.grad, np.broadcast_to(np.array([0.5, 1, 2])[None, :, None], (2, 3, 2)))
    close(w.grad, [-(1 + 2 + 7 + 8), -(3 + 4 + 9 + 10), -(5 + 6 + 11 + 12)])
    assert tt.gradcheck(
        tt.prelu, [leaf(np.linspace(-2, 2.1, 12).reshape(2, 3, 2)), leaf([1, 2, 3])]
    )


def test_prelu_with_one_weight_for_all() -> None:
    for shape in ((4,), (), (2, 3), (2, 3, 2, 1), (0, 3)):
        for weight_shape in ((1,), ()):
            x, w = leaf(np.full(shape, -2.0)), leaf(np.full(weight_shape, 0.25))
            y = tt.prelu(x, w)
            close(y, np.full(shape, -0.5))
            y.backward(const(np.ones(shape)))
            close(w.grad, np.full(weight_shape, -2.0 * np.prod(shape)))


def test_prelu_says_how_many_weights_it_wants() -> None:
    for x, w in (((2, 3), (2,)), ((3,), (3,)), ((2, 3), (1, 3)), ((), (2,))):
        with pytest.raises(ValueError, match=r"prelu: weight: expected shape \(1,\).*channel"):
            tt.prelu(const(np.ones(x)), const(np.ones(w)))


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_integers_become_float32_or_stay(name: str) -> None:
    y = getattr(tt, name)(const([-2, 0, 3], np.int64))
    right = getattr(tt, name)(const([-2.0, 0.0, 3.0]))
    assert y.dtype.kind == "i" if name in ("relu", "relu6") else y.dtype == np.float32
    close(y, right, 1e-6)


def test_float16_gelu_stays_float16() -> None:
    for approximate in ("none", "tanh"):
        x = leaf([-1.0, 0.5, 300.0, -300.0], np.float16)
        y = tt.gelu(x, approximate)
        y.backward(const(np.ones(4), np.float16))
        assert y.dtype == np.float16
        np.testing.assert_allclose(host(y), [-0.1587, 0.3457, 300, 0], rtol=2e-3, atol=1e-6)
        np.testing.assert_allclose(grad_of(x), [-0.0833, 0.8676, 1, 0], rtol=5e-3, atol=1e-6)


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_second_derivative_of_float16_is_finite(name: str) -> None:
    x = leaf([-1.5, 0.5, 200.0], np.float16)
    (g,) = tt.grad(getattr(tt, name)(x).sum(), [x], create_graph=True)
    if g.requires_grad:
        (h,) = tt.grad(g.sum(), [x], allow_unused=True)
        assert h is None or np.isfinite(host(h)).all()
