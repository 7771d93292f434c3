"""Runs side by side: what their checkpoints and logs say of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..checkpoint import NAME, CheckpointError, load
from ..config import TrainConfig
from ..given.words import cause, clock
from ..tasks import TASKS
from .history import RECENT, History
from .log_file import LOG, entries

#: settings that are columns of their own, or no part of what was trained
_APART = ("model", "data", "out", "steps", "log", "log_every", "sample_length")


@dataclass
class Run:
    """What a checkpoint, and the log beside it, say of a run.

    Attributes:
        name: to show. model: "gpt", "rnn", .... parameters: how many numbers it has.
        step: how many are done, of ``steps``.
        settings: by name, those of the run and of its model.
        train: loss of each step. val: (validations, 2), step and loss.
        seconds: of all its steps together, None where the log lacks some.
        tokens_per_second: of the steps in the log, None where it has none.
        symbols: the vocabulary. text: the hash of what was read.
    """

    name: str
    model: str
    parameters: int
    step: int
    steps: int | None
    settings: dict[str, Any]
    train: np.ndarray
    val: np.ndarray
    seconds: float | None
    tokens_per_second: float | None
    symbols: Any
    text: Any

    @property
    def train_loss(self) -> float:
        """Mean of the last 50 steps, NaN where there is none."""
        return float(self.train[-RECENT:].mean()) if self.train.size else math.nan

    @property
    def best(self) -> tuple[int, float] | None:
        """Step and loss of the best validation."""
        finite = self.val[np.isfinite(self.val[:, 1])]
        if not len(finite):
            return None
        step, loss = finite[finite[:, 1].argmin()]
        return int(step), float(loss)


def find(path: str | Path) -> list[Path]:
    """The checkpoints of a run, or of all runs in a folder, in the order of their names.

    Args:
        path: a checkpoint, the folder of a run, or one with such folders.

    Raises:
        CheckpointError: there is none.
    """
    path = Path(path)
    try:
        if path.is_file():
            return [path]
        if (path / NAME).is_file():
            return [path / NAME]
        found = [file for file in path.glob(f"*/{NAME}") if file.is_file()]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint: cannot read {path}: {cause(error)}") from None
    if not found:
        if not path.exists():
            raise CheckpointError(f"run: there is none at {path}")
        raise CheckpointError(f"run: there is no checkpoint in {path}, nor in a folder in it")
    return sorted(found, key=_natural)


def _natural(path: Path) -> list[Any]:
    """gpt-2 before gpt-10."""
    parts = re.split(r"(\d+)", path.parent.name)
    return [int(part[:300]) if i % 2 else part for i, part in enumerate(parts)]


def read(file: Path) -> Run:
    """A run by its checkpoint; times are in the log beside it, broken lines of which do not count.

    Raises:
        CheckpointError: the checkpoint cannot be read, or does not fit together.
    """
    saved = load(file)
    try:
        meta = saved.meta
        config, model = dict(meta["config"]), meta["model"]
        name, symbols, step = model["name"], meta["symbols"], meta["step"]
        for value, kind, what in (
            (name, (str,), "model"),
            (symbols, (str, list, dict), "symbols"),
            (step, (int,), "step"),
        ):
            if type(value) not in kind:
                raise ValueError(f"{what}: expected {kind[0].__name__}, got {value!r}")
        defaults = {f.name: f.metadata["default"] for f in fields(TrainConfig)}
        settings = {**defaults, **config, **dict(model["config"])}
        history = History.from_arrays(saved.history, step).arrays()
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"checkpoint: {file} has damaged settings ({error})") from None
    seconds, speed = _times(file.parent / LOG, step, settings)
    steps = settings["steps"]
    return Run(
        name=str(file.parent if file.name == NAME else file),
        model=name,
        parameters=sum(array.size for array in saved.weights.values()),
        step=step,
        steps=steps if type(steps) is int else None,
        settings=settings,
        train=history["train"],
        val=history["val"],
        seconds=seconds,
        tokens_per_second=speed,
        symbols=symbols,
        text=meta.get("text"),
    )


def _times(log: Path, step: int, settings: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Seconds of all steps, and symbols in a second."""
    times = {
        at: values["seconds"]
        for at, values in entries(log)
        if 1 <= at <= step and 0 <= values.get("seconds", -1) < math.inf
    }
    total = sum(times.values())
    symbols = 1
    for name in ("batch_size", "accumulate", "block_size"):
        value = settings.get(name)
        symbols *= value if type(value) is int else 0
    speed = symbols * len(times) / total if total > 0 and 0 < symbols < 2**63 else None
    return (total if len(times) == step > 0 else None), speed


def data_of(run: Run) -> str:
    """The names of the files that were read."""
    task = run.settings.get("task")
    if task in TASKS and "data" not in TASKS[task].reads:
        return f"task {task}"
    data = run.settings.get("data")
    names = [data] if isinstance(data, str) else list(data or [])
    if not names:
        return "default text"
    first = re.split(r"[\\/]", str(names[0]))[-1]
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"


def facts(runs: Sequence[Run]) -> dict[str, tuple[str, ...]]:
    """What there is to say of runs: its name, and a text for each run. At the end are the settings
    in which two runs differ that both have them."""
    found = {
        "model": [run.model for run in runs],
        "parameters": [f"{run.parameters:,}" for run in runs],
        "data": [data_of(run) for run in runs],
        "steps": [_steps(run) for run in runs],
        "train loss": [_loss(run.train_loss) if run.train.size else "-" for run in runs],
        "best val loss": [_loss(run.best[1]) if run.best else "-" for run in runs],
        "at step": [f"{run.best[0]:,}" if run.best else "-" for run in runs],
        "last val loss": [_loss(run.val[-1, 1]) if len(run.val) else "-" for run in runs],
        "time": ["-" if run.seconds is None else duration(run.seconds) for run in runs],
        "tokens/s": [
            "-" if run.tokens_per_second is None else f"{run.tokens_per_second:,.0f}"
            for run in runs
        ],
    }
    for name in dict.fromkeys(name for run in runs for name in run.settings):
        values = [run.settings.get(name) for run in runs]
        if name not in _APART and len({repr(v) for v in values if v is not None}) > 1:
            found[name] = [_setting(value) for value in values]
    return {name: tuple(values) for name, values in found.items()}


def warnings(runs: Sequence[Run]) -> list[str]:
    """Why the losses of runs cannot be compared, if so."""
    if len({repr(run.symbols) for run in runs}) > 1:
        return ["The runs have different vocabularies, so their losses are not comparable."]
    if len({repr(run.text) for run in runs}) > 1:
        return ["The runs read different texts, so their losses are not comparable."]
    return []


def duration(seconds: float) -> str:
    """``12.3 s``, ``4:05`` or ``1:02:03``."""
    return f"{seconds:.1f} s" if seconds < 59.95 else clock(seconds)


def _steps(run: Run) -> str:
    return f"{run.step:,}" + (f" of {run.steps:,}" if run.steps not in (run.step, None) else "")


def _loss(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.4g}"


def _setting(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
