"""Applications of ops written down, so that they can be run again on other numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

import tinytensor as tt
from tinytensor.define.op import OPS
from tinytensor.stepper import encode, step_through


@dataclass
class Step:
    """An op applied to values by number; None where an operand is left out."""

    op: str
    inputs: list[int | None]
    params: dict[str, Any]

    def run(self, values: Sequence[Any]) -> list[Any]:
        op = OPS[self.op]
        operands = [None if i is None else values[i] for i in self.inputs]
        made = op(operands, **self.params) if op.variadic else op(*operands, **self.params)
        return list(made) if isinstance(made, tuple) else [made]


@dataclass
class Graph:
    """Leaves, and the steps from there to the last value, the result.

    A leaf is an array of floats, which has a gradient, or of integers or booleans, or a number.
    ``seed`` is the gradient of the result, by default ones.
    """

    leaves: list[Any]
    steps: list[Step] = field(default_factory=list)
    seed: Any = None
    values: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [leaf(x) for x in self.leaves]

    def try_out(self, op: str, inputs: Sequence[int | None], **params: Any) -> list[Any]:
        """What a step would make."""
        return Step(op, list(inputs), params).run(self.values)

    def add(self, op: str, inputs: Sequence[int | None], **params: Any) -> list[int]:
        """One more step; the numbers of its outputs."""
        step = Step(op, list(inputs), params)
        made = step.run(self.values)
        self.steps.append(step)
        self.values += made
        return list(range(len(self.values) - len(made), len(self.values)))

    def result(self, leaves: Sequence[Any]) -> Any:
        """The result for these leaves."""
        values = [leaf(x) for x in leaves]
        for step in self.steps:
            values += step.run(values)
        return values[-1]

    def data(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The page's data for these leaves, with all digits and without places."""
        out = self.result(leaves)
        seed = np.ones(out.shape) if self.seed is None else np.asarray(self.seed)
        return page_data(out, tt.tensor(seed))

    def __str__(self) -> str:
        count, words = len(self.leaves), []
        for step in self.steps:
            words.append(f"{count}={step.op}{step.inputs}{step.params or ''}")
            count += 1
        return " ".join(words)


def leaf(x: Any) -> Any:
    """A tensor of its own; plain numbers stay."""
    if isinstance(x, np.ndarray):
        return tt.tensor(x.copy(), requires_grad=x.dtype.kind == "f")
    return x


def page_data(result: Any, gradient: Any = None) -> dict[str, Any]:
    """What ``tt.step_through(result)`` gives a page, with all digits and without places."""
    with (
        mock.patch.object(encode, "numbers", _all_digits),
        mock.patch.object(encode, "place", lambda *_: {}),
        mock.patch.object(encode, "about", lambda op: {"formula": op.formula}),
    ):
        data = step_through(result, gradient=gradient).data()
    spelt: dict[str, Any] = _spelt(data)
    return spelt


def _all_digits(array: Any, size: int, exact: bool = False) -> list[Any] | None:
    return None if array is None else list(np.asarray(array).reshape(-1).tolist())


def _spelt(data: Any) -> Any:
    """NaN and infinities as the page gets them."""
    if isinstance(data, float) and not np.isfinite(data):
        return "nan" if data != data else "inf" if data > 0 else "-inf"
    if isinstance(data, dict):
        return {key: _spelt(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_spelt(value) for value in data]
    return data


def sample_graphs(name: str) -> Iterator[Graph]:
    """The op's samples; the gradients that arrive are random."""
    op, rng = OPS[name], np.random.default_rng(0)
    for sample in op.samples():
        given = list(sample.args)
        if op.variadic:
            operands, rest = list(given[0]), given[1:]
        else:
            operands, rest = given[: op.arity], given[op.arity :]
            operands += [sample.kwargs.get(n) for n in op.inputs[len(operands) :]]
        params = op.defaults | dict(zip(op.setting_names, rest, strict=False))
        params |= {k: v for k, v in sample.kwargs.items() if k in op.setting_names}
        leaves = [x for x in operands if x is not None]
        places = iter(range(len(leaves)))
        inputs = [None if x is None else next(places) for x in operands]
        made = [x for x in Graph(leaves).try_out(name, inputs, **params) if x.tracked]
        weights = [np.asarray(rng.standard_normal(x.shape)) for x in made]
        if not made:
            continue
        if len(made) == 1:
            graph = Graph(leaves, seed=weights[0])
            outs = graph.add(name, inputs, **params)
            if len(outs) > 1:  # the positions of a sort, say
                graph.seed = None
                graph.add("mul", [outs[0], outs[0]])
        else:
            graph = Graph([*leaves, *weights])
            outs = graph.add(name, inputs, **params)
            totals = []
            for n, i in zip(range(len(weights)), outs, strict=False):
                (scaled,) = graph.add("mul", [i, len(leaves) + n])
                totals += graph.add("sum", [scaled], axis=None, keepdims=False)
            while len(totals) > 1:
                totals = [*graph.add("add", totals[:2]), *totals[2:]]
        yield graph


WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def numbers(items: Any) -> np.ndarray:
    return np.array([WORDS[x] if isinstance(x, str) else x for x in items], float)
