"""All settings of a run: defaults, checks, and the TOML file."""

from .config import (
    MODEL_FIELDS,
    TASK_FIELDS,
    TrainConfig,
    check_names,
    check_value,
    text_name,
    usual_task,
    value_type,
)
from .fields import CHOICES, LARGEST, PATHS, SEEDS, ConfigError

__all__ = [
    "CHOICES",
    "LARGEST",
    "MODEL_FIELDS",
    "PATHS",
    "SEEDS",
    "TASK_FIELDS",
    "ConfigError",
    "TrainConfig",
    "check_names",
    "check_value",
    "text_name",
    "usual_task",
    "value_type",
]
