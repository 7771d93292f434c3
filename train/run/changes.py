"""What may differ when a run goes on from its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...models import MODELS
from ..config import MODEL_FIELDS, ConfigError, TrainConfig, check_names, check_value

#: what a checkpoint has settled for good -> why
SETTLED = {
    **dict.fromkeys(("task", "model", *MODEL_FIELDS), ""),
    "optimizer": "",
    "seed": "; it goes on with the random numbers of before",
}


def changed(
    config: TrainConfig, changes: Mapping[str, Any], step: int, folder: Path
) -> TrainConfig:
    """The settings of a run from here on.

    Args:
        config: those of its checkpoint.
        changes: fields that are to differ. Those that a resumed run can't follow must be as they
            were, so that none is ignored without a word.
        step: how many steps are done.
        folder: where the checkpoint is, and where the run goes on.

    Raises:
        ConfigError: a change that cannot be.
    """
    check_names(changes)
    values = {name: check_value(name, value) for name, value in changes.items()}
    for name, why in SETTLED.items():
        was = in_use(config, name)
        if name in values and values[name] not in (was, getattr(config, name)):
            raise ConfigError(
                f"{name}: the checkpoint has {was}, a resumed run can't change it to "
                f"{values[name]}{why}"
            )
    if values.get("steps", step) < step:
        raise ConfigError(
            f"steps: the checkpoint has done {step}; expected at least that, got {values['steps']}"
        )
    out = values.pop("out", None)
    if out is not None and Path(out).resolve() != folder.resolve():
        raise ConfigError(f"out: a resumed run stays in its folder {folder}, got {out}")
    return config.merged(values)


def in_use(config: TrainConfig, name: str) -> Any:
    """A setting's value, or the one that the model takes where it is None."""
    value = getattr(config, name)
    if value is None and name in MODEL_FIELDS:
        own = {f.name: f.default for f in fields(MODELS[config.model][1])} | config.model_settings()
        value = own.get(name)
    return value
