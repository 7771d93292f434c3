# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Arithmetic and functions of each element, with broadcasting."""

from ...define.operand import DType, Operand
from ...tensor.tensor import Tensor

def add(x: Operand, y: Operand) -> Tensor:
    """Sum, element by element."""

def sub(x: Operand, y: Operand) -> Tensor:
    """Difference, element by element."""

def mul(x: Operand, y: Operand) -> Tensor:
    """Product, element by element."""

def div(x: Operand, y: Operand) -> Tensor:
    """Quotient; integers give float32, as 1 / 2 does in PyTorch."""

def pow(x: Operand, y: Operand) -> Tensor:
    """Power. At x = 0 the gradient of the base is that of x ** y (0 for y > 1, 1 for y = 1), and
    that of the exponent is 0; x ** 0 is 1 with gradient 0, as in PyTorch. A negative base has no
    derivative by its exponent: NaN."""

def neg(x: Operand) -> Tensor:
    """Negative of each element."""

def square(x: Operand) -> Tensor:
    """Each element times itself."""

def reciprocal(x: Operand) -> Tensor:
    """One divided by each element; integers give float32."""

def abs(x: Operand) -> Tensor:
    """Absolute value; gradient 0 at 0, and NaN at NaN (PyTorch: 0). The second derivative is 0, and
    NaN at 0 (PyTorch: 0, also for ``abs(x) ** 2``, where 2 is right)."""

def sqrt(x: Operand) -> Tensor:
    """Square root; its gradient at 0 is infinite (see :func:`log`)."""

def rsqrt(x: Operand) -> Tensor:
    """One divided by the square root; infinite at 0."""

def hypot(x: Operand, y: Operand) -> Tensor:
    """Length of the vector (x, y), with no overflow in between."""

def lerp(x: Operand, y: Operand, weight: Operand) -> Tensor:
    """Linear interpolation from x (weight 0) to y (weight 1), exact at both ends."""

def sign(x: Operand) -> Tensor:
    """-1, 0 or 1; NaN for NaN, as in NumPy (PyTorch gives 0). The gradient is 0 everywhere."""

def floor(x: Operand) -> Tensor:
    """The largest whole number that is not above x."""

def ceil(x: Operand) -> Tensor:
    """The smallest whole number that is not below x."""

def trunc(x: Operand) -> Tensor:
    """The whole number next to x on the way to 0."""

def round(x: Operand, decimals: int = 0) -> Tensor:
    """The nearest whole number, or with so many decimals; halves go to the even neighbour."""

def floor_divide(x: Operand, y: Operand) -> Tensor:
    """Quotient rounded down, ``x // y``; integers give integers."""

def remainder(x: Operand, y: Operand) -> Tensor:
    """What is left of x after whole multiples of y, ``x % y``, with the sign of y."""

def fmod(x: Operand, y: Operand) -> Tensor:
    """What is left of x after whole multiples of y, with the sign of x (C's ``fmod``)."""

def exp(x: Operand) -> Tensor:
    """Exponential function eˣ, element by element."""

def exp2(x: Operand) -> Tensor:
    """Two to the power of each element."""

def expm1(x: Operand) -> Tensor:
    """eˣ - 1, exact for small x too, where ``exp(x) - 1`` cancels."""

def log(x: Operand) -> Tensor:
    """Natural logarithm; minus infinity at 0, NaN below."""

def log2(x: Operand) -> Tensor:
    """Logarithm to base 2."""

def log10(x: Operand) -> Tensor:
    """Logarithm to base 10."""

def log1p(x: Operand) -> Tensor:
    """ln(1 + x), exact for small x too, where ``log(1 + x)`` has lost its digits."""

def logaddexp(x: Operand, y: Operand) -> Tensor:
    """Logarithm of the sum of two exponentials, without overflow."""

def xlogy(x: Operand, y: Operand) -> Tensor:
    """x · ln y with 0 · ln 0 = 0, as entropies need it; NaN where y is NaN."""

def logit(x: Operand, eps: float | None = None) -> Tensor:
    """Inverse of the sigmoid; with ``eps``, x is first limited to [eps, 1 - eps]."""

def erf(x: Operand) -> Tensor:
    """Error function (by SciPy, or cupyx on a GPU)."""

def erfc(x: Operand) -> Tensor:
    """Complement of the error function, exact in the tail, where ``1 - erf(x)`` cancels."""

def polygamma(n: int, x: Operand) -> Tensor:
    """Derivative of order ``n`` of :func:`digamma`, so of order n + 1 of :func:`lgamma`."""

def digamma(x: Operand) -> Tensor:
    """Derivative of :func:`lgamma`: Γ'(x) / Γ(x)."""

def lgamma(x: Operand) -> Tensor:
    """Logarithm of the magnitude of the gamma function; Γ(n) is (n - 1)! for integers n."""

def erfinv(x: Operand) -> Tensor:
    """Inverse of :func:`erf`: infinite at -1 and 1, NaN beyond."""

def sin(x: Operand) -> Tensor:
    """Sine of radians."""

def cos(x: Operand) -> Tensor:
    """Cosine of radians."""

def tan(x: Operand) -> Tensor:
    """Tangent of radians."""

def asin(x: Operand) -> Tensor:
    """Inverse sine in radians, in [-π/2, π/2]; NaN outside [-1, 1], gradient infinite at ±1."""

def acos(x: Operand) -> Tensor:
    """Inverse cosine in radians, in [0, π]; NaN outside [-1, 1], gradient infinite at ±1."""

