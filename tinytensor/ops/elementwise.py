"""Arithmetic and elementary functions, element by element with NumPy's broadcasting."""

from __future__ import annotations

import math
from typing import Any

from ..device import device_of
from ..registry import op
from ..samples import Draw, Sample


def broadcasting_pairs(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4), r(3, 4)),
        Sample(r(3, 4), r(4)),
        Sample(r(3, 1), r(1, 4)),
        Sample(r(2, 1, 3), r(4, 1)),
        Sample(r(), r(2, 3)),
        Sample(r(2, 3), r(1)),
        Sample(r(), r()),
        Sample(r(0, 3), r(1, 3)),
        Sample(r(3), 2.5),
        Sample(-1.5, r(3)),
    ]


def _positive_pairs(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4), r.positive(3, 4)),
        Sample(r(3, 4), r.positive(4)),
        Sample(r(3, 1), -r.positive(1, 4)),
        Sample(r(), r.positive(2, 3)),
        Sample(r(2, 3), r.positive()),
        Sample(r(), r.positive()),
        Sample(r(0, 3), r.positive(1, 3)),
        Sample(r(3), 2.5),
        Sample(-1.5, r.positive(3)),
    ]


def _apart_pairs(r: Draw) -> list[Sample]:
    shapes: list[tuple[Any, Any]] = [
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((), (2, 3)),
        ((), ()),
        ((0, 3), (1, 3)),
    ]
    return [Sample(r.apart(*a), r.apart(*b) + 0.06) for a, b in shapes] + [Sample(r.apart(3), 0.0)]


def any_values(r: Draw) -> list[Sample]:
    return [Sample(r(3, 4)), Sample(r(2, 1, 3)), Sample(r()), Sample(r(0, 3))]


def _positive(r: Draw) -> list[Sample]:
    return [
        Sample(r.positive(3, 4)),
        Sample(r.positive(2, 1, 3)),
        Sample(r.positive()),
        Sample(r.positive(0, 3)),
    ]


def kinked(r: Draw) -> list[Sample]:
    return [
        Sample(r.apart(3, 4)),
        Sample(r.apart(2, 1, 3)),
        Sample(r.apart()),
        Sample(r.apart(0, 3)),
    ]


@op("x y", formula="x + y", gradient="dx = g, dy = g", samples=broadcasting_pairs)
def add(xp, x, y):
    """Sum, element by element."""
    return x + y


add.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: g)


@op("x y", formula="x - y", gradient="dx = g, dy = -g", samples=broadcasting_pairs)
def sub(xp, x, y):
    """Difference, element by element."""
    return x - y


sub.vjp(x=lambda xp, g, k: g, y=lambda xp, g, k: -g)


@op("x y", keeps="x y", formula="x · y", gradient="dx = g y, dy = g x", samples=broadcasting_pairs)
def mul(xp, x, y):
    """Product, element by element."""
    return x * y


mul.vjp(x=lambda xp, g, k: g * k.y, y=lambda xp, g, k: g * k.x)


@op(
    "x y",
    keeps="x y",
    formula="x / y",
    gradient="dx = g / y, dy = -g x / y²",
    samples=_positive_pairs,
)
def div(xp, x, y):
    """Quotient; integers give float32, as 1 / 2 does in PyTorch."""
    return xp.true_divide(x, y)


div.vjp(x=lambda xp, g, k: g / k.y, y=lambda xp, g, k: -g * k.x / (k.y * k.y))


@op(
    "x y",
    keeps="x y out",
    formula="x ** y",
    gradient="dx = g y x^(y-1), dy = g x^y ln x",
    samples=lambda r: [
        Sample(r.positive(3, 4), r(3, 4)),
        Sample(r.positive(3, 4), r(4)),
        Sample(r.positive(3, 1), r(1, 4)),
        Sample(r.positive(), r(2, 3)),
        Sample(r.positive(2, 3), r()),
        Sample(r.positive(), r()),
        Sample(r.positive(0, 3), r(1, 3)),
        Sample(r(3, 4), 3),
        Sample(r(3), 2),
        Sample(2.0, r(3)),
    ],
)
def pow(xp, x, y):
    """Power. At x = 0 the gradient of the base is that of x ** y (0 for y > 1, 1 for y = 1), and
    that of the exponent is 0; x ** 0 is 1 with gradient 0, as in PyTorch."""
    return x**y


