"""Elementwise ops at the points where they break: ties, zeros, infinities, NaN, narrow dtypes.

The expected values are PyTorch 2.13's unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, share_memory

pytestmark = pytest.mark.usefixtures("device")

nan, inf = math.nan, math.inf


@pytest.fixture(autouse=True)
def _singular_points_are_meant() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def check(name: str, operands: list[Any], values: list, *gradients: list, **settings: Any) -> None:
    """The op's values and the gradients of its operands, for a cotangent of ones."""
    leaves = [leaf(x) for x in operands]
    y = getattr(tt, name)(*leaves, **settings)
    y.backward(const(np.ones(y.shape)))
    close(y, values)
    for x, g in zip(leaves, gradients, strict=True):
        close(x.grad, g)


# -- NaN, ties and kinks ------------------------------------------------------------------
def test_nan_and_ties_in_maximum_and_minimum() -> None:
    x, y = [nan, 1, nan, 2, 2, 3], [1, nan, nan, 2, 3, 2]
    check("maximum", [x, y], [nan, nan, nan, 2, 3, 3], [1, 1, 1, 0.5, 0, 1], [1, 1, 1, 0.5, 1, 0])
    check("minimum", [x, y], [nan, nan, nan, 2, 2, 2], [1, 1, 1, 0.5, 1, 0], [1, 1, 1, 0.5, 0, 1])


def test_nan_and_ties_in_fmax_and_fmin() -> None:
    x, y = [nan, 1, nan, 2, 2, 3], [1, nan, nan, 2, 3, 2]
    check("fmax", [x, y], [1, 1, nan, 2, 3, 3], [0, 1, 1, 1, 0, 1], [1, 0, 0, 0, 1, 0])
    check("fmin", [x, y], [1, 1, nan, 2, 2, 2], [0, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 1])


SPECIAL = [nan, -inf, inf, 0.0, 1.0, -1.0, 0.5]


@pytest.mark.parametrize(
    ("settings", "values", "gradient"),
    [
        ((0, 1), [nan, 0, 1, 0, 1, 0, 0.5], [0, 0, 0, 1, 1, 0, 1]),
        ((0, None), [nan, 0, inf, 0, 1, 0, 0.5], [0, 0, 1, 1, 1, 0, 1]),
        ((None, 0.5), [nan, -inf, 0.5, 0, 0.5, -1, 0.5], [0, 1, 0, 1, 0, 1, 1]),
    ],
)
def test_clip_at_its_limits_and_at_nan(settings: Any, values: list, gradient: list) -> None:
    check("clip", [SPECIAL], values, gradient, low=settings[0], high=settings[1])


def test_clip_without_limits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"clip.*low and high.*at least one"):
        tt.clip(const([1.0]))


def test_a_limit_stops_an_infinite_gradient() -> None:
    # 0 · ∞ is NaN: a rule that multiplies by a mask would give NaN here
    for stop in (tt.relu, lambda x: tt.clip(x, 0, 1), lambda x: tt.hardtanh(x, 0, 5)):
        x = leaf([-2.0, 0.5])
        stop(x).backward(const([inf, inf]))
        close(x.grad, [0, inf])


def test_nan_to_num() -> None:
    largest = float(np.finfo(np.float64).max)
    check("nan_to_num", [SPECIAL], [0, -largest, largest, 0, 1, -1, 0.5], [0, 0, 0, 1, 1, 1, 1])
    check(
        "nan_to_num",
        [SPECIAL],
        [7, -9, 8, 0, 1, -1, 0.5],
        [0, 0, 0, 1, 1, 1, 1],
        nan=7,
        posinf=8,
        neginf=-9,
    )
    assert float(tt.nan_to_num(const([inf], np.float32))[0]) == np.finfo(np.float32).max


