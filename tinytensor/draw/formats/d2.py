"""The picture as D2."""

from __future__ import annotations

from ..colours import COLOURS, FLAGGED, FRAME_BORDER, FRAMES, INK
from ..picture import CONSTANT, Group, Picture, Step, Value
from ..words import SYMBOLS
from .outline import Outline, kind_of, label_of, lines_of, title_of

DIRECTIONS = {"TB": "down", "LR": "right", "BT": "up", "RL": "left"}
FRAME = f'style.fill: "{FRAMES[0]}"; style.stroke: "{FRAME_BORDER}"; style.font-color: "{INK}"'


def to_d2(picture: Picture, direction: str) -> str:
    """D2 text."""
    outline = Outline(picture)
    paths: dict[int, str] = {}
    lines = [f"direction: {DIRECTIONS[direction]}"]

    def write(group: Group | None, around: str, indent: str) -> None:
        for thing in outline.inside.get(group, []):
            name = outline.ids[id(thing)]
            paths[id(thing)] = around + name
            text = "\n".join(lines_of(thing))
            lines.append(f"{indent}{name}: {quote(text)} {{ {looks(thing)} }}")
        for inner in outline.frames.get(group, []):
            name = outline.ids[id(inner)]
            lines.append(f"{indent}{name}: {quote(title_of(inner))} {{ {FRAME}")
            write(inner, f"{around}{name}.", indent + "  ")
            lines.append(f"{indent}}}")

    write(None, "", "")
    for start, end, value, label in picture.arrows():
        text = label_of(value, label)
        more = f": {quote(text)}" if text else ""
        if not value.needs_grad:
            more = f"{more or ': ' + quote('')} {{ style.stroke-dash: 4 }}"
        lines.append(f"{paths[id(start)]} -> {paths[id(end)]}{more}")
    if picture.notes:
        lines.append(f"notes: {quote(chr(10).join(picture.notes))} {{ shape: text }}")
    return "\n".join([*lines, ""])


def looks(thing: Step | Value) -> str:
    """Form and colours of a box."""
    kind = kind_of(thing)
    if kind == CONSTANT:
        return "shape: text"
    fill, border = FLAGGED if thing.flags else COLOURS[kind]
    form = "oval" if kind == "op" else "rectangle"
    parts = [f"shape: {form}", f'style.fill: "{fill}"', f'style.stroke: "{border}"']
    parts.append(f'style.font-color: "{INK}"')
    if isinstance(thing, Step) and thing.module is None and lines_of(thing)[0] in SYMBOLS.values():
        parts[0] = "shape: circle"
    if kind == "module":
        parts.append("style.border-radius: 8")
    if isinstance(thing, Step) and (thing.fused or (thing.module and thing.module.count > 1)):
        parts.append("style.multiple: true" if kind == "module" else "style.double-border: true")
    return "; ".join(parts)


def quote(text: str) -> str:
    """A quoted D2 string that shows exactly this text."""
    out = []
    for c in text:
        if c == "\n":
            out.append("\\n")
        elif c in '"\\$':
            out.append("\\" + c)
        else:
            out.append(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}")
    return f'"{"".join(out)}"'
