"""JAX: a whole step, optimiser included, is one jitted function whose arguments are donated."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import workloads as w
from . import functional as f

jax.config.update("jax_platforms", "cpu")


def blas() -> str:
    """XLA brings its own kernels, and a pool with one thread for each core it may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"XLA on {jax.devices()[0].platform}, {cores} threads"


def gpt(s: w.GPT) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.GPT`."""
    mask = f.causal_mask(np, s.block)

    def loss_of(params: f.Params, ids: Any, targets: Any, key: Any) -> Any:
        def drop(x: Any) -> Any:
            nonlocal key
            if not s.dropout:
                return x
            key, used = jax.random.split(key)
            keep = jax.random.bernoulli(used, 1.0 - s.dropout, x.shape)
            return jnp.where(keep, x / (1.0 - s.dropout), 0.0)

        return f.gpt_loss(jnp, s, params, ids, targets, mask, drop)

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(p: Any, m: Any, v: Any, t: Any, ids: Any, targets: Any, key: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(p, ids, targets, key)
        return loss, *f.adamw(jnp, p, grads, m, v, t)

    params = {name: jnp.asarray(value) for name, value in w.gpt_weights(s).items()}
    state = [params, *({k: jnp.zeros_like(a) for k, a in params.items()} for _ in range(2))]
    draw, count = w.batches(s), 0

    def step() -> float:
        nonlocal state, count
        count += 1
        key = jax.random.PRNGKey(count)
        loss, *state = update(*state, np.float32(count), *draw(), key)
        jax.block_until_ready(state)
        return float(loss)

    return step


def _descent(loss_of: Callable[..., Any], params: f.Params, x: Any, y: Any) -> Callable[[], float]:
    """Plain gradient descent on one batch."""

    @jax.jit
    def update(p: Any) -> Any:
        loss, grads = jax.value_and_grad(partial(loss_of, jnp))(p, x, y)
        return loss, {k: p[k] - w.SGD_LR * grads[k] for k in p}

    state = {k: jnp.asarray(v) for k, v in params.items()}

    def step() -> float:
        nonlocal state
        loss, state = update(state)
        jax.block_until_ready(state)
        return float(loss)

    return step


def mlp(s: w.MLP) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.MLP`."""
    return _descent(f.mlp_loss, f.dense_params(s.inputs, s.hidden, 1), *w.one_example(s))


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    return _descent(f.moons_loss, f.dense_params(2, s.hidden, s.hidden, 1), *w.two_moons(s))


BUILDERS = {w.GPT: gpt, w.MLP: mlp, w.Moons: moons}
