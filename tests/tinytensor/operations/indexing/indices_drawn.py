"""Indices of every kind, drawn by Hypothesis; what NumPy makes of them; changes there by loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ...helpers import const

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


@st.composite
def mixed_indices(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A tuple for an array of ``shape``: slices, integers, None, Ellipsis, booleans, integer arrays
    and masks of several axes, mostly ones that NumPy can broadcast."""
    length = draw(st.integers(0, 3))
    lengths = st.sampled_from([(length,), (length,), (1,), (2, length), (2, 1), ()])
    parts: list[Any] = []
    axis, dots = 0, False
    while True:
        left = len(shape) - axis
        kinds = ["None", "flag", "stop"] + ["slice", "array", "array", "mask", "int"] * (left > 0)
        kind = draw(st.sampled_from(kinds + ["dots"] * (not dots)))
        if kind == "stop" or len(parts) == 6:
            return tuple(parts)
        if kind == "None":
            parts.append(None)
        elif kind == "flag":
            parts.append(draw(st.booleans()))
        elif kind == "dots":
            parts.append(...)
            dots = True
            axis += draw(st.integers(0, left))
        elif kind == "slice":
            parts.append(draw(st.slices(shape[axis])))
            axis += 1
        elif kind == "mask":
            axes = draw(st.integers(1, left))
            parts.append(draw(hnp.arrays(bool, shape[axis : axis + axes])))
            axis += axes
        else:
            n = shape[axis]
            if not n:
                parts.append(slice(None))
            elif kind == "int":
                parts.append(draw(st.integers(-n, n - 1)))
            else:
                values = st.integers(-n, n - 1)
                parts.append(draw(hnp.arrays(np.int64, draw(lengths), elements=values)))
            axis += 1


@st.composite
def as_given(draw: st.DrawFn, index: tuple[Any, ...]) -> Any:
    """The same index as a user might write it: arrays as tensors, lists, tuples or NumPy arrays."""

    def dress(part: Any) -> Any:
        if isinstance(part, bool):
            return draw(st.sampled_from([part, np.bool_(part), const(part, bool)]))
        if not isinstance(part, np.ndarray):
            return part
        ways = [lambda: part, lambda: const(part, part.dtype)]
        if part.ndim and part.size:
            ways += [lambda: part.tolist(), lambda: tuple(part.tolist())]
        return draw(st.sampled_from(ways))()

    parts = tuple(dress(part) for part in index)
    if len(parts) == 1 and not isinstance(parts[0], tuple) and draw(st.booleans()):
        return parts[0]
    return parts


def places(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray | None:
    """Flat positions that NumPy reads at ``index``; None where it refuses the index."""
    try:
        return np.arange(int(np.prod(shape))).reshape(shape)[index]
    except IndexError:
        return None


@st.composite
def value_shapes(draw: st.DrawFn, place: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that NumPy's assignment broadcasts to ``place``."""
    shape = tuple(draw(st.sampled_from([n, n, n, 1])) for n in place)
    shape = shape[draw(st.integers(0, len(shape))) :]
    return (1,) * draw(st.sampled_from([0, 0, 1])) + shape


def by_loop(
    kind: str, x: np.ndarray, v: np.ndarray, at: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, gradient of x and gradient of v (one number for each position written), one position
    after the other in C order."""
    out, dx, dv = x.copy().reshape(-1), g.copy().reshape(-1), np.zeros(v.size)
    where, values, up = at.reshape(-1), v.reshape(-1), g.reshape(-1)
    for p in set(where.tolist()):
        (writers,) = np.nonzero(where == p)
        if kind == "add":
            out[p] += values[writers].sum()
            dv[writers] = up[p]
        elif kind == "set":
            out[p] = values[writers[-1]]
            dx[p] = 0
            dv[writers[-1]] = up[p]
        else:
            for w in writers:
                dv[w] = up[p] * out[p] * np.prod(values[writers[writers != w]])
            dx[p] *= np.prod(values[writers])
            out[p] *= np.prod(values[writers])
    return out.reshape(x.shape), dx.reshape(x.shape), dv.reshape(v.shape)
