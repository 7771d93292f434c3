"""The whole way there and back, with every number: what a page of steps tells.

A *story* is a list of values and a list of steps, in views: the graph itself, and for each fused
op its reference, run on the numbers that the op was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays.device import Device, device_of
from ..arrays.rows import dense
from ..define.naming import listening
from ..draw.opened import operand, unwatched, written
from ..draw.picture import CONSTANT, Group, Step, Value
from ..draw.trace import Tracer
from ..draw.walk import several
from ..draw.words import called
from ..draw.zooms.apply import Applied, Local, apply, local, repeats
from ..graph.grad_mode import no_grad
from ..graph.step import pull_back
from ..tensor.tensor import Tensor

INNER = 400  # steps inside fused ops, in all; those that would exceed it stay closed


@dataclass(eq=False)
class Told:
    """A step with its numbers.

    Attributes:
        step: title, inputs and frame. node: the graph node that it was.
        operands: a value per operand of the op, None for one left out.
        results: values by their place among the op's results; without those that nobody read.
        applied: the op on known numbers; None where those are not known.
        terms: per operand what it adds to the gradient. locals: and the derivative, both or None.
        view: the number of the view it stands in. opens: of the one inside it, or None.
    """

    step: Step
    node: Any
    operands: list[Value | None]
    results: dict[int, Value]
    view: int
    applied: Applied | None = None
    terms: list[Any] = field(default_factory=list)
    locals: list[Local | None] = field(default_factory=list)
    opens: int | None = None

    @property
    def names(self) -> list[str]:
        """What the op calls its operands."""
        return [called(self.node, i, 1) for i in range(len(self.operands))]


@dataclass(eq=False)
class View:
    """One picture of the page.

    Attributes:
        kind: "top" or "reference". told: its steps. parent, step: the view and the step it is
            inside of. entering, leaving: values from and to the outside.
    """

    title: str
    kind: str
    told: list[Told] = field(default_factory=list)
    parent: int | None = None
    step: Told | None = None
    entering: list[Value] = field(default_factory=list)
    leaving: list[Value] = field(default_factory=list)

    def values(self) -> list[Value]:
        """What is drawn in it, each once: results where they are made."""
        found: dict[int, Value] = {}
        for told in self.told:
            for value in (*told.operands, *told.results.values()):
                if value is not None:
                    found.setdefault(id(value), value)
        for value in self.leaving:
            found.setdefault(id(value), value)
        return list(found.values())

    def groups(self) -> list[Group]:
        """The module calls in it, outer before inner."""
        found: dict[int, Group] = {}
        for told in self.told:
            for group in told.step.group.chain() if told.step.group is not None else ():
                found.setdefault(id(group), group)
        return list(found.values())


class Story:
    """Values, steps and views behind one tensor, with the numbers of forward and backward.

    Attributes:
        views: 0 is the graph itself.
        told: every step of every view.
        arrays: by id of a value, its numbers, on the CPU; not there where they are not known.
        unknown: and why not: "changed" since, "gone" (nobody holds it any more) or "freed" by a
            backward.
        grads: likewise its gradient, of a backward that nobody else sees.
        backward: the steps in the order in which they are walked back.
    """

    def __init__(self, output: Any, cotangent: Any) -> None:
        """``cotangent``: an array, what backward starts from."""
        self.views: list[View] = []
        self.told: list[Told] = []
        self.arrays: dict[int, Any] = {}
        self.unknown: dict[int, str] = {}
        self.grads: dict[int, Any] = {}
        self.backward: list[Told] = []
        self.device = output.device
        self.inner = 0
        #: they hold what ids belong to
        self.tracers: list[Tracer] = []
        tracer = Tracer([output])
        (value,) = tracer.picture.outputs
        title = value.name or (tracer.picture.steps[-1].title if tracer.picture.steps else "tensor")
        view = View(title, "top", leaving=[value])
        self.tell(tracer, view, {})
        self.grads[id(value)] = host(cotangent)
        self.walk_back(view)
        for told in list(view.told):
            self.open_up(told)

    # ---- forward ---------------------------------------------------------------------------------

    def tell(self, tracer: Tracer, view: View, outside: dict[int, Value]) -> None:
        """A view of what a walk has found, with the numbers of forward.

        ``outside``: by id of a value of the walk, the one that it is outside of this view.
        """

        def known(value: Value) -> Value:
            return outside.get(id(value), value)

        number = len(self.views)
        self.views.append(view)
        self.tracers.append(tracer)
        for step in tracer.picture.steps:
            node = tracer.nodes[id(step)]
            operands = [None if v is None else known(v) for v in tracer.reads[id(step)]]
            results = {value.index or 0: known(value) for value in step.outputs}
            told = Told(step, node, operands, results, number)
            view.told.append(told)
            self.told.append(told)
            self.compute(told)

    def compute(self, told: Told) -> None:
        """Apply the step's op to what it read, if that is known; else take what the graph kept."""
        node, known = told.node, True
        arrays: list[Any] = []
        for i, value in enumerate(told.operands):
            array, there = self.numbers(node, i, value)
            known &= there
            arrays.append(array)
        applied = apply(node.op, node.params, arrays, node.needs) if known else None
        if applied is not None and repeats(applied):
            told.applied = applied
            for i, value in told.results.items():
                self.arrays.setdefault(id(value), of_dtype(applied.results[i].data, value))
        elif node.value is not None and not written(node.version, node):
            self.arrays[id(told.results[0])] = host(node.value)
        else:
            read = (self.unknown.get(id(value)) for value in told.operands)
            why = next(filter(None, read), "freed")
            self.unknown.update({id(value): why for value in told.results.values()})

    def numbers(self, node: Any, i: int, value: Value | None) -> tuple[Any, bool]:
        """What a node was given as operand ``i``, and whether that is known."""
        if value is None:
            return None, True
        if value.role == CONSTANT:
            return value.data, True
        if id(value) in self.arrays:
            return self.arrays[id(value)], True
        array, there = operand(node, i)
        if there:
            self.arrays[id(value)] = array = host(array)
        elif value.step is None:
            leaf = node.parents[i] is not None or id(value) in self.tracers[-1].tensors
            self.unknown.setdefault(id(value), "changed" if leaf else "gone")
        return array, there

    # ---- backward --------------------------------------------------------------------------------

    def walk_back(self, view: View) -> None:
        """The terms of every step of a view, whose leaving values have gradients already.

        Steps go in decreasing order of creation, and terms are added in the order they come, as
        the engine does.
        """
        entering = {id(value) for value in view.entering}
        for told in reversed(view.told):
            cotangents = {i: self.grads.get(id(v)) for i, v in told.results.items()}
            told.terms = [None] * len(told.operands)
            told.locals = [None] * len(told.operands)
            if all(g is None for g in cotangents.values()):
                continue
            if told.applied is not None:
                found = told.applied.pull_back(cotangents)
                told.terms = [of_dtype(*pair) for pair in zip(found, told.operands, strict=True)]
                told.locals = [local(told.applied, i) for i in range(len(told.operands))]
            else:
                told.terms = by_the_graph(told.node, cotangents, self.device)
            self.backward.append(told)
            for value, term in zip(told.operands, told.terms, strict=True):
                if value is None or term is None or id(value) in entering:
                    continue
                before = self.grads.get(id(value))
                with np.errstate(all="ignore"):
                    self.grads[id(value)] = term if before is None else before + term

    # ---- inside ----------------------------------------------------------------------------------

    def open_up(self, told: Told) -> None:
        """A view of a fused op's reference, and of the fused ops inside it."""
        applied, op = told.applied, told.node.op
        if applied is None or getattr(op, "reference", None) is None or self.inside(told, op.name):
            return
        arrays = [x.data if isinstance(x, Tensor) else x for x in applied.operands]
        with listening() as names:
            found = apply(op, applied.params, arrays, applied.wanted, op.reference)
        if any(result.node is None for result in found.results):
            return
        pairs = [
            (tensor, value)
            for tensor, value in zip(found.operands, told.operands, strict=True)
            if isinstance(tensor, Tensor) and value is not None
        ]
        tracer = Tracer(found.results, known=pairs, names=names)
        steps = tracer.picture.steps
        if self.inner + len(steps) > INNER or not steps:
            return
        self.inner += len(steps)
        outside: dict[int, Value] = {}
        for i, inner in enumerate(tracer.picture.outputs):
            if i in told.results:
                outside[id(inner)] = told.results[i]
        told.opens = len(self.views)
        view = View(op.name, "reference", parent=told.view, step=told)
        view.entering = [value for value in told.operands if value is not None]
        view.leaving = list(told.results.values())
        self.tell(tracer, view, outside)
        # what a result is read for inside too, as lstm's cell state, is no part of what arrived
        arrived = {id(value): self.grads.get(id(value)) for value in view.leaving}
        self.walk_back(view)
        self.grads.update(arrived)
        for deeper in list(view.told):
            self.open_up(deeper)

    def inside(self, told: Told | None, name: str) -> bool:
        """Is a step inside the reference of an op of this name?"""
        while told is not None:
            told = self.views[told.view].step
            if told is not None and told.node.op.name == name:
                return True
        return False


