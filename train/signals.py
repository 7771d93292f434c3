"""Leaving cleanly: Ctrl-C and SIGTERM become a wish that the training loop reads between steps."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any


class Stop:
    """Context manager that notes SIGINT and SIGTERM instead of dying from them.

    The first Ctrl-C says so on standard error. A second signal does what it does without us
    (Ctrl-C: KeyboardInterrupt), for a step that takes too long. Outside the main thread, where
    Python allows no handlers, it only carries the wish of :meth:`request`.

    Attributes:
        signal: the number of the signal that came, None before.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def request(self, number: int = signal.SIGINT) -> None:
        """Ask the loop to stop after the current step."""
        self.signal = number

    def __bool__(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: Any) -> None:
        self.request(number)
        # os.write: a handler may interrupt a print, and then must not print itself
        if number == signal.SIGINT:
            with contextlib.suppress(OSError):
                os.write(2, b"\nfinishing this step, then saving; Ctrl-C again leaves at once\n")
        signal.signal(number, self._before.pop(number, signal.SIG_DFL))
