"""PyTorch's counterparts of the ops that gather and scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _explicit(x: Any, index: tuple) -> tuple[Any, ...]:
    """The index without negative steps, which torch has not."""
    return tuple(
        torch.tensor(range(x.shape[axis])[part])
        if isinstance(part, slice) and (part.step or 1) < 0
        else part
        for axis, part in enumerate(index)
    )


def _index_set(x: Any, v: Any, index: tuple) -> Any:
    out = x.clone()
    out[_explicit(x, index)] = v
    return out


def _index_add_at(x: Any, v: Any, index: tuple) -> Any:
    if not any(torch.is_tensor(part) for part in index):
        return _index_set(x, x[index] + v, index)
    filled = []  # index_put takes tensors only
    for axis, part in enumerate(index):
        if torch.is_tensor(part):
            filled.append(part)
        else:
            filled.append(torch.arange(x.shape[axis])[part, None])
    place = x[tuple(filled)].shape
    v = v.reshape(v.shape[max(v.ndim - len(place), 0) :]).expand(place)
    return x.index_put(tuple(filled), v, accumulate=True)


TORCH: dict[str, Callable[..., Any]] = {
    "gather": lambda x, index, axis: torch.gather(x, axis, index),
    "index_set": _index_set,
    "index_add_at": _index_add_at,
    "scatter_add": lambda x, index, src, axis: torch.scatter_add(x, axis, index, src),
    "nonzero": lambda x: torch.nonzero(x, as_tuple=True),
}

WITHOUT: dict[str, str] = {}
