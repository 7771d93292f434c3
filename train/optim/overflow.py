"""Noticing squares that overflow, in the very pass that forms them, so that it costs nothing."""

from __future__ import annotations

import warnings

import numpy as np


class Overflow(ArithmeticError):
    """The squares of some numbers are beyond what their dtype holds."""


class Watch:
    """Told by NumPy of each overflow inside of ``with watch.on():`` (a GPU tells of none).

    Attributes:
        armed: whether an overflow is to be noticed now; any other is treated as ever (a warning,
            if nobody has chosen otherwise by ``np.errstate``).
        seen: whether there was one since the block began, or since it was set to False.
    """

    def __init__(self) -> None:
        self.armed = self.seen = False
        self._else = "warn"

    def on(self) -> np.errstate:
        """A block in which overflows are noticed."""
        self.armed = self.seen = False
        self._else = np.geterr()["over"]
        return np.errstate(over="call", call=self)

    def __call__(self, kind: str, flag: int) -> None:
        """What NumPy calls."""
        if self.armed:
            self.seen = True
        elif self._else == "raise":
            raise FloatingPointError(f"{kind} encountered in a step")
        elif self._else != "ignore":
            warnings.warn(f"{kind} encountered in a step", RuntimeWarning, stacklevel=3)
