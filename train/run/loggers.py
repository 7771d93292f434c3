"""Further logs of a run, for spreadsheets and for TensorBoard, beside its ``log.jsonl``.

That one is always there, and the others are made from it where a run goes on: they hold each step
once, whatever was killed when, and all steps even if a run begins only later to keep them. A log
that cannot be written never costs the run: it is said once, and the run goes on without it.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ..config import ConfigError
from ..given.words import cause
from ..results.log_file import LOG, LONGEST, entries
from ..system.files import lines, open_regular, write_atomically

CSV = "log.csv"
#: the folder of TensorBoard's files in that of the run
EVENTS = "tensorboard"
COLUMNS = ("step", "loss", "lr", "grad_norm", "seconds", "val_loss")
HEADER = ",".join(COLUMNS).encode() + b"\n"
#: what TensorBoard calls them
TAGS = {
    "loss": "loss/training",
    "val_loss": "loss/validation",
    "lr": "learning rate",
    "grad_norm": "gradient norm",
    "seconds": "seconds per step",
}


class Logger(Protocol):
    """What keeps the numbers of a run: ``loss``, ``lr``, ``grad_norm`` and ``seconds`` of a step,
    then the ``val_loss`` of the same step where there is a validation."""

    def write(self, step: int, **values: Any) -> None:
        """Add numbers of a step."""

    def close(self) -> None:
        """No more will come."""


class Logs:
    """The log of a run and some more, which may fail.

    Args:
        first: the log that is always there.
        names: of the others, "csv" and "tensorboard".
        folder: of the run.
        trouble: told once of each that cannot be written, and why.
    """

    def __init__(
        self,
        first: Logger,
        names: Sequence[str],
        folder: Path,
        trouble: Callable[[str], object],
    ):
        self._first = first
        self._trouble = trouble
        self._more: dict[str, Logger] = {}
        for name in names:
            try:
                self._more[name] = MORE[name](folder)
            except Exception as error:
                self._give_up(name, error)

    def write(self, step: int, **values: Any) -> None:
        """See :class:`Logger`."""
        self._first.write(step, **values)
        self._all(lambda log: log.write(step, **values))

    def close(self) -> None:
        """See :class:`Logger`."""
        self._first.close()
        self._all(lambda log: log.close())

    def _all(self, act: Callable[[Logger], None]) -> None:
        for name, log in list(self._more.items()):
            try:
                act(log)
            except Exception as error:  # TensorBoard's are of many kinds
                del self._more[name]
                self._give_up(name, error)

    def _give_up(self, name: str, error: Exception) -> None:
        self._trouble(
            f"the {name} log cannot be written: {cause(error)}; the run goes on without it"
        )


class CsvLog:
    """``log.csv``: a line for each step, with :data:`COLUMNS`; empty where there is no number.

    A line is written when the next step begins, for its validation comes after the step.

    Args:
        folder: of the run. Its log is taken over.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path):
        self._row: dict[str, float] = {}

        def content(file: BinaryIO) -> None:
            self._row = {}
            file.write(HEADER)
            for step, values in entries(folder / LOG):
                file.write(self._taken(step, values))

        path = write_atomically(folder / CSV, content)
        self._file = open(open_regular(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)

    def write(self, step: int, **values: Any) -> None:
        """See :class:`Logger`."""
        self._file.write(self._taken(step, values))

    def close(self) -> None:
        """See :class:`Logger`."""
        with self._file:
            self._file.write(self._line())
            self._row = {}

    def _taken(self, step: int, values: dict[str, float]) -> bytes:
        """Take numbers; returns the line of the step before if they begin a new one."""
        line = b""
        if self._row.get("step", step) != step:
            line, self._row = self._line(), {}
        self._row |= {"step": step, **values}
        return line

    def _line(self) -> bytes:
        if not self._row:
            return b""
        cells = (repr(self._row[name]) if name in self._row else "" for name in COLUMNS)
        return ",".join(cells).encode() + b"\n"


class TensorBoardLog:
    """A file for TensorBoard in the folder ``tensorboard``; those of before are taken over.

    Args:
        folder: of the run. Its log is taken over.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        place = folder / EVENTS
        place.mkdir(exist_ok=True)
        if place.is_symlink():  # as a planted one might lead anywhere
            raise NotADirectoryError(errno.ENOTDIR, f"{place} is a link; expected a folder")
        old = event_files(folder)
        host = re.sub(r"[^\w-]", "_", socket.gethostname())
        now = time.time()
        path = place / f"events.out.tfevents.{now:010.0f}.{host}.{os.getpid()}.0"
        self._event = Event
        log = folder / LOG
        began = now - sum(values.get("seconds", 0.0) for _, values in entries(log))

        def content(file: BinaryIO) -> None:
            self._records = RecordWriter(file)
            self._records.write(
                Event(wall_time=now, file_version="brain.Event:2").SerializeToString()
            )
            at = began
            for step, values in entries(log):
                at += values.get("seconds", 0.0)
                self._add(step, values, at)

        write_atomically(path, content)
        # TensorBoard's own writer hands its file to a thread, which a forked process lacks and
        # which prints a traceback where the disk is full. Its records can be written without.
        self._file = open(open_regular(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)
        self._records = RecordWriter(self._file)
        for file in old:
            if file != path:
                file.unlink(missing_ok=True)

    def write(self, step: int, **values: Any) -> None:
        """See :class:`Logger`."""
        self._add(step, values, time.time())

    def close(self) -> None:
        """See :class:`Logger`."""
        self._file.close()

    def _add(self, step: int, values: dict[str, float], at: float) -> None:
        event = self._event(step=step, wall_time=at)
        for name, value in values.items():
            if name in TAGS:
                event.summary.value.add(tag=TAGS[name], simple_value=value)
        self._records.write(event.SerializeToString())


MORE: dict[str, Callable[[Path], Logger]] = {"csv": CsvLog, "tensorboard": TensorBoardLog}


def event_files(folder: Path) -> list[Path]:
    """TensorBoard's files in the folder of a run, not those behind a link."""
    place = folder / EVENTS
    return [] if place.is_symlink() else list(place.glob("events.out.tfevents.*"))


def remove_others(folder: Path, names: Sequence[str]) -> None:
    """Delete the further logs of an earlier run, except those that the new one writes anew: they
    would stand beside its results as if they were its own."""
    with contextlib.suppress(OSError):
        if "csv" not in names and next(lines(folder / CSV, LONGEST), b"") == HEADER:
            (folder / CSV).unlink()
    if "tensorboard" not in names:
        for file in event_files(folder):
            with contextlib.suppress(OSError):
                file.unlink()
        with contextlib.suppress(OSError):  # one that is not empty, or a link
            (folder / EVENTS).rmdir()


def further(names: str) -> list[str]:
    """The logs of a setting such as ``"jsonl,csv"`` besides the first one, which is always there.

    Raises:
        ConfigError: TensorBoard's package is not installed.
    """
    more = [name for name in names.split(",") if name in MORE]
    if "tensorboard" in more and importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "log: tensorboard needs the package of this name, which is not installed; "
            "pip install tensorboard"
        )
    return more
