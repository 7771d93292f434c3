"""What the page shows, read from a run's folder: all at first, then what has come since.

The files may be those of a run that goes on, here or elsewhere.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from ..results.log_file import LOG, LONGEST, entry_of
from ..results.watch_file import LONGEST as LONGEST_SEEN
from ..results.watch_file import NAME, Seen, number, parsed
from ..system.files import open_regular

#: points of a curve; of a longer run each is the mean of several steps
POINTS = 2000
#: bytes that are read at once, and of what was read last by which a file is known again
PIECE, MARK = 1 << 22, 256


class Tail:
    """The lines that are added to a file, from its beginning; it may be replaced by another.

    Args:
        path: of the file, which need not be there. longest: bytes of a line; longer ones are
            left out.
    """

    def __init__(self, path: Path, longest: int):
        self._path, self._longest = path, longest
        self._forget()

    def _forget(self) -> None:
        self._node, self._offset, self._mark, self._rest = (0, 0), 0, b"", b""

    def read(self) -> tuple[bool, list[bytes]]:
        """Whether the file is another one than before, and the whole lines that are new in it."""
        try:
            with open(open_regular(self._path, os.O_RDONLY), "rb") as file:
                about = os.fstat(file.fileno())
                node = (about.st_dev, about.st_ino)
                file.seek(max(0, self._offset - len(self._mark)))
                same = node == self._node and file.read(len(self._mark)) == self._mark
                if not same:
                    self._forget()
                    self._node = node
                    file.seek(0)
                return not same, self._lines(file)
        except OSError:  # there is none, or it cannot be read
            there = self._node != (0, 0)
            self._forget()
            return there, []

    def _lines(self, file: Any) -> list[bytes]:
        lines: list[bytes] = []
        while piece := file.read(PIECE):
            self._offset += len(piece)
            self._mark = (self._mark + piece)[-MARK:]
            *whole, self._rest = (self._rest + piece).split(b"\n")
            lines += [line for line in whole if len(line) <= self._longest]
            if len(self._rest) > self._longest:  # its end will be left out too, being no JSON
                self._rest = b"\0"
        return lines


class Curves:
    """Loss, learning rate and norm of the gradient by step, and the losses of validations; at most
    :data:`POINTS` of each."""

    def __init__(self) -> None:
        self.stride = 1  # steps of a point
        self.points: list[list[float]] = []  # last step, sum of losses, lr, sum of norms, count
        self.val: list[tuple[int, float]] = []

    def add(self, step: int, values: dict[str, float]) -> bool:
        """Take numbers of a step; returns whether points that were there have changed."""
        if "val_loss" in values:
            self.val.append((step, values["val_loss"]))
        if "loss" in values:
            loss, norm, lr = (float(values.get(name, 0)) for name in ("loss", "grad_norm", "lr"))
            place = (step - 1) // self.stride
            if self.points and (int(self.points[-1][0]) - 1) // self.stride >= place:
                last = self.points[-1]
                last[:] = [step, last[1] + loss, lr, last[3] + norm, last[4] + 1]
            else:
                self.points.append([step, loss, lr, norm, 1])
        return self._shorten()

    def _shorten(self) -> bool:
        longer = len(self.points) > POINTS
        if longer:
            self.stride *= 2
            merged: dict[int, list[float]] = {}
            for point in self.points:
                place = (int(point[0]) - 1) // self.stride
                one = merged.setdefault(place, [0.0] * 5)
                one[:] = [
                    point[0],
                    one[1] + point[1],
                    point[2],
                    *(map(sum, zip(one[3:], point[3:]))),
                ]
            self.points = list(merged.values())
        many = len(self.val) > POINTS
        if many:
            self.val = self.val[::2]
        return longer or many

    def after(self, train: int, val: int) -> dict[str, Any]:
        """The points from these numbers on, as the page has them."""
        return {
            "stride": self.stride,
            "train": [
                [int(step), number(loss / n), number(lr), number(norm / n)]
                for step, loss, lr, norm, n in self.points[train:]
            ],
            "val": [[step, number(loss)] for step, loss in self.val[val:]],
        }


class Followed:
    """A run's folder; may be asked by several threads.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: Path):
        self._lock = threading.Lock()
        self._log = Tail(folder / LOG, LONGEST)
        self._watched = Tail(folder / NAME, LONGEST_SEEN)
        self.folder = folder
        self._generation = 0
        self._run: dict[str, Any] = {}
        self._clear()
        self._seen: list[Seen] = []
        self._known: set[tuple[str, int]] = set()
        #: whether the run has ended, so that nothing more will come
        self.ended = False

    def _clear(self) -> None:
        self._curves = Curves()
        self._generation += 1

    @property
    def watched(self) -> bool:
        """Whether the run was watched at all."""
        return bool(self._run or self._seen)

    def data(self, mark: str = "") -> dict[str, Any]:
        """What has come since a mark, an earlier answer's ``mark``; everything where that is "" or
        of another time.

        ``at`` tells from which number on the lists of the page are to be replaced.
        """
        with self._lock:
            self._update()
            train, val, seen = self._places(mark)
            done = max(0, len(self._curves.points) - 1)  # the last point may yet change
            following = (self._generation, done, len(self._curves.val), len(self._seen))
            return {
                "mark": ".".join(map(str, following)),
                "at": {"train": train, "val": val, "seen": seen},
                "run": self._run,
                "ended": self.ended,
                **self._curves.after(train, val),
                "seen": [[one.kind, one.step, one.value] for one in self._seen[seen:]],
            }

    def _places(self, mark: str) -> tuple[int, int, int]:
        parts = mark[:100].split(".")
        if len(parts) == 4 and all(part.isascii() and part.isdigit() for part in parts):
            generation, train, val, seen = map(int, parts)
            if generation == self._generation and train <= len(self._curves.points):
                return train, val, seen
        return 0, 0, 0

    def _update(self) -> None:
        other, lines = self._log.read()
        if other:
            self._clear()
        changed = False
        for line in lines:
            step, values = entry_of(line)
            if step is not None:
                changed |= self._curves.add(step, values)
        if changed:
            self._generation += 1
        other, lines = self._watched.read()
        if other:
            self._seen, self._known, self._run = [], set(), {}
            self._generation += 1
        for line in lines:
            found = parsed(line)
            if isinstance(found, dict):
                self._run = {
                    key: value
                    for key, value in found.items()
                    if isinstance(value, (str, int, float, bool, type(None)))
                }
            elif found is not None and (found.kind, found.step) not in self._known:
                self._known.add((found.kind, found.step))
                self._seen.append(found)
