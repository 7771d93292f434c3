"""Kinds of fault that were reported of one op, looked for in every op that could have it.

Broadcast shapes, creeping dtypes, negative axes, walks back and memory: whatever the registry
holds is tested, so that a new op is tested too.  The reports themselves, with their numbers, are in
test_public_reports.py; ties, singular points, masks and repeats in test_reported_values.py.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, grad_of, leaf
from ..ops_under_test import Case, all_ops, cases

# to_device moves between devices by name: test_device.py tests it
OPS = [op for op in all_ops() if op.name != "to_device"]
DIFFERENTIABLE = [op for op in OPS if op.differentiable]
FULL, ROW, COLUMN = (2, 3, 4), (1, 4), (3, 1)


def values(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Within (0.5, 1.5): every binary op is smooth there, and no two numbers are equal."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def broadcasts(op: Any) -> bool:
    """Whether this is an op of two or more floating operands that broadcast, found by trying."""
    if op.arity < 2 or op.variadic or op.required or not op.differentiable:
        return False
    operands = [const(values(s, i)) for i, s in enumerate((ROW, COLUMN, ROW)[: op.arity])]
    try:
        with tt.no_grad():
            result = op(*operands)
    except (ValueError, TypeError, IndexError):
        return False
    return isinstance(result, tt.Tensor) and result.shape == (3, 4) and result.dtype.kind == "f"


BROADCASTING = [op for op in OPS if broadcasts(op)]
every_broadcasting = pytest.mark.parametrize("op", BROADCASTING, ids=lambda op: op.name)


def test_the_broadcasting_ops_are_found() -> None:
    found = {op.name for op in BROADCASTING}
    assert found >= set("add sub mul div pow maximum minimum atan2 hypot logaddexp xlogy".split())
    assert found >= set("fmax fmin fmod remainder floor_divide lerp where".split())


# -- shapes: a gradient has the shape of its operand, () is not (1,) ---------------------------
@every_broadcasting
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("small", [(), (1,), (1, 1), (4,), (1, 4), (3, 1), (2, 1, 1), (1, 3, 1)])
def test_gradients_are_summed_back_to_the_operand(
    op: Any, which: int, small: tuple[int, ...]
) -> None:
    """Broadcasting beforehand, by NumPy, and summing afterwards, by hand, gives the same."""
    if which >= op.arity:
        which = 0
    arrays = [values(FULL, i) for i in range(op.arity)]
    arrays[which] = values(small, 7)
    if op.name == "where":
        arrays[0] = arrays[0] > 1
    wide = [np.broadcast_to(a, FULL).copy() for a in arrays]
    upstream = const(np.random.default_rng(3).normal(size=FULL))

    def run(operands: list[np.ndarray]) -> list[tt.Tensor]:
        leaves = [leaf(a) if a.dtype.kind == "f" else const(a, bool) for a in operands]
        y = op(*leaves)
        if y.requires_grad:
            y.backward(upstream)
        return leaves

    for x, w in zip(run(arrays), run(wide), strict=True):
        if x.grad is None:
            assert w.grad is None
            continue
        assert x.grad.shape == x.shape and x.grad.dtype == x.dtype
        axes = tuple(i for i, n in enumerate((1,) * (3 - x.ndim) + x.shape) if n == 1)
        close(x.grad, grad_of(w).sum(axis=axes, keepdims=True).reshape(x.shape), 1e-10)


# -- dtypes: a number, Python's or NumPy's, does not widen float32 -------------------------------
NUMBERS: list[Any] = [2, 0.5, True, np.float64(0.5), np.float32(0.5), np.int64(2), np.int32(2)]


@every_broadcasting
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__}")
def test_a_number_as_an_operand_does_not_widen(op: Any, number: Any) -> None:
    for dtype in (np.float32, np.float16):
        for place in range(op.arity):
            if op.name == "where" and place == 0:
                continue
            leaves = [leaf(values((3,), i), dtype) for i in range(op.arity)]
            operands: list[Any] = list(leaves)
            if op.name == "where":
                operands[0] = const(values((3,), 0) > 1, bool)
            operands[place] = number
            y = op(*operands)
            assert y.dtype == dtype, f"operand {place}"
            if y.requires_grad:
                y.sum().backward()
                for x in leaves:
                    assert x.grad is None or x.grad.dtype == dtype


def numpy_scalars(value: Any) -> Any:
    """Numbers among settings as NumPy's widest scalars."""
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, (tuple, list)) and any(isinstance(v, float) for v in value):
        return type(value)(map(numpy_scalars, value))
    return value


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_numpy_number_as_a_setting_does_not_widen(op: Any) -> None:
    for case in cases(op):
        n = op.arity
        settings = {k: numpy_scalars(v) for k, v in case.sample.kwargs.items()}
        rest = [numpy_scalars(v) for v in case.sample.args[n:]]
        want, _ = case.run(np.float32)
        moved = Case(op, type(case.sample)(*case.sample.args[:n], *rest, **settings))
        got, grads = moved.run(np.float32)
        for a, b in zip(got, want, strict=True):
            assert a.dtype == b.dtype != np.float64 or op.casts
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)
        assert all(g is None or g.dtype == np.float32 for g in grads)


