"""What happened so far in a run: losses by step, and the log file that shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

LOG = "log.jsonl"


class History:
    """Losses of a run, kept in its checkpoint.

    Attributes:
        train: the loss of each step; ``train[0]`` is step 1's.
        val: pairs (step, loss) of the validations.
    """

    def __init__(self) -> None:
        self.train: list[float] = []
        self.val: list[tuple[int, float]] = []

    @property
    def validated(self) -> int:
        """The step of the last validation, -1 before the first."""
        return self.val[-1][0] if self.val else -1

    def arrays(self) -> dict[str, np.ndarray]:
        """As float64 arrays: train (steps,) and val (validations, 2)."""
        return {
            "train": np.array(self.train, dtype=np.float64),
            "val": np.array(self.val, dtype=np.float64).reshape(-1, 2),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], step: int) -> History:
        """The history at ``step`` from what :meth:`arrays` returned; ValueError if it is not."""
        history = cls()
        train, val = arrays.get("train"), arrays.get("val")
        if train is None or train.shape != (step,) or train.dtype != np.float64:
            raise ValueError(f"history: expected the losses of {step} steps")
        if val is None or val.ndim != 2 or val.shape[1] != 2 or val.dtype != np.float64:
            raise ValueError("history: expected pairs of step and validation loss")
        if len(arrays) > 2:
            raise ValueError(f"history: expected train and val, got {len(arrays)} arrays")
        if not np.isfinite(train).all():
            raise ValueError("history: a training loss is not finite")
        at = np.concatenate([[0.0], val[:, 0], [step]])
        if not ((at == np.floor(at)).all() and (np.diff(at[:-1]) > 0).all() and at[-2] <= step):
            raise ValueError(f"history: expected validations at rising steps from 1 to {step}")
        history.train = train.tolist()
        history.val = [(int(at), loss) for at, loss in val.tolist()]
        return history


class Log:
    """A text file with one JSON object for each step and each validation.

    Args:
        folder: of the run.
        step: where the run continues. Lines of later steps, written by a process that was killed
            after its last checkpoint, are taken out, so that each step is there once.
    """

    def __init__(self, folder: Path, step: int):
        path = folder / LOG
        kept = []
        if step and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    keep = entry["step"] < step or entry["step"] == step and "loss" in entry
                except (ValueError, KeyError, TypeError):  # the half line of a killed process
                    continue
                if keep:
                    kept.append(line + "\n")
        self._file = open(path, "w", encoding="utf-8", buffering=1)
        self._file.writelines(kept)

    def write(self, step: int, **values: Any) -> None:
        """Add a line."""
        self._file.write(json.dumps({"step": step, **values}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
