"""PyTorch's counterparts of the ops that rearrange, repeat, pad and cut into windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def _roll(x: Any, shift: tuple[int, ...], axis: tuple[int, ...] | None = None) -> Any:
    return torch.roll(x, shift) if axis is None else torch.roll(x, shift, axis)


def _repeat(x: Any, repeats: Any, axis: int) -> Any:
    counts = repeats if isinstance(repeats, int) else torch.tensor(repeats)
    return torch.repeat_interleave(x, counts, dim=axis)


def _tile(x: Any, reps: Any) -> Any:
    return torch.tile(x, reps if isinstance(reps, tuple) else (reps,))


def _pad(x: Any, pad_width: tuple, mode: str = "constant", value: float = 0.0) -> Any:
    """PyTorch's pad where it is defined; elsewhere NumPy says which element goes where."""
    flat = [n for pair in reversed(pad_width) for n in pair]
    if mode == "constant":
        return torch.nn.functional.pad(x, flat, value=value) if flat else x
    for axis, width in enumerate(pad_width):
        if any(width):
            order = np.pad(np.arange(x.shape[axis]), width, mode=mode)
            x = x.index_select(axis, torch.from_numpy(order))
    return x


def _pad_grad(g: Any, pad_width: tuple, mode: str = "constant") -> Any:
    """PyTorch's own gradient of the padding, as a function of the upstream gradient."""
    shape = [n - b - a for n, (b, a) in zip(g.shape, pad_width, strict=True)]
    x = torch.zeros(shape, dtype=g.dtype, requires_grad=True)
    (out,) = torch.autograd.grad(_pad(x, pad_width, mode), x, g, create_graph=True)
    return out


def _overlap_add(x: Any, axis: int, length: int, step: int = 1) -> Any:
    """PyTorch's own gradient of unfold."""
    shape = list(x.shape[:-1])
    shape[axis] = length
    return torch.ops.aten.unfold_backward(x, shape, axis % len(shape), x.shape[-1], step)


def _diag_embed(
    x: Any, shape: tuple[int, ...], offset: int = 0, axis1: int = -2, axis2: int = -1
) -> Any:
    """diag_embed itself where the matrices are square, a scatter where they are not."""
    if shape[axis1] == shape[axis2] == x.shape[-1] + abs(offset):
        return torch.diag_embed(x, offset, axis1, axis2)
    return torch.diagonal_scatter(torch.zeros(shape, dtype=x.dtype), x, offset, axis1, axis2)


_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _interpolate(
    x: Any, size: tuple[int, ...], step: Any, nearest: bool = True, corners: bool = False
) -> Any:
    if nearest:
        return torch.nn.functional.interpolate(x, size, mode="nearest")
    mode = _LINEAR[len(size)]
    return torch.nn.functional.interpolate(x, size, mode=mode, align_corners=corners)


def _interpolate_grad(g: Any, size: tuple[int, ...], *rest: Any, **settings: Any) -> Any:
    """PyTorch's own gradient, as a function of the upstream gradient."""
    x = torch.zeros((*g.shape[:2], *size), dtype=g.dtype, requires_grad=True)
    out = _interpolate(x, tuple(g.shape[2:]), *rest, **settings)
    return torch.autograd.grad(out, x, g, create_graph=True)[0]


TORCH: dict[str, Callable[..., Any]] = {
    "flip": lambda x, axis=None: x.flip(tuple(range(x.ndim)) if axis is None else axis),
    "roll": _roll,
    "rot90": torch.rot90,
    "repeat": _repeat,
    "tile": _tile,
    "pad": _pad,
    "pad_grad": _pad_grad,
    "unfold": lambda x, axis, size, step=1: x.unfold(axis, size, step),
    "overlap_add": _overlap_add,
    "interpolate": _interpolate,
    "interpolate_grad": _interpolate_grad,
    "unbind": lambda x, axis=0: torch.unbind(x, axis),
    "diagonal": torch.diagonal,
    "diag_embed": _diag_embed,
    "trace": lambda x, offset=0, axis1=0, axis2=1: torch.diagonal(x, offset, axis1, axis2).sum(-1),
}

WITHOUT: dict[str, str] = {}
