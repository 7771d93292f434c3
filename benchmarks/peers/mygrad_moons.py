"""mygrad: tensors on NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mygrad as mg

from .. import workloads as w


def _dense(*widths: int) -> list[tuple[Any, Any]]:
    """(weight, bias) of each layer, as tensors."""
    return [(mg.tensor(weight), mg.tensor(bias)) for weight, bias in w.dense_weights(*widths)]


def _descend(loss: Any, params: list[Any]) -> float:
    """Backward, and a step of plain gradient descent."""
    loss.backward()
    for p in params:
        p.data -= w.SGD_LR * p.grad
    return float(loss.item())


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    (w0, b0), (w1, b1) = _dense(s.inputs, s.hidden, 1)
    x, y = w.one_example(s)

    def step() -> float:
        hidden = mg.tanh(mg.matmul(x, w0.T) + b0)
        return _descend(mg.mean((mg.matmul(hidden, w1.T) + b1 - y) ** 2), [w0, b0, w1, b1])

    return step


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    layers = _dense(2, s.hidden, s.hidden, 1)
    (w0, b0), (w1, b1), (w2, b2) = layers
    params = [p for layer in layers for p in layer]
    x, y = w.two_moons(s)

    def step() -> float:
        hidden = mg.maximum(mg.matmul(x, w0.T) + b0, 0.0)
        hidden = mg.maximum(mg.matmul(hidden, w1.T) + b1, 0.0)
        hinge = mg.mean(mg.maximum(1.0 - y * (mg.matmul(hidden, w2.T) + b2), 0.0))
        return _descend(hinge + w.MOONS_ALPHA * sum(mg.sum(p * p) for p in params), params)

    return step


BUILDERS = {w.MLP: mlp, w.Moons: moons}
