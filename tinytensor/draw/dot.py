"""The picture as DOT text. No library is needed for it.

Names never become part of the syntax: nodes are called n0, n1, ... and texts stand in HTML-like
labels, where every character that means something is written as an entity.
"""

from __future__ import annotations

from collections.abc import Iterable

from .colours import (
    ARROW,
    COLOURS,
    FLAGGED,
    FRAME_BORDER,
    FRAMES,
    GRADIENT,
    INK,
    REFERENCE,
    SOFT,
)
from .dot_labels import escape, font, number_rows, quote, table
from .fold import home
from .labels import brief, inside_words, name_of, number, shape_text, times, title_words
from .picture import (
    CONSTANT,
    INPUT,
    PARAMETER,
    SHAPES_ALONE,
    Group,
    Picture,
    Step,
    Value,
)
from .words import SYMBOLS, UNKNOWN, flag_words, stat_rows

FONT = "Helvetica,Arial,sans-serif"

NODESEP = "0.3"  # inches between the boxes of a row
LOST = "run on zeros: the graph does not have all numbers that it was given (any more)"


def to_dot(picture: Picture, direction: str | None = None) -> str:
    """DOT text of a picture.

    Args:
        direction: "LR" (left to right), "TB" (top to bottom), or None: expressions run from left
            to right, models from top to bottom.
    """
    return _Writer(picture, direction_of(picture, direction)).text()


def direction_of(picture: Picture, direction: str | None) -> str:
    """Where the arrows of a picture go. Raises ValueError for what is no direction."""
    if direction is None:
        direction = "TB" if picture.groups() or picture.has_modules() else "LR"
    if direction not in ("LR", "TB", "BT", "RL"):
        raise ValueError(f"direction: expected LR, TB, RL, BT or None, got {direction!r}")
    return direction


class _Writer:
    """Collects the lines of one picture."""

    def __init__(self, picture: Picture, direction: str) -> None:
        self.picture, self.direction = picture, direction
        self.ids: dict[int, str] = {}
        self.lines: dict[Group | None, list[str]] = {None: []}
        self.inside: dict[Group | None, list[Group]] = {}
        self.frames = self.spacers = 0
        self.upright = direction in ("TB", "BT")
        self.after: set[tuple[int, int]] = set()  # (value, step) that stand in a row, value last
        self.over: set[int] = set()  # steps under a tensor that stands in a frame around theirs
        kinds = {v.dtype for v in picture.values() if not v.shown}
        self.common = kinds.pop() if len(kinds) == 1 else ""  # dtype of all tensors on arrows

    def text(self) -> str:
        readers = self.picture.readers()
        for group in self.picture.groups():
            self.inside.setdefault(group.parent, []).append(group)
        for value in self.picture.values():
            if value.shown:
                where = home(value, readers.get(id(value), []))
                self.put(where, value, value_attributes(value))
        for step in self.picture.steps:
            where = step.group
            self.put(where, step, module_attributes(step) if step.module else op_attributes(step))
        if self.upright:
            rows = {id(step): beside(step, readers) for step in self.picture.steps}
            for step in self.picture.steps:
                self.put_beside(step, *rows[id(step)])
                homes = {id(v): home(v, readers[id(v)]) for v in step.inputs if v.step is None}
                besides = {id(v) for side in rows[id(step)] for v in side}
                if any(g is not None and i not in besides for i, g in homes.items()):
                    self.over.add(id(step))
            for group, step in first_steps(self.picture).items():
                if step.group is group:
                    self.clear_title(group, step, rows[id(step)][0])
        body = self.frame_lines(None, "  ")
        return "\n".join([*self.head(), *body, *self.arrow_lines(), "}", ""])

    def put(self, group: Group | None, thing: Step | Value, attributes: str) -> None:
        name = self.ids[id(thing)] = f"n{len(self.ids)}"
        self.lines.setdefault(group, []).append(f"{name} [{attributes}];")

    def put_beside(self, step: Step, left: list[Value], right: list[Value]) -> None:
        """Parameters and constants in one row with the op that reads them.

        Above it they would reach up to where the op before stands: the frames around the two could
        not stand one below the other.
        """
        if left or right:
            self.after.update((id(value), id(step)) for value in right)
            row = " ".join(f"{self.ids[id(thing)]};" for thing in (*left, step, *right))
            self.lines[step.group].append(f"{{rank=same; {row}}}")

    def clear_title(self, group: Group, step: Step, left: list[Value]) -> None:
        """Room on the left of a frame's first op, so that arrows to it pass by the frame's title.

        Lengths are in points, estimated from the number of letters.
        """
        gap = 72 * float(NODESEP)
        free = sum(7 * max(len(v.name or v.hint), 9) + gap for v in left) + width_of(step) / 2
        lacking = 7 * len(" ".join(title_words(group))) + 15 - free - gap
        if lacking > 0:
            spacer, nearest = f"s{self.spacers}", self.ids[id(left[0] if left else step)]
            self.spacers += 1
            self.lines[group] += [
                f'{spacer} [style=invis, shape=box, label="", width={lacking / 72:.2f}];',
                f"{{rank=same; {spacer}; {nearest};}}",
                f"{spacer} -> {nearest} [style=invis];",
            ]

    def head(self) -> list[str]:
        tight = self.direction in ("LR", "RL")
        ranksep, nodesep = ("0.35", "0.2") if tight else ("0.36", NODESEP)
        caption, said = "", list(self.picture.notes)
        if self.common:
            said.append(f"tensors on arrows are {self.common}")
        if said:
            words = "<BR/>".join(font(line, 9, SOFT) for line in said)
            caption = f" label=<{words}>, labelloc=b, labeljust=r,"
        return [
            "digraph tinytensor {",
            f'  graph [rankdir={self.direction}, bgcolor="white", fontname="{FONT}", fontsize=11,'
            f' fontcolor="{INK}", ranksep={ranksep}, nodesep={nodesep}, pad=0.3,'
            f'{caption} tooltip="tinytensor"];',
            f'  node [fontname="{FONT}", fontsize=11, fontcolor="{INK}", penwidth=1.2,'
            ' height=0.3, margin="0.09,0.05"];',
            f'  edge [fontname="{FONT}", fontsize=9, fontcolor="{SOFT}", color="{ARROW}",'
            " arrowsize=0.65, penwidth=1.1];",
        ]

    def frame_lines(self, group: Group | None, indent: str) -> list[str]:
        """The nodes of a group and the frames inside it. Frames nest as modules do: not deep."""
        lines = [indent + line for line in self.lines.get(group, [])]
        for inner in self.inside.get(group, []):
            lines.append(f"{indent}subgraph cluster_{self.frames} {{")
            self.frames += 1
            lines.append(f"{indent}  {frame_attributes(inner)}")
            lines.extend(self.frame_lines(inner, indent + "  "))
            lines.append(indent + "}")
        return lines

    def arrow_lines(self) -> Iterable[str]:
        for start, end, value, label in self.picture.arrows():
            parts = []
            if label or not value.shown:
                parts.append(f"label=<{arrow_label(value, label, self.common)}>")
            if not value.needs_grad:
                parts.append("style=dashed")
            tip = " ".join(part for part in (value.name or label, shape_text(value)) if part)
            parts.append(f"tooltip={quote(tip)}")
            if self.upright and value.step is not None:
                parts.append("weight=8")  # what is computed runs straight down
            elif self.upright and id(end) in self.over and value.role == INPUT and not value.inner:
                parts.append("minlen=2, weight=4")  # from above its frames, not over their titles
            if (id(start), id(end)) in self.after:
                start, end = end, start
                parts.append("dir=back")
            yield f"  {self.ids[id(start)]} -> {self.ids[id(end)]} [{', '.join(parts)}];"


