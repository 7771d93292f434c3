"""The folder of a run: chosen so that no other run has it, held while the run lasts, written to.

It holds the checkpoint, the log and the picture of the losses, and while a run has it a lock, which
the system takes away from a process that is killed, with a note beside it of who holds it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..checkpoint import NAME, Checkpoint, SaveError, save
from ..config import ConfigError
from ..given.paths import given_path
from ..given.words import cause
from ..results.log_file import LOG
from ..results.watch_file import NAME as WATCHED
from ..results.watch_file import cut
from ..system.files import lines, remove_leftovers, write_bytes
from ..system.terminal import command, one_line, warn
from .log import Log
from .loggers import Logs, remove_others

PICTURE = "loss.png"
LOCK = ".lock"
OWNER = ".owner"
#: seconds to wait before the last checkpoint of a run is tried again
LAST_TRIES = (1.0, 2.0, 4.0)

#: what a file system says that has no locks
_NO_LOCKS = {
    getattr(errno, name, None) for name in ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "ENOLCK", "EINVAL")
}


class RunFolder:
    """The folder of a run.

    ::

        with RunFolder("runs/mine").held() as folder:
            folder.save(checkpoint)

    Args:
        path: where, with ``~`` filled in; it is made when it is claimed.

    Attributes:
        path: as given.
        saved: the step of the checkpoint that the run saved, or goes on from; None before.
    """

    def __init__(self, path: str | Path):
        try:
            self.path = Path(given_path(path))
        except ValueError as error:
            raise ConfigError(f"folder: {error}") from None
        self.saved: int | None = None
        self._lock: Any = None
        self._held = False
        self._made: list[Path] = []  # folders that claim has made, the deepest first
        self._log: Logs | None = None
        self._failures = 0  # saves in a row

    @classmethod
    def choose(cls, name: str, root: str | Path = "runs") -> RunFolder:
        """Make and claim the first of ``root/name``, ``root/name-2``, ... that is not there.

        Raises:
            ConfigError: it cannot be made.
        """
        number = 1
        while True:
            folder = cls(Path(root) / (name if number == 1 else f"{name}-{number}"))
            try:
                made = folder._make(new=True)
            except OSError as error:
                raise folder._refused(error) from None
            if made:
                with contextlib.suppress(InUse):  # by a run that was given it by name
                    folder.claim()
                    return folder
            number += 1

    # ---- who has it -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[RunFolder]:
        """Claim it, unless this object has done so before, and release it at the end."""
        if self._held:
            yield self
            return
        self.claim()
        try:
            yield self
        finally:
            self.release()

    def claim(self) -> None:
        """Make the folder if need be, and hold it.

        Raises:
            InUse: another run has it, in this process or elsewhere; says which. (A ConfigError.)
            ConfigError: it cannot be made or written to.
        """
        held = self._held
        try:
            self._claim()
        except BaseException:  # that of a signal too: nothing is to stay behind
            if not held:
                self._held = self._lock is not None
                self.release()
                self._unmake()
            raise

    def _claim(self) -> None:
        for last in (False, False, True):
            try:
                self._make(new=False)
                self._acquire()
                break
            except FileNotFoundError as error:  # another run, which ended, has removed it again
                if last:
                    raise self._refused(error) from None
            except OSError as error:
                raise self._refused(error) from None
        self._held = True
        remove_leftovers(self.path, (NAME, LOG, PICTURE, OWNER, WATCHED))
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        with contextlib.suppress(OSError):
            write_bytes(self.path / OWNER, json.dumps(note).encode())

    def release(self) -> None:
        """Let others have it. Folders that :meth:`claim` made, and that are empty, are removed."""
        if not self._held:
            return
        self.close_log()
        self._held = False
        for name in (OWNER, LOCK):
            # While it is locked: whoever waits for this very file finds it gone, and takes a new
            # one. Windows keeps a file that is open; there the lock removes it.
            with contextlib.suppress(OSError):
                (self.path / name).unlink()
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                lock.release()
        self._unmake()

    def _make(self, new: bool) -> bool:
        """Make the folder and those above it; False where it must be new and is not."""
        missing = [
            p for p in (self.path, *self.path.parents) if not p.exists() and not p.is_symlink()
        ]
        for folder in reversed(missing):
            try:
                folder.mkdir()
            except FileExistsError:  # just now, by another run
                if new and folder == self.path:
                    return False
            else:
                self._made.insert(0, folder)
        if not self.path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return not new or self.path in self._made

    def _unmake(self) -> None:
        with contextlib.suppress(OSError):  # one that is not empty, and so those above it
            for folder in self._made:
                folder.rmdir()
        self._made = []

    def _acquire(self) -> None:
        try:
            with warnings.catch_warnings():  # that this system has no flock
                warnings.simplefilter("ignore")
                from filelock import FileLock, Timeout
        except ImportError:  # as where Python runs in a browser
            self._unlocked("the package filelock is missing")
            return
        lock = FileLock(self.path / LOCK, timeout=0, thread_local=False)
        try:
            with warnings.catch_warnings():  # of a system without flock, where a mere file must do
                warnings.simplefilter("ignore")
                lock.acquire()
        except Timeout:
            raise InUse(f"out: {self.path} is in use by {self._owner()}") from None
        except NotImplementedError:
            self._unlocked("this system has no locks")
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            self._unlocked(cause(error))
        else:
            self._lock = lock

    def _unlocked(self, reason: str) -> None:
        warn(f"{self.path} cannot be locked ({reason}); see that no other run uses it")

    def _owner(self) -> str:
        """Who holds it, by the note beside the lock, which may be missing or anything."""
        advice = "choose another --out, or wait"
        for wait in (0.1, 0.2, 0.0):  # the note comes a moment after the lock
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, OverflowError):
                note = json.loads(next(lines(self.path / OWNER, 4096), b""))
                pid, host = int(note["pid"]) % 2**32, str(note["host"])[:100]
                since = float(note["since"])
                clock = "%H:%M:%S" if time.time() - since < 43200 else "%Y-%m-%d %H:%M:%S"
                when = time.strftime(clock, time.localtime(since))
                if pid == os.getpid() and host == socket.gethostname():
                    return f"another run of this process since {when}; {advice}"
                return f"process {pid} on {one_line(host)} since {when}; {advice}"
            time.sleep(wait)
        return f"another process; {advice}"

    def _refused(self, error: OSError) -> ConfigError:
        return ConfigError(f"out: cannot write to {self.path}: {cause(error)}")

    # ---- what is in it --------------------------------------------------------------------------

    @property
    def checkpoint(self) -> Path:
        """The checkpoint's file, whether or not it is there."""
        return self.path / NAME

    @property
    def picture(self) -> Path:
        """The picture's file, whether or not it is there."""
        return self.path / PICTURE

    @property
    def saved_step(self) -> int | None:
        """:attr:`saved`, if the checkpoint is still there."""
        return self.saved if self.checkpoint.is_file() else None

    def save(self, checkpoint: Checkpoint, step: int) -> Path:
        """Write the checkpoint of a step.

        Raises:
            SaveError: it could not be written; what was there is untouched.
        """
        # a second in vain is enough: a disk that stays full is not to slow the run down
        path = save(self.checkpoint, checkpoint, () if self._failures else None)
        self.saved = step
        if self._failures:
            warn(f"checkpoints are written again, to {path}")
            self._failures = 0
        return path

    def save_failed(self, error: SaveError) -> None:
        """Warn that the run goes on without this checkpoint: of many in a row, now and then."""
        self._failures += 1
        if self._failures & (self._failures - 1) == 0:  # the 1st, 2nd, 4th, 8th ...
            warn(f"{error}; the run goes on till the next checkpoint")

    def start_log(self, step: int, validated: int, more: Sequence[str] = ()) -> None:
        """Begin to log, after what the log has up to there; see :class:`Log`.

        Args:
            step, validated: see there. more: names of further logs, see :class:`Logs`.
        """

        def trouble(text: str) -> None:
            warn(f"{self.path}: {text}")

        if step == 0 and (self.checkpoint.is_file() or (self.path / LOG).is_file()):
            remove_others(self.path, more)  # of the run that was here before
        try:
            cut(self.path, step)
        except OSError as error:
            trouble(f"{WATCHED} cannot be written: {cause(error)}")
        self._log = Logs(Log(self.path, step, validated, trouble), more, self.path, trouble)

    def log(self, step: int, **values: Any) -> None:
        """Add a line to the log, if it was begun."""
        if self._log is not None:
            self._log.write(step, **values)

    def close_log(self) -> None:
        """End the log."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def command(self, *more: str) -> str:
        """The command line that goes on with the run in it, with further arguments."""
        return command("train", "--resume", "--out", self.path, *more)


class InUse(ConfigError):
    """Another run has the folder."""


def last_checkpoint(folder: RunFolder | None) -> str:
    """Where a run can go on that has to end: what to add to an error's message."""
    if folder is None:
        return ""
    if folder.saved_step is None and folder.checkpoint.is_file():
        return f"; no checkpoint was saved, the one in {folder.path} is another run's"
    if folder.saved_step is None:
        return "; no checkpoint was saved"
    return f"; the last checkpoint is in {folder.path}, of step {folder.saved_step}"


def save_on_the_way(folder: RunFolder | None, save: Callable[[], object]) -> None:
    """Save a run that goes on; where that fails, it goes on without."""
    try:
        save()
    except SaveError as error:
        assert folder is not None
        folder.save_failed(error)


def save_at_the_end(save: Callable[[], object]) -> None:
    """Save a run that ends: with more patience, since there is no next time.

    Raises:
        SaveError: the last try has failed.
    """
    for wait in LAST_TRIES:
        try:
            save()
            return
        except SaveError as error:
            warn(f"{error}; another try in {wait:.0f} s")
            time.sleep(wait)
    save()
