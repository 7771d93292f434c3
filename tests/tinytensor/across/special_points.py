"""Smooth functions in mpmath's arithmetic, and the points at which a gradient rule is likely wrong.

An entry says: this function of tinytensor equals that one of mpmath, on lists of numbers, around
each of these points. What is compared (see test_special_points.py) are derivatives of order 1 to 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpmath import mp, mpf

import tinytensor as tt

Point = tuple[float, ...]
Numbers = Sequence[Any]


@dataclass(frozen=True)
class Smooth:
    """``ours`` maps a vector tensor to a tensor of any shape, ``exact`` a list of mpmath's numbers
    to a number or a flat list of them."""

    ours: Callable[[tt.Tensor], tt.Tensor]
    exact: Callable[[Numbers], Any]
    points: Sequence[Point]


REAL = (0.0, 1.0, -1.0, 0.4, -2.5)
ABOVE_ZERO = (1.0, 0.5, 2.0)
INSIDE = (0.0, 0.5, -0.75)  # of (-1, 1)


def of_one(ours: Any, exact: Any, numbers: Sequence[float] = REAL) -> Smooth:
    """A function of one number."""
    return Smooth(lambda x: ours(x[0]), lambda x: exact(x[0]), [(a,) for a in numbers])


def of_two(
    ours: Any,
    exact: Any,
    first: Sequence[float] = REAL,
    second: Sequence[float] = REAL,
) -> Smooth:
    """A function of two numbers, at all pairs: equal ones are among them."""
    return Smooth(
        lambda x: ours(x[0], x[1]),
        lambda x: exact(x[0], x[1]),
        list(itertools.product(first, second)),
    )


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def normal(x: Any) -> Any:
    return (1 + mp.erf(x / mp.sqrt(2))) / 2


def softplus(x: Any) -> Any:
    return mp.log(1 + mp.exp(x))


def gelu_tanh(x: Any) -> Any:
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)))


ONE: dict[str, Smooth] = {
    "acos": of_one(tt.acos, mp.acos, INSIDE),
    "acosh": of_one(tt.acosh, mp.acosh, (1.5, 2.0)),
    "asin": of_one(tt.asin, mp.asin, INSIDE),
    "asinh": of_one(tt.asinh, mp.asinh),
    "atan": of_one(tt.atan, mp.atan),
    "atanh": of_one(tt.atanh, mp.atanh, INSIDE),
    "cos": of_one(tt.cos, mp.cos),
    "cosh": of_one(tt.cosh, mp.cosh),
    "digamma": of_one(tt.digamma, mp.digamma, (1.0, 0.5, 2.0, -0.5)),
    "erf": of_one(tt.erf, mp.erf),
    "erfc": of_one(tt.erfc, mp.erfc),
    "erfinv": of_one(tt.erfinv, mp.erfinv, INSIDE),
    "exp": of_one(tt.exp, mp.exp),
    "exp2": of_one(tt.exp2, lambda x: mpf(2) ** x),
    "expm1": of_one(tt.expm1, mp.expm1),
    "gelu": of_one(tt.gelu, lambda x: x * normal(x)),
    "gelu tanh": of_one(lambda x: tt.gelu(x, "tanh"), gelu_tanh),
    "lgamma": of_one(tt.lgamma, lambda x: mp.log(abs(mp.gamma(x))), (1.0, 0.5, 2.0, -0.5, -1.5)),
    "log": of_one(tt.log, mp.log, ABOVE_ZERO),
    "log10": of_one(tt.log10, mp.log10, ABOVE_ZERO),
    "log1p": of_one(tt.log1p, mp.log1p, (0.0, 1.0, -0.5)),
    "log2": of_one(tt.log2, lambda x: mp.log(x, 2), ABOVE_ZERO),
    "log_sigmoid": of_one(tt.log_sigmoid, lambda x: -softplus(-x)),
    "logit": of_one(tt.logit, lambda x: mp.log(x / (1 - x)), (0.5, 0.25)),
    "mish": of_one(tt.mish, lambda x: x * mp.tanh(softplus(x))),
    "polygamma": of_one(lambda x: tt.polygamma(1, x), lambda x: mp.psi(1, x), ABOVE_ZERO),
    "reciprocal": of_one(tt.reciprocal, lambda x: 1 / x, (1.0, -1.0, 2.5)),
    "rsqrt": of_one(tt.rsqrt, lambda x: 1 / mp.sqrt(x), ABOVE_ZERO),
    "sigmoid": of_one(tt.sigmoid, sigmoid),
    "silu": of_one(tt.silu, lambda x: x * sigmoid(x)),
    "sin": of_one(tt.sin, mp.sin),
    "sinh": of_one(tt.sinh, mp.sinh),
    "softplus": of_one(tt.softplus, softplus),
    "softplus beta": of_one(lambda x: tt.softplus(x, 2.0), lambda x: softplus(2 * x) / 2),
    "softsign": of_one(tt.softsign, lambda x: x / (1 + abs(x)), (1.0, -1.0, 2.0)),
    "sqrt": of_one(tt.sqrt, mp.sqrt, ABOVE_ZERO),
    "square": of_one(tt.square, lambda x: x * x),
    "tan": of_one(tt.tan, mp.tan),
    "tanh": of_one(tt.tanh, mp.tanh),
    "elu above 0": of_one(tt.elu, lambda x: x if x > 0 else mp.expm1(x), (1.0, -1.0)),
    "celu": of_one(
        lambda x: tt.celu(x, 2), lambda x: x if x > 0 else 2 * mp.expm1(x / 2), (1.0, -1.0)
    ),
    "selu": of_one(
        tt.selu,
        lambda x: (
            mpf("1.0507009873554804934193349852946")
            * (x if x > 0 else mpf("1.6732632423543772848170429916717") * mp.expm1(x))
        ),
        (1.0, -1.0),
    ),
    "x ** 0": of_one(lambda x: x**0, lambda x: mpf(1)),
    "x ** 1": of_one(lambda x: x**1, lambda x: x),
    "x ** 2": of_one(lambda x: x**2, lambda x: x**2),
    "x ** 3": of_one(lambda x: x**3, lambda x: x**3),
    "x ** -1": of_one(lambda x: x**-1, lambda x: 1 / x, (1.0, -1.0, 2.0)),
    "x ** 0.5": of_one(lambda x: x**0.5, mp.sqrt, ABOVE_ZERO),
    "2 ** x": of_one(lambda x: 2.0**x, lambda x: mpf(2) ** x),
    "1 ** x": of_one(lambda x: 1.0**x, lambda x: mpf(1)),
    "x ** x": of_one(lambda x: x**x, lambda x: x**x, ABOVE_ZERO),
    "tensor ** tensor exponent 3": of_one(
        lambda x: tt.pow(x, tt.tensor(3.0, dtype="float64")), lambda x: x**3
    ),
    "logaddexp(x, 0)": of_one(lambda x: tt.logaddexp(x, 0.0), softplus),
    "logaddexp(0.4, x)": of_one(
        lambda x: tt.logaddexp(0.4, x), lambda x: mp.log(mp.exp(mpf(0.4)) + mp.exp(x))
    ),
    "logaddexp(x, x)": of_one(lambda x: tt.logaddexp(x, x), lambda x: x + mp.log(2)),
    "x / x": of_one(lambda x: x / x, lambda x: mpf(1), (1.0, -1.0)),
    "xlogy(x, x)": of_one(lambda x: tt.xlogy(x, x), lambda x: x * mp.log(x), ABOVE_ZERO),
    "hypot(x, 1)": of_one(lambda x: tt.hypot(x, 1.0), lambda x: mp.sqrt(x * x + 1)),
    "norm(x, 1)": of_one(lambda x: tt.norm(tt.stack([x, x * 0 + 1])), lambda x: mp.sqrt(x * x + 1)),
    "where": of_one(lambda x: tt.where(x > -9, x * x * x, x), lambda x: x**3),
    "lerp": of_one(lambda x: tt.lerp(x, x * x, x), lambda x: x + x * (x * x - x)),
}

TWO: dict[str, Smooth] = {
    "add": of_two(tt.add, lambda x, y: x + y),
    "atan2": of_two(tt.atan2, mp.atan2, (1.0, -1.0, 0.4), (0.0, 1.0, -1.0, 0.4)),
    "div": of_two(tt.div, lambda x, y: x / y, REAL, (1.0, -1.0, 0.4)),
    "hypot": of_two(tt.hypot, lambda x, y: mp.sqrt(x * x + y * y), (1.0, -1.0, 0.4)),
    "hypot, first 0": of_two(tt.hypot, lambda x, y: mp.sqrt(x * x + y * y), (0.0,), (1.0, -1.0)),
    "logaddexp": of_two(tt.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
    "mul": of_two(tt.mul, lambda x, y: x * y),
    "pow": of_two(tt.pow, lambda x, y: x**y, ABOVE_ZERO, REAL),
    "sub": of_two(tt.sub, lambda x, y: x - y),
    "xlogy": of_two(tt.xlogy, lambda x, y: x * mp.log(y), REAL, ABOVE_ZERO),
    "fmod": of_two(tt.fmod, lambda x, y: x - 1 * y, (1.4,), (1.0,)),
    "remainder": of_two(tt.remainder, lambda x, y: x - mp.floor(mpf(-1.4)) * y, (-1.4,), (1.0,)),
}
