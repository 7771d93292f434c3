"""Leaving cleanly: Ctrl-C, SIGTERM and a terminal that hangs up become a wish that the training
loop reads between steps."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

#: the signals that ask a program to leave, as far as this system has them: Ctrl-C, what `kill`
#: sends, a terminal that is closed, and Ctrl-Break or a closed console on Windows
SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)


class Interrupted(BaseException):
    """A signal came when there was nothing to save. Like KeyboardInterrupt it is no Exception.

    Attributes:
        signal: its number.
    """

    def __init__(self, number: int):
        super().__init__(f"signal {number}")
        self.signal = number


class Stop:
    """Context manager that notes :data:`SIGNALS` instead of dying from them.

    The first Ctrl-C says so on standard error, by ``words``, if there are some. A second signal
    does what it does without us (Ctrl-C: KeyboardInterrupt), for a step that takes too long; but
    not a second SIGHUP, which both the shell and the system send when a window is closed. A signal
    that was ignored before stays ignored: ``nohup``, and a shell script's ``&``, mean it. Outside
    the main thread, where Python allows no handlers, it only carries the wish of :meth:`request`.

    Attributes:
        signal: the number of the signal that came, None before.
    """

    def __init__(
        self, words: str = "finishing this step, then saving; Ctrl-C again leaves at once"
    ) -> None:
        self._words = f"\n{words}\n".encode() if words else b""
        self.signal: int | None = None
        self._before: dict[int, Any] = {}
        self._at_once = False

    def request(self, number: int = signal.SIGINT) -> None:
        """Ask the loop to stop after the current step."""
        self.signal = number

    def __bool__(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exc: object) -> None:
        for number in list(self._before):
            self._give_back(number)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it a signal raises :class:`Interrupted` there and then: for what takes long and
        has nothing to save."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _give_back(self, number: int) -> None:
        handler = self._before.pop(number, None)  # None, too, is one that Python did not set
        signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, frame: Any) -> None:
        self.request(number)
        if number != getattr(signal, "SIGHUP", None):
            self._give_back(number)
        if self._at_once:
            raise Interrupted(number)
        # os.write: a handler may interrupt a print, and then must not print itself
        if number == signal.SIGINT:
            with contextlib.suppress(OSError):
                os.write(2, self._words)
