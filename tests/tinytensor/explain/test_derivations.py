"""Derivations: their NumPy code is the engine's gradient, and what is said of sums holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.op import OPS, Op
from tinytensor.define.samples import Sample
from tinytensor.explain.derivations import DERIVATIONS, derivation
from tinytensor.shown.mathml import mathml

WITH_CODE = sorted(name for name, d in DERIVATIONS.items() if d.code)


def summed(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Added up over the axes that were broadcast."""
    g = g.sum(tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axes, keepdims=True) if axes else np.broadcast_to(g, shape)


def compare(op: Op, sample: Sample) -> set[str]:
    """Compute the code of a derivation beside the engine; returns of which operands."""
    operands: dict[str, Any] = dict(zip(op.inputs, sample.args, strict=False))
    settings = {**op.defaults, **dict(zip(op.setting_names, sample.args[op.arity :], strict=False))}
    settings |= sample.kwargs
    tensors = {
        name: tt.tensor(x, requires_grad=x.dtype.kind == "f")
        for name, x in operands.items()
        if isinstance(x, np.ndarray)
    }
    result = op(*(tensors.get(name, x) for name, x in operands.items()), **settings)
    g = np.random.default_rng(5).normal(size=result.shape)
    live = {name: x for name, x in tensors.items() if x.requires_grad}
    found = dict(zip(live, tt.grad(result, list(live.values()), g, allow_unused=True), strict=True))
    out = result.data
    if "axis" in settings and not settings.get("keepdims", True):
        kept = np.sum(operands["x"], axis=settings["axis"], keepdims=True).shape
        out, g = out.reshape(kept), g.reshape(kept)
    checked = set()
    for name, code in DERIVATIONS[op.name].code.items():
        gradient = found.get(name)
        if gradient is None:
            continue
        values = {**settings, **operands, "out": out, "g": g, "np": np}
        with np.errstate(all="ignore"):
            made = np.asarray(eval(code, values))
        expected = summed(made, gradient.shape)
        np.testing.assert_allclose(gradient.data, expected, rtol=1e-6, atol=1e-9, err_msg=code)
        checked.add(name)
    return checked


#: samples that a formula is not of: matrices that are vectors, elements 0 for a quotient
def fits(op: Op, sample: Sample) -> bool:
    arrays = [a for a in sample.args if isinstance(a, np.ndarray)]
    if op.name == "matmul":
        return all(a.ndim >= 2 for a in arrays)
    if op.name == "prod":
        return bool(np.all(arrays[0] != 0)) and arrays[0].size > 0
    if op.name in ("sum", "mean", "max", "min", "var", "std", "logsumexp", "cumsum"):
        return bool(arrays[0].size) and arrays[0].ndim > 0
    return all(a.size for a in arrays)


@pytest.mark.parametrize("name", WITH_CODE)
def test_the_code_of_a_derivation_is_the_gradient(name: str) -> None:
    op = OPS[name]
    checked = set().union(*(compare(op, s) for s in op.samples() if fits(op, s)))
    assert checked == set(DERIVATIONS[name].code)


def test_there_are_enough_and_of_known_ops() -> None:
    assert set(DERIVATIONS) <= set(OPS)
    assert len(DERIVATIONS) >= 60 and len(WITH_CODE) >= 45
    for name, d in DERIVATIONS.items():
        assert set(d.code) <= set(OPS[name].inputs), name


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_gradient_is_derived_somehow(name: str) -> None:
    op = OPS[name]
    found = derivation(op)
    if not op.differentiable:
        assert found is None
        return
    assert found is not None and found.steps
    assert all("<math " in mathml(formula) for formula, words in found.steps if "=" in formula)
    if name not in DERIVATIONS and op.gradient:
        assert found.steps[-1][0] == op.gradient


def test_a_fused_op_is_derived_by_its_parts() -> None:
    found = derivation(OPS["mish"])
    assert found is not None
    parts = [words.partition(":")[0] for _, words in found.steps]
    assert parts[1] == "mul" and "tanh" in parts


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_gradient_of_softmax_sums_to_zero(name: str) -> None:
    x = tt.tensor(np.random.default_rng(0).normal(size=(4, 5)), requires_grad=True)
    (dx,) = tt.grad(getattr(tt, name)(x), x, np.random.default_rng(1).normal(size=(4, 5)))
    assert float(abs(dx.sum(axis=-1)).max()) < 1e-12
    assert "zero" in DERIVATIONS[name].note


def test_the_two_sums_of_layer_norm_are_zero() -> None:
    x = tt.tensor(np.random.default_rng(0).normal(size=(4, 5)), requires_grad=True)
    out = tt.layer_norm(x, eps=0.0)
    (dx,) = tt.grad(out, x, np.random.default_rng(1).normal(size=(4, 5)))
    assert float(abs(dx.sum(axis=-1)).max()) < 1e-12
    assert float(abs((dx * out.detach()).sum(axis=-1)).max()) < 1e-12
