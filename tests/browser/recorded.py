"""Graphs for the page's engine: applications of ops written down, as the page's data have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor.define.op import OPS


@dataclass
class Step:
    """An op applied to values by number; None where an operand is left out."""

    op: str
    inputs: list[int | None]
    params: dict[str, Any]
    outputs: list[int]


@dataclass
class Graph:
    """Leaves (arrays, or numbers and integers that have no gradient) and the steps from there.

    The gradients are those of the last value of the last step, with a gradient of ``seed``.
    """

    leaves: list[Any]
    steps: list[Step] = field(default_factory=list)
    size: int = 0
    seed: Any = None

    def __post_init__(self) -> None:
        self.size = self.size or len(self.leaves)

    def add(self, op: str, inputs: Sequence[int | None], **params: Any) -> list[int]:
        """One more step; the numbers of its outputs."""
        made = self._apply(Step(op, list(inputs), params, []), self.tensors())
        outputs = list(range(self.size, self.size + len(made)))
        self.steps.append(Step(op, list(inputs), params, outputs))
        self.size += len(made)
        self._known += made
        return outputs

    _known: list[Any] = field(default_factory=list)

    def tensors(self) -> list[Any]:
        """All values so far."""
        if not self._known:
            self._known = [_leaf(x) for x in self.leaves]
        return self._known

    @staticmethod
    def _apply(step: Step, values: Sequence[Any]) -> list[Any]:
        op = OPS[step.op]
        operands = [None if i is None else values[i] for i in step.inputs]
        made = op(operands, **step.params) if op.variadic else op(*operands, **step.params)
        return list(made) if isinstance(made, tuple) else [made]

    def evaluated(self, leaves: Sequence[Any]) -> Evaluated:
        """The numbers for these leaves, by the engine."""
        values: list[Any] = [_leaf(x) for x in leaves]
        for step in self.steps:
            values += self._apply(step, values)
        for value in values:
            if isinstance(value, tt.Tensor) and value.tracked:
                value.retain_grad()
        out = self.steps[-1].outputs[0]
        seed = np.ones(values[out].shape) if self.seed is None else np.asarray(self.seed)
        if values[out].tracked:
            values[out].backward(tt.tensor(seed), retain_graph=True)
        terms = [self._terms(step, values) for step in self.steps]
        return Evaluated(values, terms, out)

    def _terms(self, step: Step, values: Sequence[Any]) -> list[Any]:
        """What the step adds to the gradient of each operand: by the op alone, on copies."""
        outs = [values[i] for i in step.outputs]
        arrived = [(n, x.grad) for n, x in enumerate(outs) if x.tracked and x.grad is not None]
        if not arrived:
            return [None for _ in step.inputs]
        copies = dict(enumerate(values))
        operands = []
        for place, i in enumerate(step.inputs):
            value = None if i is None else values[i]
            if isinstance(value, tt.Tensor) and value.tracked:
                value = tt.tensor(value.data.copy(), requires_grad=True)
            copies[len(values) + place] = value
            operands.append(value)
        places = [None if i is None else len(values) + n for n, i in enumerate(step.inputs)]
        made = self._apply(Step(step.op, places, step.params, []), copies)  # type: ignore[arg-type]
        wanted = [x for x in operands if isinstance(x, tt.Tensor) and x.tracked]
        got = iter(
            tt.grad(
                [made[n] for n, _ in arrived], wanted, [g for _, g in arrived], allow_unused=True
            )
        )
        return [next(got) if isinstance(x, tt.Tensor) and x.tracked else None for x in operands]

    def data(self) -> dict[str, Any]:
        """The page's data for the first leaves."""
        now = self.evaluated(self.leaves)
        made = {i for step in self.steps for i in step.outputs}
        values = [
            {
                "name": "", "called": "", "role": "computed" if i in made else "input",
                "shape": list(getattr(x, "shape", ())), "dtype": _dtype(x), "data": listed(x),
                "grad": listed(x.grad) if _tracked(x) and i == now.out else None,
                "needs_grad": _tracked(x), "output": i == now.out,
            }
            for i, x in enumerate(now.values)
        ]  # fmt: skip
        steps = [
            {
                "op": step.op, "params": encoded(step.params), "inputs": step.inputs,
                "names": [], "outputs": step.outputs, "view": 0, "opens": None, "times": 1,
                "local": None, "terms": None,
            }
            for step in self.steps
        ]  # fmt: skip
        ids = list(range(len(steps)))
        view = {"steps": ids, "values": list(range(len(values))), "entering": [], "leaving": []}
        return {
            "format": 1, "kind": "steps", "values": values, "steps": steps,
            "backward": ids[::-1], "views": [view], "ops": {},
        }  # fmt: skip


@dataclass
class Evaluated:
    values: list[Any]
    terms: list[list[Any]]
    out: int


def _leaf(x: Any) -> Any:
    """A tensor of its own; plain numbers stay."""
    if isinstance(x, np.ndarray):
        return tt.tensor(x.copy(), requires_grad=x.dtype.kind == "f")
    return x


def _tracked(x: Any) -> bool:
    return isinstance(x, tt.Tensor) and bool(x.tracked)


def _dtype(x: Any) -> str:
    return str(x.dtype) if isinstance(x, tt.Tensor) else "float64"


def listed(x: Any) -> list[Any] | None:
    """Elements in C order, in JSON's words."""
    if x is None:
        return None
    flat = np.asarray(x.data if isinstance(x, tt.Tensor) else x).reshape(-1).tolist()
    return [word(e) for e in flat]


def word(x: Any) -> Any:
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    return x


def encoded(item: Any) -> Any:
    """A setting as JSON."""
    if isinstance(item, dict):
        return {key: encoded(value) for key, value in item.items()}
    if isinstance(item, slice):
        return {"slice": [item.start, item.stop, item.step]}
    if item is Ellipsis:
        return {"ellipsis": True}
    if isinstance(item, np.ndarray):
        return {"array": item.reshape(-1).tolist(), "shape": list(item.shape)}
    if isinstance(item, (tuple, list)):
        return [{"newaxis": True} if part is None else encoded(part) for part in item]
    return word(item)
