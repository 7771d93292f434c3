"""The picture as a Mermaid flowchart."""

from __future__ import annotations

from ..colours import COLOURS, FLAGGED, FRAME_BORDER, FRAMES, INK
from ..picture import CONSTANT, Group, Picture, Step, Value
from .outline import Outline, kind_of, label_of, lines_of, title_of

#: the brackets of each kind of node
SHAPES = {"op": '(["', "module": '("', CONSTANT: '>"'}
CLOSING = {'(["': '"])', '("': '")', '>"': '"]', '["': '"]', '[["': '"]]', '(("': '"))'}
LOOKS = {
    **COLOURS,
    CONSTANT: ("#ffffff", "#ffffff"),
    "flagged": FLAGGED,
    "frame": (FRAMES[0], FRAME_BORDER),
    "notes": ("#ffffff", "#ffffff"),
}


def to_mermaid(picture: Picture, direction: str) -> str:
    """Mermaid text; it can stand in Markdown between ```` ```mermaid ```` and ```` ``` ````."""
    outline = Outline(picture)
    lines = [f"flowchart {direction}"]
    classes: dict[str, list[str]] = {}

    def write(group: Group | None, indent: str) -> None:
        for thing in outline.inside.get(group, []):
            name, kind = outline.ids[id(thing)], kind_of(thing)
            opening = opening_of(thing)
            text = "<br/>".join(escape(line) for line in lines_of(thing))
            lines.append(f"{indent}{name}{opening}{text}{CLOSING[opening]}")
            classes.setdefault("flagged" if thing.flags else kind, []).append(name)
        for inner in outline.frames.get(group, []):
            lines.append(f'{indent}subgraph {outline.ids[id(inner)]}["{escape(title_of(inner))}"]')
            write(inner, indent + "  ")
            lines.append(f"{indent}end")
            classes.setdefault("frame", []).append(outline.ids[id(inner)])

    write(None, "  ")
    for start, end, value, label in picture.arrows():
        arrow = "-->" if value.needs_grad else "-.->"
        text = escape(label_of(value, label))
        text = f'|"{text}"|' if text else ""
        lines.append(f"  {outline.ids[id(start)]} {arrow}{text} {outline.ids[id(end)]}")
    if picture.notes:
        lines.append(f'  notes["{"<br/>".join(escape(line) for line in picture.notes)}"]')
        classes["notes"] = ["notes"]
    for kind, names in classes.items():
        fill, border = LOOKS[kind]
        lines.append(f"  classDef {kind} fill:{fill},stroke:{border},color:{INK}")
        lines.append(f"  class {','.join(names)} {kind}")
    return "\n".join([*lines, ""])


def opening_of(thing: Step | Value) -> str:
    """The brackets a node's text stands in: round for ops, doubled where it can be opened."""
    if isinstance(thing, Step) and thing.module is None:
        lines = lines_of(thing)
        if thing.fused:
            return '[["'
        return '(("' if len(lines) == 1 and len(lines[0]) == 1 else '(["'
    return SHAPES.get(kind_of(thing), '["')


#: characters that mean something to Mermaid, even between quotes
_MEANING = set("\"#&<>;:`\\|{}[]()%@*_~$!/'=")


def escape(text: str) -> str:
    """Text for between quotes: whatever might mean something is written as its number."""
    out = []
    for c in text:
        if c == "\n":
            out.append("<br/>")
        elif not c.isprintable():
            out.append("\N{REPLACEMENT CHARACTER}" if c != "\t" else " ")
        else:
            out.append(f"#{ord(c)};" if c in _MEANING else c)
    return "".join(out)
