"""Ops whose every output element reads one element of each operand."""

from __future__ import annotations

from .derivation import of

DERIVATIONS = {
    "add": of(
        """
        ∂(x + y)/∂x = 1, ∂(x + y)/∂y = 1
        dx = g, dy = g  # a sum hands the gradient on, as it is, to both
        """,
        x="g", y="g",
    ),
    "sub": of(
        """
        ∂(x - y)/∂x = 1, ∂(x - y)/∂y = -1
        dx = g, dy = -g
        """,
        x="g", y="-g",
    ),
    "neg": of("∂(-x)/∂x = -1\ndx = -g", x="-g"),
    "mul": of(
        """
        ∂(x y)/∂x = y, ∂(x y)/∂y = x  # the other one is a constant factor
        dx = g y, dy = g x  # each gets the gradient times the other
        """,
        x="g * y", y="g * x",
    ),
    "div": of(
        """
        out = x y⁻¹
        ∂out/∂x = y⁻¹ = 1 / y
        ∂out/∂y = -x y⁻² = -out / y  # the power rule, and out is there already
        dx = g / y, dy = -g out / y
        """,
        x="g / y", y="-g * out / y",
    ),
    "pow": of(
        """
        out = x^y = e^(y ln x)
        ∂out/∂x = y x^(y-1)  # y is the constant here: the power rule
        ∂out/∂y = e^(y ln x) ln x = x^y ln x  # and here x is: the exponential's
        dx = g y x^(y-1), dy = g x^y ln x
        """,
        x="g * y * x ** (y - 1)", y="g * x**y * np.log(x)",
    ),
    "square": of("∂x²/∂x = 2 x  # x · x, and each hands on the other\ndx = 2 g x", x="2 * g * x"),
    "reciprocal": of(
        """
        ∂x⁻¹/∂x = -x⁻² = -out²  # the power rule, written with the result
        dx = -g out²
        """,
        x="-g * out**2",
    ),
    "sqrt": of(
        """
        out² = x
        2 out ∂out/∂x = 1  # both sides derived by x
        dx = g / (2 out)  # without end at 0, where the root is upright
        """,
        x="g / (2 * out)",
    ),
    "rsqrt": of(
        """
        out = x^(-1/2)
        ∂out/∂x = -1/2 x^(-3/2) = -out³ / 2
        dx = -g out³ / 2
        """,
        x="-g * out**3 / 2",
    ),
    "exp": of(
        """
        ∂eˣ/∂x = eˣ = out  # the function that is its own slope
        dx = g out
        """,
        x="g * out",
    ),
    "expm1": of("∂(eˣ - 1)/∂x = eˣ = out + 1\ndx = g (out + 1)", x="g * (out + 1)"),
    "exp2": of("2ˣ = e^(x ln 2)\n∂2ˣ/∂x = 2ˣ ln 2\ndx = g out ln 2", x="g * out * np.log(2)"),
    "log": of(
        """
        e^out = x
        e^out ∂out/∂x = 1  # both sides derived by x
        ∂out/∂x = e^(-out) = 1 / x
        dx = g / x
        """,
        x="g / x",
    ),
    "log1p": of("∂ln(1 + x)/∂x = 1 / (1 + x)\ndx = g / (1 + x)", x="g / (1 + x)"),
    "sin": of("∂sin x/∂x = cos x\ndx = g cos x", x="g * np.cos(x)"),
    "cos": of("∂cos x/∂x = -sin x\ndx = -g sin x", x="-g * np.sin(x)"),
    "tan": of(
        """
        tan x = sin x / cos x
        ∂tan x/∂x = (cos² x + sin² x) / cos² x  # the quotient rule
        ∂tan x/∂x = 1 + tan² x = 1 + out²
        dx = g (1 + out²)
        """,
        x="g * (1 + out**2)",
    ),
    "tanh": of(
        """
        tanh x = sinh x / cosh x
        ∂tanh x/∂x = (cosh² x - sinh² x) / cosh² x  # the quotient rule
        ∂tanh x/∂x = 1 - tanh² x = 1 - out²  # so that backward needs the result alone
        dx = g (1 - out²)
        """,
        note="At most 1, at x = 0, and near 0 where |x| is large: a tanh that is far out learns "
        "slowly.",
        x="g * (1 - out**2)",
    ),
    "asin": of(
        """
        sin out = x
        cos out ∂out/∂x = 1  # both sides derived by x
        cos out = √(1 - sin² out) = √(1 - x²)
        dx = g / √(1 - x²)
        """,
        x="g / np.sqrt(1 - x**2)",
    ),
    "atan": of(
        """
        tan out = x
        (1 + tan² out) ∂out/∂x = 1  # both sides derived by x
        dx = g / (1 + x²)
        """,
        x="g / (1 + x**2)",
    ),
    "abs": of(
        """
        |x| = x where x > 0, else -x
        ∂|x|/∂x = sign x  # at 0 there is a kink; 0 is taken, halfway between -1 and 1
        dx = g sign x
        """,
        x="g * np.sign(x)",
    ),
    "maximum": of(
        """
        out = x where x > y, else y
        dx = g where x > y, else 0  # the other one could change a little, and nothing would happen
        dy = g where y > x, else 0  # where they are equal, half for each
        """,
        x="g * ((x > y) + 0.5 * (x == y))", y="g * ((y > x) + 0.5 * (x == y))",
    ),
    "minimum": of(
        """
        out = x where x < y, else y
        dx = g where x < y, else 0
        dy = g where y < x, else 0  # where they are equal, half for each
        """,
        x="g * ((x < y) + 0.5 * (x == y))", y="g * ((y < x) + 0.5 * (x == y))",
    ),
    "hypot": of(
        """
        out² = x² + y²
        2 out ∂out/∂x = 2 x  # both sides derived by x
        dx = g x / out, dy = g y / out  # the direction, of length 1
        """,
        x="g * x / out", y="g * y / out",
    ),
    "logaddexp": of(
        """
        ∂out/∂x = eˣ / (eˣ + eʸ) = 1 / (1 + e^(y - x))  # the chain rule through ln
        dx = g sigmoid(x - y), dy = g sigmoid(y - x)
        """,
        note="The two add up to g: they say how much of the sum each of them is.",
        x="g / (1 + np.exp(y - x))", y="g / (1 + np.exp(x - y))",
    ),
    "lerp": of(
        """
        out = (1 - weight) x + weight y
        dx = g (1 - weight), dy = g weight
        dweight = g (y - x)
        """,
        x="g * (1 - weight)", y="g * weight", weight="g * (y - x)",
    ),
    "erf": of(
        """
        erf x = 2/√π · (the integral of e^(-t²) from 0 to x)
        ∂erf x/∂x = 2/√π e^(-x²)  # the derivative of an integral by its end is what is inside
        dx = g 2/√π e^(-x²)
        """,
        x="g * 2 / np.sqrt(np.pi) * np.exp(-(x**2))",
    ),
}  # fmt: skip
