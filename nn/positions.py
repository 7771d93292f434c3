"""Telling a transformer where each element stands."""

from __future__ import annotations

import math

import numpy as np

from .. import tensor, zeros
from ..tensor.tensor import Tensor
from . import init
from .layers import check_size
from .module import Module
from .parameter import Parameter


def sinusoids(length: int, dim: int, base: float = 10000.0) -> np.ndarray:
    """The table of Vaswani et al., 2017, float64 (length, dim).

    Entry (t, 2i) is sin(t / base^(2i/dim)) and entry (t, 2i+1) the cosine; an odd ``dim`` ends on
    a sine.
    """
    even = np.arange(0, dim, 2)
    angles = np.arange(length)[:, None] * np.exp(even * (-math.log(base) / dim))
    table = np.empty((length, dim))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : dim // 2])
    return table


class _Positions(Module):
    """Adds row ``start + t`` of a table (max_len, dim) to x[..., t, :]."""

    max_len: int
    dim: int

    def _rows(self, table: Tensor, x: Tensor, start: int) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ValueError(f"x: expected shape (..., time, {self.dim}), got {x.shape}")
        end = start + x.shape[-2]
        if start < 0 or end > self.max_len:
            raise ValueError(
                f"x: positions {start} to {end - 1} asked of a table of max_len={self.max_len}"
            )
        return table if end - start == self.max_len else table[start:end]

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"{self.max_len}, {self.dim}"


class SinusoidalPositions(_Positions):
    """Adds fixed sines and cosines: Vaswani et al., 2017. Nothing to learn, nothing saved.

    Args:
        max_len: longest sequence.
        dim: size of the last axis.
        base: the longest wave is about ``2 pi base`` steps long.

    Attributes:
        table: buffer (max_len, dim).
    """

    def __init__(self, max_len: int, dim: int, base: float = 10000.0):
        self.max_len = check_size("max_len", max_len)
        self.dim = check_size("dim", dim)
        table = sinusoids(max_len, dim, base).astype(np.float32)
        self.table: Tensor
        self.register_buffer("table", tensor(table), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(..., time, dim) -> the same shape; x[..., 0, :] stands at position ``start``."""
        return x + self._rows(self.table, x, start)


class LearnedPositions(_Positions):
    """Adds one learned vector for each position, as GPT-2 does.

    Args:
        max_len: longest sequence.
        dim: size of the last axis.

    Attributes:
        weight: (max_len, dim), from N(0, 0.02^2).
    """

    def __init__(self, max_len: int, dim: int):
        self.max_len = check_size("max_len", max_len)
        self.dim = check_size("dim", dim)
        self.weight = Parameter(zeros((max_len, dim)))
        init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(..., time, dim) -> the same shape; x[..., 0, :] stands at position ``start``."""
        return x + self._rows(self.weight, x, start)
