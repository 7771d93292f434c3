"""One module of a picture, with what comes in and what goes out."""

from __future__ import annotations

from dataclasses import replace

from ...hints.finding import alike
from ..picture import CONSTANT, Group, Picture, Step, Value


def path_of(group: Group) -> str:
    """The module's path from the outermost one called, whose own is its class."""
    below = [inner.title for inner in group.chain()[1:]]
    return ".".join(below) or group.title


def find(picture: Picture, path: str) -> tuple[Group, int]:
    """The first call of the module of this path, and how many calls there are.

    Raises:
        ValueError: there is none.
    """
    groups = [group for group in picture.groups() if group.kind != "reference"]
    found = [group for group in groups if path_of(group) == path]
    if found:
        return found[0], len(found)
    known = list(dict.fromkeys(path_of(group) for group in groups))
    if not known:
        raise ValueError(f"module: expected none, as no module made what is drawn, got {path!r}")
    meant = alike(path, known, 2, 0.6)
    guess = f" (did you mean {' or '.join(meant)}?)" if meant else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    raise ValueError(
        f"module: no call of {path!r} is in this graph{guess}; there are "
        f"{', '.join(known[:12])}{more}"
    )


def inside(picture: Picture, group: Group, calls: int = 1) -> Picture:
    """What one module call did: its steps, and boxes for what it read from and gave to others."""
    steps = [s for s in picture.steps if s.group is not None and group in s.group.chain()]
    own = {id(step) for step in steps}
    readers = picture.readers()
    frames: dict[int, Group] = {}
    values: dict[int, Value] = {}

    def frame(old: Group | None) -> Group | None:
        if old is None or old is group.parent:
            return None
        if id(old) not in frames:
            note = old.note
            if old is group and calls > 1:
                note = f"the first of {calls:,} calls"
            frames[id(old)] = replace(
                old,
                parent=frame(old.parent),
                level=old.level - group.level,
                title=path_of(old) if old is group else old.title,
                note=note,
            )
        return frames[id(old)]

    def copy(value: Value) -> Value:
        if id(value) not in values:
            new = replace(value)
            outside = value.step is not None and id(value.step) not in own
            if outside:
                new.step, new.boxed, new.output = None, True, False
                new.hint = value.hint or maker_of(value)
            elif value.step is not None:
                new.output = value.output or any(
                    id(step) not in own for step in readers.get(id(value), [])
                )
            elif value.role != CONSTANT:
                new.output = False
            values[id(value)] = new
        return values[id(value)]

    made: list[Step] = []
    for step in steps:
        new = replace(step, group=frame(step.group), inputs=[], labels=[], outputs=[])
        for value, label in zip(step.inputs, step.labels, strict=True):
            new.read(copy(value), label)
        new.reads = [None if value is None else copy(value) for value in step.reads]
        for value in step.outputs:
            new.produce(copy(value))
        made.append(new)
    leaving = [value for step in made for value in step.outputs if value.output]
    return Picture(made, leaving)


def maker_of(value: Value) -> str:
    """ "from h.0.mlp": where a value comes from."""
    step = value.step
    assert step is not None
    return f"from {path_of(step.group) if step.group is not None else step.title}"
