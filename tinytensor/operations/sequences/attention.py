"""Scaled dot-product attention."""

from __future__ import annotations

import math
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays import random
from ...arrays.device import device, device_of
from ...define.naming import named
from ...define.op import op
from ...define.samples import Sample
from ...tensor.tensor import Tensor, make
from ..activations.softmax import softmax, stable_exp
from ..elementwise.choosing import where
from ..linear.products import matmul
from ..randomness.dropout import _dropout, keep_mask, kept_scale
from ..shapes.reshaping import reshape, split, swapaxes
from .attention_tiles import Tiles
from .attention_tiles import backward as gradients_by_tiles
from .attention_tiles import forward as by_tiles


@lru_cache(maxsize=64)
def causal_mask(rows: int, columns: int, where: str) -> Any:
    """(rows, columns): True where query i may see key j.

    Aligned to the bottom right: the last query sees all keys, so that one query against cached
    keys sees every one of them.
    """
    xp = device(where).xp
    return xp.arange(columns)[None, :] <= xp.arange(rows)[:, None] + (columns - rows)


def _scale(q: Any, scale: float | None) -> float:
    """What scores are multiplied by: 1 / √d by default (vectors of length 0 have scores 0)."""
    return 1 / math.sqrt(max(1, q.shape[-1])) if scale is None else scale


def _in_tiles(xp: Any, q: Any, k: Any, v: Any, mask: Any, is_causal: bool) -> Tiles | None:
    """How to go by tiles, or None: on a GPU each tile would be several launches, and a mask has to
    be read as a whole."""
    lead, rows, columns = q.shape[:-2], q.shape[-2], k.shape[-2]
    if xp is not np or mask is not None or not lead or not lead == k.shape[:-2] == v.shape[:-2]:
        return None
    if q.dtype != k.dtype or q.dtype != v.dtype or q.dtype.kind != "f":
        return None
    if rows > columns or 0 in (*q.shape, *v.shape):
        return None
    return Tiles(lead, rows, columns, is_causal)


@op(
    "q k v mask keep",
    name="scaled_dot_product_attention",
    keeps="q k v mask keep out weights logs",
    formula="softmax(q kᵀ · scale + mask) v",
    gradient="dv = wᵀ g; s = w (g vᵀ - Σ w g vᵀ), dq = scale s k, dk = scale sᵀ q, dmask = s",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 3, 4), r(2, 5, 4), r(2, 5, 2)),
        Sample(r(2, 2, 4, 3), r(2, 2, 4, 3), r(2, 2, 4, 3), None, None, True),
        Sample(r(3, 4), r(5, 4), r(5, 4), r(3, 5)),
        Sample(
            r(2, 3, 4),
            r(2, 3, 4),
            r(2, 3, 4),
            np.array([[True, False, True], [False, False, False], [True, True, True]]),
        ),
        Sample(r(1, 4), r(3, 4), r(3, 4), None, None, True),
        Sample(r(2, 3, 4), r(2, 3, 4), r(2, 3, 4), None, r.bools(2, 3, 3), True, 0.5, 0.3),
        Sample(r(2, 3, 4), r(1, 3, 4), r(3, 4)),
        Sample(r(2, 3, 4), r(2, 0, 4), r(2, 0, 4)),
        Sample(r(2, 3, 0), r(2, 4, 0), r(2, 4, 2)),
    ],
)
def _attention(
    xp, q, k, v, mask=None, keep=None, is_causal=False, dropout=0.0, scale=None, recording=False
):
    """Attention with an optional mask and an optional dropout pattern ``keep``."""
    scale, kept = _scale(q, scale), kept_scale(dropout)
    tiles = _in_tiles(xp, q, k, v, mask, is_causal)
    if tiles is not None:
        return by_tiles(tiles, q, k, v, keep, scale, kept, recording)
    scores = xp.matmul(q * scale, xp.swapaxes(k, -1, -2))
    if is_causal:
        allowed = causal_mask(*scores.shape[-2:], device_of(q).name)
        scores = xp.where(allowed, scores, -math.inf)
    if mask is not None:
        scores = xp.where(mask, scores, -math.inf) if mask.dtype == bool else scores + mask
    weights, total, _ = stable_exp(xp, scores, -1, out=scores)
    weights /= total
    used = weights if keep is None else weights * keep * kept
    return xp.matmul(used, v), weights, None


