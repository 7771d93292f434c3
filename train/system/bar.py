"""The one line that a terminal shows while training goes: numbers, and a bar in the room left."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

#: what stays longest where a line is narrow; the bar, of at least BAR cells, goes before the third
IMPORTANCE = ("loss", "left", "val", "speed")
BAR = 10
#: cells below which numbers need no word before them
NARROW = 40
STYLES = {"loss": "bold", "val": "bold", "left": "cyan"}


class BarLine(NamedTuple):
    """Steps done as numbers and as a bar, then the other fields, as many as the width has room for.

    The bar's two parts differ in shape and not only in colour, so that it can be read on any
    terminal, in any encoding and by every eye.

    Attributes:
        done, total: steps. fields: texts by name, in the order to show them; those that are not
            named in :data:`IMPORTANCE` are the first to go.
    """

    done: int
    total: int
    fields: dict[str, str]

    def text(self, width: int) -> Text:
        """The line for a terminal of ``width`` cells, never longer than that."""
        done = f"{self.done:>{len(str(self.total))}}"  # so that what follows stays where it is
        steps = f"step {done}/{self.total}" if width >= NARROW else f"{self.done}/{self.total}"
        room = width - len(steps)
        shown = set()
        for rank, name in enumerate(sorted(self.fields, key=_importance)):
            need = 1 + len(self.fields[name]) + (BAR + 1 if rank >= 2 else 0)
            if need > room:
                break
            shown.add(name)
            room -= 1 + len(self.fields[name])
        line = Text(steps, no_wrap=True, overflow="crop", end="")
        if room > BAR // 2:
            cells = room - 1
            full = cells * min(self.done, self.total) // max(1, self.total)
            line.append(" ").append("━" * full, "green").append("─" * (cells - full), "dim")
        for name, value in self.fields.items():
            if name in shown:
                line.append(" ").append(value, STYLES.get(name))
        line.truncate(width)
        return line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text(options.max_width)


def _importance(name: str) -> int:
    return IMPORTANCE.index(name) if name in IMPORTANCE else len(IMPORTANCE)
