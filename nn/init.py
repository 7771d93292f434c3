"""Starting values for parameters: functions that fill a tensor in place and return it.

Numbers come from ``generator``, or else from the generator named "init". They are drawn on the
host, so a seed gives the same values on every device. Shapes follow ``Linear.weight``: (fan_out,
fan_in, ...).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import Generator, no_grad, random
from ..hints.finding import missing
from ..tensor.tensor import Tensor
from .other_names import OF_INIT

_GAINS = {
    "linear": 1.0,
    "identity": 1.0,
    "sigmoid": 1.0,
    "tanh": 5 / 3,
    "relu": math.sqrt(2.0),
    "gelu": math.sqrt(2.0),
    "silu": math.sqrt(2.0),
    "selu": 0.75,
}


def _draws(generator: Generator | None) -> Generator:
    return random.generator("init") if generator is None else generator


def _fill(tensor: Tensor, values: np.ndarray) -> Tensor:
    with no_grad():
        tensor.copy_(values.astype(tensor.dtype))
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight of at least two axes."""
    if tensor.ndim < 2:
        raise ValueError(f"tensor: expected at least 2 axes to have fans, got shape {tensor.shape}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, slope: float = 0.01) -> float:
    """The factor by which weights must grow for what ``nonlinearity`` takes away.

    Args:
        nonlinearity: "linear", "sigmoid", "tanh", "relu", "leaky_relu", "gelu", "silu", "selu".
        slope: of the leaky ReLU.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        names = sorted([*_GAINS, "leaky_relu"])
        raise ValueError(f"nonlinearity: expected one of {names}, got {nonlinearity!r}")
    return _GAINS[nonlinearity]


def constant_(tensor: Tensor, value: float) -> Tensor:
    """All entries ``value``."""
    return _fill(tensor, np.full(tensor.shape, value))


def zeros_(tensor: Tensor) -> Tensor:
    """All zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """All ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix (ones on the diagonal of a rectangle); 2 axes."""
    if tensor.ndim != 2:
        raise ValueError(f"tensor: expected 2 axes, got shape {tensor.shape}")
    return _fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def uniform_(
    tensor: Tensor, low: float = 0.0, high: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in [low, high)."""
    return _fill(tensor, low + (high - low) * _draws(generator).random(tensor.shape))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with this mean and standard deviation."""
    return _fill(tensor, mean + std * _draws(generator).normal(tensor.shape))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, with values outside [low, high] drawn again.

    Raises:
        ValueError: less than one draw in a thousand would fall inside.
    """
    cdf = [0.5 * (1 + math.erf((x - mean) / (std * math.sqrt(2.0)))) for x in (low, high)]
    if cdf[1] - cdf[0] < 1e-3:
        raise ValueError(f"low, high: [{low}, {high}] holds almost nothing of N({mean}, {std}^2)")
    draws = _draws(generator)
    values = mean + std * draws.normal(tensor.shape)
    while (outside := (values < low) | (values > high)).any():
        values[outside] = mean + std * draws.normal((int(outside.sum()),))
    return _fill(tensor, values)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """U(-a, a), a = gain sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, 2010."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """N(0, s^2), s = gain sqrt(2 / (fan_in + fan_out)): Glorot and Bengio, 2010."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: Tensor, slope: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode: expected 'fan_in' or 'fan_out', got {mode!r}")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, slope) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """U(-b, b), b = gain sqrt(3 / fan): He et al., 2015; ``a`` is the leaky ReLU's slope."""
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """N(0, s^2), s = gain / sqrt(fan): He et al., 2015; ``a`` is the leaky ReLU's slope."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows or columns, whichever are fewer, times ``gain``: Saxe et al., 2013.

    Uniform over all such matrices: QR of a normal matrix with the signs of R's diagonal undone.
    """
    if tensor.ndim < 2:
        raise ValueError(f"tensor: expected at least 2 axes, got shape {tensor.shape}")
    rows = tensor.shape[0]
    columns = math.prod(tensor.shape[1:])
    q, r = np.linalg.qr(_draws(generator).normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = missing(__name__, OF_INIT)
