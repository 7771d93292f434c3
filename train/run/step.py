"""The gradients of a training step, and a look ahead at those of the next one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import random
from ..checkpoint import Checkpoint
from ..optim.clip import clip_grad_norm
from .folder import last_checkpoint

if TYPE_CHECKING:
    from ..parallel.data_parallel import DataParallel
    from .trainer import Trainer


class TrainingError(RuntimeError):
    """Training cannot go on: the loss, a gradient or a weight is no longer a number."""


def gradients(trainer: Trainer, parallel: DataParallel | None, limit: float) -> tuple[float, float]:
    """Forward and backward of the next batches, ``config.accumulate`` of them.

    Args:
        parallel: the processes that share them; None for this one alone.
        limit: in one process the gradients are scaled so that their joint norm is at most this;
            in several that is left to the update.

    Returns:
        The mean loss, and the norm of the gradients before they were scaled.
    """
    config = trainer.config
    total = 0.0
    for _ in range(config.accumulate):
        batch = trainer.task.batch(config.batch_size)
        if parallel is not None:
            total += parallel.backward(*batch, scale=1.0 / config.accumulate)
            continue
        loss = trainer.model.loss(*batch)
        total += loss.item()
        (loss if config.accumulate == 1 else loss * (1.0 / config.accumulate)).backward()
        del loss  # and with it the graph, before the next one is made
    if parallel is not None:
        return total / config.accumulate, parallel.reduce()
    return total / config.accumulate, clip_grad_norm(trainer.optimizer.parameters(), limit)


def look_ahead(trainer: Trainer, parallel: DataParallel | None) -> tuple[float, float]:
    """Loss and norm of the gradient that the next step will have; everything stays as it is.

    The same batch is drawn as that step will draw, with the same dropout; the generators, the
    model's buffers (running means) and the gradients, of which there are none between two steps,
    are put back.
    """
    states = random.state()
    buffers = [(buffer, buffer.data.copy()) for buffer in trainer.model.buffers()]
    try:
        return gradients(trainer, parallel, math.inf)
    finally:
        trainer.optimizer.zero_grad()
        random.set_state(states)
        for buffer, before in buffers:
            buffer.data[...] = before


def refuse_spoilt(trainer: Trainer, parallel: DataParallel | None, state: Checkpoint) -> None:
    """Raise TrainingError for a checkpoint, of this moment, from which the run could not go on."""
    step = trainer.step
    bad = not_finite(state)
    if bad is not None:
        raise diverged(trainer, f"step {step}: {bad} is not finite any more")
    loss, norm = look_ahead(trainer, parallel)
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise diverged(
            trainer,
            f"step {step + 1} would have loss {loss}, norm of the gradient {norm}, so step {step} "
            "was not saved",
        )


def diverged(trainer: Trainer, what: str) -> TrainingError:
    """The error to raise: what is not finite, what may help, and from where the run can go on."""
    folder, config = trainer.run_folder, trainer.config
    now, lower = trainer.schedule(max(0, trainer.step - 1)), config.lr / 10
    what += f"; a lower lr (now {now:.2g}) or clip may help{last_checkpoint(folder)}"
    if folder is not None and folder.saved_step is not None and lower:
        settings = ["--lr", f"{lower:g}"]
        if config.min_lr is not None and config.min_lr > lower:
            settings += ["--min-lr", f"{lower:g}"]
        what += f"; go on from it with a lower lr: {folder.command(*settings)}"
    return TrainingError(what)


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
    return all(bool(np.isfinite(flat[i : i + piece]).all()) for i in range(0, flat.size, piece))
