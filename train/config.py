"""Settings of a training run: defaults, a TOML file, flags of the command line.

Each setting is one field of :class:`TrainConfig`, with its help text beside it. The flags of
``tinytensor train`` are made from the same fields, so the two can't drift apart. A flag wins over
the TOML file, the file over the default.
"""

from __future__ import annotations

import math
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..hints import hint


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it in one line."""


def setting(default: Any, text: str, low: float | None = None, high: float | None = None) -> Any:
    """A dataclass field with its help text and the smallest and largest value it may have."""
    return field(default=default, metadata={"help": text, "low": low, "high": high})


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run. ``TrainConfig(model="lstm", steps=500)`` checks them.

    A field that is None leaves the choice to the model (its config class has the default) or, for
    ``data`` and ``out``, to the trainer.

    Raises:
        ConfigError: a value of the wrong type or out of range.
    """

    data: str | None = setting(None, "Text file in UTF-8 (default: the help topics of Python)")
    out: str | None = setting(None, "Folder of the run (default: runs/MODEL, or the next free one)")
    model: str = setting("gpt", "gpt, lstm or rnn")

    n_layer: int | None = setting(None, "Layers (default: gpt 4, lstm and rnn 2)", 1)
    n_head: int | None = setting(None, "Attention heads of a gpt (default: 4)", 1)
    n_embd: int | None = setting(None, "Width of a gpt, of the others' embedding (default: 128)", 1)
    n_hidden: int | None = setting(None, "State of an lstm or rnn (default: 240, 480)", 1)
    block_size: int = setting(64, "Symbols in a training block, a gpt's longest context", 1)
    dropout: float = setting(0.0, "Dropout probability", 0.0, 1.0)
    bias: bool | None = setting(None, "Biases in a gpt's layers (default: no-bias)")
    tie_weights: bool | None = setting(None, "Share an lstm's or rnn's embedding with its head")

    steps: int = setting(3000, "Training steps", 1)
    batch_size: int = setting(12, "Blocks in a batch", 1)
    workers: int = setting(1, "Processes that share each batch", 1)
    accumulate: int = setting(1, "Batches whose gradients are averaged for one step", 1)
    optimizer: str = setting("adamw", "adamw or sgd")
    lr: float = setting(1e-3, "Learning rate at its peak", 0.0)
    min_lr: float | None = setting(None, "Learning rate at the end (default: lr / 10)", 0.0)
    warmup: int = setting(100, "Steps in which the learning rate rises", 0)
    beta1: float = setting(0.9, "Decay of AdamW's mean of gradients, SGD's momentum", 0.0)
    beta2: float = setting(0.99, "Decay of AdamW's mean of squares", 0.0)
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
            check(f, getattr(self, f.name))
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name}: expected one of {', '.join(choices)}, got {getattr(self, name)!r}"
                )
        for name in ("beta1", "beta2"):
            if getattr(self, name) >= 1.0:
                raise ConfigError(f"{name}: expected a number below 1, got {getattr(self, name)}")
        if self.min_lr is not None and self.min_lr > self.lr:
            raise ConfigError(
                f"min_lr: expected at most lr = {self.lr}, got {self.min_lr}; set both"
            )
        if self.workers > 1 and self.device != "cpu":
            raise ConfigError(
                f"workers: expected 1 with device {self.device}, got {self.workers}; "
                "processes share the cores of a CPU"
            )

    def model_settings(self) -> dict[str, Any]:
        """What to give ``models.build`` besides the vocabulary's size; fields left None are out."""
        given = {name: getattr(self, name) for name in MODEL_FIELDS}
        if self.model == "gpt" and self.bias is None:
            given["bias"] = False  # trains as well without, and faster
        return {name: value for name, value in given.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict of plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "config") -> TrainConfig:
        """A config from a dict; fields that it lacks have their defaults.

        Raises:
            ConfigError: an unknown name, or a value that does not fit; ``where`` starts the line.
        """
        names = [f.name for f in fields(cls)]
        unknown = sorted(set(values) - set(names))
        if unknown:
            advice = hint(unknown[0].replace("-", "_"), {}, names)
            known = advice or f"; known are {', '.join(names)}"
            raise ConfigError(f"{where}: unknown setting {unknown[0]!r}{known}")
        try:
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


def check(f: Any, value: Any) -> None:
    """Refuse a value of the wrong type or out of range.

    Raises:
        ConfigError: names the field, what came and what was expected.
    """
    kind, optional = value_type(f.name)
    if value is None and optional:
        return
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or isinstance(value, bool) and kind is not bool:
        word = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}[kind]
        raise ConfigError(f"{f.name}: expected {word}, got {value!r}")
    low, high = f.metadata["low"], f.metadata["high"]
    if kind in (int, float):
        if not math.isfinite(value):
            raise ConfigError(f"{f.name}: expected a finite number, got {value!r}")
        if low is not None and value < low or high is not None and value > high:
            limits = f"at least {low}" if high is None else f"from {low} to {high}"
            raise ConfigError(f"{f.name}: expected {limits}, got {value!r}")


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
    TrainConfig.from_dict(values, where=str(path))
    return values
