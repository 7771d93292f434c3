"""Files that are at every moment the old one or the whole new one, whatever happens.

A file is written under another name in the same folder, flushed to the disk, and renamed. A kill, a
full disk or a power cut at any moment leaves what was there. The other name is a random one and
must be new, so that nobody can plant a link there that would lead the writing elsewhere; a link at
the name itself is replaced, not followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

#: seconds to wait before each further try; a virus scanner, or a reader on Windows, lets go soon
PATIENCE = (0.1, 0.3, 0.6)

#: reasons that no waiting takes away
_LASTING = {
    getattr(errno, name)
    for name in ("ENOENT", "ENOTDIR", "EISDIR", "EROFS", "ENAMETOOLONG", "ELOOP", "EINVAL", "EFBIG")
}


def write_atomically(
    path: str | Path,
    write: Callable[[BinaryIO], object],
    patience: Sequence[float] | None = None,
) -> Path:
    """Put a new file in the place of ``path``, or leave what is there.

    Args:
        path: where; its folder must exist.
        write: writes the content into a file that it is given, open in binary; called again for
            each further try.
        patience: seconds to wait before each further try, where one fails for a reason that may
            pass: a full disk, a file that somebody else has open (on Windows), a fault of the disk.
            None takes three within a second.

    Returns:
        The path.

    Raises:
        OSError: the last try failed too.
    """
    path = Path(path)
    for wait in (*(PATIENCE if patience is None else patience), None):
        try:
            _write_once(path, write)
            return path
        except OSError as error:
            if wait is None or error.errno in _LASTING:
                raise
            time.sleep(wait)
    raise AssertionError("unreachable")


def write_bytes(
    path: str | Path, content: bytes | bytearray, patience: Sequence[float] | None = None
) -> Path:
    """:func:`write_atomically` of what is in memory."""
    return write_atomically(path, lambda file: file.write(content), patience)


def _write_once(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, _flags(os.O_WRONLY | os.O_CREAT | os.O_EXCL), 0o666)
    try:
        with open(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def open_regular(path: str | Path, flags: int) -> int:
    """A descriptor of a file that is there: no link, no pipe, no device.

    Args:
        flags: such as ``os.O_RDONLY`` or ``os.O_WRONLY | os.O_APPEND``.

    Raises:
        OSError: there is none, or it is something else.
    """
    # without O_NONBLOCK a named pipe would wait for whoever is at its other end
    handle = os.open(path, _flags(flags) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return handle


def _flags(flags: int) -> int:
    extra = ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")  # each system has some of them
    for name in extra:
        flags |= getattr(os, name, 0)
    return flags


def lines(path: str | Path, longest: int) -> Iterator[bytes]:
    """The lines of a file with their ends, read one by one; longer ones are left out.

    Raises:
        OSError: there is none, or it is no regular file.
    """
    with open(open_regular(path, os.O_RDONLY), "rb") as file:
        whole = True  # whether the next piece begins a line
        while piece := file.readline(longest):
            ends = piece.endswith(b"\n")
            if whole and (ends or len(piece) < longest):
                yield piece
            whole = ends


def remove_leftovers(folder: str | Path, names: Sequence[str]) -> None:
    """Delete what killed processes had half written of these files; not while one may write."""
    for name in names:
        for file in Path(folder).glob(f".{name}.*.tmp"):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Wait until the disk knows of the rename.

    The new file is whole and in place by now; Windows and some network drives cannot do this.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
