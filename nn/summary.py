"""What ``print(module)`` shows: the tree with shapes and counts, equal neighbours folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

_ON_ONE_LINE = 3  # a module with more parameters of its own gets a line for each


def describe(module: Module) -> str:
    """The module tree as text.

    A line per module: its arguments, its own parameters' shapes and count; more than three
    parameters get lines of their own. A run of equal children is one entry, ``(0-3): 4 x Block``.
    A parameter that has appeared before is shown as a tie, ``weight = wte.weight``, and not
    counted again.
    """
    first_name = {id(p): name for name, p in module.named_parameters()}
    lines = _lines(module, "", first_name)
    total = f"{module.num_parameters():,} parameters"
    if len(lines) == 1:
        return lines[0]
    return "\n".join([*lines[:-1], f"{lines[-1]}  # {total}"])


def _lines(module: Module, path: str, first_name: dict[int, str]) -> list[str]:
    own, count, children = [], 0, []
    for name, part in module._members():
        full = f"{path}.{name}" if path else name
        if not isinstance(part, Tensor):
            children.append((name, _lines(part, full, first_name)))
        elif first_name[id(part)] == full:
            own.append(f"{name} {part.shape}")
            count += part.size
        else:
            own.append(f"{name} = {first_name[id(part)]}")
    for name in module._buffers:
        if (buffer := module.__dict__.get(name)) is not None:
            own.append(f"{name} {buffer.shape}")
    listed = len(own) > _ON_ONE_LINE
    note = f"  # {', '.join(own)}" if own and not listed else ""
    if count:
        note += f": {count:,}" if note else f"  # {count:,}"
    head = type(module).__name__
    extra = getattr(module, "extra_repr", str)()
    if not children and not listed:
        return [f"{head}({extra}){note}"]
    lines = [f"{head}({extra}{note}"]
    if listed:
        lines += [f"  {entry}" for entry in own]
    for label, block in _folded(children):
        lines.append(f"  ({label}): {block[0]}")
        lines += [f"  {line}" for line in block[1:]]
    return [*lines, ")"]


def _folded(children: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Runs of equal neighbours as one entry with a count."""
    out: list[tuple[str, list[str]]] = []
    start = 0
    while start < len(children):
        end = start + 1
        while end < len(children) and children[end][1] == children[start][1]:
            end += 1
        name, block = children[start]
        if end - start > 1:
            name = f"{name}-{children[end - 1][0].rpartition('.')[2]}"
            block = [f"{end - start} x {block[0]}", *block[1:]]
        out.append((name, block))
        start = end
    return out
