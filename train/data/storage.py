"""Where ids are kept: in memory, or in a temporary file where there are many of them.

The temporary file has no name (on Windows, it is deleted with its last handle), so that it is gone
with the process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from ..given.words import cause
from .errors import DataError

IN_MEMORY = 64 << 20  # bytes of ids up to which they are kept in memory


def scratch_folder() -> str:
    """The folder for large temporary files: the one set by TMPDIR (Windows: TEMP, TMP), else
    /var/tmp, since /tmp is often a part of memory, else the system's."""
    if not any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")):
        if os.name == "posix" and os.access("/var/tmp", os.W_OK | os.X_OK):
            return "/var/tmp"
    return tempfile.gettempdir()


def scratch_file() -> IO[bytes]:
    """A temporary file that vanishes when it is closed, and with the process."""
    return tempfile.TemporaryFile(prefix="tinytensor-", dir=scratch_folder())


@contextmanager
def kept(what: str) -> Iterator[None]:
    """Name what could not be written to a temporary file, a full disk being the usual cause."""
    try:
        yield
    except OSError as error:
        try:
            where = f" in {scratch_folder()}"
        except OSError:  # none can be written to, which is what `error` says
            where = ""
        raise DataError(
            f"data: cannot keep {what} in a temporary file{where}: {cause(error)}; "
            "TMPDIR names another folder for it"
        ) from None


def keep_ids(parts: Iterable[np.ndarray], count: int, symbols: int) -> np.ndarray:
    """Ids in one array of the smallest unsigned type that holds them.

    Args:
        parts: the ids, one after the other, ``count`` of them in all.
        count: how many.
        symbols: all ids are below it.

    Returns:
        (count,), uint8, uint16 or uint32; a read-only :class:`numpy.memmap` above ``IN_MEMORY``
        bytes.

    Raises:
        DataError: the temporary file cannot be written.
    """
    dtype = np.min_scalar_type(max(symbols - 1, 0))
    if count * dtype.itemsize <= IN_MEMORY:
        ids, filled = np.empty(count, dtype), 0
        for part in parts:
            ids[filled : filled + len(part)] = part
            filled += len(part)
        return ids
    with kept(f"{count:,} ids"), scratch_file() as file:
        for part in parts:
            file.write(part.astype(dtype).data)  # not through the map: a full disk would kill us
        file.flush()
        return np.memmap(file, dtype, mode="r", shape=(count,))
