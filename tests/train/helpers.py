"""What the training tests share: a small text, small settings, the command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tinytensor
from tinytensor.train import TrainConfig

ROOT = Path(tinytensor.__file__).resolve().parent.parent
TEXT = "the quick brown fox jumps over the lazy dog.\n" * 20
#: what the first Ctrl-C is answered with
LEAVING = "finishing this step, then saving; Ctrl-C again leaves at once"
SMALL: dict[str, dict[str, Any]] = {
    "gpt": {"n_layer": 1, "n_head": 2, "n_embd": 8},
    "gru": {"n_layer": 2, "n_embd": 6, "n_hidden": 7},
    "lstm": {"n_layer": 2, "n_embd": 6, "n_hidden": 7},
    "rnn": {"n_layer": 2, "n_embd": 6, "n_hidden": 7},
}


def config(model: str = "gpt", **settings: Any) -> TrainConfig:
    """Settings of a run that takes a moment."""
    small = {"block_size": 8, "batch_size": 3, "steps": 12, "warmup": 3, "lr": 1e-2}
    return TrainConfig(model=model, **{**small, **SMALL[model], **settings})


def flags(model: str = "gpt", **settings: Any) -> list[str]:
    """The same settings as flags of ``train``."""
    return [
        part
        for name, value in config(model, **settings).to_dict().items()
        if value is not None and name not in ("data", "out", "encoding")
        for part in (
            [f"--{'' if value else 'no-'}{name.replace('_', '-')}"]
            if isinstance(value, bool)
            else [f"--{name.replace('_', '-')}", str(value)]
        )
    ]


def environment() -> dict[str, str]:
    """The environment in which ``python -m tinytensor`` finds the package that is tested."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", **one}


def command(*args: object) -> list[str]:
    """A command line of tinytensor."""
    return [sys.executable, "-m", "tinytensor", *map(str, args)]


def call(*args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        command(*args), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=120
    )
