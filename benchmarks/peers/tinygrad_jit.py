"""tinygrad: a whole step under TinyJit, on its CPU device."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

os.environ.setdefault("DEV", "CPU")  # read when tinygrad is imported

from tinygrad import Device, Tensor, TinyJit

from .. import workloads as w
from . import Absent


def blas() -> str:
    """tinygrad compiles its own matrix products."""
    return f"tinygrad {Device.DEFAULT}"


def _dense(*widths: int) -> list[tuple[Any, Any]]:
    """(weight, bias) of each layer, as tensors that get gradients."""
    if Device.DEFAULT == "CPU" and shutil.which("clang") is None:
        raise Absent("tinygrad's CPU device compiles with clang, which is not here")
    return [(Tensor(weight), Tensor(bias)) for weight, bias in w.dense_weights(*widths)]


def _stepper(loss_of: Callable[[], Any], params: list[Any]) -> Callable[[], float]:
    """Gradients and a step of plain gradient descent, traced once and replayed."""

    @TinyJit
    def update() -> Any:
        loss = loss_of()
        for p, grad in zip(params, loss.gradient(*params)):
            p.assign(p - w.SGD_LR * grad)
        return loss.realize(*params)

    return lambda: float(update().item())


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    (w0, b0), (w1, b1) = _dense(s.inputs, s.hidden, 1)
    x, y = (Tensor(a) for a in w.one_example(s))

    def loss_of() -> Any:
        return (((x @ w0.T + b0).tanh() @ w1.T + b1 - y) ** 2).mean()

    return _stepper(loss_of, [w0, b0, w1, b1])


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    layers = _dense(2, s.hidden, s.hidden, 1)
    (w0, b0), (w1, b1), (w2, b2) = layers
    params = [p for layer in layers for p in layer]
    x, y = (Tensor(a) for a in w.two_moons(s))

    def loss_of() -> Any:
        hidden = ((x @ w0.T + b0).relu() @ w1.T + b1).relu()
        hinge = (1.0 - y * (hidden @ w2.T + b2)).relu().mean()
        return hinge + w.MOONS_ALPHA * sum((p * p).sum() for p in params)

    return _stepper(loss_of, params)


BUILDERS = {w.MLP: mlp, w.Moons: moons}
