"""Settings of a training run: defaults, a TOML file, flags of the command line.

Each setting is one field of :class:`TrainConfig`, with its help text beside it. The flags of
``tinytensor train`` are made from the same fields, so the two can't drift apart. A flag wins over
the TOML file, the file over the default.
"""

from __future__ import annotations

import math
import operator
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..hints.finding import hint
from ..models import MODELS
from .schedule import CosineWarmup, ExponentialDecay, LinearWarmup, Schedule, StepDecay
from .settings import plain, shown


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it in one line."""


def setting(
    default: Any,
    text: str,
    low: float | None = None,
    *,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    why: str = "",
) -> Any:
    """A dataclass field with its help text and its limits: at least ``low`` or more than ``above``,
    at most ``high`` or less than ``below``; ``why`` explains them where they are passed."""
    limits = {"at least": low, "above": above, "at most": high, "below": below}
    given = {word: limit for word, limit in limits.items() if limit is not None}
    return field(default=default, metadata={"help": text, "limits": given, "why": why})


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run. ``TrainConfig(model="lstm", steps=500)`` checks them.

    A field that is None leaves the choice to the model (its config class has the default) or, for
    ``data`` and ``out``, to the trainer.

    Numbers may be NumPy's, or arrays and tensors without axes.

    Raises:
        ConfigError: a value of the wrong type or out of range, or values that do not go together.
    """

    data: str | None = setting(None, "Text file in UTF-8 (default: the help topics of Python)")
    out: str | None = setting(None, "Folder of the run (default: runs/MODEL, or the next free one)")
    model: str = setting("gpt", "gpt, lstm or rnn")

    n_layer: int | None = setting(None, "Layers (default: gpt 4, lstm and rnn 2)", 1)
    n_head: int | None = setting(None, "Attention heads of a gpt (default: 4)", 1)
    n_embd: int | None = setting(None, "Width of a gpt, of the others' embedding (default: 128)", 1)
    n_hidden: int | None = setting(None, "State of an lstm or rnn (default: 240, 480)", 1)
    block_size: int = setting(64, "Symbols in a training block, a gpt's longest context", 1)
    dropout: float = setting(
        0.0, "Dropout probability", 0.0, below=1.0, why="at 1 nothing is left to learn from"
    )
    bias: bool | None = setting(None, "Biases in a gpt's layers (default: no-bias)")
    tie_weights: bool | None = setting(None, "Share an lstm's or rnn's embedding with its head")

    steps: int = setting(3000, "Training steps", 1)
    batch_size: int = setting(12, "Blocks in a batch", 1)
    workers: int = setting(1, "Processes that share each batch", 1)
    accumulate: int = setting(1, "Batches whose gradients are averaged for one step", 1)
    optimizer: str = setting("adamw", "adamw or sgd")
    lr: float = setting(1e-3, "Learning rate at its peak", 0.0)
    min_lr: float | None = setting(
        None, "Learning rate at the end (default: lr / 10; with schedule step 0)", 0.0
    )
    warmup: int = setting(100, "Steps in which the learning rate rises", 0)
    schedule: str = setting("cosine", "Then: cosine, exponential, step (sudden falls), constant")
    lr_step: int = setting(1000, "Steps between two falls of schedule step", 1)
    lr_gamma: float = setting(0.1, "Factor of each fall of schedule step", above=0.0, high=1.0)
    beta1: float = setting(
        0.9, "Decay of AdamW's mean of gradients, SGD's momentum", 0.0, below=1.0
    )
    beta2: float = setting(0.99, "Decay of AdamW's mean of squares", 0.0, below=1.0)
    weight_decay: float = setting(0.1, "Decay of matrices (norms and biases have none)", 0.0)
    clip: float = setting(1.0, "Largest norm of the gradient, 0 for no limit", 0.0)
    seed: int = setting(1, "Seed of parameters, batches, dropout and samples", 0)

    eval_every: int = setting(500, "Steps between two validations", 1)
    eval_batches: int = setting(0, "Batches of each validation but the last, 0 for all", 0)
    checkpoint_every: int = setting(500, "Steps between two checkpoints", 1)
    log_every: int = setting(100, "Steps between two lines where there is no progress bar", 1)
    sample_length: int = setting(300, "Characters of the sample at the end", 0)
    device: str = setting("cpu", "cpu or cuda")

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, check(f, getattr(self, f.name)))
        if self.min_lr is not None and self.min_lr > self.lr:
            raise ConfigError(
                f"min_lr: expected at most lr = {self.lr}, got {self.min_lr}; set both"
            )
        if self.workers > 1 and self.device != "cpu":
            raise ConfigError(
                f"workers: expected 1 with device {self.device}, got {self.workers}; "
                "processes share the cores of a CPU"
            )
        if self.schedule == "exponential" and self.min_lr == 0.0:
            raise ConfigError("min_lr: expected above 0.0 with schedule exponential, got 0.0")
        settings, model = self.model_settings(), MODELS[self.model][1]
        known = [f.name for f in fields(model)]
        for name in settings:
            if name not in known:
                own = ", ".join(name for name in MODEL_FIELDS if name in known)
                raise ConfigError(f"{name}: model {self.model} has none, only {own}")
        try:
            model(vocab_size=1, **settings)  # what does not go together, n_embd and n_head
            self.make_schedule()
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def model_settings(self) -> dict[str, Any]:
        """What to give ``models.build`` besides the vocabulary's size; fields left None are out."""
        given = {name: getattr(self, name) for name in MODEL_FIELDS}
        if self.model == "gpt" and self.bias is None:
            given["bias"] = False  # trains as well without, and faster
        return {name: value for name, value in given.items() if value is not None}

    def make_schedule(self) -> Schedule:
        """The learning rate of each step."""
        end = self.lr / 10 if self.min_lr is None else self.min_lr
        if self.schedule == "constant":
            return LinearWarmup(self.lr, self.warmup)
        if self.schedule == "step":
            floor = self.min_lr or 0.0
            return StepDecay(self.lr, self.lr_step, self.lr_gamma, floor, self.warmup)
        if self.schedule == "exponential":
            fall = max(1, self.steps - self.warmup)
            gamma = (end / self.lr) ** (1 / fall) if self.lr else 1.0
            return ExponentialDecay(self.lr, gamma, end, self.warmup)
        return CosineWarmup(self.lr, end, self.warmup, self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict of plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "config") -> TrainConfig:
        """A config from a dict; fields that it lacks have their defaults.

        Raises:
            ConfigError: an unknown name, or a value that does not fit; ``where`` starts the line.
        """
        try:
            check_names(values)
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    def merged(self, values: Mapping[str, Any]) -> TrainConfig:
        """A copy with the given fields, checked."""
        return replace(self, **values)


