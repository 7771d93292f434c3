"""Settings of a training run, their defaults and limits.

Each setting is one field of :class:`TrainConfig`, with its help text beside it. A flag wins over
the TOML file (``toml_file.py``), the file over the task's recipe, and that over the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ...hints.finding import hint
from ...models import MODELS
from ..given.values import shown
from ..schedule import (
    CosineWarmup,
    ExponentialDecay,
    InverseSqrt,
    LinearWarmup,
    Schedule,
    StepDecay,
)
from ..tasks import TASKS
from .fields import SEEDS, ConfigError, check, kind_of, setting


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a run. ``TrainConfig(model="lstm", steps=500)`` checks them.

    What is not given, or None, is as the task's recipe for the model has it (``tinytensor tasks
    --recipes`` shows them), else as the defaults below. A field that is None even then leaves the
    choice to the model (its config class has the default) or, for ``data``, ``out`` and
    ``workers``, to the trainer.

    Numbers may be NumPy's, or arrays and tensors without axes. ``data`` may be one name, or a list;
    the ``~`` of a home folder is filled in. No integer may be larger than 64 bits hold.

    Raises:
        ConfigError: a value of the wrong type or out of range, or values that do not go together.
    """

    data: tuple[str, ...] | None = setting(
        None,
        "Text: a file, folder or pattern; may be given several times "
        "(default: the help topics of Python)",
    )
    encoding: str = setting("utf-8", "Encoding of the text's files")
    out: str | None = setting(None, "Folder of the run (default: runs/MODEL, or the next free one)")
    task: str = setting(
        None, f"What to learn: {', '.join(TASKS)} (default: what the model is best known for); "
        "most bring settings of their own: tinytensor tasks --recipes",
    )  # fmt: skip
    model: str = setting(None, f"{', '.join(MODELS)} (default: that of the task)")

    n_layer: int | None = setting(
        None, "Layers (default: gpt 4, the others 2)", 1, high=10_000,
        why="more are too slow even to build",
    )  # fmt: skip
    n_head: int | None = setting(None, "Attention heads of a gpt or transformer (default: 4)", 1)
    n_embd: int | None = setting(None, "Width of a gpt, of the others' embedding (default: 128)", 1)
    n_hidden: int | None = setting(
        None,
        "State of an rnn, gru, lstm or bahdanau, inner width of a transformer's layers "
        "(default: 480, 280, 240, 128, 4 n_embd)",
        1,
    )
    block_size: int | None = setting(
        64, "Symbols in a training block of a text, a gpt's longest context (default: 64)", 1
    )
    dropout: float | None = setting(
        0.0, "Dropout probability (default: 0.0)", 0.0,
        below=1.0, why="at 1 nothing is left to learn from",
    )  # fmt: skip
    bias: bool | None = setting(None, "Biases in a gpt's layers (default: no-bias)")
    tie_weights: bool | None = setting(
        None, "Share the embedding of an rnn, gru or lstm with its head"
    )
    label_smoothing: float | None = setting(
        None,
        "Share of each target that a translator's training spreads evenly (default: 0.0, "
        "transformer 0.1)",
        0.0,
        below=1.0,
    )
    norm_first: bool | None = setting(
        None, "Layer norms of a transformer before its parts (default: after them)"
    )
    positions: str | None = setting(
        None, "Of a transformer: sinusoidal, learned or none (default: sinusoidal)"
    )
    mode: str | None = setting(
        None, "What a word2vec learns from: skipgram (pairs of words) or cbow (default: skipgram)"
    )

    window: int | None = setting(
        None, "Words to both sides that word vectors are learnt from (default: 5)", 1, high=1000,
        why="a batch takes memory for each",
    )  # fmt: skip
    negatives: int | None = setting(
        None, "Random words beside each right one (default: 5)", 1, high=1000,
        why="a batch takes memory for each",
    )  # fmt: skip
    min_count: int | None = setting(
        None, "How often a word with a vector occurs, at least (default: words 5, analogies 2)", 1
    )
    subsample: float | None = setting(
        None, "Share of a text from which on a word is left out at times, 0 never (default: 0.001)",
        0.0, high=1.0,
    )  # fmt: skip

    steps: int = setting(3000, "Training steps", 1)
    batch_size: int = setting(12, "Blocks of a text, or examples, in a batch", 1)
    workers: int | None = setting(
        None, "Processes that share each batch (default: all cores where that is faster, else 1)", 1
    )
    oversubscribe: bool = setting(
        False, "Allow more workers than cores, or than examples in a batch"
    )
    accumulate: int = setting(1, "Batches whose gradients are averaged for one step", 1)
    optimizer: str = setting("adamw", "adamw, adagrad or sgd")
    lr: float = setting(1e-3, "Learning rate at its peak", 0.0)
    min_lr: float | None = setting(
        None,
        "Learning rate at the end (default: lr / 10; with schedule step or inverse_sqrt 0)",
        0.0,
    )
    warmup: int = setting(100, "Steps in which the learning rate rises", 0)
    schedule: str = setting(
        "cosine", "Then: cosine, exponential, step (sudden falls), inverse_sqrt, constant"
    )
    lr_step: int = setting(1000, "Steps between two falls of schedule step", 1)
    lr_gamma: float = setting(0.1, "Factor of each fall of schedule step", above=0.0, high=1.0)
    beta1: float = setting(
        0.9, "Decay of AdamW's mean of gradients, SGD's momentum", 0.0, below=1.0
    )
    beta2: float = setting(0.99, "Decay of AdamW's mean of squares", 0.0, below=1.0)
    weight_decay: float = setting(0.1, "Decay of matrices (norms and biases have none)", 0.0)
    clip: float = setting(1.0, "Largest norm of the gradient, 0 for no limit", 0.0)
    seed: int = setting(
        1, "Seed of parameters, batches, dropout and samples", 0, high=SEEDS,
        why="the generators are seeded with 128 bits",
    )  # fmt: skip

    eval_every: int = setting(500, "Steps between two validations", 1)
    eval_batches: int = setting(
        200, "Most batches in a validation, spread evenly over its split; 0 for all", 0
    )
    checkpoint_every: int = setting(500, "Steps between two checkpoints", 1)
    log_every: int = setting(100, "Steps between two lines where there is no progress bar", 1)
    log: str = setting("jsonl", "Logs: jsonl (always there), csv, tensorboard; commas between them")
    sample_length: int = setting(
        300, "Characters of the sample at the end", 0, high=1_000_000,
        why="tinytensor sample --length writes longer texts",
    )  # fmt: skip
    device: str = setting("cpu", "cpu or cuda")

    def __post_init__(self) -> None:
        self._fill_in()
        for f in fields(self):
            object.__setattr__(self, f.name, check(f, getattr(self, f.name)))
        if self.min_lr is not None and self.min_lr > self.lr:
            raise ConfigError(
                f"min_lr: expected at most lr = {self.lr}, got {self.min_lr}; set both"
            )
        if self.workers not in (None, 1) and self.device != "cpu":
            raise ConfigError(
                f"workers: expected 1 with device {self.device}, got {self.workers}; "
                "processes share the cores of a CPU"
            )
        if self.schedule == "exponential" and self.min_lr == 0.0:
            raise ConfigError("min_lr: expected above 0.0 with schedule exponential, got 0.0")
        settings, model, task = self.model_settings(), MODELS[self.model][1], TASKS[self.task]
        known = [f.name for f in fields(model)]
        for name in settings:
            if name not in known:
                own = ", ".join(
                    name for name in MODEL_FIELDS if name in known and name not in task.least
                )
                raise ConfigError(f"{name}: model {self.model} has none, only {own}")
            if name in task.least:
                raise ConfigError(f"{name}: the data of task {self.task} settle it")
        for name in TASK_FIELDS:
            if getattr(self, name) is not None and name not in task.reads:
                own = ", ".join(task.reads)
                raise ConfigError(f"{name}: task {self.task} has none{own and f', only {own}'}")
        try:
            model(**task.least, **settings)  # what does not go together, n_embd and n_head
            self.make_schedule()
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def _fill_in(self) -> None:
        """Put what is not given in its place: model and task first, on which the rest depends."""
        by_name = {f.name: f for f in fields(self)}
        model, task = (
            None if value is None else check(by_name[name], value)
            for name, value in (("model", self.model), ("task", self.task))
        )
        model = model or TASKS[task or next(iter(TASKS))].models[0]
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "task", task or usual_task(model))
        task_class = TASKS[self.task]
        if self.model not in task_class.models:
            raise ConfigError(
                f"model: task {self.task} is for {', '.join(task_class.models)}, got {self.model}"
            )
        recipe = task_class.recipes.get(self.model, {})
        own = {f.name for f in fields(MODELS[self.model][1])} - task_class.least.keys()
        for name, f in by_name.items():
            if getattr(self, name) is None and (name in own or name not in MODEL_FIELDS):
                object.__setattr__(self, name, recipe.get(name, f.metadata["default"]))

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
        if self.schedule == "inverse_sqrt":
            return InverseSqrt(self.lr, self.warmup, self.min_lr or 0.0)
        if self.schedule == "exponential":
            fall = max(1, self.steps - self.warmup)
            gamma = (end / self.lr) ** (1 / fall) if self.lr else 1.0
            return ExponentialDecay(self.lr, gamma, end, self.warmup)
        return CosineWarmup(self.lr, end, self.warmup, self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict of plain values, fit for JSON."""
        values = asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

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


def usual_task(model: str) -> str:
    """The task that a model has where none is named: the first whose first model it is, or else the
    first that knows it."""
    for at in (slice(1), slice(None)):
        for name, task in TASKS.items():
            if model in task.models[at]:
                return name
    raise ConfigError(f"model: there is no task for {model}")


#: fields that belong to the model: a resumed run can't change them
MODEL_FIELDS = (
    "n_layer", "n_head", "n_embd", "n_hidden", "block_size", "dropout", "bias", "tie_weights",
    "label_smoothing", "norm_first", "positions", "mode",
)  # fmt: skip

#: fields that only some tasks read: those that have them in ``reads``
TASK_FIELDS = ("data", "window", "negatives", "min_count", "subsample")


def value_type(name: str) -> tuple[type, bool]:
    """See :func:`kind_of`, of a field by its name."""
    return kind_of(TrainConfig.__dataclass_fields__[name])


def check_value(name: str, value: Any) -> Any:
    """:func:`check` for a field by its name."""
    return check(TrainConfig.__dataclass_fields__[name], value)


def check_names(values: Mapping[str, Any]) -> None:
    """Raise ConfigError where a name is not that of a setting."""
    names = [f.name for f in fields(TrainConfig)]
    unknown = sorted(set(values) - set(names))
    if unknown:
        advice = hint(unknown[0].replace("-", "_"), {}, names)
        known = advice or f"; known are {', '.join(names)}"
        raise ConfigError(f"unknown setting {shown(unknown[0])}{known}")


def text_name(data: Any) -> str:
    """What a run is trained on, for a line of text: one name, several, or the default.

    Args:
        data: as in :class:`TrainConfig`; older checkpoints hold a plain string.
    """
    names = [data] if isinstance(data, str) else data if isinstance(data, (list, tuple)) else []
    if not names:
        return "the help topics of Python"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + more