# -- rounding and division ----------------------------------------------------------------
ROUNDED = {
    "sign": [-1, -1, 0, 1, 1],
    "floor": [-3, -1, 0, 0, 2],
    "ceil": [-2, 0, 0, 1, 3],
    "trunc": [-2, 0, 0, 0, 2],
    "round": [-2, 0, 0, 0, 2],  # halves to even
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_has_the_gradient_zero_and_not_none(name: str) -> None:
    x = [-2.5, -0.5, 0.0, 0.5, 2.5]
    check(name, [x], ROUNDED[name], [0] * 5)
    x = leaf([1.5, -2.2])
    (getattr(tt, name)(x) * x).sum().backward()  # the other path goes on
    close(x.grad, getattr(tt, name)(x))
    x = leaf([1.5])
    getattr(tt, name)(x).backward(const([inf]))
    close(x.grad, [0])


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_integers_are_their_own_rounding(name: str) -> None:
    x = const([-3, 0, 5], np.int64)
    y = getattr(tt, name)(x)
    assert y.dtype == np.int64
    close(y, [-3, 0, 5])
    assert not share_memory(x, y)


def test_round_to_decimals() -> None:
    close(tt.round(const([1.25, 1.35, -0.05]), 1), [1.2, 1.4, -0.0])
    close(tt.round(const([1234.0, 1250.0]), decimals=-2), [1200, 1200])


def test_floor_divide_remainder_and_fmod_by_sign() -> None:
    x, y = [5, -5, 5, 0, 4], [3, 3, -3, 2, 2]
    check("floor_divide", [x, y], [1, -2, -2, 0, 2], [0] * 5, [0] * 5)
    check("remainder", [x, y], [2, 1, -1, 0, 0], [1] * 5, [-1, 2, 2, 0, -2])
    check("fmod", [x, y], [2, -2, 2, 0, 0], [1] * 5, [-1, 1, 1, 0, -2])
    if tt.default_device().name != "cuda":  # CuPy takes the floor of the rounded quotient: 10
        close(tt.floor_divide(const([1.0]), 0.1), [9])  # 0.1 is a little more than a tenth


def test_division_with_remainder_of_integers_stays_integer() -> None:
    x = const([7, -7], np.int64)
    for name, values in (("floor_divide", [3, -4]), ("remainder", [1, 1]), ("fmod", [1, -1])):
        y = getattr(tt, name)(x, 2)
        assert y.dtype == np.int64
        close(y, values)


def test_remainder_keeps_its_operands_only_for_the_divisor() -> None:
    x, y = leaf([5.0]), leaf([3.0])
    assert set(tt.remainder(x, 3.0).node.saved) == {None}
    assert set(tt.fmod(x, 3.0).node.saved) == {None}
    assert all(a is not None for a in tt.remainder(x, y).node.saved)


# -- arithmetic ---------------------------------------------------------------------------
def kept(y: tt.Tensor) -> dict[str, Any]:
    """What the node of a result keeps, without what it does not."""
    return {k: a for k, a in zip(y.node.op.keys, y.node.saved, strict=True) if a is not None}


def test_only_what_the_wanted_gradient_reads_is_kept() -> None:
    x, c = leaf([2.0, 3.0]), const([4.0, 5.0])
    assert set(kept(x * c)) == {"y"} and set(kept(c * x)) == {"x"}
    assert set(kept(x / c)) == {"y"} and set(kept(c / x)) == {"y", "out"}
    assert set(kept(x**2)) == {"x", "y"}
    assert set(kept(tt.lerp(x, c, 0.5))) == {"weight"}
    assert set(kept(tt.lerp(const([1.0, 1.0]), c, x))) == {"x", "y"}
    assert not kept(tt.sign(x)) and not kept(tt.floor_divide(x, c))


def test_a_write_to_what_is_not_kept_is_allowed() -> None:
    x, c = leaf([2.0, 3.0]), const([4.0, 5.0])
    y = c * x  # the gradient of x reads c only
    with tt.no_grad():
        x += 1
    y.sum().backward()
    close(x.grad, [4, 5])


def test_power_at_zero_and_of_negative_numbers() -> None:
    check(
        "pow",
        [[0, 0, 0, -2, nan, nan, 1, 0], [0, 1, 2, 2, 0, 1, nan, -1]],
        [1, 0, 0, 4, 1, nan, 1, inf],
        [0, 1, 0, -4, 0, 1, nan, -inf],
        [0, 0, 0, nan, nan, nan, 0, -inf],
    )
    for base, gradient in ((0.0, [0, 0, -inf]), (-2.0, [nan, nan, nan]), (1, [0, 0, 0])):
        y = leaf([2.0, 0.0, -1.0])
        (base**y).sum().backward()
        close(y.grad, gradient)
    check("pow", [[nan, 0.0, 3.0]], [1, 1, 1], [0, 0, 0], y=0)


def test_division_by_zero_and_by_large_numbers() -> None:
    check("div", [[0, 1, 1, inf], [0, 0, inf, inf]], [nan, inf, 0, nan], [inf, inf, 0, 0],
          [nan, -inf, 0, nan])  # fmt: skip
    x, y = leaf([300.0], np.float16), leaf([300.0], np.float16)
    (x / y).sum().backward()  # 300² is infinite in float16
    close(y.grad, [-1 / 300], 1e-3)


def test_reciprocals() -> None:
    check("reciprocal", [[0, inf, -4]], [inf, 0, -0.25], [-inf, 0, -0.0625])
    check("rsqrt", [[0, inf, 4]], [inf, 0, 0.5], [-inf, 0, -0.0625])
    x = leaf([1e-4], np.float16)  # out³ is infinite in float16
    tt.rsqrt(x).backward(const([1e-3], np.float16))
    close(x.grad, [-500], 1e-2)


def test_hypot_neither_overflows_nor_underflows() -> None:
    check("hypot", [[3e200, 3e-200], [4e200, 4e-200]], [5e200, 5e-200], [0.6, 0.6], [0.8, 0.8])
    # not PyTorch, which gives NaN at the origin and for an infinite side
    check("hypot", [[0, 0, inf], [0, 4, 1]], [0, 4, inf], [0, 0, 1], [0, 1, 0])
    half = math.sqrt(0.5)
    check("hypot", [[inf, -inf, 2], [inf, 0, -inf]], [inf] * 3, [half, -1, 0], [half, 0, -1])


def test_atan2_in_all_quadrants_and_at_the_origin() -> None:
    y, x = [1, 1, -1, -1, 0, 0], [1, -1, -1, 1, 0, -1]
    quarter = math.pi / 4
    check(
        "atan2",
        [y, x],
        [quarter, 3 * quarter, -3 * quarter, -quarter, 0, math.pi],
        [0.5, -0.5, -0.5, 0.5, 0, -1],
        [-0.5, -0.5, 0.5, 0.5, 0, 0],
    )
    # not PyTorch, whose x² + y² overflows to a gradient of 0
    check("atan2", [[1e200], [1e200]], [quarter], [0.5e-200], [-0.5e-200])
    y32 = leaf([1e-30], np.float32)
    tt.atan2(y32, const([1e-30], np.float32)).sum().backward()
    close(grad_of(y32) * 1e-30, [0.5], 1e-5)


def test_lerp_is_exact_at_both_ends() -> None:
    x, y = const([0.1, -3.3, 1e8], np.float32), const([0.7, 2.2, 0.3], np.float32)
    for weight in (1, const([1.0], np.float32)):
        np.testing.assert_array_equal(host(tt.lerp(x, y, weight)), host(y))
        np.testing.assert_array_equal(host(tt.lerp(x, y, weight * 0)), host(x))
    check("lerp", [[1.0, 1.0], [3.0, 3.0], [0.25, 2.0]], [1.5, 5], [0.75, -1], [0.25, 2], [2, 2])


# -- exponentials and logarithms ----------------------------------------------------------
def test_small_arguments_keep_their_digits() -> None:
    for name in ("expm1", "log1p"):
        y = host(getattr(tt, name)(const([1e-10, -1e-10], np.float32)))
        np.testing.assert_allclose(y, [1e-10, -1e-10], rtol=1e-6)
    x = leaf([10.0, 5.0])
    y = tt.erfc(x)
    y.sum().backward()
    np.testing.assert_allclose(host(y), [2.088488e-45, 1.537460e-12], rtol=1e-6)
    np.testing.assert_allclose(grad_of(x), [-4.197656e-44, -1.567087e-11], rtol=1e-6)


def test_logarithms_and_exponentials_by_base() -> None:
    check("log2", [[8, 0.5]], [3, -1], [1 / (8 * math.log(2)), 2 / math.log(2)])
    check("log10", [[1000, 0.1]], [3, -1], [1e-3 / math.log(10), 10 / math.log(10)])
    check("exp2", [[3, -1]], [8, 0.5], [8 * math.log(2), 0.5 * math.log(2)])


def test_logaddexp_at_the_ends() -> None:
    check(
        "logaddexp",
        [[1000, -1000, -inf, 0, inf, nan], [999, -1001, 0, 0, 0, 0]],
        [1000.313262, -999.686738, 0, math.log(2), inf, nan],
        [0.731059, 0.731059, 0, 0.5, 1, nan],
        [0.268941, 0.268941, 1, 0.5, 0, nan],
    )
    # not PyTorch, which gives NaN: two masked positions must not poison what made them
    check("logaddexp", [[-inf, inf], [-inf, inf]], [-inf, inf], [0.5, 0.5], [0.5, 0.5])


def test_xlogy_at_zero() -> None:
    check(
        "xlogy",
        [[0, 0, 0, 0, 0, 1, 2, nan], [0, -1, nan, 2, inf, 0, 3, 0]],
        [0, 0, nan, 0, 0, -inf, 2.197225, nan],
        [0, 0, nan, 0.693147, inf, -inf, 1.098612, -inf],
        [0, 0, nan, 0, 0, inf, 0.666667, nan],
    )
    p = leaf([0.0, 0.5, 0.5])
    (-tt.xlogy(p, p.detach())).sum().backward()  # an entropy with an empty class
    close(p.grad, [0, math.log(2), math.log(2)])


def test_logit() -> None:
    check("logit", [[0, 1, -0.5, 1.5, 0.5, nan]], [-inf, inf, nan, nan, 0, nan],
          [inf, inf, nan, nan, 4, nan])  # fmt: skip
    low = 2.197225
    check(
        "logit",
        [[0, 1, -0.5, 1.5, 0.5, 0.1, 0.9, nan]],
        [-low, low, -low, low, 0, -low, low, nan],
        [0, 0, 0, 0, 4, 1 / 0.09, 1 / 0.09, nan],
        eps=0.1,
    )
    with pytest.raises(ValueError, match=r"logit.*eps: expected None or a number in \[0, 0.5\]"):
        tt.logit(const([0.3]), eps=0.7)


# -- trigonometric ------------------------------------------------------------------------
def test_inverse_functions_at_the_ends_of_their_domain() -> None:
    half = math.pi / 2
    check("asin", [[0, 1, -1, 2]], [0, half, -half, nan], [1, inf, inf, nan])
    check("acos", [[0, 1, -1, 2]], [half, 0, 2 * half, nan], [-1, -inf, -inf, nan])
    check("atan", [[0, inf, -1]], [0, half, -half / 2], [1, 0, 0.5])
    check("atanh", [[0, 1, -1, 2]], [0, inf, -inf, nan], [1, inf, inf, -1 / 3])
    check("acosh", [[1, 0, inf]], [0, nan, inf], [inf, nan, 0])
    check("asinh", [[0, inf, 1e200]], [0, inf, 461.210165], [1, 0, 1e-200])


def test_slopes_near_the_end_of_the_domain_keep_their_digits() -> None:
    near = np.float32(1 - np.arange(1, 40) / 4000)  # 1 - x² has lost up to 4 digits here
    for name in ("asin", "acos", "atanh"):
        x, exact = leaf(near, np.float32), leaf(near)
        getattr(tt, name)(x).sum().backward()
        getattr(tt, name)(exact).sum().backward()
        np.testing.assert_allclose(grad_of(x), grad_of(exact), rtol=6e-7)


def test_numpy_names_are_the_same_ops() -> None:
    for ours, numpys in (
        ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2"),
        ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"),
    ):  # fmt: skip
        assert getattr(tt, ours) is getattr(tt, numpys)


# -- comparisons --------------------------------------------------------------------------
def test_isclose_with_infinities_and_nan() -> None:
    x = const([1.0, inf, inf, -inf, nan, 1.0, 1e9])
    y = const([1.0 + 1e-9, inf, -inf, 5.0, nan, inf, 1e9 + 1])
    close(tt.isclose(x, y), [True, True, False, False, False, False, True])
    close(tt.isclose(x, y, equal_nan=True), [True, True, False, False, True, False, True])
    close(tt.isclose(const([10.0, 10.0]), const([10.5, 11.0]), rtol=0.05, atol=0), [True, False])
    close(tt.isclose(const([0.5], np.float32), 0.5), [True])
    close(tt.isclose(0.5, const([0, 1], np.int64)), [False, False])


def test_allclose_is_a_python_bool() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    assert tt.allclose(x, x + 1e-9) is True
    assert tt.allclose(x, const([1.0, 2.0])) is False
    assert tt.allclose(x, x + 0.1, atol=0.2) is True
    assert tt.allclose(const(np.zeros((0, 2))), 1.0) is True
    assert tt.allclose(const([nan]), const([nan]), equal_nan=True) is True


def test_isinf() -> None:
    close(tt.isinf(const([inf, -inf, nan, 0.0])), [True, True, False, False])
    close(tt.isinf(const([1], np.int64)), [False])
