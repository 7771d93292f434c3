"""What a run is made of: its data and its optimiser, new or as a checkpoint has them, and what a
checkpoint keeps of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import random
from ...models import Model
from ..checkpoint import Checkpoint, CheckpointError
from ..config import TrainConfig
from ..data.difference import origin_difference
from ..data.files import absolute_names
from ..given.words import shortened
from ..optim import SGD, Adagrad, AdamW, Optimizer, param_groups
from ..results.restore import Restored
from ..tasks import Task
from .folder import RunFolder

if TYPE_CHECKING:
    from .trainer import Trainer


def compare_data(task: Task, names: Sequence[str] | None, saved: Restored) -> tuple[bool, str]:
    """Whether the data are those of a checkpoint, and what is known of the reason if not, or "".

    Args:
        names: of the files, absolute; None where it is none of files.

    Raises:
        DataError: their vocabularies differ.
    """
    if saved.text == task.fingerprint:
        task.refuse_other(saved.task, "")  # a setting may choose among the words of a text
        return True, ""
    named = saved.config.data
    same_names = names == (None if named is None else absolute_names(named))
    note = origin_difference(saved.origin, task.origin, same_names)
    task.refuse_other(saved.task, note)
    return False, note


def folder_of(config: TrainConfig, folder: str | Path | RunFolder | None) -> RunFolder | None:
    """The folder of a run, the one given before the settings'; None where nothing is written."""
    chosen = config.out if folder is None else folder
    return RunFolder(chosen) if isinstance(chosen, (str, os.PathLike)) else chosen


def optimizer_of(config: TrainConfig, model: Model[Any]) -> Optimizer:
    """The optimiser that the settings ask for."""
    groups = param_groups(model, config.weight_decay)
    if config.optimizer == "sgd":
        return SGD(groups, config.lr, config.beta1)
    if config.optimizer == "adagrad":
        return Adagrad(groups, config.lr)
    return AdamW(groups, config.lr, (config.beta1, config.beta2))


def load_optimizer(optimizer: Optimizer, saved: Restored) -> None:
    """Take over a checkpoint's state. The settings stay: they may have been changed.

    Raises:
        CheckpointError: it is of another optimiser, or of other parameters.
    """
    settings = [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.load_state_dict(saved.optimizer)
    except ValueError as error:
        raise CheckpointError(
            f"checkpoint: {saved.file}: optimizer: {shortened(str(error))}"
        ) from None
    for group, own in zip(optimizer.param_groups, settings, strict=True):
        group.update(own)


def snapshot(trainer: Trainer, names: Sequence[str] | None) -> Checkpoint:
    """See :meth:`Trainer.checkpoint`; ``names`` are those of the files of its text, absolute."""
    config = trainer.config.to_dict()
    if names is not None:
        config["data"] = names[0] if len(names) == 1 else list(names)
    return Checkpoint(
        weights=trainer.model.state_dict(),
        optimizer=trainer.optimizer.state_dict(),
        history=trainer.history.arrays(),
        meta={
            "config": config,
            "model": {"name": trainer.config.model, "config": trainer.model.config.to_dict()},
            "symbols": trainer.task.vocabulary,
            "step": trainer.step,
            "random": random.state(),
            "text": trainer.task.fingerprint,
            "origin": trainer.task.origin,
        },
    )
