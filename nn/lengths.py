"""Sequences of several lengths in one batch: a layer reads each up to its own end, no further.

Sequences lie with the longest first. Then time falls into pieces, in each of which the sequences
that still run are the first few of the batch: a layer goes over one piece after the other, and
neither are the padded steps read nor is time spent on them. (PyTorch packs the batch for that.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import operations
from ..tensor.tensor import Tensor

#: how many steps, and how many sequences run for all of them
Piece = tuple[int, int]
#: one layer: x (steps, rows, input) and first states (rows, hidden) -> outputs and last states
Layer = Callable[[Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]


def check_lengths(lengths: Any, batch: int, time: int) -> np.ndarray:
    """How long each sequence is, (batch,) integers from 1 to ``time``, on the host.

    Raises:
        TypeError: they are no integers. ValueError: they are not one for each sequence, or one is
        not in 1..time.
    """
    given = lengths.detach().numpy() if isinstance(lengths, Tensor) else np.asarray(lengths)
    if given.dtype.kind not in "iu":
        raise TypeError(f"lengths: expected integers, got {given.dtype}")
    if given.shape != (batch,):
        raise ValueError(f"lengths: expected shape ({batch},), one a sequence, got {given.shape}")
    for i, length in enumerate(given.tolist()):
        if not 1 <= length <= time:
            raise ValueError(
                f"lengths: expected 1 to {time}, the steps of x, got {length} for sequence {i}"
            )
    return given


def pieces_of(lengths: np.ndarray) -> list[Piece]:
    """The pieces, in the order of time, of sequences of these lengths."""
    ends = np.unique(lengths)
    steps = np.diff(ends, prepend=0)
    return [(int(n), int((lengths >= end).sum())) for n, end in zip(steps, ends, strict=True)]


def order_of(lengths: np.ndarray) -> np.ndarray | None:
    """The order with the longest first, None where it is that already."""
    if (np.diff(lengths.astype(np.int64)) <= 0).all():
        return None
    return np.argsort(-lengths.astype(np.int64), kind="stable")


def reordered(x: Tensor, order: np.ndarray | None, axis: int = 1) -> Tensor:
    """``x`` with its sequences, which are along ``axis``, in another order."""
    return x if order is None else x[(slice(None),) * axis + (order,)]


def _first(x: Tensor, rows: int, axis: int) -> Tensor:
    """The first ``rows`` sequences."""
    if rows == x.shape[axis]:
        return x
    return x[(slice(None),) * axis + (slice(rows),)]


def forwards(layer: Layer, x: Tensor, states: list[Tensor], pieces: Sequence[Piece]) -> Any:
    """A layer over x (time, batch, input), from ``states`` (batch, hidden) on.

    Returns:
        Outputs (time, batch, hidden), zeros behind the end of a sequence, and the states at the end
        of each.
    """
    outputs, ends = [], []
    rest = [rows for _, rows in pieces[1:]] + [0]
    for part, (_, rows), going_on in zip(_cut(x, pieces), pieces, rest, strict=True):
        y, states = layer(_first(part, rows, 1), states)
        outputs.append(y)
        if going_on < rows:
            ends.append([s[going_on:] if going_on else s for s in states])
            states = [_first(s, going_on, 0) for s in states]
    return _joined(outputs, x), [_concat(list(parts), 0) for parts in zip(*ends[::-1], strict=True)]


def backwards(layer: Layer, x: Tensor, states: list[Tensor], pieces: Sequence[Piece]) -> Any:
    """A layer over x as :func:`forwards`, but from the last step of each sequence to its first."""
    outputs: list[Tensor] = []
    first, states, running = states, [], 0
    for part, (_, rows) in zip(_cut(x, pieces)[::-1], pieces[::-1], strict=True):
        new = [_first(s, rows, 0) for s in first]
        if running:
            new = [_concat([s, n[running:]], 0) for s, n in zip(states, new, strict=True)]
        y, states = layer(operations.flip(_first(part, rows, 1), 0), new)
        outputs.append(operations.flip(y, 0))
        running = rows
    return _joined(outputs[::-1], x), states


def _concat(parts: list[Tensor], axis: int) -> Tensor:
    return operations.concat(parts, axis=axis) if len(parts) > 1 else parts[0]


def _cut(x: Tensor, pieces: Sequence[Piece]) -> list[Tensor]:
    """``x`` piece by piece, without the steps that no sequence has."""
    steps = [n for n, _ in pieces]
    if len(steps) == 1 and steps[0] == len(x):
        return [x]
    return list(operations.split(x, [*steps, len(x) - sum(steps)])[: len(steps)])


def _joined(outputs: list[Tensor], x: Tensor) -> Tensor:
    """Outputs of the pieces as those of the batch, (time, batch, hidden), padded with zeros."""
    batch, steps = x.shape[1], len(x) - sum(map(len, outputs))
    outputs = [
        y if y.shape[1] == batch else operations.pad(y, ((0, 0), (0, batch - y.shape[1]), (0, 0)))
        for y in outputs
    ]
    y = _concat(outputs, 0)
    return operations.pad(y, ((0, steps), (0, 0), (0, 0))) if steps else y
