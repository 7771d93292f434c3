"""What a notebook shows is made of a few parts: a frame, lines, tables, what opens, and curves.

The styles are inline and take the colour of the text around them, so that all is readable on light
and on dark, whatever the notebook; nothing is fetched and nothing runs. Every text is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

#: characters that act on a page, reorder its text or that it can't hold
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufffe\uffff]"
)
_MONO = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_FRAME = (
    "border-left:2px solid;border-color:color-mix(in srgb,currentColor 35%,transparent);"
    "padding:2px 0 2px 10px;margin:2px 0;font-size:13px;line-height:1.45;max-width:100%;"
    "overflow-x:auto"
)
_LINE = "border:0;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)"


def text(value: object, most: int = 300) -> str:
    """Any text for a page: escaped, what acts made visible, and shortened in the middle of a mass.

    Args:
        value: shown as ``str`` gives it. most: characters.
    """
    shown = str(value)
    if len(shown) > most:
        shown = f"{shown[: most - 1]}…"
    return escape(ACTING.sub(lambda c: f"\\x{ord(c.group()):02x}", shown))


def code(value: object, most: int = 300) -> str:
    """A name or number in fixed width."""
    return f'<span style="{_MONO};font-size:12px">{text(value, most)}</span>'


def source(value: str, most: int = 100_000) -> str:
    """Lines of a program, or any text that is already laid out."""
    return (
        f'<pre style="{_MONO};font-size:12px;line-height:1.4;margin:2px 0;padding:0;border:0;'
        f'background:none;color:inherit;overflow-x:auto">{text(value, most)}</pre>'
    )


def faint(inner: str) -> str:
    """Markup that matters less than what is beside it."""
    return f'<span style="opacity:.75">{inner}</span>'


def framed(title: str, note: str, *parts: str) -> str:
    """The whole of what is shown of one thing.

    Args:
        title, note: plain text: what it is in bold, and more in a word. parts: markup, one below
            another; empty ones are left out.
    """
    head = f"<div><b>{text(title)}</b>{f' {faint(text(note))}' if note else ''}</div>"
    return f'<div style="{_FRAME}">{head}{"".join(parts)}</div>'


def line(inner: str) -> str:
    """Markup on a line of its own."""
    return f"<div>{inner}</div>" if inner else ""


def folded(head: str, inner: str, is_open: bool = False) -> str:
    """Markup that opens by a click or a key, below a head of markup."""
    opened = ' open=""' if is_open else ""
    return (
        f'<details{opened} style="margin:1px 0">'
        f'<summary style="cursor:pointer">{head}</summary>'
        f'<div style="margin-left:16px">{inner}</div></details>'
    )


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], words: Iterable[int] = (0,)
) -> str:
    """A table of plain texts.

    Args:
        columns: what stands above; none for a table without. rows: cells, numbers to the right.
        words: which columns stand to the left.
    """
    left = set(words)

    def cells(tag: str, row: Sequence[object], line: str) -> str:
        made = "".join(
            f'<{tag} style="text-align:{"left" if i in left else "right"};padding:1px 12px 1px 0;'
            f'{line}">{text(cell)}</{tag}>'
            for i, cell in enumerate(row)
        )
        return f'<tr style="background:none">{made}</tr>'

    head = f"<thead>{cells('th', columns, _LINE)}</thead>" if columns else ""
    body = "".join(cells("td", row, "border:0") for row in rows)
    return (
        f'<table style="{_MONO};font-size:12px;border-collapse:collapse;border:0;margin:4px 0;'
        f'width:auto;color:inherit;white-space:nowrap">{head}<tbody>{body}</tbody></table>'
    )


def curve(
    values: Sequence[float], label: str, width: int = 320, height: int = 60, log: bool = False
) -> str:
    """A line through numbers, from left to right; gaps where one is not finite.

    Args:
        values: at equal distances. label: plain text, what a screen reader says.
        width, height: in pixels. log: whether the axis is that of logarithms; where a number is
            not above 0 it is not.
    """
    shown = _thinned(list(values), width)
    if log and any(math.isfinite(v) and v <= 0 for v in shown):
        log = False
    finite = [v for v in shown if math.isfinite(v)]
    if not finite:
        return ""
    heights = [math.log(v) if log and math.isfinite(v) else v for v in shown]
    known = [v for v in heights if math.isfinite(v)]
    low, high = min(known), max(known)
    scale = (height - 4) / (high - low) if high > low else 0.0
    across = (width - 4) / max(1, len(shown) - 1)
    runs, run = list[str](), list[str]()
    for i, v in enumerate([*heights, math.nan]):
        if math.isfinite(v):
            run.append(f"{2 + i * across:.1f},{height - 2 - (v - low) * scale:.1f}")
        elif run:
            runs.append(" ".join(run if len(run) > 1 else run * 2))
            run = []
    lines = "".join(
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
        for points in runs
    )
    return (
        f'<svg role="img" aria-label="{text(label)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="display:block;max-width:100%;margin:4px 0">'
        f"<title>{text(label)}</title>{lines}</svg>"
    )


def _thinned(values: list[float], most: int) -> list[float]:
    """At most so many numbers: means of as many neighbours each as it takes."""
    if len(values) <= most:
        return values
    bounds = [i * len(values) // most for i in range(most + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in zip(bounds, bounds[1:], strict=False)]