def beside(step: Step, readers: dict[int, list[Step]]) -> tuple[list[Value], list[Value]]:
    """What stands to the left and to the right of a step: up to two of the leaves that it alone
    reads, in its own frame."""
    own = {id(v): v for v in step.inputs if v.step is None and len(readers[id(v)]) == 1}
    found = [v for v in own.values() if home(v, [step]) is step.group][-2:]
    leading = len(found) == 2 or found[:1] == step.inputs[:1]
    return (found[:1], found[1:]) if leading else ([], found)


def first_steps(picture: Picture) -> dict[Group, Step]:
    """For each frame the first step inside it."""
    found: dict[Group, Step] = {}
    for step in picture.steps:
        for group in step.group.chain() if step.group is not None else ():
            found.setdefault(group, step)
    return found


def width_of(step: Step) -> float:
    """About how wide a step is, in points."""
    if step.module is not None:
        return 18 + 7 * len(f"{name_of(step.module)} {step.module.kind}")
    if step.title in SYMBOLS and not step.settings:
        return 26
    return 30 + max(8 * len(step.title), 6 * len(step.settings))


# ---- labels --------------------------------------------------------------------------------------


def arrow_label(value: Value, label: str, common: str) -> str:
    """The word for the operand, and the shape of a tensor that has no box of its own.

    Its dtype too, unless it is the one that the caption gives for all.
    """
    words = [font(label, None, INK, "I")] if label else []
    if not value.shown:
        if value.index is not None:
            words.append(escape(f"[{value.index}]"))
        words.append(escape(str(value.shape) if value.dtype == common else shape_text(value)))
    return " " + " ".join(words) + " "


def op_attributes(step: Step) -> str:
    """A circle for a sign, an ellipse for a word; a fused op, which can be opened, has two rims."""
    fill, border = COLOURS["op"]
    symbol = SYMBOLS.get(step.title)
    label = font(symbol, 15, None, "B") if symbol else font(step.title, None, None, "B")
    if step.settings:
        small = font(step.settings, 9, SOFT)
        label = table([f"<TR><TD>{label}</TD></TR>", f"<TR><TD>{small}</TD></TR>"], 0)
    form = "circle, width=0.36, fixedsize=true" if symbol and not step.settings else "ellipse"
    rims = ", peripheries=2" if step.fused else ""
    return (
        f'shape={form}, style=filled, fillcolor="{fill}", color="{border}"{rims}, '
        f"label=<{label}>, tooltip={quote(step.tip or step.title)}"
    )


