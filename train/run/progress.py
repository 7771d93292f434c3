"""``for step in train.progress(1000): ...``: how far a loop of one's own is."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from ...hints.finding import kind_of
from ..given.words import clock
from ..system.notebook import Place, in_notebook
from ..system.terminal import is_terminal, one_line
from .cell import REFRESH, drawn

T = TypeVar("T")

#: seconds between two updates of a terminal's line, and between two lines of a log
_TERMINAL, _LINES = 0.1, 10.0


class progress(Generic[T]):
    """Goes through steps and shows how far it is: a bar in a notebook and on a terminal, a line now
    and then elsewhere. ::

        bar = train.progress(1000)
        for step in bar:
            loss = ...
            bar.show(loss=loss)

    Args:
        steps: how many (then they are 0, 1, 2, ...), or anything to go through.
        what: a word before the bar.

    Raises:
        TypeError: neither a count nor something to go through. ValueError: a count below 0.
    """

    def __init__(self, steps: int | Iterable[T], what: str = ""):
        if isinstance(steps, bool) or not (isinstance(steps, int) or hasattr(steps, "__iter__")):
            raise TypeError(
                "progress: steps: expected a number or something to go through, got "
                f"{kind_of(steps)}"
            )
        if isinstance(steps, int) and steps < 0:
            raise ValueError(f"progress: steps: expected a number >= 0, got {steps}")
        self._steps: Any = range(steps) if isinstance(steps, int) else steps
        self.total = len(self._steps) if isinstance(self._steps, Sized) else None
        self.what = one_line(what)
        self.done = 0
        self._fields: dict[str, Any] = {}
        self._curve: list[float] = []
        self._started = self._drawn = 0.0
        self._place: Place | None = None
        self._live: Any = None
        self._every = _LINES

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("progress: it is not known how many steps there are")
        return self.total

    def __iter__(self) -> Iterator[T]:
        self._begin()
        ended = "stopped"
        try:
            for step in self._steps:
                yield step
                self.done += 1
                self._show_now_and_then()
            ended = "done"
        finally:
            self._end(ended)

    def show(self, **fields: Any) -> None:
        """Numbers, or tensors of one element, and texts to show from now on; drawn a few times a
        second, and only then read. A ``loss`` is drawn as a curve too, of the values read."""
        self._fields.update(
            {name: getattr(value, "detach", lambda v=value: v)() for name, value in fields.items()}
        )

    def _begin(self) -> None:
        self.done, self._fields, self._curve = 0, {}, []
        self._started, self._drawn = time.monotonic(), 0.0
        if in_notebook():
            self._place, self._every = Place(), REFRESH
        elif is_terminal():
            from rich.live import Live

            self._every = _TERMINAL
            self._live = Live(auto_refresh=False, redirect_stderr=sys.stderr.isatty())
            self._live.start()
            weakref.finalize(self, self._live.stop)  # an error in the loop keeps it as it is
        else:
            self._every, self._drawn = _LINES, self._started

    def _show_now_and_then(self) -> None:
        if time.monotonic() - self._drawn >= self._every:
            left = ""
            if self.total is not None:
                passed = time.monotonic() - self._started
                left = f"{clock(passed * (self.total - self.done) / self.done)} left"
            self._draw(left)

    def _end(self, ended: str) -> None:
        self._draw(f"{ended} after {clock(time.monotonic() - self._started)}")
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self, doing: str) -> None:
        self._drawn = time.monotonic()
        fields = {name: self._text(name, value) for name, value in self._fields.items()}
        if self._live is not None:
            from ..system.bar import BarLine

            shown = {name: f"{name} {value}" for name, value in fields.items()}
            line = BarLine(self.done, self.total or self.done, {**shown, "left": doing})
            self._live.update(line, refresh=True)
            return
        markup, text = drawn(self.what, self.done, self.total, fields, doing, self._curve)
        if self._place is not None:
            self._place.show(markup, text)
        elif sys.stdout is not None:
            print(text, flush=True)

    def _text(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return one_line(value)
        number = float(value)
        if name == "loss":
            self._curve.append(number)
        whole = isinstance(value, int) or (number.is_integer() and 1e4 <= abs(number) < 1e15)
        return f"{number:,.0f}" if whole else f"{number:.4g}"
