"""Small tools of the engine's tests, independent of the engine's own gradient checker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor.arrays.device import device_of


def leaf(values: Any, dtype: Any = np.float64) -> tt.Tensor:
    """A float64 tensor that wants a gradient, on the default device."""
    return tt.tensor(np.array(values, dtype=dtype), requires_grad=True)


def const(values: Any, dtype: Any = np.float64) -> tt.Tensor:
    """A float64 tensor without gradient, on the default device."""
    return tt.tensor(np.array(values, dtype=dtype))


def host(x: Any) -> np.ndarray:
    """The values of a tensor or of an array of any device, as a NumPy array."""
    array = x.data if isinstance(x, tt.Tensor) else x
    if isinstance(array, (np.ndarray, np.generic, int, float, bool, list, tuple)):
        return np.asarray(array)
    return np.asarray(device_of(array).to_host(array))


def grad_of(x: tt.Tensor) -> np.ndarray:
    """The gradient of a leaf on the host; fails where there is none."""
    assert x.grad is not None, "no gradient arrived"
    return host(x.grad)


def close(actual: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """Equal values, shape included."""
    got, want = host(actual), host(expected)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def share_memory(a: Any, b: Any) -> bool:
    """Whether two arrays of one device overlap."""
    a, b = (x.data if isinstance(x, tt.Tensor) else x for x in (a, b))
    a, b = (getattr(x, "_host", x) for x in (a, b))  # the stand-in's memory is the host's
    if isinstance(a, np.generic) or isinstance(b, np.generic):
        return False  # a number of its own
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.shares_memory(a, b))
    # not xp.shares_memory: CuPy's says True of any two 0-d arrays
    bounds = device_of(a).xp.byte_bounds
    (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
    return bool(a.size and b.size and a_low < b_high and b_low < a_high)


def numeric_gradients(
    fn: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    cotangent: np.ndarray,
    eps: float = 1e-6,
) -> list[np.ndarray]:
    """d(sum(fn(*arrays) * cotangent)) / d(each array) by central differences, in float64.

    `fn` maps NumPy arrays to a NumPy array.  Written with no help from the engine.
    """
    gradients = []
    for i, base in enumerate(arrays):
        gradient = np.zeros_like(base)
        for position in np.ndindex(base.shape):
            sums = []
            for step in (eps, -eps):
                moved = [np.array(a) for a in arrays]
                moved[i][position] += step
                sums.append(np.sum(np.asarray(fn(*moved)) * cotangent))
            gradient[position] = (sums[0] - sums[1]) / (2 * eps)
        gradients.append(gradient)
    return gradients