@_attention.vjp
def _attention_vjp(xp: Any, g: Any, k: Any) -> Any:
    q, key, v, w = k.q, k.k, k.v, k.weights
    scale, kept = _scale(q, k.scale), kept_scale(k.dropout)
    dq = dk = dv = dmask = None
    tiles = _in_tiles(xp, q, key, v, k.mask, k.is_causal)
    if tiles is not None:
        into = [xp.empty_like(x) for x in (q, key, v)]
        gradients_by_tiles(tiles, g, k, scale, kept, *into)
        return *into, None, None
    if k.needs[2]:
        used = w if k.keep is None else w * k.keep * kept
        dv = xp.matmul(xp.swapaxes(used, -1, -2), g)
    if k.needs[0] or k.needs[1] or k.needs[3]:
        s = xp.matmul(g, xp.swapaxes(v, -1, -2))
        if k.keep is not None:
            s *= k.keep
            s *= kept
        # Σ_j w_ij p_ij equals g · out, which is shorter than a row of weights
        s -= xp.sum(g * k.out, axis=-1, keepdims=True)
        s *= w
        if k.needs[3]:
            dmask = s.copy()
        s *= scale
        if k.needs[0]:
            dq = xp.matmul(s, key)
        if k.needs[1]:
            dk = xp.matmul(xp.swapaxes(s, -1, -2), q)
    return dq, dk, dv, dmask, None


