"""PyTorch's counterparts of reductions, scans and everything about order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .core import _dims


def _over_each(name: str) -> Callable[..., Any]:
    """A reduction over one axis in PyTorch, applied to several, the last one first."""

    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        for dim in sorted((d % x.ndim for d in _dims(x, axis)), reverse=True):
            x = getattr(torch, name)(x, dim=dim, keepdim=keepdims)
        return x

    return run


def _over_all(name: str) -> Callable[..., Any]:
    """A reduction over several axes; PyTorch reads () as all of them, NumPy as none."""

    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        dims = _dims(x, axis)
        return getattr(torch, name)(x, dim=dims, keepdim=keepdims) if dims else x * 1

    return run


def _std(x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    return torch.std(x, dim=_dims(x, axis), keepdim=keepdims, correction=ddof)


def _norm(x: Any, p: float = 2, axis: Any = None, keepdims: bool = False) -> Any:
    out = torch.linalg.vector_norm(x, p, dim=_dims(x, axis) or None, keepdim=keepdims)
    return out + 0 * x.sum() if p == 0 else out  # PyTorch's has no graph for p = 0


def _count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    dims = _dims(x, axis)
    return torch.sum(x != 0, dim=dims, keepdim=keepdims) if dims else (x != 0).long()


def _linear_recurrence(a: Any, b: Any, axis: int, reverse: bool = False) -> Any:
    """One step after the other."""
    states: list[Any] = []
    steps = list(zip(a.unbind(axis), b.unbind(axis), strict=True))
    for a_t, b_t in reversed(steps) if reverse else steps:
        states.append(a_t * states[-1] + b_t if states else b_t)
    return torch.stack(states[::-1] if reverse else states, dim=axis) if states else a * b


def _running(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: int) -> Any:
        if not x.numel():  # PyTorch's gradient of nothing is in the graph itself
            return x * 1, torch.zeros(x.shape, dtype=torch.int64)
        return getattr(torch, name)(x, axis)

    return run


def _topk(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return torch.topk(x, k, dim=axis, largest=largest, sorted=sorted)


def _quantile(
    x: Any, q: Any, axis: Any = None, keepdims: bool = False, interpolation: str = "linear"
) -> Any:
    if not x.numel():  # PyTorch refuses it
        return x.sum(dim=axis, keepdim=keepdims)
    if isinstance(axis, tuple):  # PyTorch knows one axis, or all
        assert not keepdims
        x, axis = x.movedim(axis, tuple(range(-len(axis), 0))).flatten(-len(axis)), -1
    many = torch.tensor(q, dtype=x.dtype) if isinstance(q, tuple) else q
    return torch.quantile(x, many, dim=axis, keepdim=keepdims, interpolation=interpolation)


TORCH: dict[str, Callable[..., Any]] = {
    "prod": _over_each("prod"),
    "std": _std,
    "logsumexp": _over_all("logsumexp"),
    "norm": _norm,
    "count_nonzero": _count_nonzero,
    "nansum": _over_all("nansum"),
    "linear_recurrence": _linear_recurrence,
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "logcumsumexp": torch.logcumsumexp,
    "cummax": _running("cummax"),
    "cummin": _running("cummin"),
    "diff": lambda x, n=1, axis=-1: torch.diff(x, n=n, dim=axis),
    "sort": lambda x, axis=-1, descending=False, stable=False: torch.sort(
        x, dim=axis, descending=descending, stable=stable
    ),
    "argsort": lambda x, axis=-1, descending=False, stable=False: torch.argsort(
        x, dim=axis, descending=descending, stable=stable
    ),
    "topk": _topk,
    "quantile": _quantile,
}

WITHOUT: dict[str, str] = {}