def _pow_dx(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.y, (int, float)):
        return g * 0.0 if k.y == 0 else g * (k.y * k.x ** (k.y - 1))
    zero = k.y == 0
    return g * xp.where(zero, 0.0, k.y * k.x ** xp.where(zero, 1.0, k.y - 1))


def _pow_dy(xp: Any, g: Any, k: Any) -> Any:
    if isinstance(k.x, (int, float)):
        return g * k.out * math.log(k.x) if k.x > 0 else g * 0.0
    zero = (k.x == 0) & (k.y >= 0)
    return g * xp.where(zero, 0.0, k.out * xp.log(xp.where(zero, 1.0, k.x)))


pow.vjp(x=_pow_dx, y=_pow_dy)


@op("x", formula="-x", gradient="dx = -g", samples=any_values)
def neg(xp, x):
    """Negative of each element."""
    return -x


neg.vjp(x=lambda xp, g, k: -g)


@op("x", keeps="x", formula="|x|", gradient="dx = g sign x", samples=kinked)
def abs(xp, x):
    """Absolute value; gradient 0 at 0."""
    return xp.abs(x)


abs.vjp(x=lambda xp, g, k: g * xp.sign(k.x))


@op("x", formula="sign x", samples=kinked)
def sign(xp, x):
    """-1, 0 or 1; its gradient is 0 everywhere."""
    return xp.sign(x)


@op("x", keeps="out", formula="eˣ", gradient="dx = g out", samples=any_values)
def exp(xp, x):
    """Exponential function eˣ, element by element."""
    return xp.exp(x)


exp.vjp(x=lambda xp, g, k: g * k.out)


@op("x", keeps="x", formula="ln x", gradient="dx = g / x", samples=_positive)
def log(xp, x):
    """Natural logarithm; minus infinity at 0."""
    return xp.log(x)


log.vjp(x=lambda xp, g, k: g / k.x)


@op("x", keeps="out", formula="√x", gradient="dx = g / (2 out)", samples=_positive)
def sqrt(xp, x):
    """Square root; its gradient at 0 is infinite."""
    return xp.sqrt(x)


sqrt.vjp(x=lambda xp, g, k: g * 0.5 / k.out)


@op("x", keeps="x", formula="sin x", gradient="dx = g cos x", samples=any_values)
def sin(xp, x):
    """Sine of radians."""
    return xp.sin(x)


sin.vjp(x=lambda xp, g, k: g * xp.cos(k.x))


@op("x", keeps="x", formula="cos x", gradient="dx = -g sin x", samples=any_values)
def cos(xp, x):
    """Cosine of radians."""
    return xp.cos(x)


cos.vjp(x=lambda xp, g, k: -g * xp.sin(k.x))


@op("x", keeps="out", formula="tanh x", gradient="dx = g (1 - out²)", samples=any_values)
def tanh(xp, x):
    """Hyperbolic tangent of each element."""
    return xp.tanh(x)


tanh.vjp(x=lambda xp, g, k: g * (1 - k.out * k.out))


@op("x", keeps="x", formula="erf x", gradient="dx = g 2/√π exp(-x²)", samples=any_values)
def erf(xp, x):
    """Error function (by SciPy, or cupyx on a GPU)."""
    return device_of(x).special.erf(x)


erf.vjp(x=lambda xp, g, k: g * (2 / math.sqrt(math.pi)) * xp.exp(-k.x * k.x))


@op(
    "x y",
    keeps="x y",
    formula="max(x, y)",
    gradient="g to the larger, half each where equal",
    samples=_apart_pairs,
)
def maximum(xp, x, y):
    """The larger of two, element by element; where equal, each gets half of the gradient."""
    return xp.maximum(x, y)


def _to_larger(xp: Any, g: Any, a: Any, b: Any) -> Any:
    """g where a > b, half of it where they are equal."""
    return xp.where(a > b, g, xp.where(a == b, 0.5 * g, 0.0))


maximum.vjp(
    x=lambda xp, g, k: _to_larger(xp, g, k.x, k.y), y=lambda xp, g, k: _to_larger(xp, g, k.y, k.x)
)


@op(
    "x y",
    keeps="x y",
    formula="min(x, y)",
    gradient="g to the smaller, half each where equal",
    samples=_apart_pairs,
)
def minimum(xp, x, y):
    """The smaller of two, element by element; where equal, each gets half of the gradient."""
    return xp.minimum(x, y)


