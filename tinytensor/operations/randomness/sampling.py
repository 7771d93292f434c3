"""Draws from a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import random
from ...tensor.axes import as_tensor, whole
from ...tensor.tensor import Tensor, make


def multinomial(
    probs: Any,
    num_samples: int,
    replacement: bool = False,
    generator: random.Generator | None = None,
) -> Tensor:
    """Indices drawn with given probabilities: (..., k) -> (..., num_samples), int64.

    Numbers are drawn on the host in float64, so a seed gives the same on every device. There is no
    gradient.

    Args:
        probs: (k,), or rows (..., k), of numbers >= 0; what counts is their share of a row's sum.
        num_samples: how many indices to draw for each row.
        replacement: whether an index may be drawn again. If not, each is drawn among those that
            are left, with their probabilities.
        generator: source of randomness, the one named "sample" if None.

    Raises:
        ValueError: a number is negative, NaN or infinite, all of a row are 0, or there are fewer
            above 0 than are to be drawn without replacement.
    """
    probs = as_tensor(probs)
    source = random.source(generator, "sample")
    n = whole("multinomial: num_samples", num_samples)
    if n < 1:
        raise ValueError(f"multinomial: num_samples: expected an integer >= 1, got {n}")
    if not probs.ndim or not probs.shape[-1]:
        raise ValueError(
            f"multinomial: probs: expected (..., k) with k >= 1 numbers, got shape {probs.shape}"
        )
    weights = np.asarray(probs.device.to_host(probs.data), dtype=np.float64)
    wrong = ~((weights >= 0) & (weights < math.inf))
    if wrong.any():
        raise ValueError(
            f"multinomial: probs: expected finite numbers >= 0, got {weights[wrong][0]} at "
            f"{tuple(int(i) for i in np.argwhere(wrong)[0])}"
        )
    least = 1 if replacement else n
    few = np.atleast_1d((weights > 0).sum(axis=-1) < least)
    if few.any():
        row = "" if probs.ndim == 1 else f" in row {tuple(int(i) for i in np.argwhere(few)[0])}"
        enough = "" if least == 1 else f", to draw {n} different indices (replacement=False)"
        raise ValueError(f"multinomial: probs: expected at least {least} above 0{row}{enough}")
    weights = weights / weights.max(axis=-1, keepdims=True)  # whose sum cannot overflow
    drawn = (source.categorical if replacement else source.distinct)(weights, n)
    return make(probs.device.from_host(drawn))
