"""An op with numbers: operands, result, a gradient sent back, and what came of it, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import random
from ..define.op import Op
from ..define.samples import Sample
from ..derivatives.grad import grad
from ..graph.grad_mode import enable_grad
from ..shown import arrays, html
from ..shown.printing import text_of
from ..tensor.tensor import Tensor, tensor
from .differences import compare, seeds_for


@dataclass
class Example:
    """Numbers that went through an op.

    Attributes:
        title: the call. rows: a label and the numbers of each operand, result and gradient.
        notes: where the gradient sent back is from, and whether the rule agrees with differences.
    """

    title: str
    rows: list[tuple[str, np.ndarray]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{label} = {text_of(x, prefix=f'{label} = ')}" for label, x in self.rows]
        return "\n".join([*lines, *self.notes])

    def markup(self) -> str:
        """For a notebook."""
        cell = '<td style="padding:3px 12px 3px 0;border:0;text-align:left;vertical-align:top">'
        rows = "".join(
            f'<tr style="background:none">'
            f"{cell}{html.code(label)}<br/>{html.faint(html.code(x.shape))}</td>"
            f"{cell}{arrays.array(x)}</td></tr>"
            for label, x in self.rows
        )
        notes = "".join(html.line(html.text(note)) for note in self.notes)
        return f'<table style="border-collapse:collapse;border:0">{rows}</table>{notes}'


def of_sample(op: Op) -> Example | None:
    """With a small sample of the op's own; None where it has none."""
    samples = [s for s in op.samples() if all(a.size for a in _operands(s))]
    if not samples:
        return None

    def awkward(sample: Sample) -> tuple[bool, bool, bool, bool, int]:
        sizes = [a.size for a in _operands(sample)]
        flat = not any(a.ndim > 1 for a in _operands(sample))
        nothing_done = any(type(a) is tuple and not a for a in sample.args)  # a sum over no axes
        missing = len(sizes) < op.arity or max(sizes, default=0) < 3
        no_matrix = next((a.ndim != 2 for a in _operands(sample)), True)
        return nothing_done, missing, flat, no_matrix, int(np.sum(sizes))

    sample = min(samples, key=awkward)
    args = [_rounded(a) for a in sample.args]
    names = [*op.inputs, *op.setting_names]
    return _run(
        op, op.name, names, op.arity, args, sample.kwargs, None, op.differentiable, op.inputs
    )


def of_inputs(
    op: Op | None,
    call: Callable[..., Any],
    name: str,
    inputs: tuple[Any, ...],
    settings: dict[str, Any],
    g: Any,
) -> Example:
    """With what the user gives; it is copied, and neither it nor any random state is touched."""
    names, variadic = _names_of(call)
    arity = len(names) if op is None else sum(n in op.inputs for n in names) or op.arity
    if variadic and len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        arity = 1
    elif variadic:  # one name for all that is given
        names, arity = [f"{names[0]}[{i}]" for i in range(len(inputs))], len(inputs)
    given = [
        _as_operand(value, op is not None and i < arity, inputs) for i, value in enumerate(inputs)
    ]
    named = {key: _as_operand(v, op is not None and key in op.inputs, inputs)
             for key, v in settings.items()}  # fmt: skip
    before = random.state()
    try:
        differentiable = op is None or op.differentiable
        return _run(
            call,
            name,
            names,
            arity,
            given,
            named,
            g,
            differentiable,
            None if op is None else op.inputs,
        )
    finally:
        random.set_state(before)