minimum.vjp(
    x=lambda xp, g, k: _to_larger(xp, g, k.y, k.x), y=lambda xp, g, k: _to_larger(xp, g, k.x, k.y)
)


@op(
    "condition x y",
    keeps="condition",
    formula="x where condition, else y",
    gradient="dx = g where condition else 0, dy the other way round",
    samples=lambda r: [
        Sample(r.bools(3, 4), r(3, 4), r(3, 4)),
        Sample(r.bools(4), r(3, 1), r()),
        Sample(r.bools(3, 1), r(1, 4), 0.5),
        Sample(r.bools(), r(2), r(2)),
        Sample(r.bools(0, 3), r(0, 3), r(3)),
    ],
)
def where(xp, condition, x, y):
    """Choose element by element.

    Only the chosen side gets a gradient, but what that side's own op makes of a zero gradient is
    its affair: ``where(x > 0, sqrt(x), 0)`` gives NaN at x = 0, because 0 · ∞ is NaN. Guard the
    inside too: ``where(x > 0, sqrt(where(x > 0, x, 1)), 0)``. PyTorch behaves the same.
    """
    return xp.where(condition, x, y)


where.vjp(
    x=lambda xp, g, k: xp.where(k.condition, g, 0.0),
    y=lambda xp, g, k: xp.where(k.condition, 0.0, g),
)


@op(
    "x",
    keeps="x",
    formula="min(max(x, low), high)",
    gradient="dx = g where low <= x <= high, else 0",
    samples=lambda r: [
        Sample(r.apart(3, 4), -0.4, 0.6),
        Sample(r.apart(5), 0.0),
        Sample(r.apart(5), None, 0.3),
        Sample(r.apart(), -1.0, 1.0),
        Sample(r.apart(0, 2), 0.0),
    ],
)
def clip(xp, x, low=None, high=None):
    """Limit to [low, high]; either may be None. At the limits the gradient passes (as PyTorch)."""
    if low is None and high is None:
        raise ValueError("low and high: expected at least one number, got None for both")
    return xp.clip(x, low, high)


def _clip_dx(xp: Any, g: Any, k: Any) -> Any:
    inside = None
    if k.low is not None:
        inside = k.x >= k.low
    if k.high is not None:
        below = k.x <= k.high
        inside = below if inside is None else inside & below
    return xp.where(inside, g, 0.0)


clip.vjp(x=_clip_dx)


@op(
    "x mask",
    keeps="mask",
    formula="value where mask, else x",
    gradient="dx = 0 where mask, else g",
    samples=lambda r: [
        Sample(r(3, 4), r.bools(3, 4), -2.0),
        Sample(r(2, 3, 4), r.bools(4), 0.0),
        Sample(r(3, 1), r.bools(3, 4), 7.0),
        Sample(r(), r.bools(), 1.0),
        Sample(r(0, 2), r.bools(2), 1.0),
    ],
)
def masked_fill(xp, x, mask, value):
    """Replace elements where the boolean ``mask`` (broadcast) is True by the number ``value``."""
    if getattr(getattr(mask, "dtype", None), "kind", "") != "b":
        raise TypeError(
            f"mask: expected booleans, got {getattr(mask, 'dtype', type(mask).__name__)}"
        )
    return xp.where(mask, value, x)


masked_fill.vjp(x=lambda xp, g, k: xp.where(k.mask, 0.0, g))


@op("x", view=True, formula="x", gradient="dx = g", samples=any_values)
def alias(xp, x):
    """The same values (and memory) as a graph node of their own."""
    return x


alias.vjp(x=lambda xp, g, k: g)


@op("x", formula="x", gradient="dx = g", samples=any_values)
def copy(xp, x):
    """A copy in memory of its own."""
    return x.copy()


copy.vjp(x=lambda xp, g, k: g)


@op(
    "x",
    casts=True,
    formula="x in another dtype",
    gradient="dx = g in x's dtype",
    samples=lambda r: [
        Sample(r(3, 4), "float64"),
        Sample(r(), "float64"),
        Sample(r(0, 2), "float64"),
    ],
)
def astype(xp, x, dtype):
    """Convert to a NumPy dtype (or its name). Floating to floating keeps the graph."""
    return x.astype(dtype)


astype.vjp(x=lambda xp, g, k: g)
