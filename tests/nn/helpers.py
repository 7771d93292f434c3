"""Finite differences through whole modules, written with no help from the engine's checker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import tinytensor as tt
from tinytensor import nn


def values_of(tensor: tt.Tensor) -> np.ndarray:
    """The numbers of a tensor, graph or not, as a host array of its own."""
    return np.array(tensor.detach().numpy())


@contextmanager
def moved(tensor: tt.Tensor, position: tuple[int, ...], step: float) -> Iterator[None]:
    """One entry of a leaf changed by ``step`` for a while."""
    values = values_of(tensor)
    changed = values.copy()
    changed[position] += step
    with tt.no_grad():
        tensor.copy_(changed)
        yield
        tensor.copy_(values)


def check_gradients(
    forward: Callable[[], tt.Tensor],
    leaves: dict[str, tt.Tensor],
    rng: np.random.Generator,
    eps: float = 1e-6,
    tolerance: float = 2e-6,
) -> None:
    """Backward through ``forward()`` against central differences, for every entry of every leaf.

    The cotangent is random, and gradients that are all zero are refused.
    """
    out = forward()
    assert out.dtype == np.float64, "finite differences need float64"
    cotangent = rng.standard_normal(out.shape)
    for tensor in leaves.values():
        tensor.grad = None
    out.backward(tt.tensor(cotangent))

    def value() -> float:
        return float((values_of(forward()) * cotangent).sum())

    for name, tensor in leaves.items():
        assert tensor.grad is not None, f"{name}: no gradient arrived"
        got = values_of(tensor.grad)
        want = np.zeros(tensor.shape)
        for position in np.ndindex(tensor.shape):
            with moved(tensor, position, eps):
                up = value()
            with moved(tensor, position, -eps):
                down = value()
            want[position] = (up - down) / (2 * eps)
        assert np.abs(want).max() > 1e-9, f"{name}: its gradient is all zero, nothing was checked"
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


def randomize(module: nn.Module, rng: np.random.Generator, scale: float = 0.5) -> None:
    """All parameters in float64 and away from their starting values (zero biases hide mistakes)."""
    module.to("float64")
    with tt.no_grad():
        for name, param in module.named_parameters():
            center = 1.0 if "ln" in name and name.endswith("weight") else 0.0
            param.copy_(center + scale * rng.standard_normal(param.shape))


def double(values: object, requires_grad: bool = False) -> tt.Tensor:
    """A float64 tensor."""
    return tt.tensor(np.array(values, dtype=np.float64), requires_grad=requires_grad)


class DropAll(nn.Module):
    """Stands in for a Dropout that lets nothing through."""

    p = 0.0

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return x * 0.0
