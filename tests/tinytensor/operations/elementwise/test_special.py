"""Gamma and error functions: known values, poles, orders, dtypes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")

EULER = 0.5772156649015329
ZETA3 = 1.2020569031595942


def test_known_values() -> None:
    close(tt.lgamma(const([1.0, 5.0, 0.5, -0.5])), [0, math.log(24), 0.5 * math.log(math.pi), math.log(2 * math.sqrt(math.pi))], 1e-13)  # noqa: E501  # fmt: skip
    close(tt.digamma(const([1.0, 2.0, 0.5])), [-EULER, 1 - EULER, -EULER - 2 * math.log(2)], 1e-13)
    close(tt.polygamma(1, const([1.0, 0.5])), [math.pi**2 / 6, math.pi**2 / 2], 1e-13)
    close(tt.polygamma(2, const([1.0])), [-2 * ZETA3], 1e-13)
    close(tt.polygamma(3, const([1.0, -0.5])), [math.pi**4 / 15, math.pi**4 + 96], 1e-12)
    close(tt.polygamma(0, const([2.0])), [1 - EULER], 1e-13)
    close(tt.erfinv(const([0.0, 0.5, -0.5])), [0, 0.4769362762044699, -0.4769362762044699], 1e-13)


def test_erfinv_undoes_erf() -> None:
    x = np.linspace(-3, 3, 13)
    close(tt.erfinv(tt.erf(const(x))), x, 1e-9)
    y = leaf([0.3])
    tt.erfinv(y).backward(const([2.0]))
    close(grad_of(y), [math.sqrt(math.pi) * math.exp(0.2724627147267543**2)], 1e-12)


def test_orders_follow_each_other() -> None:
    """Derivatives of order 1 to 4 of lgamma are the polygammas."""
    x = leaf([2.5, -0.5])
    y = tt.lgamma(x)
    for n in range(4):
        (y,) = tt.grad(y.sum(), x, create_graph=True)
        close(y, tt.polygamma(n, x.detach()), 1e-12)


def test_high_orders_in_float32() -> None:
    """n! times ζ is in range where neither is."""
    close(tt.polygamma(40, const([20.0], np.float32)), [-4.30146690823503e-6], 1e-6)


def test_far_below_zero_the_derivatives_of_digamma_take_no_time() -> None:
    """By reflection: zeta alone would count up to 0, one by one. Values by mpmath."""
    x = const([-30.5, -31.25, -1000000.25, -30000000.5, -1e15 - 0.5])
    for n in (1, 2, 3):
        with mp.workdps(50):
            exact = [
                float((-1) ** n * mp.psi(n, 1 - mpf(a)) - mp.diff(cotangent, mpf(a), n))
                for a in x.tolist()
            ]
        np.testing.assert_allclose(host(tt.polygamma(n, x)), exact, rtol=1e-9, atol=1e-20)
    assert tt.polygamma(1, const([-40.0])).tolist() == [math.inf]


def cotangent(x: mpf) -> mpf:
    return mp.pi * mp.cot(mp.pi * x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_poles_and_infinities() -> None:
    inf, nan = math.inf, math.nan
    x = const([0.0, -1.0, -2.0, inf, nan])
    close(tt.lgamma(x), [inf, inf, inf, inf, nan])
    close(tt.digamma(x), [-inf, nan, nan, inf, nan])
    close(tt.polygamma(1, x), [inf, inf, inf, 0, nan])
    close(tt.polygamma(1, const([-inf])), [nan])
    close(tt.erfinv(const([1.0, -1.0, 1.5, nan])), [inf, -inf, nan, nan])


def test_dtypes_and_methods() -> None:
    for fn in (tt.lgamma, tt.digamma, lambda x: tt.polygamma(2, x)):
        assert fn(const([1, 2], np.int64)).dtype == np.float32
        half = fn(const([1.5], np.float16))
        assert half.dtype == np.float16
        close(half, fn(const([1.5])), 2e-3)
    x = const([0.5])
    close(x.lgamma(), tt.lgamma(x))
    close(x.digamma(), tt.digamma(x))
    close(x.polygamma(2), tt.polygamma(2, x))
    close(x.erfinv(), tt.erfinv(x))


def test_orders_that_there_are_not() -> None:
    with pytest.raises(ValueError, match=r"polygamma: n: expected an integer >= 0, got -1"):
        tt.polygamma(-1, const([1.0]))
    with pytest.raises(TypeError, match=r"polygamma: n: expected an integer, got 1\.5"):
        tt.polygamma(1.5, const([1.0]))  # type: ignore[arg-type]
