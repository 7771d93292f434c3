"""Activation modules: values by hand and gradients; PyTorch's in tests/parity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from .helpers import check_gradients, double, values_of


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


ACTIVATIONS = {
    nn.ReLU(): lambda x: max(x, 0.0),
    nn.GELU(): lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    nn.GELU("tanh"): lambda x: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    nn.SiLU(): lambda x: x / (1 + math.exp(-x)),
    nn.Tanh(): math.tanh,
    nn.Sigmoid(): sigmoid,
    nn.LogSigmoid(): lambda x: math.log(sigmoid(x)),
    nn.Tanhshrink(): lambda x: x - math.tanh(x),
    nn.Mish(): lambda x: x * math.tanh(math.log(1 + math.exp(x))),
    nn.Softplus(): lambda x: math.log(1 + math.exp(x)),
    nn.Softplus(2.0, 5.0): lambda x: x if 2 * x > 5 else math.log(1 + math.exp(2 * x)) / 2,
    nn.Softsign(): lambda x: x / (1 + abs(x)),
    nn.ReLU6(): lambda x: min(max(x, 0), 6),
    nn.LeakyReLU(): lambda x: x if x > 0 else 0.01 * x,
    nn.LeakyReLU(0.2): lambda x: x if x > 0 else 0.2 * x,
    nn.PReLU().to("float64"): lambda x: x if x > 0 else 0.25 * x,
    nn.ELU(1.5): lambda x: x if x > 0 else 1.5 * math.expm1(x),
    nn.CELU(1.5): lambda x: x if x > 0 else 1.5 * math.expm1(x / 1.5),
    nn.SELU(): lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    nn.Hardtanh(): lambda x: min(max(x, -1), 1),
    nn.Hardtanh(-0.4, 2.0): lambda x: min(max(x, -0.4), 2),
    nn.Hardsigmoid(): lambda x: min(max(x / 6 + 0.5, 0), 1),
    nn.Hardswish(): lambda x: x * min(max(x / 6 + 0.5, 0), 1),
    nn.Threshold(0.2, -7.0): lambda x: x if x > 0.2 else -7,
    nn.Hardshrink(0.4): lambda x: x if abs(x) > 0.4 else 0,
    nn.Softshrink(0.4): lambda x: math.copysign(max(abs(x) - 0.4, 0), x),
    nn.Identity(): lambda x: x,
}


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=repr)
def test_activation_values_and_gradients(layer: nn.Module, rng: np.random.Generator) -> None:
    x = double([-2.0, -0.5, 0.3, 0.7, 2.6], requires_grad=True)
    want = [ACTIVATIONS[layer](v) for v in values_of(x)]
    np.testing.assert_allclose(values_of(layer(x)), want, rtol=1e-12)
    check_gradients(lambda: layer(x) * 1.0, {"x": x}, rng)


def test_softmax_axis(rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((2, 3)), requires_grad=True)
    np.testing.assert_allclose(values_of(nn.Softmax(0)(x)).sum(0), np.ones(3))
    check_gradients(lambda: nn.Softmax()(x), {"x": x}, rng)
    with pytest.raises(ValueError, match="approximate: expected 'none' or 'tanh', got 'erf'"):
        nn.GELU("erf")


def test_activations_along_an_axis(rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((2, 4, 3, 3)), requires_grad=True)
    soft = np.exp(values_of(x)) / np.exp(values_of(x)).sum(1, keepdims=True)
    np.testing.assert_allclose(values_of(nn.Softmax2d()(x)), soft)
    np.testing.assert_allclose(values_of(nn.LogSoftmax(1)(x)), np.log(soft))
    np.testing.assert_allclose(values_of(nn.Softmin(axis=1)(-x)), soft)
    a, b = values_of(x)[:, :2], values_of(x)[:, 2:]
    np.testing.assert_allclose(values_of(nn.GLU(1)(x)), a / (1 + np.exp(-b)))
    for layer in (nn.Softmax2d(), nn.LogSoftmax(), nn.Softmin(2), nn.GLU(1)):
        check_gradients(lambda layer=layer: layer(x), {"x": x}, rng)
    with pytest.raises(ValueError, match=r"x: expected an even length along axis -1, got \(3,\)"):
        nn.GLU()(tt.zeros(3))
    assert nn.GLU(0)(tt.zeros(0, 3)).shape == (0, 3)


def test_prelu_learns_its_slopes(rng: np.random.Generator) -> None:
    layer = nn.PReLU(3, init=-0.5).to("float64")
    x = double(rng.standard_normal((2, 3, 4)), requires_grad=True)
    check_gradients(lambda: layer(x), {"x": x, "weight": layer.weight}, rng)
    assert [p.tolist() for p in layer.parameters()] == [[-0.5] * 3]
    with pytest.raises(ValueError, match=r"weight: expected shape \(1,\) or one number per"):
        layer(tt.zeros(2, 4))


def test_arguments_are_shown_and_checked() -> None:
    assert repr(nn.LeakyReLU(0.2)) == "LeakyReLU(negative_slope=0.2)"
    assert repr(nn.Softplus()) == "Softplus(beta=1.0, threshold=20.0)"
    assert repr(nn.Threshold(0.1, 2)) == "Threshold(threshold=0.1, value=2)"
    assert repr(nn.PReLU(3)).startswith("PReLU(3)")
    assert repr(nn.ReLU6()) == "ReLU6()" and repr(nn.Softmin()) == "Softmin(axis=-1)"
    bad: list[tuple[Any, str]] = [
        (lambda: nn.Hardtanh(1, 1), "min_val: expected less than max_val, 1, got 1"),
        (lambda: nn.Softshrink(-0.1), "lambd: expected a number >= 0, got -0.1"),
        (lambda: nn.PReLU(0), "num_parameters: expected an integer >= 1, got 0"),
    ]
    for make, says in bad:
        with pytest.raises(ValueError, match=says):
            make()


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=repr)
def test_float32_stays_and_nan_is_not_hidden(layer: nn.Module) -> None:
    layer = nn.PReLU() if isinstance(layer, nn.PReLU) else layer
    y = layer(tt.tensor([math.nan, -1.0, 0.5]))
    assert y.dtype == np.float32 and math.isnan(y[0].item()) and not tt.isnan(y[1:]).any()


X: Any = tt.ones(2, 3)


@pytest.mark.parametrize(("make", "says"), [
    (lambda: nn.Softplus(beta=0), "beta: expected a number other than 0, got 0"),
    (lambda: nn.CELU(0.0), "alpha: expected a number other than 0, got 0.0"),
    (lambda: nn.ELU("x"), "alpha: expected a number, got 'x'"),
    (lambda: nn.LeakyReLU("x"), "negative_slope: expected a number, got 'x'"),
    (lambda: nn.PReLU(init=None), "init: expected a number, got None"),
    (lambda: nn.Hardtanh("a", 1), "min_val: expected less than max_val, 1, got 'a'"),
    (lambda: nn.Hardtanh(0, True), "max_val: expected a number, got True"),
    (lambda: nn.Threshold(1, X), r"value: expected a number, got shape \(2, 3\)"),
    (lambda: nn.Hardshrink(math.nan), "lambd: expected a number, got nan"),
    (lambda: nn.Softshrink("x"), "lambd: expected a number >= 0, got 'x'"),
    (lambda: nn.Softmax("x"), "axis: expected an integer, got 'x'"),
    (lambda: nn.LogSoftmax(1.5), "axis: expected an integer, got 1.5"),
    (lambda: nn.GLU(None), "axis: expected an integer, got None"),
    (lambda: nn.LogSoftmax(dim=1), r"^LogSoftmax\(\) got an unexpected .*'dim'; use axis"),
    (lambda: nn.Softmin(dim=1), r"^Softmin\(\) got an unexpected .*'dim'; use axis"),
    (lambda: nn.ReLU(X), r"ReLU: takes settings, not x; write nn\.ReLU\(\)\(x\)"),
    (lambda: nn.LeakyReLU(X), r"write nn\.LeakyReLU\(\)\(x\)"),
    (lambda: nn.GLU(X), r"write nn\.GLU\(\)\(x\)"),
    (lambda: nn.GLU(5)(X), r"GLU: axis: expected -2 to 1 for shape \(2, 3\), got 5"),
])  # fmt: skip
def test_settings_are_checked_where_they_are_given(make: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        make()


def test_settings_may_be_numpys() -> None:
    layer = nn.LeakyReLU(np.float64(0.25))
    assert type(layer.negative_slope) is float and layer(tt.tensor([-1.0])).dtype == np.float32
    assert nn.Softmax(np.int64(1)).axis == 1 and nn.ELU(tt.tensor(0.5)).alpha == 0.5
