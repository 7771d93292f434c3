"""What all losses share: how they are summed up, and checks of their shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..reductions import sum_mean_max as reduce

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str, allowed: tuple[str, ...] = REDUCTIONS) -> None:
    """Raise ValueError unless ``reduction`` is one of the ways a loss can be summed up."""
    if reduction not in allowed:
        raise ValueError(f"reduction: expected one of {allowed}, got {reduction!r}")


def fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of the shape ``given`` broadcasts to ``shape``."""
    return len(given) <= len(shape) and all(
        n in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False)
    )


def floats_of_one_shape(
    xp: Any, prediction: Any, target: Any, of: str = "prediction", name: str = "target"
) -> tuple[Any, Any]:
    """Both in a floating dtype, integers made into the dtype of the other or float32.

    Raises ValueError where their shapes differ: broadcasting (N, 1) against (N,) would average a
    table of N x N differences without a word.
    """
    want, got = getattr(prediction, "shape", ()), getattr(target, "shape", ())
    if want != got:
        raise ValueError(
            f"{name}: expected the shape of {of}, that is, shape {want}, got {got}; reshape one of "
            "them (they are not broadcast)"
        )
    kinds = [getattr(a, "dtype", None) for a in (prediction, target)]
    floats = [d for d in kinds if d is not None and d.kind == "f"]
    if len(floats) == 2:
        return prediction, target
    dtype = np.result_type(*floats) if floats else np.float32
    return xp.asarray(prediction, dtype), xp.asarray(target, dtype)


def reduced(xp: Any, loss: Any, reduction: str) -> Any:
    """The loss per element as its mean, its sum or as it is; the mean of nothing is NaN."""
    if reduction == "none":
        return loss
    whole = xp.sum(loss)
    return whole if reduction == "sum" else whole * share(loss.shape, reduction)


def total(loss: Any, reduction: str) -> Any:
    """The same from primitives, for the references."""
    if reduction == "none":
        return loss
    if reduction == "mean" and loss.size:
        return reduce.mean(loss)
    whole = reduce.sum(loss)
    return whole if reduction == "sum" else whole * share(loss.shape, reduction)


def share(shape: tuple[int, ...], reduction: str) -> float:
    """1 / n for a mean over n elements (or rows: "batchmean"); NaN where there are none."""
    n = math.prod(shape[:1] if reduction == "batchmean" else shape)
    return 1 / n if n else math.nan


def spread(g: Any, k: Any) -> Any:
    """The gradient of each element of the loss from ``g``, that of the reduced loss."""
    if k.reduction in ("none", "sum"):
        return g
    meta = k.node.in_meta[0] or k.node.in_meta[1]
    return g * share(meta[0], k.reduction)