@_attention.reference_is
def _attention_reference(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    keep: Any = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Any:
    scale = _scale(q, scale)
    scores = matmul(q, swapaxes(k, -1, -2)) * scale
    if is_causal and q.shape[-2] > 1:  # one query sees all keys
        allowed = make(causal_mask(q.shape[-2], k.shape[-2], q.device.name))
        scores = where(named("key up to query", allowed), scores, -math.inf)
    if mask is not None:
        scores = where(mask, scores, -math.inf) if mask.dtype == bool else scores + mask
    weights = softmax(scores, -1)
    if keep is not None:
        weights = _dropout(weights, keep, p=dropout)
    return matmul(weights, v)


def _pattern(
    name: str, x: Any, lead: Any, rows: int, columns: int, p: float, generator: Any
) -> Any:
    """What dropout keeps, (*lead, rows, columns), laid out in memory as the tiles read it; None
    where it keeps all. ``name`` is that of the function, for the error."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: dropout: expected 0 <= dropout <= 1, got {p}")
    if not p:
        return None
    return swapaxes(keep_mask(x, (*lead, columns, rows), p, generator), -1, -2)


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
    generator: random.Generator | None = None,
) -> Any:
    """Attention (Vaswani et al. 2017, arXiv:1706.03762): ``softmax(q kᵀ · scale + mask) v``.

    Args:
        q: (..., queries, d). k: (..., keys, d). v: (..., keys, dv). Leading axes broadcast.
        mask: broadcastable to (..., queries, keys). Boolean: True where a query may attend to a
            key, as in PyTorch. Floating: added to the scores.
        is_causal: a query sees only keys up to its own position, counted from the end: with fewer
            queries than keys (a cache) the last query sees all keys.
        dropout: probability with which attention weights are zeroed (training only: pass 0 in
            evaluation). generator: for that; defaults to the named generator "dropout".
        scale: defaults to ``1 / sqrt(d)``.

    Returns:
        (..., queries, dv). A query with every key masked, or without any key, gives zeros, and
        zero gradients.
    """
    if not isinstance(is_causal, (bool, np.bool_)):  # PyTorch has dropout in this place
        raise TypeError(
            "scaled_dot_product_attention: is_causal: expected True or False, got "
            f"{is_causal!r}; write is_causal= and dropout= by name"
        )
    tensors = [t if isinstance(t, Tensor) else Tensor(t) for t in (q, k, v)]
    q, k, v = tensors
    for name, t in zip("qkv", tensors, strict=True):
        if t.ndim < 2:
            raise ValueError(
                f"scaled_dot_product_attention: {name}: expected shape (..., length, d), got "
                f"{t.shape}"
            )
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(
            "scaled_dot_product_attention: expected q (..., queries, d), k (..., keys, d), v (..., "
            "keys, dv), "
            f"got q {q.shape}, k {k.shape}, v {v.shape}"
        )
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2]) if dropout else ()
    sizes = (lead, q.shape[-2], k.shape[-2])
    keep = _pattern("scaled_dot_product_attention", q, *sizes, dropout, generator)
    if mask is not None and not isinstance(mask, Tensor):
        mask = Tensor(mask, device=q.device)
    if mask is not None and mask.dtype.kind in "iu":
        raise TypeError(
            "scaled_dot_product_attention: mask: expected booleans (True = may attend) or floats "
            "(added to the "
            f"scores), got {mask.dtype}"
        )
    if mask is not None:
        want = (q.shape[-2], k.shape[-2])
        if len(mask.shape) == 0 or any(
            m not in (1, w) for m, w in zip(mask.shape[::-1], want[::-1], strict=False)
        ):
            raise ValueError(
                "scaled_dot_product_attention: mask: expected a shape that broadcasts to (..., "
                "queries, keys) = "
                f"{want}, got {mask.shape}"
            )
    return _attention(q, k, v, mask, keep, is_causal=is_causal, dropout=dropout, scale=scale)


def _heads(qkv: Any, heads: int, parts: int = 3) -> list[Any]:
    """Views (..., heads, time, d) of the parts of (..., time, parts * heads * d)."""
    *lead, time, width = qkv.shape
    size = width // parts
    split = (qkv[..., i * size : (i + 1) * size] for i in range(parts))
    return [x.reshape(*lead, time, heads, size // heads).swapaxes(-2, -3) for x in split]


def _merged(x: Any) -> Any:
    """(..., heads, time, d) -> (..., time, heads * d)."""
    *lead, heads, time, d = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, time, heads * d)


@op(
    "qkv keep",
    name="self_attention",
    keeps="qkv keep out weights logs",
    formula="softmax(q kᵀ / √d) v of each head",
    gradient="those of scaled_dot_product_attention, side by side",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 4, 12), None, 2),
        Sample(r(2, 5, 12), None, 2, True),
        Sample(r(5, 6), None, 1, True),
        Sample(r(1, 3, 6), r.bools(1, 2, 3, 3), 2, True, 0.3),
        Sample(r(0, 3, 6), None, 2, True),
    ],
)
def _self_attention(xp, qkv, keep=None, heads=1, is_causal=False, dropout=0.0, recording=False):
    """Attention of a sequence to itself; queries, keys and values are parts of one array."""
    out, weights, logs = _attention.forward(
        xp, *_heads(qkv, heads), None, keep, is_causal, dropout, recording=recording
    )
    return _merged(out), weights, logs


@_self_attention.vjp
def _self_attention_vjp(xp: Any, g: Any, k: Any) -> Any:
    """The three gradients are written where they belong in that of ``qkv``."""
    q, key, v = _heads(k.qkv, k.heads)
    (g,) = _heads(g, k.heads, parts=1)
    (out,) = _heads(k.out, k.heads, parts=1)
    kept = SimpleNamespace(
        q=q, k=key, v=v, mask=None, keep=k.keep, out=out, weights=k.weights, logs=k.logs,
        is_causal=k.is_causal, dropout=k.dropout, scale=None, needs=(True, True, True, False),
    )  # fmt: skip
    dqkv = xp.empty_like(k.qkv)
    into = _heads(dqkv, k.heads)
    tiles = _in_tiles(xp, q, key, v, None, k.is_causal)
    if tiles is not None:
        gradients_by_tiles(tiles, g, kept, _scale(q, None), kept_scale(k.dropout), *into)
    else:
        for place, gradient in zip(into, _attention_vjp(xp, g, kept), strict=False):
            place[...] = gradient
    return dqkv, None


@_self_attention.reference_is
def _self_attention_reference(
    qkv: Any, keep: Any = None, heads: int = 1, is_causal: bool = False, dropout: float = 0.0
) -> Any:
    *lead, time, width = qkv.shape
    q, k, v = (
        swapaxes(reshape(part, (*lead, time, heads, width // 3 // heads)), -2, -3)
        for part in split(qkv, width // 3, axis=-1)
    )
    y = _attention_reference(q, k, v, None, keep, is_causal, dropout)
    return reshape(swapaxes(y, -2, -3), (*lead, time, width // 3))


def self_attention(
    qkv: Any,
    heads: int,
    is_causal: bool = False,
    dropout: float = 0.0,
    generator: random.Generator | None = None,
) -> Any:
    """:func:`scaled_dot_product_attention` of a sequence to itself, in several heads.

    Queries, keys and values come side by side, as one Linear makes them; they are read and their
    gradients written where they lie, which saves 3 to 5% of a training step.

    Args:
        qkv: (..., time, 3 * heads * d): the queries of all heads, then the keys, then the values.
        heads: how many heads. is_causal: no position sees a later one.
        dropout, generator: see :func:`scaled_dot_product_attention`.

    Returns:
        (..., time, heads * d).
    """
    qkv = qkv if isinstance(qkv, Tensor) else Tensor(qkv)
    if isinstance(heads, bool) or not isinstance(heads, int) or heads < 1:
        raise ValueError(f"self_attention: heads: expected an integer >= 1, got {heads!r}")
    if qkv.ndim < 2 or not qkv.shape[-1] or qkv.shape[-1] % (3 * heads):
        raise ValueError(
            f"self_attention: qkv: expected shape (..., time, 3 * {heads} heads * d), got "
            f"{qkv.shape}"
        )
    *lead, time, _ = qkv.shape
    keep = _pattern("self_attention", qkv, (*lead, heads), time, time, dropout, generator)
    return _self_attention(qkv, keep, heads=heads, is_causal=is_causal, dropout=dropout)
