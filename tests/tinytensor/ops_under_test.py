"""Running a registered op over its own samples: building tensors, calling, differentiating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor.define import op as registry

from .helpers import const, host

#: ops that are constant between jumps: their gradients are 0 everywhere
STEPS = {"ceil", "floor", "floor_divide", "round", "sign", "trunc"}

Layout = Callable[[np.ndarray], np.ndarray]


def same(array: np.ndarray) -> np.ndarray:
    return array


def samples(op: Any) -> list[Any]:
    """The op's own samples, the same on every call."""
    return list(op.samples(20))


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


class Case:
    """One sample, ready to be called with tensors of any dtype, layout and device."""

    def __init__(self, op: Any, sample: Any):
        self.op, self.sample = op, sample
        self.arrays = self._floats()

    def _floats(self) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        self.map(lambda a: found.append(a) or a if is_float(a) else a)
        return found

    def map(
        self,
        operand: Callable[[np.ndarray], Any],
        setting: Callable[[np.ndarray], Any] = lambda a: a,
    ) -> tuple[tuple, dict[str, Any]]:
        """The sample's arguments with each array among operands and settings replaced."""

        def walk(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
            if isinstance(value, np.ndarray):
                return change(value)
            if isinstance(value, (list, tuple)):
                return type(value)(walk(v, change) for v in value)
            return value

        n = len(self.op.inputs)
        args = [walk(a, operand if i < n else setting) for i, a in enumerate(self.sample.args)]
        changes = {k: operand if k in self.op.inputs else setting for k in self.sample.kwargs}
        return tuple(args), {k: walk(v, changes[k]) for k, v in self.sample.kwargs.items()}

    def build(
        self,
        dtype: Any = np.float64,
        layout: Layout = same,
        arrays: list[np.ndarray] | None = None,
        grad: bool = True,
        tensors: list[tt.Tensor] | None = None,
    ) -> tuple[tuple, dict, list[tt.Tensor]]:
        """Arguments as tensors on the default device, and the float ones among them.

        `arrays` or `tensors` stand in for the sample's own float operands, in order.
        """
        floats: list[tt.Tensor] = []
        source = iter(self.arrays if arrays is None else arrays)

        def change(value: np.ndarray) -> tt.Tensor:
            if not is_float(value):
                return const(value, value.dtype)
            if tensors is not None:
                floats.append(tensors[len(floats)])
                return floats[-1]
            tensor = laid_out(np.asarray(next(source), dtype=dtype), layout)
            floats.append(tensor.requires_grad_(grad))
            return tensor

        args, kwargs = self.map(change, tt.default_device().from_host)
        return args, kwargs, floats

    def call(self, args: tuple, kwargs: dict, fn: Callable[..., Any] | None = None) -> list[Any]:
        """The outputs as a list."""
        result = (fn or self.op)(*args, **kwargs)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def values(self, *arrays: np.ndarray, fn: Callable[..., Any] | None = None) -> list[np.ndarray]:
        """NumPy in, NumPy out, in float64, with nothing recorded."""
        args, kwargs, _ = self.build(arrays=list(arrays), grad=False)
        with tt.no_grad():
            return [np.array(host(y)) for y in self.call(args, kwargs, fn)]

    def run(
        self,
        dtype: Any = np.float64,
        layout: Layout = same,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
        """Outputs and gradients with the case's cotangents, on the host."""
        args, kwargs, floats = self.build(dtype, layout)
        outputs = self.call(args, kwargs, fn)
        wanted = [y for y in outputs if y.requires_grad]
        values = [np.array(host(y)) for y in outputs]
        gradients: list[np.ndarray | None] = [None] * len(floats)
        if wanted and floats:
            upstream = [const(c, dtype) for c in self.cotangents(outputs) if c is not None]
            grads = tt.grad(wanted, floats, grad_outputs=upstream, allow_unused=True)
            gradients = [None if g is None else np.array(host(g)) for g in grads]
        return values, gradients

    def cotangents(self, outputs: list[tt.Tensor]) -> list[np.ndarray | None]:
        """Random numbers, never ones: ones hide wrong gradients of softmax and layer norm."""
        random = np.random.default_rng(5)
        return [random.normal(size=y.shape) if y.requires_grad else None for y in outputs]


def laid_out(values: np.ndarray, layout: Layout) -> tt.Tensor:
    """A tensor whose array has this layout in memory (a view where the layout asks for one)."""
    tensor = tt.tensor(values)
    if layout is not same:
        tensor.data = layout(tensor.data)
    return tensor


def cases(op: Any) -> list[Case]:
    return [Case(op, s) for s in samples(op)]


def all_ops() -> list[Any]:
    return [op for _, op in sorted(registry.OPS.items())]
