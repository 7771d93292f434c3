"""What ``print(module)`` and a notebook show: the tree with shapes and counts, equal neighbours
folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..shown import html
from ..shown.printing import bytes_of
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
    for _, label, times, block in _folded(children):
        lines.append(f"  ({label}): {f'{times} x ' if times > 1 else ''}{block[0]}")
        lines += [f"  {line}" for line in block[1:]]
    return [*lines, ")"]


def _folded(children: list[tuple[str, list[str]]]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Runs of equal neighbours: the first name, a label, how many, and their lines."""
    start = 0
    while start < len(children):
        end = start + 1
        while end < len(children) and children[end][1] == children[start][1]:
            end += 1
        name, block = children[start]
        last = children[end - 1][0].rpartition(".")[2]
        yield name, f"{name}-{last}" if end - start > 1 else name, end - start, block
        start = end


def describe_html(module: Module) -> str:
    """The module tree for a notebook: each module opens by a click, the outermost is open."""
    first_name = {id(p): name for name, p in module.named_parameters()}
    parameters = list(module.parameters())
    note = f"{sum(p.size for p in parameters):,} parameters"
    frozen = sum(p.size for p in parameters if not p.requires_grad)
    if frozen:
        note += f", {frozen:,} of them frozen"
    if parameters:
        note += f", {bytes_of(sum(p.nbytes for p in parameters))}"
    title = f"{type(module).__name__}({_arguments(module)})"
    return html.framed(title, note, _inside(module, "", first_name))


def _arguments(module: Module) -> str:
    return str(getattr(module, "extra_repr", str)())


def _inside(module: Module, path: str, first_name: dict[int, str]) -> str:
    """Its own tensors as a table, and below them its parts."""
    rows, children = list[tuple[str, ...]](), list[tuple[str, list[str]]]()
    parts = dict(module._members())
    for name, part in parts.items():
        full = f"{path}.{name}" if path else name
        if not isinstance(part, Tensor):
            children.append((name, _lines(part, full, first_name)))
        elif first_name[id(part)] == full:
            frozen = "" if part.requires_grad else "frozen"
            rows.append((name, str(part.shape), str(part.dtype), f"{part.size:,}", frozen))
        else:
            rows.append((name, str(part.shape), str(part.dtype), "", f"= {first_name[id(part)]}"))
    for name in module._buffers:
        if (buffer := module.__dict__.get(name)) is not None:
            rows.append((name, str(buffer.shape), str(buffer.dtype), "", "buffer"))
    made = [html.table((), rows, words=(0, 1, 2, 4))] if rows else []
    for name, label, times, _ in _folded(children):
        child = parts[name]
        assert not isinstance(child, Tensor)
        own = {id(p): p.size for p in child.parameters()}
        count = sum(size for i, size in own.items() if _is_within(first_name[i], path, name))
        head = html.code(f"({label})") + " " + (f"{times} × " if times > 1 else "")
        head += html.code(f"{type(child).__name__}({_arguments(child)})")
        if count:
            head += " " + html.faint(f"{count:,}{' each' if times > 1 else ''}")
        inner = _inside(child, f"{path}.{name}" if path else name, first_name)
        made.append(html.folded(head, inner) if inner else html.line(f"{_NO_MARKER}{head}"))
    return "".join(made)


#: as wide as the triangle of what opens
_NO_MARKER = '<span style="display:inline-block;width:1em"></span>'


def _is_within(full: str, path: str, name: str) -> bool:
    """Whether a parameter is counted in this module: its first name is below it."""
    return full.startswith(f"{path}.{name}." if path else f"{name}.")
