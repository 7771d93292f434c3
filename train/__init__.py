"""Training: optimisers, schedules, data, tasks, checkpoints, the trainer, the command line."""

from typing import TYPE_CHECKING

from ..hints import finding as hints
from . import data, optim, schedule
from .checkpoint import Checkpoint, CheckpointError
from .config import ConfigError, TrainConfig
from .data import (
    CharTokenizer,
    Corpus,
    DataError,
    TextFiles,
    TextString,
    TokenStream,
    default_corpus,
    load_text,
)
from .given.other_names import OF_TRAIN
from .optim import SGD, Adagrad, Adam, AdamW, Optimizer, param_groups
from .optim.clip import clip_grad_norm, clip_grad_value
from .parallel import DataParallel, WorkerError
from .results.plot import plot_losses
from .results.restore import load_model, restore
from .run.progress import progress
from .run.report import Report
from .run.step import TrainingError
from .run.trainer import Trainer
from .schedule import (
    CosineWarmup,
    ExponentialDecay,
    InverseSqrt,
    LinearWarmup,
    Schedule,
    StepDecay,
)
from .tasks import TASKS, Score, Task
from .tasks.writing import sample_text, stream_text

__all__ = [
    "Adagrad",
    "Adam",
    "AdamW",
    "CharTokenizer",
    "Checkpoint",
    "CheckpointError",
    "ConfigError",
    "Corpus",
    "CosineWarmup",
    "DataError",
    "DataParallel",
    "ExponentialDecay",
    "InverseSqrt",
    "LinearWarmup",
    "Optimizer",
    "Report",
    "SGD",
    "Schedule",
    "Score",
    "StepDecay",
    "TASKS",
    "Task",
    "TextFiles",
    "TextString",
    "TokenStream",
    "TrainConfig",
    "Trainer",
    "TrainingError",
    "WorkerError",
    "clip_grad_norm",
    "clip_grad_value",
    "default_corpus",
    "load_model",
    "load_text",
    "param_groups",
    "plot_losses",
    "progress",
    "restore",
    "sample_text",
    "stream_text",
]

hints.explain_arguments(__all__, globals())
hints.explain_classes(__all__, globals(), Optimizer)
if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = hints.missing(__name__, OF_TRAIN, __all__)
    for _part in (data, optim, schedule):
        _part.__getattr__ = hints.missing(_part.__name__, OF_TRAIN)
