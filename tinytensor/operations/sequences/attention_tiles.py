"""Attention on the CPU by tiles of queries: FlashAttention (Dao et al. 2022, arXiv:2205.14135).

A tile is some queries of some heads with all the keys that they may see. Its scores stay in the
processor's cache through all passes; keys behind the causal diagonal are left out where a whole
tile lies before them; and of long sequences nothing is kept that grows with the square of their
length: backward computes the weights again (Rabe and Staats 2021, arXiv:2112.05682).

Scores lie transposed here, (keys, queries): sums over the keys are then products with a row of
ones, what there is one of per query is a row that NumPy adds and multiplies at full speed, and no
product is of the kind ``a @ b.T``, for which OpenBLAS has no fast routine where matrices are small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

#: queries of a tile, and about how many scores it has
_QUERIES, _SCORES = 32, 1 << 18
#: up to so many keys the weights are kept for backward: computing them again takes backward 1.4
#: times as long
_KEPT = 512
#: sums of exponentials that say that no exponential overflowed, and none that counts fell to 0
_SAFE = 1e-25, 1e25


@lru_cache(maxsize=64)
def hidden(n: int) -> np.ndarray:
    """(n, n): True where the key (row) comes after the query (column)."""
    return np.tri(n, n, -1, dtype=bool)


def turned(x: Any, scale: float) -> Any:
    """scale · x with its last two axes swapped, contiguous."""
    out = np.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return np.multiply(np.swapaxes(x, -1, -2), scale, out=out)


class Tiles:
    """How one attention is cut into tiles.

    Args:
        lead: axes before the last two, at least one. rows, columns: numbers of queries and of keys;
            no more queries than keys.
        is_causal: the last query sees every key, each earlier one a key less.
    """

    def __init__(self, lead: tuple[int, ...], rows: int, columns: int, is_causal: bool):
        self.lead, self.rows, self.columns, self.is_causal = lead, rows, columns, is_causal
        self.queries = min(rows, _QUERIES)
        self.entries = max(1, _SCORES // (math.prod(lead[1:]) * self.queries * columns))
        self.keeps_weights = columns <= _KEPT

    def groups(self) -> Iterator[slice]:
        """Along the first axis: those whose scores fit in the cache together."""
        for a in range(0, self.lead[0], self.entries):
            yield slice(a, min(a + self.entries, self.lead[0]))

    def each(self) -> Iterator[tuple[slice, int]]:
        """Some queries and how many keys they see; the last ones, which see all, come first."""
        for i in reversed(range(0, self.rows, self.queries)):
            j = min(i + self.queries, self.rows)
            yield slice(i, j), (j + self.columns - self.rows if self.is_causal else self.columns)

    def weights(self, dtype: Any) -> Any:
        """One array for the weights of all tiles."""
        area = sum((queries.stop - queries.start) * seen for queries, seen in self.each())
        return np.empty(math.prod(self.lead) * area, dtype)

    def scratch(self, dtype: Any) -> Any:
        """One array for the scores of any one tile."""
        lead = (min(self.entries, self.lead[0]), *self.lead[1:])
        return np.empty(math.prod(lead) * self.columns * self.queries, dtype)


def _scores(
    tiles: Tiles, keys: Any, q: Any, scale: float, memory: Any, start: int
) -> tuple[Any, int]:
    """keys @ qᵀ · scale with hidden keys at -inf, laid down in ``memory``, and where that ends."""
    shape = (*keys.shape[:-1], q.shape[-2])
    stop = start + math.prod(shape)
    s = np.matmul(keys, turned(q, scale), out=memory[start:stop].reshape(shape))
    if tiles.is_causal:
        n = q.shape[-2]
        np.copyto(s[..., s.shape[-2] - n :, :], -math.inf, where=hidden(n))
    return s, stop


def _exponentials(s: Any) -> tuple[Any, Any]:
    """exp(s - top) into ``s``, their sums, and top, which is the largest score of each query."""
    top = s.max(axis=-2, keepdims=True)
    s -= np.where(top == -math.inf, 0, top)
    np.exp(s, out=s)
    total = s.sum(axis=-2, keepdims=True)
    total += total == 0  # all -inf: the weights are 0
    return total, top


def forward(
    tiles: Tiles, q: Any, k: Any, v: Any, keep: Any, scale: float, kept: float, recording: bool
) -> tuple[Any, Any, Any]:
    """Attention of arrays of one dtype, with the leading axes of ``tiles``.

    Args:
        q, k, v: (*lead, rows, d), (*lead, columns, d), (*lead, columns, dv).
        keep: booleans (*lead, rows, columns), False where dropout zeroes a weight, or None.
        scale: of the scores. kept: what the weights that dropout keeps are multiplied by.

    Returns:
        The output (*lead, rows, dv), laid out in memory as q is (merging heads then needs no
        copy); and where ``recording`` what backward needs to have the weights, each None if it
        does not: the weights of all tiles in one array, or the logarithm of the sum of exponentials
        of each query (*lead, 1, rows).
    """
    out = np.empty_like(q, shape=(*q.shape[:-1], v.shape[-1]))
    packed = tiles.weights(q.dtype) if recording and tiles.keeps_weights else None
    logs = None
    if recording and packed is None:
        logs = np.empty((*tiles.lead, 1, tiles.rows), q.dtype)
    memory = tiles.scratch(q.dtype) if packed is None else packed
    ones = np.ones((1, tiles.columns), q.dtype)
    start, large = 0, False
    for group in tiles.groups():
        for queries, seen in tiles.each():
            at = (group, ..., queries, slice(None))
            operands = (k[group, ..., :seen, :], q[at], scale, memory, start)
            s, stop = _scores(tiles, *operands)
            if not large:
                # to subtract the largest score first is seldom needed, and costs two passes of
                # five, 3% of a training step: the sums tell when it was
                with np.errstate(over="ignore"):
                    np.exp(s, out=s)
                    total, top = ones[:, :seen] @ s, 0
                large = not (_SAFE[0] < total.min() and total.max() < _SAFE[1])
                if large:
                    s, stop = _scores(tiles, *operands)
            if large:
                total, top = _exponentials(s)
            if logs is not None:
                logs[group, ..., queries] = np.log(total) + top
            s /= total
            if keep is not None:
                s = s * np.swapaxes(keep[at][..., :seen], -1, -2)
            y = np.matmul(np.swapaxes(s, -1, -2), v[group, ..., :seen, :], out=out[at])
            if keep is not None:
                y *= kept
            start = stop if packed is not None else 0
    return out, packed, logs


def backward(
    tiles: Tiles, g: Any, k: Any, scale: float, kept: float, dq: Any, dk: Any, dv: Any
) -> None:
    """Write the gradients of q, k and v into ``dq``, ``dk``, ``dv``, from ``g``, the output's.

    ``k`` has what :func:`forward` got and what it returned, as q, k, v, keep, out, weights, logs.
    """
    q, key, value = k.q, k.k, k.v
    # Σ_j w_ij p_ij of each query, which is g · out; scaled as the scores' gradient is
    along = np.vecdot(g, k.out)[..., None, :]
    along *= scale / kept
    scratch = tiles.scratch(q.dtype)
    memory = tiles.scratch(q.dtype) if k.weights is None else k.weights
    start = 0
    for group in tiles.groups():
        for queries, seen in tiles.each():
            at, before = (group, ..., queries, slice(None)), (group, ..., slice(seen), slice(None))
            rows = g[at]
            if k.weights is None:
                w, _ = _scores(tiles, key[before], q[at], scale, memory, 0)
                w -= k.logs[group, ..., queries]
                np.exp(w, out=w)
            else:
                stop = start + math.prod(key[before].shape[:-1]) * rows.shape[-2]
                w = memory[start:stop].reshape(*key[before].shape[:-1], rows.shape[-2])
                start = stop
            s = scratch[: w.size].reshape(w.shape)
            np.matmul(value[before], turned(rows, scale), out=s)
            used = w
            if k.keep is not None:
                open_ = np.swapaxes(k.keep[at][..., :seen], -1, -2)
                s *= open_
                used = w * open_
                rows = rows * kept
            s -= along[group, ..., queries]
            s *= w
            if k.keep is not None:
                s *= kept
            np.matmul(np.swapaxes(s, -1, -2), key[before], out=dq[at])
            for out, a, b in ((dv[before], used, rows), (dk[before], s, q[at])):
                if queries.stop == tiles.rows:  # the first tile, and it sees all keys
                    np.matmul(a, b, out=out)
                else:
                    out += a @ b
