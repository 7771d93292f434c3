"""The texts in boxes, as HTML-like labels of DOT have them, and as plain words."""

from __future__ import annotations

from collections.abc import Iterable

from ..colours import SOFT
from ..picture import Group, Step, Value

_SPECIAL = set('&<>"\\')

# ---- DOT's syntax --------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Text for an HTML-like label: nothing in it is markup, a DOT escape or a line end."""
    if text.isprintable() and _SPECIAL.isdisjoint(text):
        return text
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\\": "&#92;&#92;"}
    named |= {"\n": "<BR/>", "\t": " "}
    return "".join(named.get(c, c if c.isprintable() else f"&#{0xFFFD};") for c in text)


def brief(name: str, longest: int = 60) -> str:
    """A name, without the middle where it is very long; tooltips have all of it."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


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


def shape_text(value: Value) -> str:
    """ "(2, 3) float32"; a number without a shape has none."""
    if value.shape is None:
        return ""
    return f"{value.shape} {value.dtype}".strip()


def number(x: object) -> str:
    """One number in at most about eight characters."""
    if isinstance(x, float):
        text = f"{x:.4g}"
        return text if any(c in text for c in ".en") else text + ".0"
    return str(x)


def number_rows(word: str, data: object, colour: str) -> list[str]:
    """Rows of a table: the word, then the numbers of each line of the array."""
    lines = [[data]] if not isinstance(data, list) else list(matrix(data))
    rows = []
    for i, line in enumerate(lines):
        cells = [f'<TD ALIGN="LEFT">{font(word if i == 0 else "", 9, SOFT)}</TD>']
        cells += [f'<TD ALIGN="RIGHT">{font(number(x), 11, colour)}</TD>' for x in line]
        rows.append(f"<TR>{''.join(cells)}</TR>")
    return rows


def matrix(data: list[object]) -> Iterable[list[object]]:
    """Lines of up to 8 numbers of a nested list; further axes are laid out one after the other."""
    if data and isinstance(data[0], list):
        for part in data:
            assert isinstance(part, list)
            yield from matrix(part)
        return
    for start in range(0, len(data), 8):
        yield data[start : start + 8]


def table(rows: list[str], padding: int = 2) -> str:
    """Rows of cells without lines."""
    start = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">'
    return start + "".join(rows) + "</TABLE>"


# ---- words ---------------------------------------------------------------------------------------


def inside_words(step: Step) -> str:
    """ "each 3,168 parameters, 12 ops": what is inside a folded module."""
    assert step.module is not None
    inside = [f"{step.ops} op" + ("s" if step.ops != 1 else "")]
    tensors, numbers = step.parameters
    if tensors:
        inside.insert(0, f"{numbers:,} parameter" + ("s" if numbers != 1 else ""))
    return ("each " if step.module.count > 1 else "") + ", ".join(inside)


def name_of(group: Group) -> str:
    """ "h.0", or "h.0 … h.5" for a group that stands for several."""
    same = group.count == 1 or group.last == group.title
    return brief(group.title) if same else f"{brief(group.title)} … {brief(group.last)}"


def times(group: Group) -> str:
    """ "× 6"."""
    return f"× {group.count}"


def title_words(group: Group) -> tuple[str, str, str, str]:
    """A frame's name, kind, number of copies and note."""
    kind = group.kind if group.kind != group.title else ""
    return name_of(group), kind, times(group) if group.count > 1 else "", group.note
