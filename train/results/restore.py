"""What a checkpoint means: all that is in it, checked, and the model it holds.

A checkpoint may come from anywhere. Every value is looked at for its type and range before it is
used, and nothing is built before its size was compared with what the file really holds. Sampling,
``tinytensor info`` and going on with a run all enter here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ... import Generator, random
from ...models import MODELS, ModelConfig
from ..checkpoint import Checkpoint, CheckpointError, load, locate
from ..config import MODEL_FIELDS, TrainConfig
from ..given.words import shortened
from ..tasks import TASKS, Task
from .history import History

#: what a run's checkpoint holds besides arrays and the optimiser's numbers
PARTS = ("config", "model", "symbols", "step", "random")
#: the longest reason that a message gives
_LONGEST = 300


@dataclass
class Restored:
    """A checkpoint's content, checked.

    Attributes:
        file: where it was read from.
        model: on the CPU, with the saved weights.
        task: what it learnt, with its vocabulary.
        config: of the run that saved it.
        step: how many steps it had done.
        history: its losses.
        random: states of the named generators, for :func:`tinytensor.random.set_state`.
        optimizer: the optimiser's state dict. Steps and numbers are checked; the rest is by the
            optimiser that takes it.
        text: fingerprint of the text, None where it is not known.
        origin: what the text was, as the corpus calls itself; anything, to be compared only.
    """

    file: Path
    model: Any
    task: Task
    config: TrainConfig
    step: int
    history: History
    random: dict[str, dict[str, Any]]
    optimizer: dict[str, Any]
    text: str | None
    origin: Any

    @property
    def tokenizer(self) -> Any:
        """The task's tokenizer.

        Raises:
            CheckpointError: it has none.
        """
        tokenizer = getattr(self.task, "tokenizer", None)
        if tokenizer is None:
            raise CheckpointError(
                f"checkpoint: {self.file}: task {self.task.name} has no tokenizer; "
                "tt.train.restore(path) gives its model and its task"
            )
        return tokenizer


def load_model(path: str | Path) -> tuple[Any, Any]:
    """The model and the tokenizer of a checkpoint, or of the run in a folder, on the CPU.

    Raises:
        CheckpointError: it cannot be read, or does not fit together.
    """
    found = restore(path)
    return found.model, found.tokenizer


def restore(path: str | Path) -> Restored:
    """Read the checkpoint at ``path``, a file or the folder of its run.

    Raises:
        CheckpointError: it cannot be read, or something in it is not what it has to be; the
            message names the file and what.
    """
    file = locate(path)
    saved = load(file)
    try:
        return _restore(saved, file)
    except MemoryError:
        reason = "its model needs more memory than there is"
    # A value that none of the checks foresaw, such as an integer beyond all floats, is refused like
    # the ones they did.
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        reason = " ".join(str(error).split())
    reason = shortened(reason, _LONGEST)
    raise CheckpointError(f"checkpoint: {file} does not fit together: {reason}")


def _restore(saved: Checkpoint, file: Path) -> Restored:
    meta = saved.meta
    missing = [name for name in PARTS if name not in meta]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}, as the checkpoint of a run has")
    step = _count("step", meta["step"])
    config = _run_config(meta["config"], meta["model"])
    if meta["symbols"] is None:  # which would stand for that of the data
        raise ValueError("symbols: expected a vocabulary, got nothing")
    task = TASKS[config.task](config, meta["symbols"])
    name, model_config = _model_config(meta["model"], config, task)
    states = _generators(meta["random"])
    history = History.from_arrays(saved.history, step)
    _check_optimizer(saved.optimizer, step)
    text = meta.get("text")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"text: expected a fingerprint, got {_kind(text)}")
    _check_weights(saved.weights, model_config)
    model = MODELS[name][0](model_config)
    with np.errstate(over="ignore"):  # float64 from elsewhere
        model.load_state_dict(saved.weights)
    task.prepare(model)
    origin = meta.get("origin")
    return Restored(
        file, model, task, config, step, history, states, saved.optimizer, text, origin
    )


def _model_config(given: Any, config: TrainConfig, task: Task) -> tuple[str, ModelConfig]:
    """The model's name and config, which have to be those of the run's settings and of its data."""
    if not isinstance(given, dict) or given.keys() != {"name", "config"}:
        raise ValueError("model: expected its name and config")
    name, values = given["name"], given["config"]
    if not isinstance(name, str) or name not in MODELS:
        raise ValueError(f"model: expected one of {', '.join(MODELS)}, got {name!r}")
    if not isinstance(values, dict):
        raise ValueError(f"model: expected a config, got {_kind(values)}")
    _refuse_unknown("model", values, MODELS[name][1])
    model_config: ModelConfig = MODELS[name][1].from_dict(values)
    for size, wanted in task.sizes().items():
        if getattr(model_config, size) != wanted:
            own = getattr(model_config, size)
            raise ValueError(f"model: {size} is {own}, but the vocabulary's {wanted}")
    if config.model != name:
        raise ValueError(f"config: it is of model {config.model}, but the model is {name}")
    for setting in MODEL_FIELDS:
        value, own = getattr(config, setting), getattr(model_config, setting, None)
        if value is not None and own != value:
            raise ValueError(f"config: {setting} is {value}, but the model's {own}")
    return name, model_config


def _run_config(given: Any, model: Any) -> TrainConfig:
    """The run's settings. What they leave to the model is as the model has it, and not as a recipe
    of today would: recipes change."""
    if not isinstance(given, dict):
        raise ValueError(f"config: expected settings, got {_kind(given)}")
    _refuse_unknown("config", given, TrainConfig)
    values = {"workers": 1, **given}  # before there were any, one was all
    own = model.get("config") if isinstance(model, dict) else None
    if isinstance(own, dict):
        chosen = TASKS.get(str(given.get("task")))
        recipe = {} if chosen is None else chosen.recipes.get(str(given.get("model")), {})
        for name in recipe.keys() & own.keys() & {*MODEL_FIELDS}:
            if values.get(name) is None:
                values[name] = own[name]
    return TrainConfig.from_dict(values)


def _refuse_unknown(where: str, values: Mapping[str, Any], kind: type[Any]) -> None:
    unknown = sorted(values.keys() - {field.name for field in fields(kind)})
    if unknown:
        raise ValueError(
            f"{where}: this version knows no {', '.join(unknown[:8])}; a newer tinytensor may have "
            "written it"
        )


def _generators(given: Any) -> dict[str, dict[str, Any]]:
    """The states of all named generators, each tried on a generator of its own."""
    if not isinstance(given, dict) or given.keys() != set(random.NAMES):
        raise ValueError(f"random: expected states of {', '.join(random.NAMES)}")
    for name, state in given.items():
        try:
            Generator(0).set_state(state)
        except ValueError as error:
            raise ValueError(f"random: {name}: {error}") from None
    return given


def _check_optimizer(state: Mapping[str, Any], step: int) -> None:
    """No parameter has been updated more often than there were steps; arrays are floats, and means
    of squares are not negative."""
    steps = state["numbers"].get("steps")
    if not isinstance(steps, list):
        raise ValueError(f"optimizer: expected a list of steps, got {_kind(steps)}")
    if any(_count("optimizer: steps", n) > step for n in steps):
        raise ValueError(f"optimizer: {max(steps)} updates in {step} steps")
    for name, array in state["arrays"].items():
        if array.dtype.kind != "f":
            raise ValueError(f"optimizer: {name}: expected floats, got {array.dtype}")
        if name.endswith("_sq") and (array < 0).any():
            raise ValueError(f"optimizer: {name}: a mean of squares is negative")


def _check_weights(weights: Mapping[str, np.ndarray], config: ModelConfig) -> None:
    """Names and shapes are those of the model, which is not built yet: a hostile config may claim
    more layers than there could ever be."""
    there, wanted = sum(array.size for array in weights.values()), config.parameter_count()
    if there != wanted:
        raise ValueError(f"model: its config has {wanted} parameters, the file {there}")
    shapes = dict(islice(config.parameter_shapes(), len(weights) + 1))
    for name, shape in shapes.items():
        if name not in weights:
            raise ValueError(f"model: the file has no {name}")
        array = weights[name]
        if array.shape != shape or array.dtype.kind != "f":
            raise ValueError(
                f"model: {name}: expected floats of shape {shape}, got {array.dtype} of shape "
                f"{array.shape}"
            )
    unexpected = weights.keys() - shapes.keys()
    if unexpected:
        raise ValueError(f"model: the file has {min(unexpected)!r}, which the model has not")


def _count(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{name}: expected a count, got {value!r}")
    return value


def _kind(value: Any) -> str:
    """The kind of a value, as JSON calls it."""
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "nothing" if value is None else names.get(type(value), "a number")