def module_attributes(step: Step) -> str:
    """A folded module: its name and class, how often it stands there, and what is inside."""
    group = step.module
    assert group is not None
    fill, border = COLOURS["module"]
    title = [font(name_of(group), 12, None, "B")]
    if group.kind != group.title:
        title.append(font(group.kind, 11, SOFT))
    rows = [f"<TR><TD>{'  '.join(title)}</TD>"]
    if group.count > 1:
        rows[0] += f'<TD ROWSPAN="2">{font(times(group), 18, border, "B")}</TD>'
    rows[0] += "</TR>"
    rows.append(f"<TR><TD>{font(inside_words(step), 9, SOFT)}</TD></TR>")
    words = flag_words(step.flags)
    rows += [f"<TR><TD>{font(line, 9, FLAGGED[1], 'B')}</TD></TR>" for line in words]
    border = FLAGGED[1] if words else border
    rims = ", peripheries=2" if group.count > 1 else ""
    return (
        f'shape=box, style="rounded,filled", fillcolor="{fill}", color="{border}"{rims}, '
        f"label=<{table(rows)}>, tooltip={quote(f'{group.title}: {group.kind}')}"
    )


def frame_attributes(group: Group) -> str:
    """A module call's frame, darker the deeper; dashed around an opened op."""
    depth = len(group.chain()) - 1
    fill = REFERENCE if group.kind == "reference" else FRAMES[min(depth, len(FRAMES) - 1)]
    border = COLOURS["op"][1] if group.kind == "reference" else FRAME_BORDER
    name, kind, number, note = title_words(group)
    words = [font(name, 12, None, "B"), font(kind, 11, SOFT)]
    words += [font(number, 15, COLOURS["module"][1], "B"), font(note, 9, SOFT, "I")]
    style = "rounded,filled,dashed" if group.kind == "reference" else "rounded,filled"
    tip = f"{group.kind}, {LOST}" if group.note == SHAPES_ALONE else group.kind
    return (
        f'graph [style="{style}", fillcolor="{fill}", color="{border}", margin=12, '
        f"labelloc=t, labeljust=l, label=<{'  '.join(filter(None, words))}>, "
        f"tooltip={quote(tip)}];"
    )


def value_attributes(value: Value) -> str:
    """A tensor: name, shape and dtype, and the numbers of small ones with their gradients."""
    if value.role == CONSTANT:
        return (
            f"shape=plaintext, label=<{font(number(value.data), 12, INK)}>, "
            f"height=0.2, width=0.2, tooltip={quote('a constant')}"
        )
    of_gradients = value.role == INPUT and value.needs_grad
    fill, border = COLOURS["output" if value.output else PARAMETER if of_gradients else value.role]
    numbers, notes = [], []
    if value.data is not None:
        word = "now" if value.changed and not value.then else "data"
        numbers += number_rows(word, value.data, INK)
    if value.grad is not None:
        numbers += number_rows("grad", value.grad, GRADIENT)
        notes += [value.grad_note] if value.grad_note else []
    if value.changed:
        notes.insert(0, "changed since")
    for word, text in stat_rows(value):
        colour = SOFT if text == UNKNOWN else GRADIENT if word == "grad" else INK
        cell = f'<TD ALIGN="LEFT">{font(word, 9, SOFT)}</TD>'
        numbers.append(f'<TR>{cell}<TD ALIGN="LEFT">{font(text, 10, colour)}</TD></TR>')
    wide = max((row.count("<TD") for row in numbers), default=1)
    name = font(brief(value.name), 12, None, "B") or font(value.hint, 12, None, "I")
    rows = [
        f'<TR><TD COLSPAN="{wide}">{words}</TD></TR>'
        for words in (name, font(shape_text(value), 9, SOFT))
        if words
    ]
    rows += numbers
    rows += [f'<TR><TD COLSPAN="{wide}">{font(note, 9, GRADIENT, "I")}</TD></TR>' for note in notes]
    flags = [font(words, 9, FLAGGED[1], "B") for words in value.flags.values()]
    rows += [f'<TR><TD COLSPAN="{wide}">{words}</TD></TR>' for words in flags]
    fill, border = FLAGGED if flags else (fill, border)
    thick = ", penwidth=2.4" if flags else ""
    tip = f"{value.name or value.hint or value.role}: {value.size:,} numbers, {shape_text(value)}"
    return (
        f'shape=box, style=filled, fillcolor="{fill}", color="{border}"{thick}, '
        f"label=<{table(rows)}>, tooltip={quote(tip)}"
    )
