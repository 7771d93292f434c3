"""Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import random
from ...define.op import op
from ...define.samples import Sample
from ...tensor.axes import as_tensor
from ...tensor.tensor import make
from ..elementwise.choosing import where


@op(
    "x keep",
    name="dropout",
    keeps="keep",
    formula="x · keep / (1 - p)",
    gradient="dx = g keep / (1 - p)",
    samples=lambda r: [
        Sample(r(3, 4), r.bools(3, 4), 0.5),
        Sample(r(6), r.bools(6), 0.1),
        Sample(r(0, 3), r.bools(0, 3), 0.5),
    ],
)
def _dropout(xp, x, keep, p):
    """Zero where ``keep`` is False, the rest scaled up by 1 / (1 - p)."""
    out = x * kept_scale(p)
    out *= keep
    return out


@_dropout.vjp
def _dropout_vjp(xp: Any, g: Any, k: Any) -> Any:
    return g * kept_scale(k.p) * k.keep, None


@_dropout.reference_is
def _dropout_reference(x: Any, keep: Any, p: float) -> Any:
    return where(keep, x * kept_scale(p), 0.0)


def kept_scale(p: float) -> float:
    """What the elements that dropout keeps are multiplied by; where p is 1 it keeps none."""
    return 1 / (1 - p) if p < 1 else 1.0


def keep_mask(x: Any, shape: tuple[int, ...], p: float, generator: random.Generator | None) -> Any:
    """A boolean tensor on x's device, each element True with probability ``1 - p``."""
    if not 0 <= p <= 1:
        raise ValueError(f"p: expected a probability 0 <= p <= 1, got {p}")
    return make(x.device.from_host(random.source(generator, "dropout").coins(shape, 1 - p)))


def dropout(
    x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None
) -> Any:
    """Inverted dropout (Srivastava et al. 2014): zero each element with probability ``p`` and scale
    the rest by ``1 / (1 - p)``; ``x`` itself where ``training`` is False or ``p`` is 0, and zeros
    where ``p`` is 1.

    ``generator`` defaults to the named generator "dropout".
    """
    x = as_tensor(x)
    if not (isinstance(p, (int, float, np.floating)) and 0 <= p <= 1):
        raise ValueError(f"dropout: p: expected a probability 0 <= p <= 1, got {p}")
    if not training or p == 0:
        return x
    return _dropout(x, keep_mask(x, x.shape, p, generator), p=p)
