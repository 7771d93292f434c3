"""From a tensor back through its graph: every op and tensor, with names, boxes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType

from ..graph.node import Seen
from .gradients import doubt_leaves, walks_behind
from .opened import Inside, rewritten, saved, written
from .picture import (
    BUFFER,
    COMPUTED,
    CONSTANT,
    INPUT,
    PARAMETER,
    SHAPES_ALONE,
    Group,
    Picture,
    Step,
    Value,
)
from .walk import dtype_name, is_node, model_paths, numbers, reachable, several
from .words import called, settings, tip, words_for
from .zooms.statistics import Numbers, look

SMALL = 16  # tensors of up to this many elements show their numbers, as the engine keeps them

# looks into one fused op: (node, gradients of its results) -> what its reference computes
Opener = Callable[[Any, Any], Inside]

# nodes -> where statistics of them are looked up
Measure = Callable[[list[Any]], Numbers]


@dataclass(frozen=True)
class _Opened:
    """Where a walk is inside of: the frame, the names of all ops open so far, and whether the
    numbers are those that the op saw."""

    frame: Group
    names: frozenset[str]
    real: bool


class Tracer:
    """One walk; holds what has been seen.

    Attributes:
        picture: what was found.
        nodes: by id of a step, the graph node that it stands for.
        reads: by id of a step, its operands, None for one that was left out.
        tensors: by id of a leaf's value, the tensor.
    """

    def __init__(
        self,
        outputs: Sequence[Any],
        open: Collection[str] | bool = (),
        opener: Opener | None = None,
        known: Sequence[tuple[Any, Value]] = (),
        names: dict[int, tuple[Any, str]] | None = None,
        measure: Measure | None = None,
    ) -> None:
        """Walk from tensors to everything they were computed from.

        Args:
            outputs: tensors; one that has no graph gives a picture of itself alone.
            open: names of fused ops to show as their reference, or True for all.
            opener: runs the reference of one node; see :func:`.opened.look_inside`.
            known: leaves that have a value already.
            names: of constants, with their array, by its id.
            measure: where the statistics come from, if they are asked for; called with all nodes.
        """
        self.open, self.opener = open, opener
        self.steps: list[Step] = []
        self.made: dict[int, Value] = {}  # by id of node
        self.leaves: dict[tuple[int, bool], Value] = {}  # by id of tensor, and written to since
        self.tensors: dict[int, Any] = {}  # by id of a leaf's value
        self.walks: dict[int, frozenset[int]] = {}  # by id of node or leaf, see walks_behind
        self.past: dict[tuple[int, str], Value] = {}  # constants that have changed or gone
        self.several: dict[int, Step | list[Value]] = {}  # by id of a node with several outputs
        self.names: dict[int, tuple[Any, str]] = dict(names or {})  # of opened ops' constants
        self.read_again: set[int] = set()  # values that an opened op's own ops read
        self.given: dict[int, Value] = {}  # what opened ops read from outside, by id of array
        self.kept: list[Any] = []  # tensors of opened ops: their ids must stay taken
        self.group_of: dict[int, Group] = {}  # by id of scope
        self.nodes: dict[int, Any] = {}
        self.reads: dict[int, list[Value | None]] = {}
        self.know(known)
        nodes = reachable(tensor.node for tensor in outputs)
        self.paths = model_paths(nodes)
        self.walks = walks_behind(nodes)
        self.numbers = measure(nodes) if measure is not None else None
        self.walk(nodes, None)
        own = self.numbers is not None and self.numbers.own_grads
        doubt_leaves(self.leaves, self.tensors, {} if own else self.walks)
        self.picture = Picture(self.steps, [self.output(tensor) for tensor in outputs])

    def output(self, tensor: Any) -> Value:
        value = self.leaf(tensor) if tensor.node is None else self.made[id(tensor.node)]
        value.output = True
        if tensor.node is not None:
            value.name = value.name or tensor.name or ""
        return value

    def know(self, pairs: Sequence[tuple[Any, Value]]) -> None:
        """These leaves have values already."""
        for tensor, value in pairs:
            self.leaves[id(tensor), False] = value
            self.given[id(tensor.data)] = value

    # ---- nodes -----------------------------------------------------------------------------------

    def walk(self, nodes: list[Any], inside: _Opened | None) -> None:
        """Add nodes; ``inside`` is given for those of an opened op."""
        picks: dict[int, dict[int, Any]] = {}
        for node in nodes:
            if node.op.name == "output":
                picks.setdefault(id(node.parents[0]), {})[node.params["index"]] = node
        for node in nodes:
            if node.op.name == "output":
                self.made[id(node)] = self.pick(node, self.computed(node, inside))
                continue
            group = self.group(node.scope) if inside is None else inside.frame
            read = [self.operand(node, i, inside) for i in range(len(node.parents))]
            if self.opens(node, inside):
                grads = self.gradients(node, picks.get(id(node), {}), inside)
                if self.open_up(node, read, group, grads, inside):
                    continue
            step = Step(
                node.op.name,
                group,
                settings=settings(node.params, getattr(node.op, "defaults", {})),
                params=node.params,
                fused=getattr(node.op, "reference", None) is not None,
                tip=tip(node.op),
                op=node.op,
                where=node.where,
                reads=read,
            )
            for value, word in zip(read, words_for(node, read, step.fused), strict=True):
                if value is not None:
                    step.read(value, word)
            self.steps.append(step)
            self.nodes[id(step)], self.reads[id(step)] = node, read
            if several(node.shape):
                self.several[id(node)] = step
            else:
                self.made[id(node)] = step.produce(self.computed(node, inside))

    def pick(self, node: Any, value: Value) -> Value:
        """One of the outputs of an op that has several."""
        value.index = node.params["index"]
        maker = self.several[id(node.parents[0])]
        return (
            maker.produce(value)
            if isinstance(maker, Step)
            else self.adopt(maker[value.index], value)
        )

    def operand(self, node: Any, i: int, inside: _Opened | None) -> Value | None:
        """What an op reads, or None for an operand left out (no bias, no mask).

        The constants of an opened op's own ops are theirs. Elsewhere nobody recorded where a
        constant was made. Ids, targets and first operands nearly always come from outside the
        model; masks, tables and zero states from inside.
        """
        parent = node.parents[i]
        if parent is None:
            found = self.constant(node, i)
            given = any(found is value for value in self.given.values())
            if found is not None and inside is not None and found.step is None and not given:
                found.inner = True
                if not inside.real and found.role != CONSTANT:
                    found.data = None
            elif found is not None and i > 0 and not found.name and "int" not in found.dtype:
                found.inner = True
            return found
        if is_node(parent):
            return self.made[id(parent)]
        value = self.leaf(parent, rewritten(parent, node))
        if value.role == PARAMETER and not value.name:  # its model is gone: guess from the reader
            where = node.scope.path if node.scope is not None else ""
            value.hint = value.hint or ".".join(part for part in (where, called(node, i)) if part)
        return value

    # ---- leaves ----------------------------------------------------------------------------------

    def leaf(self, tensor: Any, changed: bool = False) -> Value:
        """A tensor that no op made: a parameter of the model, or something the user brought.

        ``changed``: as it was for ops from before it was written to, which is a box of its own.
        """
        if (id(tensor), changed) in self.leaves:
            return self.leaves[id(tensor), changed]
        path, role = self.paths.get(id(tensor), ("", INPUT))
        own, small = tensor.name or "", tensor.size <= SMALL
        grad = None if tensor.grad is None else tensor.grad.data
        if self.numbers is not None:
            grad = self.numbers.grad_of_leaf(tensor)
        value = Value(
            PARAMETER if type(tensor).__name__ == "Parameter" else role,
            tuple(tensor.shape),
            dtype_name(tensor.dtype),
            f"{path} ({own})" if path and own and own != path else path or own,
            numbers(tensor.data) if small else None,
            numbers(grad) if small else None,
            changed=changed,
            needs_grad=bool(tensor.requires_grad),
            inner=role == BUFFER,
        )
        if self.numbers is not None:
            value.looked = None if changed else look(tensor.data)
            value.grad_looked = look(grad)
        self.leaves[id(tensor), changed] = value
        self.tensors[id(value)] = tensor
        return value

    def constant(self, node: Any, i: int) -> Value | None:
        """An operand without a gradient: its numbers if it is small, else its shape alone."""
        kept = (node.consts or {}).get(i)
        if kept is None:
            return None
        if isinstance(kept, ReferenceType):
            array = None if node.op.variadic else saved(node, node.op.inputs[i])
            if id(array) in self.given:
                return self.given[id(array)]
            _, name = self.names.get(id(array), (None, ""))
            tensor = kept()
            if tensor is not None and not rewritten(tensor, node):
                value = self.leaf(tensor)
                value.name = value.name or name
            else:
                shape, dtype = node.in_meta[i]
                value = Value(INPUT, tuple(shape), dtype_name(dtype), name, needs_grad=False)
                if self.numbers is not None:
                    value.looked = look(array)
        elif isinstance(kept, Seen):
            value = self.seen(kept)
        else:
            return Value(CONSTANT, data=kept, needs_grad=False)
        value.hint = value.hint or called(node, i)
        return value

    def seen(self, kept: Seen) -> Value:
        """A small constant with the numbers that the op read; one box for all that read the same.

        A tensor that was written to between two reads is two boxes.
        """
        tensor, then = kept.tensor(), numbers(kept.array)
        if tensor is not None and not tensor.requires_grad:
            if repr(numbers(tensor.data)) == repr(then):  # as text, for NaN is not NaN
                return self.leaf(tensor)
        key = (id(kept.tensor), repr(then))  # a tensor has one weak reference
        if key not in self.past:
            shape, dtype = tuple(kept.array.shape), dtype_name(kept.array.dtype)
            value = Value(INPUT, shape, dtype, kept.name or "", then, needs_grad=False)
            if self.numbers is not None:
                value.looked = look(kept.array)
            self.past[key] = value
        return self.past[key]

    # ---- results ---------------------------------------------------------------------------------

    def computed(self, node: Any, inside: _Opened | None) -> Value:
        """The value a node made; without numbers where it was run on zeros."""
        value = Value(COMPUTED, tuple(node.shape), dtype_name(node.dtype), node.name or "")
        if (inside is None or inside.real) and node.value is not None:
            value.data, value.grad = numbers(node.value), numbers(self.gradient(node, inside))
            value.changed = written(node.version, node)
            value.then = value.changed and getattr(node, "apart", False)
        if self.numbers is not None and (inside is None or inside.real):
            value.looked = self.numbers.of_node(node)
            if inside is not None or self.of_picture(node):
                value.grad_looked = self.numbers.grad_of_node(node)
        return value

    def of_picture(self, node: Any) -> bool:
        """Did the last backward that came by a node come from what is drawn?"""
        return bool(self.walks[id(node)] == {getattr(node, "walk", None)})

    def gradient(self, node: Any, inside: _Opened | None) -> Any:
        """The gradient a node keeps, if it is that of what is drawn; an opened op's own always."""
        return node.grad if inside is not None or self.of_picture(node) else None

    def gradients(
        self, node: Any, picks: dict[int, Any], inside: _Opened | None
    ) -> list[Any] | None:
        """The gradient of each result of a node (``picks``, where it has several); None if
        unknown."""
        if not several(node.shape):
            g = self.gradient(node, inside)
            return None if g is None else [g]
        grads = []
        for i, dtype in enumerate(node.dtype):
            g = self.gradient(picks[i], inside) if i in picks else None
            if dtype.kind == "f" and g is None:
                return None
            grads.append(g)
        return grads

    # ---- groups ----------------------------------------------------------------------------------

    def group(self, scope: Any) -> Group | None:
        """The frame of a module call, made with those around it on first sight."""
        missing = []
        while scope is not None and id(scope) not in self.group_of:
            missing.append(scope)
            scope = scope.parent
        group = self.group_of[id(scope)] if scope is not None else None
        for inner in reversed(missing):
            level = 0 if group is None else group.level + 1
            group = Group(inner.name, inner.kind, group, level)
            self.group_of[id(inner)] = group
        return group

    # ---- opened ops ------------------------------------------------------------------------------

    def opens(self, node: Any, inside: _Opened | None) -> bool:
        name = node.op.name
        if self.opener is None or getattr(node.op, "reference", None) is None:
            return False
        if inside is not None and name in inside.names:
            return False
        return self.open if isinstance(self.open, bool) else name in self.open

    def open_up(
        self,
        node: Any,
        read: list[Value | None],
        group: Group | None,
        grads: Sequence[Any] | None,
        inside: _Opened | None,
    ) -> bool:
        """Draw the graph of the op's reference in its place; False if that computes nothing."""
        assert self.opener is not None
        found = self.opener(node, grads)
        if any(tensor.node is None for tensor in found.results):
            return False
        both = zip(found.operands, read, strict=True)
        self.know([(tensor, value) for tensor, value in both if tensor is not None and value])
        self.kept.append(found)
        self.names.update(found.names)
        level = -1 if group is None else group.level
        real = found.real and (inside is None or inside.real)
        frame = Group(node.op.name, "reference", group, level, note="" if real else SHAPES_ALONE)
        names = frozenset({node.op.name}) | (frozenset() if inside is None else inside.names)
        before = len(self.steps)
        nodes = reachable(tensor.node for tensor in found.results)
        self.walk(nodes, _Opened(frame, names, real))
        inner = [self.made[id(tensor.node)] for tensor in found.results]
        self.read_again |= {id(value) for step in self.steps[before:] for value in step.inputs}
        if several(node.shape):
            self.several[id(node)] = inner
        else:
            outer = self.computed(node, inside)
            self.made[id(node)] = self.adopt(inner[0], outer)
        return True

    def adopt(self, inner: Value, outer: Value) -> Value:
        """The result of an opened op: computed inside, with the numbers and name it has outside.

        Its gradient outside is not all of it where the inside reads it again, as a recurrent cell
        does.
        """
        inner.name, inner.data, inner.dtype = outer.name, outer.data, outer.dtype
        inner.changed, inner.then = outer.changed, outer.then
        inner.looked = outer.looked
        if inner.grad_looked is None and id(inner) not in self.read_again:
            inner.grad_looked = outer.grad_looked
        if inner.grad is None and id(inner) not in self.read_again:
            inner.grad = outer.grad
        return inner
