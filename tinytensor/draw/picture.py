"""What a picture is made of, before it becomes DOT text: steps, values and groups.

A *step* is a circle or a box that computes something: an op, or a whole module once it is folded.
A *value* is a tensor: a leaf, or what a step produced. Arrows run from a step to its values and
from a value to the steps that read it. A *group* is a frame around steps: a module call, or the
reference of a fused op that was opened.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..shown.statistics import Stats
    from .zooms.statistics import Looked

PARAMETER, BUFFER, INPUT = "parameter", "buffer", "input"
CONSTANT, COMPUTED = "constant", "computed"

SHAPES_ALONE = "shapes alone"  # in the title of an opened op whose operands the graph has not kept


@dataclass(eq=False)
class Group:
    """A frame: one module call, or an opened op.

    Attributes:
        title: the module's name in its parent ("h.0"), or the op's.
        kind: the module's class, or "reference".
        parent: the group around it, None at the top.
        level: how deep it is nested in modules, from 0; an opened op has its surroundings' level.
        count: how many equal groups this one stands for.
        last: title of the last of them.
        together: True if they stand side by side, False if they follow one another.
        note: more to say in its title.
    """

    title: str
    kind: str
    parent: Group | None
    level: int
    count: int = 1
    last: str = ""
    together: bool = False
    note: str = ""

    def chain(self) -> list[Group]:
        """The groups around this one and itself, outermost first."""
        found: list[Group] = []
        group: Group | None = self
        while group is not None:
            found.append(group)
            group = group.parent
        return found[::-1]


@dataclass(eq=False)
class Value:
    """A tensor.

    Attributes:
        role: PARAMETER or BUFFER of a model, INPUT (any other tensor that no op made), CONSTANT (a
            plain number) or COMPUTED.
        shape, dtype: as the engine reports them; shape is None for a plain number.
        name: the user's name or the path in the model; "" if it has none.
        data, grad: nested lists of numbers, for small tensors only.
        changed: written to since the op that read or made it, so that ``data`` is what it is now.
        then: ``data`` is nevertheless what it was before that.
        grad_note: how far ``grad`` is not that of the one backward of what is drawn.
        needs_grad: False for what no gradient flows to.
        step: what computed it; None for leaves.
        output: True for the tensors the picture was asked for.
        index: which output of its step this is; None for steps with one output.
        inner: True for what stands where it is read; other inputs stand outside the model.
        hint: what the op that reads it calls it ("ids"), for values without a name.
        looked, grad_looked: statistics of its numbers and of its gradient, where these were asked
            for and are known.
        flags: what is strange about them: kind -> in words.
        boxed: gets a box in any case, to show statistics, or that they are not known.
        graded: say so too where its gradient is not known: there was a backward.
    """

    role: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    name: str = ""
    data: object = None
    grad: object = None
    changed: bool = False
    then: bool = False
    grad_note: str = ""
    needs_grad: bool = True
    step: Step | None = None
    output: bool = False
    index: int | None = None
    inner: bool = False
    hint: str = ""
    looked: Looked | None = None
    grad_looked: Looked | None = None
    flags: dict[str, str] = field(default_factory=dict)
    boxed: bool = False
    graded: bool = False

    @property
    def shown(self) -> bool:
        """Does it get a box, or is it written on the arrow that carries it?"""
        plain = self.role == COMPUTED and not self.output and not self.name
        return not plain or self.data is not None or self.boxed or bool(self.flags)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape or ())

    @property
    def brought(self) -> bool:
        """Does it stand outside of the modules that read it? Parameters stand inside."""
        return self.step is None and self.role in (INPUT, COMPUTED) and not self.inner

    @property
    def stats(self) -> Stats | None:
        """Statistics of its numbers, where these were asked for and are known."""
        return None if self.looked is None else self.looked.stats

    @property
    def grad_stats(self) -> Stats | None:
        """Statistics of its gradient, likewise."""
        return None if self.grad_looked is None else self.grad_looked.stats

    def forget(self) -> None:
        """Its numbers are not those of all that it stands for; statistics are of all."""
        self.data = self.grad = None
        self.changed, self.grad_note = False, ""


@dataclass(eq=False)
class Step:
    """An op, or a folded module.

    Attributes:
        title: the op's name.
        group: the frame it stands in.
        inputs: what it reads, in the op's order; labels: a word for each arrow.
        outputs: what it produces.
        settings: the op's parameters as text ("axis=1"); params: as they were given.
        fused: True for an op that has a reference and may be opened.
        module: for a folded module, the group it replaces; None for an op.
        parameters: for a folded module, how many parameter tensors and numbers are inside.
        ops: for a folded module, how many ops are inside.
        tip: more to say on hover.
        flags: for a folded module, the flags of the tensors inside: kind -> how many.
        op: what was applied, and where: the place in the user's code, as graph nodes have it.
        reads: a value per operand of the op, None for one left out.
    """

    title: str
    group: Group | None = None
    inputs: list[Value] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    settings: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    fused: bool = False
    module: Group | None = None
    parameters: tuple[int, int] = (0, 0)
    ops: int = 1
    tip: str = ""
    flags: dict[str, int] = field(default_factory=dict)
    op: Any = None
    where: Any = None
    reads: list[Value | None] = field(default_factory=list)

    def read(self, value: Value, label: str = "") -> None:
        """Add an input."""
        self.inputs.append(value)
        self.labels.append(label)

    def produce(self, value: Value) -> Value:
        """Add an output."""
        value.step = self
        self.outputs.append(value)
        return value


@dataclass(eq=False)
class Picture:
    """All steps in the order they ran, the values asked for, and what is to be said below."""

    steps: list[Step]
    outputs: list[Value]
    notes: list[str] = field(default_factory=list)

    def values(self) -> list[Value]:
        """Every value once: leaves where they are first read, results where they are made."""
        found: dict[int, Value] = {}
        for step in self.steps:
            for value in (*step.inputs, *step.outputs):
                found.setdefault(id(value), value)
        for value in self.outputs:
            found.setdefault(id(value), value)
        return list(found.values())

    def forget_numbers(self) -> None:
        """Leave the shapes alone, and the plain numbers, which belong to the formula."""
        for value in self.values():
            if value.role != CONSTANT:
                value.data = value.grad = None

    def readers(self) -> dict[int, list[Step]]:
        """For each value's id, the steps that read it."""
        found: dict[int, list[Step]] = {}
        for step in self.steps:
            for value in {id(v): v for v in step.inputs}.values():
                found.setdefault(id(value), []).append(step)
        return found

    def groups(self) -> list[Group]:
        """Every group with something in it, outer before inner."""
        found: dict[int, Group] = {}
        for step in self.steps:
            for group in step.group.chain() if step.group is not None else ():
                found.setdefault(id(group), group)
        return list(found.values())

    def has_modules(self) -> bool:
        """Is there a module call, whether in a frame or folded?"""
        calls = any(group.kind != "reference" for group in self.groups())
        return calls or any(step.module is not None for step in self.steps)

    def boxes(self) -> int:
        """How many boxes and circles the picture will have."""
        return len(self.steps) + sum(value.shown for value in self.values())

    def arrows(self) -> Iterator[tuple[Step | Value, Step | Value, Value, str]]:
        """(from, to, value on the way, label); a value that is not shown is passed over."""
        for step in self.steps:
            seen: set[tuple[int, str]] = set()
            for value, label in zip(step.inputs, step.labels, strict=True):
                if (id(value), label) in seen and step.module is not None:
                    continue
                seen.add((id(value), label))
                start = value if value.shown or value.step is None else value.step
                yield start, step, value, label
            for value in step.outputs:
                if value.shown:
                    yield step, value, value, ""
