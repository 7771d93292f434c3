"""Sample arguments for an op's checks."""

from __future__ import annotations

from typing import Any

import numpy as np


class Sample:
    """One set of arguments for an op's checks: ``Sample(x, y, axis=0)``.

    Floating-point operands are float64 NumPy arrays.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [f"{a.dtype}{a.shape}" if isinstance(a, np.ndarray) else repr(a) for a in self.args]
        return f"Sample({', '.join(parts + [f'{k}={v!r}' for k, v in self.kwargs.items()])})"


class Draw:
    """Makes random operands for samples: ``r(3, 4)`` is a float64 array of that shape."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.standard_normal(shape))

    def positive(self, *shape: int) -> np.ndarray:
        """Numbers in [0.5, 2)."""
        return np.asarray(self.rng.uniform(0.5, 2.0, shape))

    def apart(self, *shape: int) -> np.ndarray:
        """Distinct numbers at least 0.1 apart and away from 0: safe around kinks and ties."""
        n = int(np.prod(shape))
        values = (np.arange(n) - n // 2 + 0.5) * 0.23
        return np.asarray(self.rng.permutation(values).reshape(shape))

    def ints(self, high: int, *shape: int) -> np.ndarray:
        """int64 numbers in [0, high)."""
        return np.asarray(self.rng.integers(0, high, shape))

    def bools(self, *shape: int) -> np.ndarray:
        """A boolean array, about half of it True."""
        return np.asarray(self.rng.random(shape) < 0.5)
