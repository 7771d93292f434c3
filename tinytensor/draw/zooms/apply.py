"""One op at a time, on known numbers: its result, what it sends back, and its local derivative.

All of it is asked of the engine's own rules: nothing is derived a second time here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...arrays.dtypes import F16, F32
from ...define.custom import CustomOp
from ...derivatives.grad import grad
from ...graph.grad_mode import enable_grad
from ...tensor.tensor import Tensor, tensor
from ..opened import unwatched
from .run import generators_kept

MATRIX = 256  # a local derivative of up to this many numbers is written as a matrix
DIAGONAL = 4096  # one of an elementwise op may have this many


@dataclass
class Applied:
    """An op applied to operands of its own, which nothing else reads.

    Attributes:
        function: the op, or its reference.
        operands: a tensor, a number or None each. results: what came out.
        wanted: which operands a gradient flows to.
    """

    op: Any
    function: Any
    params: dict[str, Any]
    operands: list[Any]
    results: list[Tensor]
    wanted: tuple[bool, ...]

    def pull_back(self, cotangents: Mapping[int, Any]) -> list[Any]:
        """The gradient of each operand, an array or None.

        ``cotangents``: by the place of a result, an array or None.
        """
        live = [
            (self.results[i], g)
            for i, g in cotangents.items()
            if g is not None and self.results[i].requires_grad
        ]
        asked = [i for i, wanted in enumerate(self.wanted) if wanted]
        found: list[Any] = [None] * len(self.operands)
        if not live or not asked:
            return found
        with unwatched():
            grads = grad(
                [result for result, _ in live],
                [self.operands[i] for i in asked],
                [tensor(np.asarray(g, result.dtype), device="cpu") for result, g in live],
                retain_graph=True,
                allow_unused=True,
            )
        for i, g in zip(asked, grads, strict=True):
            found[i] = None if g is None else g.data
        return found


def apply(
    op: Any,
    params: dict[str, Any],
    arrays: Sequence[Any],
    needs: Sequence[bool],
    function: Any = None,
) -> Applied:
    """Apply an op to arrays on the CPU.

    Args:
        params: its settings, by name.
        arrays: an array, a number or None per operand. needs: which get a gradient.
        function: to be called in place of the op: its reference.
    """
    drawing = isinstance(op, CustomOp)  # perhaps; none of ours draws random numbers
    with generators_kept([]) if drawing else nullcontext():
        return _apply(op, params, arrays, needs, function or op)


def _apply(
    op: Any, params: dict[str, Any], arrays: Sequence[Any], needs: Sequence[bool], function: Any
) -> Applied:
    operands = [_operand(array, need, op.wide) for array, need in zip(arrays, needs, strict=True)]
    with unwatched(), enable_grad():
        made = function(operands, **params) if op.variadic else function(*operands, **params)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    return Applied(op, function, params, operands, results, tuple(needs))


def repeats(applied: Applied) -> bool:
    """Whether the op gives the same each time. One of the user's that does not, for it draws random
    numbers, gave other results in the graph."""
    if not isinstance(applied.op, CustomOp):
        return True
    arrays = [x.data if isinstance(x, Tensor) else x for x in applied.operands]
    given = (applied.op, applied.params, arrays, applied.wanted, applied.function)
    with generators_kept([]):
        results = [result for _ in range(2) for result in _apply(*given).results]
    once, twice = results[: len(results) // 2], results[len(results) // 2 :]
    return all(
        np.array_equal(a.data, b.data, equal_nan=a.dtype.kind == "f")
        for a, b in zip(once, twice, strict=True)
    )


def _operand(array: Any, need: bool, wide: bool) -> Any:
    """A tensor for an array; what is a number or left out stays so."""
    if array is None or not hasattr(array, "shape"):
        return array
    host = device_of(array).to_host(array)
    dtype = F32 if wide and host.dtype == F16 else host.dtype
    return tensor(host.astype(dtype), requires_grad=need, device="cpu")


# ---- the local derivative ------------------------------------------------------------------------


@dataclass
class Local:
    """d out / d operand of one application.

    Attributes:
        diagonal: an array of the shape of out, where each element of it reads one of the operand;
            else None. matrix: else an array (elements of out, elements of the operand).
    """

    diagonal: Any = None
    matrix: Any = None


def local(applied: Applied, i: int) -> Local | None:
    """The derivative of the one result with respect to operand ``i``, at the operands' numbers.

    None for several results, no gradient, or too many numbers. Whether an op is elementwise is not
    looked up but seen: a linear map that takes random numbers to their products with what it makes
    of ones is diagonal.
    """
    if len(applied.results) != 1 or not applied.wanted[i] or not applied.results[0].requires_grad:
        return None
    out, x = applied.results[0], applied.operands[i]
    if 0 < out.size <= DIAGONAL:
        diagonal = _diagonal(_spread(applied, i), i)
        if diagonal is not None:
            return Local(diagonal=diagonal)
    if 0 < out.size * x.size <= MATRIX:
        return Local(matrix=_matrix(applied, i))
    return None


def _spread(applied: Applied, i: int) -> Applied:
    """The same with operand ``i`` in the shape of the result, if it can be broadcast to it."""
    out, x = applied.results[0], applied.operands[i]
    if x.shape == out.shape:
        return applied
    arrays = [o.data if isinstance(o, Tensor) else o for o in applied.operands]
    try:
        arrays[i] = np.broadcast_to(x.data, out.shape).copy()
        again = apply(applied.op, applied.params, arrays, applied.wanted, applied.function)
    except (ValueError, TypeError, IndexError):  # the bias of a layer has one axis, say
        return applied
    same = len(again.results) == 1 and np.array_equal(again.results[0].data, out.data, True)
    return again if same else applied


def _diagonal(applied: Applied, i: int) -> Any:
    """What ones send back to operand ``i``, if that is the whole derivative; else None."""
    shape = applied.results[0].shape
    if applied.operands[i].shape != shape:
        return None
    signs = np.where(np.arange(np.prod(shape, dtype=int)) % 2, 1.0, -1.0).reshape(shape)
    probe = signs * np.random.default_rng(7).uniform(0.5, 1.5, shape)
    ones = applied.pull_back({0: np.ones(shape)})[i]
    sent = applied.pull_back({0: probe})[i]
    if ones is None or sent is None:
        return None
    if np.isnan(ones).any():  # which would not tell
        return ones if _is_diagonal_elsewhere(applied, i) else None
    tolerance = 1e-9 if ones.dtype == np.float64 else 1e-4
    with np.errstate(all="ignore"):
        same = np.allclose(sent, ones * probe, tolerance, tolerance * 1e-3)
    return ones if same else None


def _is_diagonal_elsewhere(applied: Applied, i: int) -> bool:
    """Whether the derivative is diagonal with numbers between 1/2 and 3/2 as operands: random ones,
    and falling ones, which what sorts would not leave in their places."""
    random_numbers = np.random.default_rng(8).uniform
    draws: list[Callable[[int], np.ndarray]] = [
        lambda n: random_numbers(0.5, 1.5, n),
        lambda n: np.linspace(1.5, 0.5, n),
    ]
    for draw in draws:
        arrays = [x.data if isinstance(x, Tensor) else x for x in applied.operands]
        for k, x in enumerate(arrays):
            if isinstance(x, np.ndarray) and x.dtype.kind == "f":
                arrays[k] = draw(x.size).reshape(x.shape).astype(x.dtype)
        try:
            other = apply(applied.op, applied.params, arrays, applied.wanted, applied.function)
        except (ValueError, TypeError, IndexError, ArithmeticError):
            return False
        found = other.pull_back({0: np.ones(other.results[0].shape)})[i]
        if found is None or np.isnan(found).any() or _diagonal(other, i) is None:
            return False
    return True


def one_sends_back(applied: Applied, place: int, row: int) -> list[Any]:
    """What a gradient of 1 at element ``row`` of a result, 0 elsewhere, sends to each operand."""
    result = applied.results[place]
    g = np.zeros(result.size)
    g[row] = 1
    return applied.pull_back({place: g.reshape(result.shape)})


def _matrix(applied: Applied, i: int) -> Any:
    """One row per element of the result: what a gradient of 1 there sends back."""
    out, x = applied.results[0], applied.operands[i]
    rows = np.zeros((out.size, x.size))
    for row in range(out.size):
        sent = one_sends_back(applied, 0, row)[i]
        if sent is not None:
            rows[row] = np.asarray(sent, np.float64).reshape(-1)
    return rows
