"""HIPS autograd: NumPy functions, differentiated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad

from .. import workloads as w
from . import functional as f


def gpt(s: w.GPT) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.GPT`."""
    mask, rng = f.causal_mask(np, s.block), np.random.default_rng(7)
    scale = np.float32(1.0 / (1.0 - s.dropout))

    def drop(x: Any) -> Any:
        if not s.dropout:
            return x
        return x * ((rng.random(x.shape, dtype=np.float32) >= s.dropout) * scale)

    gradient = value_and_grad(
        lambda p, ids, targets: f.gpt_loss(anp, s, p, ids, targets, mask, drop)
    )
    params = w.gpt_weights(s)
    means, squares = ({k: np.zeros_like(a) for k, a in params.items()} for _ in range(2))
    draw, count = w.batches(s), 0

    def step() -> float:
        nonlocal params, means, squares, count
        count += 1
        loss, grads = gradient(params, *draw())
        params, means, squares = f.adamw(np, params, grads, means, squares, count)
        return float(loss)

    return step


def _descent(loss_of: Callable[..., Any], params: f.Params, x: Any, y: Any) -> Callable[[], float]:
    """Plain gradient descent on one batch."""
    gradient = value_and_grad(partial(loss_of, anp))

    def step() -> float:
        loss, grads = gradient(params, x, y)
        for name, grad in grads.items():
            params[name] = params[name] - w.SGD_LR * grad
        return float(loss)

    return step


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    return _descent(f.mlp_loss, f.dense_params(s.inputs, s.hidden, 1), *w.one_example(s))


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    return _descent(f.moons_loss, f.dense_params(2, s.hidden, s.hidden, 1), *w.two_moons(s))


BUILDERS = {w.GPT: gpt, w.MLP: mlp, w.Moons: moons}
