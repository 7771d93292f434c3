"""What happened so far in a run: losses by step, and the log file that shows them."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..system.files import lines, open_regular, write_atomically

LOG = "log.jsonl"
#: bytes; a longer line is not one of ours
LONGEST = 1 << 16


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

    A log that cannot be written never ends a run. What a full disk refuses is kept, up to
    :data:`WAITING` lines, and written as soon as it is possible; the losses are in the checkpoint
    too.

    Args:
        folder: of the run.
        step: where the run continues. Lines of later steps, written by a process that was killed
            after its last checkpoint, are taken out, so that each step is there once, and so is
            what is no line of a log. The old log is there until the new one is whole.
        validated: the step of the last validation in the history that the run continues.
        trouble: told once why something could not be written.
    """

    WAITING = 10_000

    def __init__(
        self,
        folder: Path,
        step: int = 0,
        validated: int = -1,
        trouble: Callable[[str], object] = lambda text: None,
    ):
        self._trouble: Callable[[str], object] | None = trouble
        self._waiting: deque[bytes] = deque()
        self._handle: int | None = None
        path = folder / LOG
        try:
            write_atomically(path, lambda file: file.writelines(kept(path, step, validated)))
            self._handle = open_regular(path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            self._tell(f"{error.strerror or error}; the run goes on without it")

    def write(self, step: int, **values: Any) -> None:
        """Add a line."""
        if self._handle is None:
            return
        if len(self._waiting) < self.WAITING:
            self._waiting.append((json.dumps({"step": step, **values}) + "\n").encode())
        try:
            while self._waiting:
                self._put(self._handle, self._waiting[0])
                self._waiting.popleft()
        except OSError as error:
            self._tell(f"{error.strerror or error}; the run goes on, and tries again")

    @staticmethod
    def _put(handle: int, line: bytes) -> None:
        """Add a line, or nothing."""
        done = 0
        try:
            while done < len(line):
                done += os.write(handle, line[done:])
        except OSError:
            if done:  # there was room for a part of it
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, os.fstat(handle).st_size - done)
            raise

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None

    def _tell(self, reason: str) -> None:
        if self._trouble is not None:
            self._trouble(f"{LOG} cannot be written: {reason}")
            self._trouble = None


def kept(path: Path, step: int, validated: int) -> Iterator[bytes]:
    """The lines of a log that a run keeps which continues at ``step``; see :class:`Log`."""
    if not step or path.is_symlink() or not path.is_file():
        return
    for line in lines(path, LONGEST):
        try:
            entry = json.loads(line)
            at = entry["step"]
            whole = type(at) is int and line.endswith(b"\n")
        except (ValueError, KeyError, TypeError, RecursionError):  # half a line of a killed process
            continue
        if whole and (at < step or at == step and ("loss" in entry or validated == step)):
            yield line