# -- axes: counted from the end is the same axis -------------------------------------------------
AXES = ("axis", "axis1", "axis2", "axes")
#: ops whose axis is one of the result's
MORE = {"stack", "expand_dims"}
#: halves of other ops, whose axis was counted from 0 before
INTERNAL = {"overlap_add", "diag_embed", "linear_recurrence", "repeat"}


def turned(value: Any, ndim: int) -> Any:
    """The same axes from the other end."""
    if isinstance(value, tuple):
        return tuple(turned(v, ndim) for v in value)
    return value if value is None else (value - ndim if value >= 0 else value + ndim)


def axes_from(case: Case, settings: dict[str, Any]) -> int:
    """How many axes there are to count."""
    arrays = [a for arg in case.sample.args for a in (arg if isinstance(arg, list) else [arg])]
    ndim = max((a.ndim for a in arrays if isinstance(a, np.ndarray)), default=0)
    axis = settings.get("axis")
    return ndim + (len(axis) if isinstance(axis, tuple) else 1) * (case.op.name in MORE)


with_axes = [op for op in OPS if set(op.setting_names) & set(AXES) and op.name not in INTERNAL]


@pytest.mark.parametrize("op", with_axes, ids=lambda op: op.name)
def test_an_axis_from_the_end_is_the_same_axis(op: Any) -> None:
    tried = 0
    for case in cases(op):
        rest = dict(zip(op.setting_names, case.sample.args[op.arity :], strict=False))
        settings = {**op.defaults, **rest, **case.sample.kwargs}
        ndim = axes_from(case, settings)
        other = {k: turned(v, ndim) if k in AXES else v for k, v in settings.items()}
        different_lengths = len({a.ndim for a in case.arrays}) > 1  # cross counts in each
        if other == settings or not ndim or (op.name == "cross" and different_lengths):
            continue
        tried += 1
        operands = case.sample.args[: op.arity]
        want = Case(op, type(case.sample)(*operands, **settings)).run()
        got = Case(op, type(case.sample)(*operands, **other)).run()
        for a, b in zip((*got[0], *got[1]), (*want[0], *want[1]), strict=True):
            if a is not None:
                np.testing.assert_array_equal(a, b)
    assert tried, "no sample has an axis"


# -- walks back: the same again, or an error -----------------------------------------------------
def total_of(case: Case) -> tuple[tt.Tensor | None, list[tt.Tensor], list[tt.Tensor]]:
    args, kwargs, floats = case.build()
    outputs = [y for y in case.call(args, kwargs) if y.requires_grad]
    if not outputs or not floats:
        return None, floats, outputs
    upstream = [const(c) for c in case.cotangents(outputs) if c is not None]
    parts = [(y * u).sum() for y, u in zip(outputs, upstream, strict=True)]
    return sum(parts[1:], parts[0]), floats, outputs


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_a_second_walk_adds_the_same_again(op: Any) -> None:
    """Leaves accumulate, what lies between does not; and rules do not change what was saved."""
    for case in cases(op):
        total, floats, _ = total_of(case)
        if total is None:
            continue
        total.backward(retain_graph=True)
        once = [None if x.grad is None else grad_of(x).copy() for x in floats]
        total.backward()
        for x, g in zip(floats, once, strict=True):
            if g is not None:
                close(x.grad, 2 * g, 1e-12)


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_results_are_freed_without_the_collector(op: Any) -> None:
    """A rule that closes over its own output is a cycle: its arrays wait for the collector."""
    gc.collect()
    gc.disable()
    try:
        for case in cases(op):
            for walk in (True, False):
                total, floats, outputs = total_of(case)
                if total is None:
                    continue
                gone = [weakref.ref(t) for y in outputs for t in (y, y.node)]
                gone += [weakref.ref(total), weakref.ref(total.node)]
                if walk:
                    total.backward()
                del total, outputs
                assert [r() for r in gone] == [None] * len(gone), case.sample
                del floats
    finally:
        gc.enable()
