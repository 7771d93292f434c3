"""The log of a run, which is always there: ``log.jsonl``."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..given.words import cause
from ..results.log_file import LOG, kept
from ..system.files import open_regular, write_atomically


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
            self._tell(f"{cause(error)}; the run goes on without it")

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
            self._tell(f"{cause(error)}; the run goes on, and tries again")

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

    def _tell(self, why: str) -> None:
        if self._trouble is not None:
            self._trouble(f"{LOG} cannot be written: {why}")
            self._trouble = None
