"""Tables of the command line: with lines on a terminal, as aligned text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...profiling.report import aligned
from ..system.terminal import is_terminal, one_line


class Table(NamedTuple):
    """Lines to show: the title stands above the first column. ``words`` says which of the others
    are words, which stand to the left; the rest are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: tuple[int, ...] = ()


def show(head: Sequence[str], found: Sequence[Table], notes: Sequence[str] = ()) -> None:
    """Print lines, tables and notes: with rich on a terminal, as plain text elsewhere."""
    head, notes = [one_line(line) for line in head], [one_line(line) for line in notes]
    found = [
        t._replace(
            columns=tuple(map(one_line, t.columns)), rows=[tuple(map(one_line, r)) for r in t.rows]
        )
        for t in found
    ]
    if not is_terminal():
        blocks = ["\n".join(head), *(aligned(*table) for table in found), "\n".join(notes)]
        print("\n\n".join(block for block in blocks if block))
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(markup=False, highlight=False, emoji=False)
    if head:
        console.print("\n".join(head))
    for table in found:
        drawn = RichTable(header_style="bold")
        drawn.add_column(table.title, style="cyan", overflow="fold")
        for i, column in enumerate(table.columns):
            justify = "left" if i in table.words else "right"
            drawn.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
        for line in table.rows:
            drawn.add_row(*line)
        console.print(drawn)
    if notes:
        console.print("\n".join(notes), style="dim")
