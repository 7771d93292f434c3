"""Gradient clipping by the joint norm of all gradients (Pascanu et al., 2013)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..tensor import Tensor


def refuse_module(params: Any) -> None:
    """Raise TypeError for a module where its parameters are expected."""
    if hasattr(params, "parameters"):
        raise TypeError(
            f"params: expected tensors, got a {type(params).__name__}; pass model.parameters()"
        )
    if callable(params):
        raise TypeError(
            f"params: expected tensors, got a {type(params).__name__}; call it, as in "
            "model.parameters()"
        )


def clip_grad_norm(params: Iterable[Tensor] | Tensor, max_norm: float) -> float:
    """Scale all gradients by one factor so that their joint 2-norm is at most ``max_norm``.

    Parameters without a gradient are skipped. As in PyTorch a norm that is not finite scales by
    NaN or 0, so look at what is returned.

    Args:
        params: tensors.
        max_norm: > 0; infinity only measures.

    Returns:
        The norm before clipping (0.0 where there are no gradients).
    """
    if not max_norm > 0:
        raise ValueError(f"max_norm: expected a number > 0, got {max_norm!r}")
    refuse_module(params)
    tensors = [params] if isinstance(params, Tensor) else params
    grads = list({id(p): p.grad for p in tensors if p.grad is not None}.values())
    totals: dict[Any, Any] = {}  # device -> sum of squares there: one transfer for each device
    for grad in grads:
        flat = grad.data.reshape(-1)
        if flat.dtype.itemsize < 4:
            flat = flat.astype(np.float32)
        square = grad.device.xp.dot(flat, flat)
        totals[grad.device] = totals[grad.device] + square if grad.device in totals else square
    norm = math.sqrt(sum(total.item() for total in totals.values()))
    scale = max_norm / (norm + 1e-6)
    if not scale >= 1.0:
        for grad in grads:
            array = grad.data
            array *= scale
            grad.bump_version()
    return norm
