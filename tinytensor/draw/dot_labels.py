"""Texts as DOT has them: quoted, or in an HTML-like label, where nothing in them is syntax."""

from __future__ import annotations

from .colours import SOFT
from .labels import matrix, number

_SPECIAL = set('&<>"\\')


def escape(text: str) -> str:
    """Text for an HTML-like label: nothing in it is markup, a DOT escape or a line end."""
    if text.isprintable() and _SPECIAL.isdisjoint(text):
        return text
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\\": "&#92;&#92;"}
    named |= {"\n": "<BR/>", "\t": " "}
    return "".join(named.get(c, c if c.isprintable() else f"&#{0xFFFD};") for c in text)


def quote(text: str) -> str:
    """A quoted DOT string that shows exactly this text, for tooltips."""
    if text.isprintable() and _SPECIAL.isdisjoint(text):
        return f'"{text}"'
    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    text = text.replace("&", "&amp;").replace("\\", "&#92;&#92;").replace('"', "&quot;")
    return '"' + text.replace("\n", "\\n") + '"'


def font(text: str, size: int | None = None, colour: str | None = None, style: str = "") -> str:
    """Escaped text in a size, colour and style ("B", "I")."""
    inner = escape(text)
    if not inner:
        return ""  # Graphviz takes an empty <FONT> for a syntax error
    if style:
        inner = f"<{style}>{inner}</{style}>"
    given = (f' POINT-SIZE="{size}"' if size else "") + (f' COLOR="{colour}"' if colour else "")
    return f"<FONT{given}>{inner}</FONT>" if given else inner


def number_rows(word: str, data: object, colour: str) -> list[str]:
    """Rows of a table: the word, then the numbers of each line of the array."""
    lines = [[data]] if not isinstance(data, list) else list(matrix(data))
    rows = []
    for i, line in enumerate(lines):
        cells = [f'<TD ALIGN="LEFT">{font(word if i == 0 else "", 9, SOFT)}</TD>']
        cells += [f'<TD ALIGN="RIGHT">{font(number(x), 11, colour)}</TD>' for x in line]
        rows.append(f"<TR>{''.join(cells)}</TR>")
    return rows


def table(rows: list[str], padding: int = 2) -> str:
    """Rows of cells without lines."""
    start = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">'
    return start + "".join(rows) + "</TABLE>"
