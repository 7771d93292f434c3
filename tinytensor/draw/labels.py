"""The texts in boxes, whatever the format: names, shapes, numbers, what is inside of modules."""

from __future__ import annotations

from collections.abc import Iterable

from .picture import Group, Step, Value


def brief(name: str, longest: int = 60) -> str:
    """A name, without the middle where it is very long; tooltips have all of it."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


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


def matrix(data: list[object]) -> Iterable[list[object]]:
    """Lines of up to 8 numbers of a nested list; further axes are laid out one after the other."""
    if data and isinstance(data[0], list):
        for part in data:
            assert isinstance(part, list)
            yield from matrix(part)
        return
    for start in range(0, len(data), 8):
        yield data[start : start + 8]


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
