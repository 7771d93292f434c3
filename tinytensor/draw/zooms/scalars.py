"""A picture with a box for every number, and on every arrow the local derivative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..labels import number
from ..picture import CONSTANT, Group, Picture, Step, Value
from ..trace import Tracer
from ..words import words_for
from .apply import Applied, apply, one_sends_back, repeats

NODES = 200  # boxes and circles; with more of them nobody sees anything


def scalars(tracer: Tracer, group: Group | None = None, limit: int | None = NODES) -> Picture:
    """A traced picture, whose values have been looked at, number by number.

    Args:
        group: draw the ops inside of this one alone.
        limit: how many boxes and circles there may be.

    Raises:
        ValueError: there would be more, or a number is not known.
    """
    steps = [
        step
        for step in tracer.picture.steps
        if group is None or (step.group is not None and group in step.group.chain())
    ]
    made = _Scalars(tracer, steps)
    results = [value for step in steps for value in step.outputs]
    nodes = sum(value.size for value in (*made.values, *results))
    if limit is not None and nodes > limit:
        raise ValueError(
            f"zoom: 'scalars' would draw {nodes:,} numbers and ops, the limit is {limit:,}: give a "
            "smaller input or a smaller model, draw one module with module='path', or see the "
            "tensors whole with zoom='ops'"
        )
    return made.picture()


class _Scalars:
    def __init__(self, tracer: Tracer, steps: list[Step]) -> None:
        self.tracer, self.steps = tracer, steps
        found = [v for step in steps for v in (*step.inputs, *step.outputs)]
        found += tracer.picture.outputs if len(steps) == len(tracer.picture.steps) else []
        self.values = list({id(value): value for value in found}.values())
        self.parts: dict[int, np.ndarray] = {}  # by id of a value, its scalars, in its shape

    def picture(self) -> Picture:
        for value in self.values:
            self.parts[id(value)] = self.split(value)
        made = [part for step in self.steps for part in self.step(step)]
        outputs = [
            part
            for value in self.tracer.picture.outputs
            for part in self.parts.get(id(value), np.empty(0, object)).reshape(-1)
        ]
        return Picture(made, outputs)

    def array(self, value: Value) -> np.ndarray:
        """The numbers of a value. Raises ValueError where they are not known."""
        if value.role == CONSTANT or (value.looked is None and value.data is not None):
            return np.asarray(value.data)
        if value.looked is None or value.looked.array is None:
            name = value.name or value.hint or (value.step.title if value.step else "a tensor")
            raise ValueError(
                f"zoom: 'scalars' needs every number, and the graph does not have those of "
                f"{name!r}, shape {value.shape} (any more): draw the function that computes it, "
                "tt.draw(f, x, zoom='scalars')"
            )
        return value.looked.array

    def split(self, value: Value) -> np.ndarray:
        """A value for each element, in an array of the shape."""
        array = self.array(value)
        grad = None if value.grad_looked is None else value.grad_looked.array
        parts = np.empty(array.shape, object)
        for index in np.ndindex(array.shape):
            place = "" if array.size == 1 else f"[{', '.join(map(str, index))}]"
            parts[index] = replace(
                value,
                shape=None,
                dtype="",
                name=f"{value.name}{place}" if value.name else "",
                hint=f"{value.hint}{place}" if value.hint else "",
                data=array[index].item(),
                grad=None if grad is None else grad[index].item(),
                step=None,
                index=None,
                looked=None,
                grad_looked=None,
                flags={},
            )
        return parts

    def step(self, step: Step) -> list[Step]:
        """A step for each element of an op's results."""
        node, reads = self.tracer.nodes[id(step)], self.tracer.reads[id(step)]
        arrays = [None if value is None else self.operand(value) for value in reads]
        op = node.op
        asked = [  # where no gradient flows there is a derivative nevertheless
            isinstance(array, np.ndarray)
            and array.dtype.kind == "f"
            and (op.joint is not None or op.vjps[i] is not None)
            for i, array in enumerate(arrays)
        ]
        applied = apply(op, node.params, arrays, asked)
        if not repeats(applied):  # then its derivatives at these numbers are not known
            asked = [False] * len(arrays)
            applied = apply(op, node.params, arrays, asked)
        words = words_for(node, reads, step.fused)
        touches = [
            None if value is None or value.role == CONSTANT else dependence(applied, arrays, i)
            for i, value in enumerate(reads)
        ]
        made: list[Step] = []
        for value in step.outputs:
            place = value.index or 0
            outs = self.parts[id(value)].reshape(-1)
            for row, out in enumerate(outs):
                new = replace(step, inputs=[], labels=[], outputs=[], flags={}, reads=[])
                sent = one_sends_back(applied, place, row)
                for i, (operand, word) in enumerate(zip(reads, words, strict=True)):
                    if operand is None:
                        continue
                    slopes = None if sent[i] is None else np.asarray(sent[i]).reshape(-1)
                    touched = touches[i]
                    for column, part in enumerate(self.parts[id(operand)].reshape(-1)):
                        slope = 0.0 if slopes is None else float(slopes[column])
                        if touched is not None and not touched[place][row, column] and not slope:
                            continue
                        local = f"∂ {number(slope)}" if asked[i] else ""
                        new.read(part, ", ".join(filter(None, (word, local))))
                new.reads = list(new.inputs)
                new.produce(out)
                made.append(new)
        return made

    def operand(self, value: Value) -> Any:
        return value.data if value.role == CONSTANT else self.array(value)


def dependence(applied: Applied, arrays: list[Any], i: int) -> list[np.ndarray]:
    """For each result which of its elements read which of operand ``i``: booleans (out, operand).

    It is tried: an element is made NaN, or an integer another one, and what changes depends on it.
    A derivative of 0, as that of a relu that is off, would not tell.
    """
    start = np.asarray(arrays[i])
    found = [np.zeros((result.size, start.size), bool) for result in applied.results]
    before = [np.asarray(result.data).reshape(-1) for result in applied.results]
    for column in range(start.size):
        after = _tried(applied, arrays, i, column)
        for k, old in enumerate(before):
            if after is None or after[k].size != old.size:
                found[k][:, column] = True
            else:
                new = after[k].reshape(-1)
                found[k][:, column] = (new != old) & ~((new != new) & (old != old))
    return found


def _tried(applied: Applied, arrays: list[Any], i: int, column: int) -> list[np.ndarray] | None:
    """The results with another number in one place; None where the op takes none there."""
    start = np.asarray(arrays[i])
    old = start.reshape(-1)[column]
    if start.dtype.kind == "f":
        others: list[Any] = [np.nan]
    else:
        others = [not old] if start.dtype.kind == "b" else [old + 1, old - 1]
    for other in others:
        changed = start.copy()
        changed.reshape(-1)[column] = other
        given = [*arrays[:i], changed, *arrays[i + 1 :]]
        try:
            again = apply(applied.op, applied.params, given, (False,) * len(arrays))
        except (ValueError, IndexError, TypeError, OverflowError, ArithmeticError):
            continue
        return [np.asarray(result.data) for result in again.results]
    return None
