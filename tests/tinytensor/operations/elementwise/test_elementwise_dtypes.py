"""Which dtype each elementwise op gives, and that narrow ones lose no more than they must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define import op as registry

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")

FAMILY = "arithmetic rounding exponential trigonometric comparison choosing smooth relu"
OPS = {
    name: op
    for name, op in sorted(registry.OPS.items())
    if op.__module__.rpartition(".")[-1] in FAMILY.split()
}
UNARY = {n: op for n, op in OPS.items() if len(op.inputs) == 1 and op.differentiable}
del UNARY["clip"]  # it needs a setting


@pytest.fixture(autouse=True)
def _singular_points_are_meant() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def test_python_and_numpy_numbers_do_not_widen() -> None:  # report C23
    x = leaf([0.5, 0.75], np.float32)
    wide = np.float64(0.3)
    binary = "hypot atan2 logaddexp xlogy fmax fmin maximum minimum remainder fmod floor_divide"
    for name in binary.split():
        for y in (getattr(tt, name)(x, 0.3), getattr(tt, name)(wide, x)):
            assert y.dtype == np.float32, name
            (g,) = tt.grad(y.sum(), [x], retain_graph=True)
            assert g is not None and g.dtype == np.float32, name
            (g,) = tt.grad(y.sum(), [x], create_graph=True)
            assert g is not None and g.dtype == np.float32, name
    for y in (tt.lerp(x, 1.0, wide), tt.lerp(0.5, wide, x), tt.softplus(x, 2), tt.elu(x, wide)):
        assert y.dtype == np.float32


def test_a_number_counts_in_full_precision_in_the_graph_of_gradients() -> None:
    # 0.1 as float32 would show in the ninth digit
    for name in ("logaddexp", "xlogy", "hypot", "atan2", "remainder", "pow"):
        x = leaf([0.7])
        (once,) = tt.grad(getattr(tt, name)(0.1, x).sum(), [x])
        (twice,) = tt.grad(getattr(tt, name)(0.1, x).sum(), [x], create_graph=True)
        close(once, twice, 1e-14)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_float16_in_float16_out(name: str) -> None:
    values = [1.5, 2.0] if name == "acosh" else [0.25, 0.5]
    x, exact = leaf(values, np.float16), leaf(values)
    y, right = UNARY[name](x), UNARY[name](exact)
    y.backward(const([1.0, 2.0], np.float16))
    right.backward(const([1.0, 2.0]))
    assert y.dtype == np.float16 and grad_of(x).dtype == np.float16
    np.testing.assert_allclose(host(y), host(right), rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(grad_of(x), grad_of(exact), rtol=4e-3, atol=1e-3)


KEEP_INTEGERS = "abs ceil floor masked_fill nan_to_num neg relu round sign square trunc".split()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_integers_give_float32_or_stay_integers(name: str, dtype: Any) -> None:
    values = {"acosh": [1, 1], "neg": [0, 0]}.get(name, [0, 1])
    y = UNARY[name](const(values, dtype))
    right = UNARY[name](const(values, np.float64))
    assert y.dtype == (dtype if name in KEEP_INTEGERS else np.float32)
    close(y, right, 1e-6)


def test_small_integers_are_not_computed_in_float16() -> None:
    # NumPy gives float16 for int8, where e^20 is infinite
    with np.errstate(all="raise"):
        close(tt.exp(const([20, 1], np.int8)), np.exp([20.0, 1.0]).astype(np.float32))
    assert tt.sqrt(const([True, False], np.bool_)).dtype == np.float32
    assert tt.exp(const([1.0], np.float16)).dtype == np.float16


@pytest.mark.parametrize("name", ["asin", "atan2", "softplus", "hypot", "round", "elu"])
def test_empty_and_single_tensors(name: str) -> None:
    for shape in ((0,), (2, 0), (), (1, 1)):
        leaves = [leaf(np.full(shape, 0.4)) for _ in OPS[name].inputs]
        y = getattr(tt, name)(*leaves)
        assert y.shape == shape
        y.backward(const(np.ones(shape)))
        assert all(grad_of(x).shape == shape for x in leaves)