def _names_of(call: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of arguments by place, and whether the first takes all there are."""
    parameters = list(inspect.signature(call).parameters.values())
    if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return [parameters[0].name], True
    return [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY], False


def _as_operand(value: Any, is_operand: bool, beside: tuple[Any, ...]) -> Any:
    """A value as it goes in: arrays, and numbers in the place of one, as arrays of their own."""
    if isinstance(value, Tensor):
        return value.device.to_host(value.data).copy()
    if isinstance(value, np.ndarray) or value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        if any(isinstance(v, (Tensor, np.ndarray)) for v in value):
            return [_as_operand(v, True, beside) for v in value]
        try:
            array = np.asarray(value)
        except ValueError:
            return value
        if array.dtype.kind == "f" or is_operand and array.dtype.kind in "iub":
            return array.astype(np.float32) if array.dtype.kind == "f" else array
        return value
    alone = not any(isinstance(v, (Tensor, np.ndarray, list)) for v in beside)
    if is_operand and alone and isinstance(value, (int, float)):
        return np.asarray(value, dtype=np.float32)
    return value


def _operands(sample: Sample) -> Iterator[np.ndarray]:
    for arg in sample.args:
        for array in arg if isinstance(arg, (list, tuple)) else [arg]:
            if isinstance(array, np.ndarray):
                yield array


def _rounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return [_rounded(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.round(value, 2)
    return value


@dataclass
class _Slot:
    """Where an operand stands in the arguments."""

    label: str


def _run(
    call: Callable[..., Any],
    name: str,
    names: list[str],
    arity: int,
    args: list[Any],
    kwargs: dict[str, Any],
    g: Any,
    differentiable: bool,
    operand_names: tuple[str, ...] | None,
) -> Example:
    operands: dict[str, Tensor] = {}
    rows: list[tuple[str, np.ndarray]] = []

    def slot(label: str, value: Any, is_operand: bool) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            parts = [slot(f"{label}[{i}]", v, is_operand) for i, v in enumerate(value)]
            return tuple(parts) if isinstance(value, tuple) else parts
        if not isinstance(value, np.ndarray):
            return value
        if not is_operand:
            rows.append((label, value))
            return value
        live = value.dtype.kind == "f" and differentiable
        operands[label] = tensor(value, dtype=value.dtype, requires_grad=live)
        return _Slot(label)

    def filled(value: Any, by: dict[str, Any]) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, _Slot) for v in value):
            return [filled(v, by) for v in value]
        return by[value.label] if isinstance(value, _Slot) else value

    label_of = [names[i] if i < len(names) else f"argument {i}" for i in range(len(args))]
    slots = [slot(label_of[i], a, i < arity) for i, a in enumerate(args)]
    named = {key: slot(key, v, operand_names is None or key in operand_names)
             for key, v in kwargs.items()}  # fmt: skip
    shown = [
        f"{label_of[i]}={a!r}" if i >= arity and not isinstance(a, np.ndarray | list)
        else label_of[i] if isinstance(a, np.ndarray | list) else repr(a)
        for i, a in enumerate(args)
    ]  # fmt: skip
    shown += [
        key if isinstance(value, _Slot) else f"{key}={value!r}" for key, value in named.items()
    ]
    example = Example(f"{name}({', '.join(shown)})", rows)
    rows[:0] = [(label, _host(x)) for label, x in operands.items()]

    def again(by: dict[str, Any]) -> Any:
        with enable_grad():
            return call(
                *(filled(s, by) for s in slots), **{k: filled(v, by) for k, v in named.items()}
            )

    result = again(dict(operands))
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    outs = [o for o in outs if isinstance(o, Tensor)]
    rows += [("out" if len(outs) == 1 else f"out[{i}]", _host(o)) for i, o in enumerate(outs)]
    live = [out for out in outs if out.requires_grad]
    floats = {label: x for label, x in operands.items() if x.requires_grad}
    if not live or not floats:
        if g is not None:
            raise ValueError(
                "explain: g: the result has no gradient here, so none can be sent back"
            )
        return example
    seeds = seeds_for(live, g)
    rows += [("g" if len(live) == 1 else f"g[{i}]", s) for i, s in enumerate(seeds)]
    cotangents = [tensor(s, dtype=o.dtype) for s, o in zip(seeds, live, strict=True)]
    found = grad(live, list(floats.values()), cotangents, allow_unused=True)
    for label, d in zip(floats, found, strict=True):
        if d is not None:
            rows.append((f"d{label}", _host(d)))
    if g is None:
        example.notes.append("g is drawn at random here; g=... gives your own")
    reused = [d is not None for d in found]
    checked = {label: x for (label, x), use in zip(floats.items(), reused, strict=True) if use}
    rest = {label: x for label, x in operands.items() if label not in checked}
    example.notes += compare(again, {**rest, **checked}, seeds)
    return example


def _host(x: Tensor) -> np.ndarray:
    """The numbers as they are now, on the host."""
    return np.array(x.device.to_host(x.data))
