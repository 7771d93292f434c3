"""The boxes of a view: how large each is, and where Graphviz places it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..draw.layout import Box, Edge, Frame, layout
from ..draw.picture import CONSTANT, Group, Step, Value
from ..draw.words import SYMBOLS

SHOWN = 16  # a tensor of up to this many elements shows them in its box
COLUMNS = 8  # at most so many of them side by side

# pixels
COLUMN, ROW, HEADER, MARGIN, PADDING = 56, 18, 18, 14, 10

Size = tuple[float, float]  # width and height in pixels


@dataclass(frozen=True)
class Drawn:
    """A step in its view.

    Attributes:
        number: the step's id on the page. size: of its box. group: the frame that it stands in.
        reads, makes: values, each with the word on its arrow. round: an op, and no folded module.
    """

    number: int
    size: Size
    group: Group | None
    reads: Sequence[tuple[Value, str]]
    makes: Sequence[tuple[Value, str]]
    round: bool = True


def place(
    steps: Sequence[Drawn],
    values: Sequence[tuple[int, Value, Size]],
    groups: Sequence[Group],
    direction: str,
    seconds: float | None = None,
) -> dict[str, Any]:
    """The layout of a view, see :func:`tinytensor.draw.layout.layout`.

    Args:
        values: id on the page, value and size of its box. A value stands in its maker's frame, and
            leaves outside.
        groups: the frames, outer before inner. direction: "LR" or "TB".
        seconds: how long Graphviz may take.
    """
    number = {id(value): i for i, value, _ in values}
    at = {id(group): i for i, group in enumerate(groups)}

    def frame_of(group: Group | None) -> int | None:
        return None if group is None else at.get(id(group))

    boxes = [Box(f"s{s.number}", *s.size, frame_of(s.group), round=s.round) for s in steps]
    home = {id(value): step.group for step in steps for value, _ in step.makes}
    boxes += [Box(f"v{i}", *size, frame_of(home.get(id(value)))) for i, value, size in values]
    edges: list[Edge] = []
    for step in steps:
        key = f"s{step.number}"
        for value, word in step.reads:
            edges.append(Edge(f"v{number[id(value)]}", key, number[id(value)], word))
        for value, word in step.makes:
            edges.append(Edge(key, f"v{number[id(value)]}", number[id(value)], word))
    frames = [Frame(g.title, g.kind, frame_of(g.parent), g.level, g.count) for g in groups]
    return layout(boxes, edges, frames, direction, seconds)


def op_size(step: Step) -> Size:
    """Of an op."""
    op, settings = step.title, step.settings
    if op in SYMBOLS and not settings:
        return 40, 40
    return 24 + max(8.5 * len(op), 6.5 * len(settings)), 48 if settings else 36


def value_size(value: Value) -> Size:
    """Of a tensor's box, with room for its numbers and their gradient where they are few."""
    shape, elements = value.shape or (), value.size
    name = 8 * len(value.name or value.hint)
    if value.role == CONSTANT:
        return COLUMN + MARGIN, ROW + PADDING
    if not 0 < elements <= SHOWN:
        return max(96, min(name, 240)) + MARGIN, HEADER + ROW + PADDING
    columns = min(shape[-1] if shape else 1, COLUMNS)
    rows = -(-elements // columns)
    if value.needs_grad:
        rows *= 2
    return max(COLUMN * columns, min(name, 240)) + MARGIN, HEADER + ROW * rows + PADDING
