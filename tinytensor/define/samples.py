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


def positive_pairs(r: Draw) -> list[Sample]:
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


def apart_pairs(r: Draw) -> list[Sample]:
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


def positive(r: Draw) -> list[Sample]:
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