def of_dtype(array: Any, value: Value | None) -> Any:
    """An array as the engine has it: what computes in float32 on float16 gives float16."""
    if array is None or value is None or array.dtype == value.dtype or value.role == CONSTANT:
        return array
    with np.errstate(all="ignore"):
        return array.astype(value.dtype)


def by_the_graph(node: Any, cotangents: dict[int, Any], device: Device) -> list[Any]:
    """What a node sends back to each operand by what it has kept; nothing if that was freed or
    written to, or is to be computed again: that would run the user's function, and keep it all."""
    found: list[Any] = [None] * len(node.parents)
    changed = any(v is not None and v[0].count != v[1] for v in node.versions)
    if changed or type(node.saved) is not tuple:
        return found
    parts = {i: None if g is None else device.from_host(g) for i, g in cotangents.items()}
    g = [parts.get(i) for i in range(len(node.dtype))] if several(node.shape) else parts[0]
    with unwatched(), no_grad():
        sent = pull_back(node, g, False)
    for i, need in enumerate(node.needs):
        if need and sent and sent[0][0] is node.parents[i]:
            found[i] = host(dense(sent.pop(0)[1]))
    return found


def host(array: Any) -> Any:
    """An array of any device as NumPy's, a copy."""
    return np.array(device_of(array).to_host(array))


