"""Writing what is watched into the run's folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from ..results.watch_file import LONGEST, MOST, MOST_BYTES, NAME, Seen, parsed, spread_out
from ..system.files import lines, open_regular, write_atomically


class WatchLog:
    """``watch.jsonl``, see :mod:`..results.watch_file`; what is there already is kept.

    It stays small: where there are more than :data:`MOST` observations of a kind, or they take more
    than :data:`MOST_BYTES`, half of them stay, spread evenly over the steps.

    Args:
        folder: of the run. run: what to tell of it; how many observations were thinned out is
            added to it as ``thinned``.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, run: dict[str, Any]):
        self._path = folder / NAME
        self._run = {**run, "thinned": 0}
        self._sizes: dict[str, dict[int, int]] = {}  # kind -> step -> bytes
        self._handle: int | None = None
        for line in lines(self._path, LONGEST) if self._path.exists() else ():
            found = parsed(line)
            if isinstance(found, Seen):
                self._sizes.setdefault(found.kind, {})[found.step] = len(line)
            elif isinstance(found, dict) and type(found.get("thinned")) is int:
                self._run["thinned"] = found["thinned"]
        self._rewrite()

    def has(self, kind: str, step: int) -> bool:
        """Whether there is an observation of a kind after a step."""
        return step in self._sizes.get(kind, {})

    def add(self, seen: Seen) -> None:
        """Add an observation.

        Raises:
            OSError: it cannot be written. ValueError: it is none.
        """
        line = seen.line()
        if len(line) > LONGEST or parsed(line) is None:
            raise ValueError(f"{seen.kind} of step {seen.step}: {len(line)} bytes are too many")
        assert self._handle is not None
        written = os.write(self._handle, line)
        if written < len(line):
            os.ftruncate(self._handle, os.fstat(self._handle).st_size - written)
            raise OSError(28, "No space left on device")
        own = self._sizes.setdefault(seen.kind, {})
        own[seen.step] = len(line)
        if len(own) > MOST or sum(own.values()) > MOST_BYTES and len(own) > 2:
            keep = spread_out(sorted(own), max(2, len(own) // 2))
            self._run["thinned"] += len(own) - len(keep)
            self._sizes[seen.kind] = {step: own[step] for step in keep}
            self._rewrite()

    def close(self) -> None:
        """No more will come."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _rewrite(self) -> None:
        """The file with what is told of the run now, and with the observations that are kept."""
        self.close()

        def content(file: BinaryIO) -> None:
            file.write(json.dumps({"run": self._run}).encode() + b"\n")
            written: set[tuple[str, int]] = set()
            for line in lines(self._path, LONGEST) if self._path.exists() else ():
                found = parsed(line)
                if not isinstance(found, Seen) or not self.has(found.kind, found.step):
                    continue
                if (found.kind, found.step) not in written:
                    written.add((found.kind, found.step))
                    file.write(line)

        write_atomically(self._path, content)
        self._handle = open_regular(self._path, os.O_WRONLY | os.O_APPEND)
