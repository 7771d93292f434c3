"""Files that hold a text: found by names, folders and patterns, and opened to be read twice."""

from __future__ import annotations

import glob
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from ..given.paths import given_path
from ..given.words import cause
from .errors import DataError
from .storage import kept, scratch_file

Names = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def find_files(names: Names) -> tuple[list[Path], list[str]]:
    """The files that names stand for, in the order of the names, each once.

    A name that exists stands for itself. A folder stands for the regular files in it and in its
    folders, without hidden ones, sorted. Any other name with ``*``, ``?`` or ``[`` is a pattern,
    where ``**`` is any depth of folders, and stands for the files that match it, sorted.

    Returns:
        files: which need not be readable.
        repeated: names, and files of folders and patterns, that were there before.

    Raises:
        DataError: a pattern without a match, a folder without files or that cannot be read.
    """
    files: list[Path] = []
    repeated: list[str] = []
    seen: set[tuple[object, ...]] = set()
    for name in as_names(names):
        for path in _stands_for(name):
            key = _identity(path)
            if key in seen:
                repeated.append(str(path))
            else:
                seen.add(key)
                files.append(path)
    return files, repeated


def as_names(names: Names) -> tuple[str, ...]:
    """One name or several, as several, with ``~`` filled in.

    Raises:
        DataError: one can be no path.
    """
    several = [names] if isinstance(names, (str, os.PathLike)) else names
    try:
        return tuple(given_path(name) for name in several)
    except ValueError as error:
        raise DataError(f"data: {error}") from None


def absolute_names(names: Names) -> tuple[str, ...]:
    """Names, folders and patterns that stand for the same files in any working folder."""
    return tuple(
        os.path.join(glob.escape(os.getcwd()), name)
        if is_pattern(name) and not os.path.isabs(name)
        else str(Path(name).absolute())
        for name in as_names(names)
    )


def is_pattern(name: str) -> bool:
    """Whether a name is no file's or folder's, and has the marks of a pattern."""
    return glob.escape(name) != name and not os.path.lexists(name)


def _stands_for(name: str) -> list[Path]:
    """The files of one name."""
    try:
        if is_pattern(name):
            matches = sorted(Path(match) for match in glob.glob(name, recursive=True))
            found = [path for path in matches if path.is_file()]
            if not found:
                raise DataError(f"data: no file matches {name}")
            return found
        if os.path.isdir(name):
            found = sorted(_inside(name))
            if not found:
                raise DataError(f"data: the folder {name} has no files (hidden ones do not count)")
            return found
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        where = getattr(error, "filename", None) or name
        raise DataError(f"data: cannot read {where}: {cause(error)}") from None
    return [Path(name)]


def _inside(folder: str) -> Iterable[Path]:
    """The regular files below a folder, hidden ones left out; links to folders are not followed."""

    def fail(error: OSError) -> None:
        raise error

    for root, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(root, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def _identity(path: Path) -> tuple[object, ...]:
    """What two names of the same file have in common."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return (path,)
    return (found.st_dev, found.st_ino) if found.st_ino else (path.resolve(),)


def open_file(path: str | Path) -> tuple[IO[bytes], bool]:
    """A file open for reading, and whether it can be opened again.

    What can be read only once, a pipe say, is copied to a temporary file, which is returned.

    Raises:
        DataError: it cannot be opened or read, or is a device; the message names it.
    """
    try:
        file = open(path, "rb")
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode):
            return file, True
        with file:
            if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and not file.isatty():
                raise DataError(f"data: {path} is a device, not a text")
            return _copy(file, str(path)), False
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        gone = isinstance(error, FileNotFoundError) and str(path).startswith("/dev/fd/")
        hint = "; it was a pipe, which is there only once: name a file" if gone else ""
        raise DataError(f"data: cannot read {path}: {cause(error)}{hint}") from None


def _copy(file: IO[bytes], name: str) -> IO[bytes]:
    """All that is left of a file, in a temporary one."""
    with kept(f"the text of {name}"):
        copy = scratch_file()
        try:
            shutil.copyfileobj(file, copy, 1 << 18)
            copy.flush()
        except BaseException:
            copy.close()
            raise
    return copy