#: fields with a fixed list of values
CHOICES = {
    "model": ("gpt", "lstm", "rnn"),
    "optimizer": ("adamw", "sgd"),
    "schedule": ("cosine", "exponential", "step", "constant"),
    "device": ("cpu", "cuda"),
}
#: fields that belong to the model: a resumed run can't change them
MODEL_FIELDS = (
    "n_layer", "n_head", "n_embd", "n_hidden", "block_size", "dropout", "bias", "tie_weights",
)  # fmt: skip

_TYPES = typing.get_type_hints(TrainConfig)


def value_type(name: str) -> tuple[type, bool]:
    """A field's type (int, float, bool or str), and whether it may be None."""
    hint = _TYPES[name]
    if isinstance(hint, types.UnionType):
        return hint.__args__[0], True
    return hint, False


def check(f: Any, value: Any) -> Any:
    """The value of a field in Python's own type.

    Raises:
        ConfigError: wrong type or out of range; names the field, what came and what was expected.
    """
    kind, optional = value_type(f.name)
    if value is None and optional:
        return None
    found = plain(value)
    fits = isinstance(found, (int, float) if kind is float else kind)
    if not fits or isinstance(found, bool) and kind is not bool:
        word = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}[kind]
        raise ConfigError(f"{f.name}: expected {word}, got {shown(value)}")
    if kind is float:
        try:
            found = float(found)
        except OverflowError:  # an integer beyond all floats
            found = math.inf
        if not math.isfinite(found):
            raise ConfigError(f"{f.name}: expected a finite number, got {shown(value)}")
    choices = CHOICES.get(f.name, (found,))
    if found not in choices:
        raise ConfigError(f"{f.name}: expected one of {', '.join(choices)}, got {found!r}")
    limits = f.metadata["limits"]
    if not all(_WITHIN[word](found, limit) for word, limit in limits.items()):
        range_ = " and ".join(f"{word} {limit}" for word, limit in limits.items())
        why = f.metadata["why"] and f"; {f.metadata['why']}"
        raise ConfigError(f"{f.name}: expected {range_}, got {shown(value)}{why}")
    return found


_WITHIN = {
    "at least": operator.ge,
    "above": operator.gt,
    "at most": operator.le,
    "below": operator.lt,
}


def check_names(values: Mapping[str, Any]) -> None:
    """Raise ConfigError where a name is not that of a setting."""
    names = [f.name for f in fields(TrainConfig)]
    unknown = sorted(set(values) - set(names))
    if unknown:
        advice = hint(unknown[0].replace("-", "_"), {}, names)
        known = advice or f"; known are {', '.join(names)}"
        raise ConfigError(f"unknown setting {unknown[0]!r}{known}")


def load_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file. Tables are only headings: ``[model] n_layer = 6`` is n_layer.

    Raises:
        ConfigError: it cannot be read, is no TOML, or holds an unknown or unfit setting.
    """
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"config: cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"config: {path} is not TOML: {error}") from None
    values: dict[str, Any] = {}
    for key, value in content.items():
        for name, inner in value.items() if isinstance(value, dict) else [(key, value)]:
            if name in values:
                raise ConfigError(f"{path}: {name} is set twice")
            values[name] = inner
    try:  # one by one: a flag may change what they have to go together with
        check_names(values)
        for f in fields(TrainConfig):
            if f.name in values:
                check(f, values[f.name])
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return values
