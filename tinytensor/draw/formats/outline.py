"""What stands in which frame, and the lines of text in each box, for text formats."""

from __future__ import annotations

from ..fold import home
from ..labels import inside_words, matrix, name_of, number, shape_text, times, title_words
from ..picture import CONSTANT, INPUT, PARAMETER, Group, Picture, Step, Value
from ..words import SYMBOLS, flag_words, stat_rows


class Outline:
    """A picture's things by frame.

    Attributes:
        ids: by id of a step, value or group, a word that names it: n0, g0.
        inside: by frame (None: the whole), its steps and values that get a box.
        frames: by frame, those directly inside it.
    """

    def __init__(self, picture: Picture) -> None:
        self.ids: dict[int, str] = {}
        self.inside: dict[Group | None, list[Step | Value]] = {}
        self.frames: dict[Group | None, list[Group]] = {}
        readers = picture.readers()
        for group in picture.groups():
            self.ids[id(group)] = f"g{len(self.ids)}"
            self.frames.setdefault(group.parent, []).append(group)
        for value in picture.values():
            if value.shown:
                self._put(home(value, readers.get(id(value), [])), value)
        for step in picture.steps:
            self._put(step.group, step)

    def _put(self, group: Group | None, thing: Step | Value) -> None:
        self.ids[id(thing)] = f"n{len(self.ids)}"
        self.inside.setdefault(group, []).append(thing)


def kind_of(thing: Step | Value) -> str:
    """The word for how it looks: op, module, output, parameter, buffer, input, computed,
    constant."""
    if isinstance(thing, Step):
        return "module" if thing.module is not None else "op"
    if thing.output:
        return "output"
    return PARAMETER if thing.role == INPUT and thing.needs_grad else thing.role


def lines_of(thing: Step | Value) -> list[str]:
    """What is written in a box or circle, line by line."""
    return _of_step(thing) if isinstance(thing, Step) else _of_value(thing)


def title_of(group: Group) -> str:
    """What is written on a frame."""
    return "  ".join(filter(None, title_words(group)))


def label_of(value: Value, label: str) -> str:
    """What is written on an arrow."""
    words = [label] if label else []
    if not value.shown:
        words += [] if value.index is None else [f"[{value.index}]"]
        words.append(shape_text(value))
    return " ".join(words)


def _of_step(step: Step) -> list[str]:
    group = step.module
    if group is None:
        return [SYMBOLS.get(step.title, step.title), *([step.settings] if step.settings else [])]
    title = name_of(group) + (f"  {group.kind}" if group.kind != group.title else "")
    if group.count > 1:
        title += f"  {times(group)}"
    return [title, inside_words(step), *flag_words(step.flags)]


def _of_value(value: Value) -> list[str]:
    if value.role == CONSTANT:
        return [number(value.data)]
    lines = [value.name or value.hint, shape_text(value)]
    if value.data is not None:
        lines += _rows("now" if value.changed and not value.then else "data", value.data)
    if value.grad is not None:
        lines += _rows("grad", value.grad)
    lines += [" ".join(row) for row in stat_rows(value)]
    if value.changed:
        lines.append("changed since")
    lines += [value.grad_note] if value.grad is not None and value.grad_note else []
    return [*filter(None, lines), *value.flags.values()] or [value.role]


def _rows(word: str, data: object) -> list[str]:
    rows = [[data]] if not isinstance(data, list) else list(matrix(data))
    texts = ["  ".join(number(x) for x in row) for row in rows]
    return [f"{word} {texts[0]}", *texts[1:]] if texts else []
