"""Models as pure functions of a dict of arrays, for frameworks that differentiate functions.

``xp`` is ``jax.numpy`` or ``autograd.numpy``; ``drop(x)`` applies dropout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import workloads as w

Params = dict[str, Any]
Drop = Callable[[Any], Any]


def softmax(xp: Any, x: Any) -> Any:
    """Over the last axis."""
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, weight: Any) -> Any:
    """Over the last axis."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return weight * centred / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def gelu(xp: Any, x: Any) -> Any:
    """The approximation by tanh."""
    return 0.5 * x * (1.0 + xp.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def attention(xp: Any, s: w.GPT, p: Params, name: str, x: Any, mask: Any, drop: Drop) -> Any:
    """(batch, time, width) -> the same; ``mask`` is 0 where seen and very negative elsewhere."""
    batch, time, width = x.shape
    qkv = xp.reshape(x @ p[f"{name}.c_attn.weight"].T, (batch, time, 3, s.heads, width // s.heads))
    q, k, v = (xp.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3))
    scores = q @ xp.transpose(k, (0, 1, 3, 2)) * (1.0 / math.sqrt(width // s.heads)) + mask
    y = drop(softmax(xp, scores)) @ v
    y = xp.reshape(xp.transpose(y, (0, 2, 1, 3)), (batch, time, width))
    return drop(y @ p[f"{name}.c_proj.weight"].T)


def gpt_loss(xp: Any, s: w.GPT, p: Params, ids: Any, targets: Any, mask: Any, drop: Drop) -> Any:
    """The mean cross-entropy of a GPT."""
    x = drop(p["wte.weight"][ids] + p["wpe.weight"])
    for i in range(s.layers):
        x = x + attention(
            xp, s, p, f"h.{i}.attn", layer_norm(xp, x, p[f"h.{i}.ln_1.weight"]), mask, drop
        )
        hidden = layer_norm(xp, x, p[f"h.{i}.ln_2.weight"]) @ p[f"h.{i}.mlp.c_fc.weight"].T
        x = x + drop(gelu(xp, hidden) @ p[f"h.{i}.mlp.c_proj.weight"].T)
    logits = layer_norm(xp, x, p["ln_f.weight"]) @ p["wte.weight"].T
    logits = xp.reshape(logits, (-1, s.vocab))
    top = xp.max(logits, axis=-1, keepdims=True)
    norms = xp.log(xp.sum(xp.exp(logits - top), axis=-1)) + top[:, 0]
    return xp.mean(norms - logits[xp.arange(logits.shape[0]), xp.reshape(targets, (-1,))])


def causal_mask(xp: Any, block: int) -> Any:
    """(block, block): 0 on and under the diagonal, -1e9 above; float32."""
    return xp.where(xp.tril(xp.ones((block, block), dtype=bool)), 0.0, -1e9).astype("float32")


def adamw(
    xp: Any, p: Params, g: Params, m: Params, v: Params, t: Any
) -> tuple[Params, Params, Params]:
    """Clipping by the joint norm, then AdamW at step ``t`` >= 1: new parameters and means."""
    norm = xp.sqrt(sum(xp.sum(grad * grad) for grad in g.values()))
    scale = xp.minimum(1.0, w.MAX_NORM / (norm + 1e-6))
    (b1, b2), new_p, new_m, new_v = w.BETAS, {}, {}, {}
    for name, param in p.items():
        grad = g[name] * scale
        new_m[name] = b1 * m[name] + (1 - b1) * grad
        new_v[name] = b2 * v[name] + (1 - b2) * grad * grad
        root = xp.sqrt(new_v[name] / (1 - b2**t)) + w.EPS
        decay = w.DECAY if param.ndim >= 2 else 0.0
        new_p[name] = param * (1 - w.LR * decay) - w.LR * new_m[name] / (1 - b1**t) / root
    return new_p, new_m, new_v


def dense_params(*widths: int) -> Params:
    """The starting values of an MLP: w0, b0, w1, b1, ..."""
    params: Params = {}
    for i, (weight, bias) in enumerate(w.dense_weights(*widths)):
        params |= {f"w{i}": weight, f"b{i}": bias}
    return params


def mlp_loss(xp: Any, p: Params, x: Any, y: Any) -> Any:
    """Squared error of the two-layer MLP."""
    hidden = xp.tanh(x @ p["w0"].T + p["b0"])
    return xp.mean((hidden @ p["w1"].T + p["b1"] - y) ** 2)


def moons_loss(xp: Any, p: Params, x: Any, y: Any) -> Any:
    """Hinge loss of the three-layer MLP, and the sum of squared parameters."""
    hidden = xp.maximum(x @ p["w0"].T + p["b0"], 0.0)
    hidden = xp.maximum(hidden @ p["w1"].T + p["b1"], 0.0)
    hinge = xp.mean(xp.maximum(1.0 - y * (hidden @ p["w2"].T + p["b2"]), 0.0))
    return hinge + w.MOONS_ALPHA * sum(xp.sum(value * value) for value in p.values())
