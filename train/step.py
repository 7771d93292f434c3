"""The gradients of a training step, and a look ahead at those of the next one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import random
from .checkpoint import Checkpoint
from .clip import clip_grad_norm

if TYPE_CHECKING:
    from .trainer import Trainer


class TrainingError(RuntimeError):
    """Training cannot go on: the loss, a gradient or a weight is no longer a number."""


def gradients(trainer: Trainer, limit: float) -> tuple[float, float]:
    """Forward and backward of the next batches, ``config.accumulate`` of them.

    Args:
        limit: in one process the gradients are scaled so that their joint norm is at most this;
            in several that is left to the update.

    Returns:
        The mean loss, and the norm of the gradients before they were scaled.
    """
    config, parallel = trainer.config, trainer.parallel
    total = 0.0
    for _ in range(config.accumulate):
        x, y = trainer.data.batch(config.batch_size)
        if parallel is not None:
            total += parallel.backward(x, y, 1.0 / config.accumulate)
            continue
        loss = trainer.model(x, y)[1]
        total += loss.item()
        (loss if config.accumulate == 1 else loss * (1.0 / config.accumulate)).backward()
        del loss  # and with it the graph, before the next one is made
    if parallel is not None:
        return total / config.accumulate, parallel.reduce()
    return total / config.accumulate, clip_grad_norm(trainer.optimizer.parameters(), limit)


def look_ahead(trainer: Trainer) -> tuple[float, float]:
    """Loss and norm of the gradient that the next step will have; everything stays as it is.

    The same batch is drawn as that step will draw, with the same dropout; the generators, the
    model's buffers (running means) and the gradients, of which there are none between two steps,
    are put back.
    """
    states = random.state()
    buffers = [(buffer, buffer.data.copy()) for buffer in trainer.model.buffers()]
    try:
        return gradients(trainer, math.inf)
    finally:
        trainer.optimizer.zero_grad()
        random.set_state(states)
        for buffer, before in buffers:
            buffer.data[...] = before


def not_finite(checkpoint: Checkpoint) -> str | None:
    """The first array of weights or of the optimiser's state that holds NaN or infinity."""
    state: dict[str, Any] = checkpoint.optimizer["arrays"]
    for what, arrays in (("weight", checkpoint.weights), ("optimiser state", state)):
        for name, array in arrays.items():
            if not all_finite(array):
                return f"{what} {name}"
    return None


def all_finite(array: np.ndarray) -> bool:
    """Whether an array holds neither NaN nor infinity."""
    if array.dtype.kind not in "fc":
        return True
    flat, piece = array.reshape(-1), 1 << 16  # in pieces that stay in the cache
    return all(
        bool(np.isfinite(flat[i : i + piece]).all()) for i in range(0, flat.size, piece)
    )
