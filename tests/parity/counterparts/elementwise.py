"""PyTorch's counterparts of the elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

F = torch.nn.functional


def _tensors(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A torch function that takes no Python numbers, fed with 0-d tensors instead."""

    def run(x: Any, y: Any, **settings: Any) -> Any:
        like = x if torch.is_tensor(x) else y
        x, y = (a if torch.is_tensor(a) else torch.tensor(a, dtype=like.dtype) for a in (x, y))
        return fn(x, y, **settings)

    return run


def _isclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return _tensors(torch.isclose)(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _prelu(x: Any, weight: Any) -> Any:
    """Our op broadcasts its weight; test_activation.py compares the channels."""
    return torch.where(x > 0, x, weight * x)


TORCH: dict[str, Callable[..., Any]] = {
    "square": torch.square,
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "hypot": _tensors(torch.hypot),
    "lerp": torch.lerp,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": lambda x, decimals=0: torch.round(x, decimals=decimals),
    # torch's own floor_divide cannot be differentiated, its div with rounding can
    "floor_divide": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "remainder": _tensors(torch.remainder),
    "fmod": _tensors(torch.fmod),
    "fmax": _tensors(torch.fmax),
    "fmin": _tensors(torch.fmin),
    "nan_to_num": lambda x, nan=0.0, posinf=None, neginf=None: torch.nan_to_num(
        x, nan, posinf, neginf
    ),
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "logaddexp": _tensors(torch.logaddexp),
    "xlogy": torch.xlogy,
    "logit": lambda x, eps=None: torch.logit(x, eps),
    "erfc": torch.erfc,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "polygamma": lambda x, n: torch.polygamma(n, x),
    "erfinv": torch.erfinv,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "atan2": _tensors(torch.atan2),
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "isinf": torch.isinf,
    "isclose": _isclose,
    "log_sigmoid": F.logsigmoid,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "mish": F.mish,
    "leaky_relu": F.leaky_relu,
    "prelu": _prelu,
    "elu": F.elu,
    "selu": F.selu,
    "celu": F.celu,
    "hardtanh": F.hardtanh,
    # composed: F.hardsigmoid and F.hardswish have 1/6 in float32 only, in float64 too
    "hard_sigmoid": lambda x: F.relu6(x + 3) / 6,
    "hard_swish": lambda x: x * F.relu6(x + 3) / 6,
}

WITHOUT: dict[str, str] = {}
