"""Modules that several test files use."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.scale = nn.Parameter([2.0])
        self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.register_buffer("steps", tt.tensor([1.0, 2.0]))
        self.register_buffer("scratch", tt.tensor([9.0]), persistent=False)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        x = self.a(x) * self.scale
        for block in self.blocks:
            x = tt.tanh(block(x))
        return x


class Tied(nn.Module):
    """C33: two layers with one weight."""

    def __init__(self) -> None:
        self.first = nn.Linear(1, 1, bias=False)
        self.second = nn.Linear(1, 1, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.second(self.first(x))


def set_values(tensor: tt.Tensor, values: Any) -> None:
    with tt.no_grad():
        tensor.copy_(np.array(values, dtype=tensor.dtype))
