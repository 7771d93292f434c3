"""Each op that PyTorch has gives PyTorch's values and PyTorch's gradients.

The ops run over their own samples from the registry, with one random cotangent, in float64 and in
float32.  A new op must be put into `TORCH` or, with a reason, into `WITHOUT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
F = torch.nn.functional


def axes(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


TORCH: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "silu": F.silu,
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
}

WITHOUT: dict[str, str] = {}