def atan(x: Operand) -> Tensor:
    """Inverse tangent in radians, in (-π/2, π/2)."""

def atan2(y: Operand, x: Operand) -> Tensor:
    """Angle in radians, in [-π, π], between the x axis and the point (x, y). Note the order: y
    first. At the origin both gradients are 0, as in PyTorch, and infinitely far from it too."""

def sinh(x: Operand) -> Tensor:
    """Hyperbolic sine, (eˣ - e⁻ˣ) / 2."""

def cosh(x: Operand) -> Tensor:
    """Hyperbolic cosine, (eˣ + e⁻ˣ) / 2."""

def tanh(x: Operand) -> Tensor:
    """Hyperbolic tangent of each element."""

def asinh(x: Operand) -> Tensor:
    """Inverse hyperbolic sine."""

def acosh(x: Operand) -> Tensor:
    """Inverse hyperbolic cosine, at least 0; NaN below 1, gradient infinite at 1."""

def atanh(x: Operand) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""

def arccos(x: Operand) -> Tensor:
    """Inverse cosine in radians, in [0, π]; NaN outside [-1, 1], gradient infinite at ±1."""

def arcsin(x: Operand) -> Tensor:
    """Inverse sine in radians, in [-π/2, π/2]; NaN outside [-1, 1], gradient infinite at ±1."""

def arctan(x: Operand) -> Tensor:
    """Inverse tangent in radians, in (-π/2, π/2)."""

def arctan2(y: Operand, x: Operand) -> Tensor:
    """Angle in radians, in [-π, π], between the x axis and the point (x, y). Note the order: y
    first. At the origin both gradients are 0, as in PyTorch, and infinitely far from it too."""

def arccosh(x: Operand) -> Tensor:
    """Inverse hyperbolic cosine, at least 0; NaN below 1, gradient infinite at 1."""

def arcsinh(x: Operand) -> Tensor:
    """Inverse hyperbolic sine."""

def arctanh(x: Operand) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""

def equal(x: Operand, y: Operand) -> Tensor:
    """Whether x equals y, element by element; boolean, no gradient."""

def not_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x differs from y, element by element; boolean, no gradient."""

def less(x: Operand, y: Operand) -> Tensor:
    """Whether x is below y, element by element; boolean, no gradient."""

def less_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at most y, element by element; boolean, no gradient."""

def greater(x: Operand, y: Operand) -> Tensor:
    """Whether x is above y, element by element; boolean, no gradient."""

def greater_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at least y, element by element; boolean, no gradient."""

def logical_and(x: Operand, y: Operand) -> Tensor:
    """Whether both are non-zero, element by element; boolean, no gradient."""

def logical_or(x: Operand, y: Operand) -> Tensor:
    """Whether one is non-zero, element by element; boolean, no gradient."""

def logical_xor(x: Operand, y: Operand) -> Tensor:
    """Whether exactly one is non-zero, element by element; boolean, no gradient."""

def bitwise_and(x: Operand, y: Operand) -> Tensor:
    """And, bit by bit, of integers or booleans; no gradient."""

def bitwise_or(x: Operand, y: Operand) -> Tensor:
    """Or, bit by bit, of integers or booleans; no gradient."""

def bitwise_xor(x: Operand, y: Operand) -> Tensor:
    """Exclusive or, bit by bit, of integers or booleans; no gradient."""

def bitwise_not(x: Operand) -> Tensor:
    """Each bit of integers, or each boolean, turned over; no gradient."""

def logical_not(x: Operand) -> Tensor:
    """Whether x is zero; boolean, no gradient."""

def isfinite(x: Operand) -> Tensor:
    """Whether x is neither infinite nor NaN; boolean, no gradient."""

def isnan(x: Operand) -> Tensor:
    """Whether x is NaN; boolean, no gradient."""

def isinf(x: Operand) -> Tensor:
    """Whether x is infinite, of either sign; boolean, no gradient."""

def isclose(
    x: Operand,
    y: Operand,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether x is as good as y; boolean, no gradient."""

def allclose(
    x: Operand,
    y: Operand,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements of x and y, broadcast, are close (see :func:`isclose`): a Python
    bool."""

def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """Choose element by element."""

def masked_fill(x: Operand, mask: Operand, value: float) -> Tensor:
    """Replace elements where the boolean ``mask`` (broadcast) is True by the number ``value``."""

def maximum(x: Operand, y: Operand) -> Tensor:
    """The larger of two, element by element, NaN where either is NaN."""

def minimum(x: Operand, y: Operand) -> Tensor:
    """The smaller of two, element by element; gradients of ties and NaN as in :func:`maximum`."""

def fmax(x: Operand, y: Operand) -> Tensor:
    """The larger of two, element by element; where one is NaN, the other."""

def fmin(x: Operand, y: Operand) -> Tensor:
    """The smaller of two, element by element; where one is NaN, the other. See :func:`fmax`."""

def clip(x: Operand, low: float | None = None, high: float | None = None) -> Tensor:
    """Limit to [low, high]; either may be None. At the limits the gradient passes, at NaN it does
    not, as in PyTorch."""

def nan_to_num(
    x: Operand,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Put numbers in place of NaN and the infinities: by default 0, the dtype's largest number and
    its smallest. What was replaced gets no gradient."""

def copy(x: Operand) -> Tensor:
    """A copy in memory of its own."""

def astype(x: Operand, dtype: DType) -> Tensor:
    """Convert to a NumPy dtype (or its name). Floating to floating keeps the graph."""
