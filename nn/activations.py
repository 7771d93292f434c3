"""Activation functions as modules, for Sequential and for settings by name.

Names and arguments are PyTorch's, but ``axis`` for ``dim``. Each is the op of the same name, where
its gradient at kinks and infinities is described, with its source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from .. import full, operations
from ..tensor.axes import axis_of, whole
from ..tensor.tensor import Tensor
from .layers import Identity, check_number, check_size
from .module import Module
from .parameter import Parameter

#: what a factor that is divided by has to be
_NOT_ZERO: tuple[str, Callable[[float], bool]] = ("a number other than 0", lambda x: abs(x) > 0)


class _Activation(Module):
    """``op`` of the input and of the attributes that ``settings`` names."""

    op: ClassVar[Callable[..., Any]]
    settings: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # which knows what each of them takes

        def __new__(cls, *given: Any, **settings: Any) -> Any:
            """Refuse an input in the place of settings."""
            if given and isinstance(given[0], Tensor) and given[0].ndim:
                name = cls.__name__
                raise TypeError(f"{name}: takes settings, not x; write nn.{name}()(x)")
            return super().__new__(cls)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        out: Tensor = type(self).op(x, **{name: getattr(self, name) for name in self.settings})
        return out

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.settings)


# ---- smooth ones --------------------------------------------------------------------------------


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    op = operations.sigmoid


class LogSigmoid(_Activation):
    """ln sigmoid(x)."""

    op = operations.log_sigmoid


class Tanh(_Activation):
    """Hyperbolic tangent."""

    op = operations.tanh


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        return x - operations.tanh(x)


class GELU(_Activation):
    """x Phi(x): Hendrycks and Gimpel, 2016.

    Args:
        approximate: "none" for the exact form, "tanh" for GPT-2's approximation.
    """

    op = operations.gelu
    settings = ("approximate",)

    def __init__(self, approximate: str = "none"):
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
        self.approximate = approximate


class SiLU(_Activation):
    """x sigmoid(x), also called swish."""

    op = operations.silu


class Mish(_Activation):
    """x tanh(softplus(x))."""

    op = operations.mish


class Softplus(_Activation):
    """ln(1 + exp(beta x)) / beta, and x itself where beta x > threshold."""

    op = operations.softplus
    settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta = check_number("beta", beta, *_NOT_ZERO)
        self.threshold = check_number("threshold", threshold)


class Softsign(_Activation):
    """x / (1 + |x|)."""

    op = operations.softsign


# ---- with kinks ---------------------------------------------------------------------------------


class ReLU(_Activation):
    """max(x, 0)."""

    op = operations.relu


class ReLU6(_Activation):
    """min(max(x, 0), 6)."""

    op = staticmethod(operations.relu6)


class LeakyReLU(_Activation):
    """x where x > 0, else negative_slope x."""

    op = operations.leaky_relu
    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01):
        self.negative_slope = check_number("negative_slope", negative_slope)


class PReLU(Module):
    """x where x > 0, else weight x, with a learned weight: He et al., 2015.

    Args:
        num_parameters: 1 for one weight, or the number of channels (axis 1) for one for each.
        init: what the weights start as.

    Attributes:
        weight: (num_parameters,). (Weight decay would draw it to 0, which is relu.)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25):
        channels = check_size("num_parameters", num_parameters)
        self.weight = Parameter(full((channels,), float(check_number("init", init))))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, ...), or any shape where there is one weight -> the same."""
        out: Tensor = operations.prelu(x, self.weight)
        return out

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{self.weight.size}"


class ELU(_Activation):
    """x where x > 0, else alpha (exp(x) - 1)."""

    op = operations.elu
    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0):
        self.alpha = check_number("alpha", alpha)


class CELU(_Activation):
    """x where x > 0, else alpha (exp(x / alpha) - 1)."""

    op = operations.celu
    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0):
        self.alpha = check_number("alpha", alpha, *_NOT_ZERO)


class SELU(_Activation):
    """The elu of fixed slope and alpha that keeps mean 0 and variance 1."""

    op = operations.selu


class Hardtanh(_Activation):
    """x limited to [min_val, max_val]."""

    op = operations.hardtanh
    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        self.max_val = most = check_number("max_val", max_val)
        expected = f"less than max_val, {max_val}"
        self.min_val = check_number("min_val", min_val, expected, lambda x: x < most)


class Hardsigmoid(_Activation):
    """min(max(x / 6 + 1/2, 0), 1)."""

    op = operations.hard_sigmoid


class Hardswish(_Activation):
    """x hard_sigmoid(x)."""

    op = operations.hard_swish


class Threshold(_Activation):
    """x where x > threshold, else ``value``."""

    settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float):
        self.threshold = check_number("threshold", threshold)
        self.value = check_number("value", value)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        out: Tensor = operations.where(x <= self.threshold, self.value, x)
        return out


class Hardshrink(_Activation):
    """x where |x| > lambd, else 0."""

    def __init__(self, lambd: float = 0.5):
        self.lambd = check_number("lambd", lambd)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        out: Tensor = operations.where(operations.abs(x) <= self.lambd, 0.0, x)
        return out

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{self.lambd!r}"


class Softshrink(_Activation):
    """x drawn towards 0 by ``lambd``, and 0 where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5):
        self.lambd = check_number("lambd", lambd, "a number >= 0", lambda x: x >= 0)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        return x - operations.clip(x, -self.lambd, self.lambd)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{self.lambd!r}"


# ---- along an axis ------------------------------------------------------------------------------


class Softmax(_Activation):
    """Positive numbers that sum to 1 along ``axis``."""

    op = operations.softmax
    settings = ("axis",)

    def __init__(self, axis: int = -1):
        self.axis = whole("axis", axis)


class Softmax2d(Softmax):
    """The softmax over the channels of (..., channels, height, width)."""

    def __init__(self) -> None:
        super().__init__(axis=-3)


class LogSoftmax(Softmax):
    """The logarithm of the softmax along ``axis``, without overflow."""

    op = operations.log_softmax

    def __init__(self, axis: int = -1):
        super().__init__(axis)


class Softmin(Softmax):
    """The softmax of -x along ``axis``."""

    def __init__(self, axis: int = -1):
        super().__init__(axis)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        return super().forward(-x)


class GLU(_Activation):
    """a sigmoid(b), where a and b are the halves of x along ``axis``: Dauphin et al., 2017."""

    settings = ("axis",)

    def __init__(self, axis: int = -1):
        self.axis = whole("axis", axis)

    def forward(self, x: Tensor) -> Tensor:
        """The shape of ``x``, half as long along ``axis``.

        Raises:
            ValueError: ``x`` has no halves there, or no such axis.
        """
        length = x.shape[axis_of("GLU: axis", self.axis, x.shape)]
        if length % 2:
            raise ValueError(f"x: expected an even length along axis {self.axis}, got {x.shape}")
        a, b = operations.split(x, length // 2, axis=self.axis) if length else (x, x)
        return a * operations.sigmoid(b)


#: activation name, as TransformerBlock, FeedForward and GPTConfig take it -> a new module
ACTIVATIONS: dict[str, Callable[[], Module]] = {
    "relu": ReLU,
    "gelu": GELU,
    "gelu_tanh": lambda: GELU("tanh"),
    "silu": SiLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "identity": Identity,
}


def activation_module(name: str) -> Module:
    """A new activation module by its name in :data:`ACTIVATIONS`."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation: expected one of {sorted(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]()
