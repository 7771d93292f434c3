"""Every registered op, checked over its own samples.  A new op is checked by being registered."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.define import op as registry

from ..helpers import host, numeric_gradients, share_memory
from ..ops_under_test import STEPS, Case, all_ops, cases, laid_out, same, samples

# to_device moves between devices by name: test_device.py tests it with two of them
OPS = [op for op in all_ops() if op.name != "to_device"]
DIFFERENTIABLE = [op for op in OPS if op.differentiable]
FUSED = [op for op in OPS if op.reference is not None]
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
every_gradient = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
every_fused = pytest.mark.parametrize("op", FUSED, ids=lambda op: op.name)


def differentiable_cases(op: Any) -> list[Case]:
    """The cases with something to differentiate: float operands with elements.

    An embedding with a padding row is left out: it stops that row's gradient on purpose, so the
    gradient is not the derivative (test_indexing.py tests it).
    """
    padded = op.name == "embedding"
    return [
        c for c in cases(op) if any(a.size for a in c.arrays) and not (padded and _pads(c.sample))
    ]


def _pads(sample: Any) -> bool:
    return len(sample.args) > 2 or sample.kwargs.get("padding_idx") is not None


def random_like(arrays: list[np.ndarray], seed: str) -> list[np.ndarray]:
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    return [random.normal(size=a.shape) for a in arrays]


# -- definitions --------------------------------------------------------------------------
def test_the_ops_of_the_contract_are_registered() -> None:
    names = """add sub mul div pow neg abs exp log sqrt tanh sigmoid relu gelu silu maximum minimum
    where clip masked_fill sum mean var max min matmul reshape expand_dims broadcast_to concat stack
    split getitem take_along_axis embedding one_hot tril triu softmax log_softmax layer_norm linear
    cross_entropy dropout scaled_dot_product_attention rnn gru lstm""".split()
    missing = [n for n in names if n not in registry.OPS and not callable(getattr(tt, n, None))]
    assert not missing


@every_op
def test_op_is_documented_and_sampled(op: Any) -> None:
    assert registry.OPS[op.name] is op
    assert op.doc, "no docstring"
    assert op.formula, "no formula"
    assert op.inputs
    assert samples(op), "no samples"
    assert callable(op)


@every_op
def test_samples_are_the_same_each_time_and_float64(op: Any) -> None:
    for a, b in zip(cases(op), cases(op), strict=True):
        assert all(x.dtype == np.float64 for x in a.arrays)
        for x, y in zip(a.arrays, b.arrays, strict=True):
            np.testing.assert_array_equal(x, y)


ELEMENTWISE = ["add", "sub", "mul", "div", "pow", "maximum", "minimum"]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_samples_of_binary_ops_cover_the_shapes_that_break(name: str) -> None:
    shapes = [tuple(a.shape for a in c.arrays) for c in cases(registry.OPS[name])]
    pairs = [s for s in shapes if len(s) == 2]
    one_against_many = [
        1 in (x, y) and x != y
        for s in pairs
        if len(s[0]) == len(s[1])
        for x, y in zip(*s, strict=True)
    ]
    assert any(one_against_many), "no size-1 axis against a longer one"
    assert any(len(x) != len(y) for x, y in pairs), "no operands of different ndim"
    assert any(() in s for s in shapes), "no 0-d operand"
    assert any(0 in x for s in shapes for x in s), "no zero-size operand"


@pytest.mark.parametrize("name", ["exp", "sum", "mean", "softmax", "matmul", "reshape", "concat"])
def test_samples_cover_zero_size_where_defined(name: str) -> None:
    assert any(a.size == 0 for c in cases(registry.OPS[name]) for a in c.arrays)


# -- gradients ----------------------------------------------------------------------------
@every_gradient
def test_gradients_pass_gradcheck(op: Any, device: Device) -> None:
    checked = 0
    for case in differentiable_cases(op):
        args, kwargs, floats = case.build()
        if not floats or not any(y.requires_grad and y.size for y in case.call(args, kwargs)):
            continue

        def fn(*xs: tt.Tensor, case: Case = case) -> Any:
            args, kwargs, _ = case.build(tensors=list(xs))
            outputs = [y for y in case.call(args, kwargs) if y.requires_grad]
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        if not any(np.any(np.abs(g) > 1e-9) for g in case.run()[1] if g is not None):
            continue  # a constant, such as the softmax of one number: left to the test below
        assert tt.gradcheck(fn, floats), f"{case.sample}"
        checked += 1
    assert checked or op.name in STEPS, "no sample was checked"


@every_gradient
def test_gradients_equal_finite_differences(op: Any) -> None:
    """The same with a checker of our own, so that a broken gradcheck cannot hide a wrong rule."""
    moving = 0
    for case in differentiable_cases(op):
        values, gradients = case.run()
        args, kwargs, _ = case.build()
        weights = case.cotangents(case.call(args, kwargs))

        def total(*arrays: np.ndarray, case: Case = case, weights: list = weights) -> float:
            outputs = case.values(*arrays)
            return sum(
                np.sum(y * w) for y, w in zip(outputs, weights, strict=True) if w is not None
            )

        if all(w is None for w in weights):
            continue
        expected = numeric_gradients(total, case.arrays, np.array(1.0))
        for got, want in zip(gradients, expected, strict=True):
            got = np.zeros_like(want) if got is None else got
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-7, err_msg=str(case.sample))
            moving += int(np.any(np.abs(want) > 1e-3))
    assert bool(moving) != (op.name in STEPS), "every gradient was zero: the check cannot fail"


@every_gradient
def test_gradients_have_the_shape_and_dtype_of_their_operand(op: Any, device: Device) -> None:
    for dtype in (np.float64, np.float32):
        for case in cases(op):
            args, kwargs, floats = case.build(dtype)
            outputs = [y for y in case.call(args, kwargs) if y.requires_grad]
            if not outputs or not floats:
                continue
            upstream = [tt.ones_like(y) for y in outputs]
            for x, g in zip(
                floats, tt.grad(outputs, floats, upstream, allow_unused=True), strict=True
            ):
                if g is not None:
                    assert (g.shape, g.dtype) == (x.shape, x.dtype), case.sample
                    assert isinstance(g.data, device.array_type)


@every_op
def test_float32_in_float32_out(op: Any, device: Device) -> None:
    for case in cases(op):
        wide, _, floats = case.build(np.float64)
        narrow, kwargs, _ = case.build(np.float32)
        if not floats:
            continue
        for a, b in zip(case.call(narrow, kwargs), case.call(wide, kwargs), strict=True):
            expected = np.float32 if b.dtype == np.float64 and not op.casts else b.dtype
            assert a.dtype == expected, case.sample
            np.testing.assert_allclose(host(a), host(b), rtol=2e-4, atol=2e-5)


@every_gradient
def test_float32_gradients_equal_float64_ones(op: Any) -> None:
    for case in cases(op):
        for a, b in zip(case.run(np.float32)[1], case.run(np.float64)[1], strict=True):
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                scale = max(1.0, float(np.abs(b).max(initial=0)))
                np.testing.assert_allclose(
                    a, b, rtol=2e-3, atol=2e-4 * scale, err_msg=str(case.sample)
                )


@every_fused
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_fused_op_equals_its_reference(op: Any, dtype: Any, device: Device) -> None:
    rtol, atol = (1e-9, 1e-11) if dtype == np.float64 else (2e-3, 2e-5)
    for case in cases(op):
        fused, fused_gradients = case.run(dtype)
        composed, gradients = case.run(dtype, fn=op.reference)
        for a, b in zip(fused, composed, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=str(case.sample))
        for x, y, array in zip(fused_gradients, gradients, case.arrays, strict=True):
            x, y = (np.zeros_like(array) if g is None else g for g in (x, y))
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=str(case.sample))


@every_fused
def test_reference_is_made_of_primitives(op: Any) -> None:
    """The reference never calls the op itself, so that it is an oracle."""
    case = cases(op)[0]
    args, kwargs, _ = case.build()
    seen: set[str] = set()
    stack = [y.node for y in case.call(args, kwargs, op.reference)]
    while stack:
        node = stack.pop()
        if node is not None and not isinstance(node, tt.Tensor):
            seen.add(node.op.name)
            stack.extend(node.parents)
    assert op.name not in seen and seen


@every_gradient
def test_second_order(op: Any) -> None:
    """The gradient of the gradient, by gradcheck of the gradient as a function."""
    for case in differentiable_cases(op):
        if sum(a.size for a in case.arrays) > 60:
            continue
        args, kwargs, floats = case.build()
        outputs = case.call(args, kwargs)
        weights = [w for w in case.cotangents(outputs) if w is not None]
        if not weights or not any(w.size for w in weights):
            continue

        def gradient(*xs: tt.Tensor, case: Case = case, weights: list = weights) -> list:
            args, kwargs, _ = case.build(tensors=list(xs))
            outputs = [y for y in case.call(args, kwargs) if y.requires_grad]
            upstream = [tt.tensor(w) for w in weights]
            return list(tt.grad(outputs, list(xs), upstream, create_graph=True, allow_unused=True))

        first = gradient(*floats)
        plain = tt.grad(
            [y for y in outputs if y.requires_grad],
            floats,
            [tt.tensor(w) for w in weights],
            allow_unused=True,
        )
        second_weights = random_like(case.arrays, op.name)
        for g, p in zip(first, plain, strict=True):
            assert (g is None) == (p is None), case.sample
            if g is not None:
                np.testing.assert_allclose(host(g), host(p), rtol=1e-8, atol=1e-10)
        total = sum(
            (
                (g * tt.tensor(w)).sum()
                for g, w in zip(first, second_weights, strict=True)
                if g is not None
            ),
            tt.tensor(np.array(0.0)),
        )
        got: list[Any] = [None] * len(floats)
        if total.requires_grad:
            got = list(tt.grad(total, floats, allow_unused=True))

        def scalar(*arrays: np.ndarray, case: Case = case, weights: list = second_weights) -> float:
            xs = [tt.tensor(a, requires_grad=True) for a in arrays]
            gs = gradient(*xs, case=case)
            return sum(
                np.sum(host(g) * w) for g, w in zip(gs, weights, strict=True) if g is not None
            )

        expected = numeric_gradients(scalar, case.arrays, np.array(1.0))
        for a, b in zip(got, expected, strict=True):
            value = np.zeros_like(b) if a is None else host(a)
            np.testing.assert_allclose(value, b, rtol=1e-4, atol=2e-6, err_msg=str(case.sample))


# -- devices, memory, layout --------------------------------------------------------------
@every_op
def test_same_on_every_device(op: Any, other_device: Device) -> None:
    for case in cases(op):
        for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 2e-4)):
            here, here_gradients = case.run(dtype)
            with other_device:
                there, there_gradients = case.run(dtype)
            for a, b in zip([*here, *here_gradients], [*there, *there_gradients], strict=True):
                assert (a is None) == (b is None)
                if a is not None and b is not None:
                    assert (a.shape, a.dtype) == (b.shape, b.dtype), case.sample
                    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@every_op
def test_operands_are_never_written_to(op: Any, device: Device) -> None:
    for case in cases(op):
        args, kwargs, floats = case.build()
        before = [np.array(host(x)) for x in floats]
        outputs = case.call(args, kwargs)
        kept = [np.array(host(y)) for y in outputs]
        wanted = [y for y in outputs if y.requires_grad]
        if wanted and floats:
            upstream = [tt.tensor(c) for c in case.cotangents(outputs) if c is not None]
            sent = [np.array(host(u)) for u in upstream]
            tt.grad(wanted, floats, upstream, allow_unused=True, retain_graph=True)
            tt.grad(wanted, floats, upstream, allow_unused=True)
            for u, s in zip(upstream, sent, strict=True):
                np.testing.assert_array_equal(
                    host(u), s, err_msg="the upstream gradient was changed"
                )
        for x, b in zip(floats, before, strict=True):
            np.testing.assert_array_equal(
                host(x), b, err_msg=f"an operand was changed: {case.sample}"
            )
        for y, k in zip(outputs, kept, strict=True):
            np.testing.assert_array_equal(
                host(y), k, err_msg=f"an output was changed: {case.sample}"
            )


@every_gradient
def test_gradients_share_no_memory(op: Any, device: Device) -> None:
    """Leaf gradients belong to the leaf alone: not to an operand, a result or another leaf."""
    for case in cases(op):
        args, kwargs, floats = case.build()
        outputs = [y for y in case.call(args, kwargs) if y.requires_grad]
        if not outputs or not floats:
            continue
        kept = [a for y in outputs for a in (y.node.saved or ()) if hasattr(a, "dtype")]
        upstream = [tt.tensor(c) for c in case.cotangents(outputs) if c is not None]
        total = outputs[0]
        if len(outputs) == 1:
            total.backward(upstream[0])
        else:
            sum(
                ((y * u).sum() for y, u in zip(outputs, upstream, strict=True)), tt.tensor(0.0)
            ).backward()
        grads = [x.grad for x in floats if x.grad is not None]
        others = [*floats, *outputs, *upstream, *kept]
        for i, g in enumerate(grads):
            for other in [*others, *grads[i + 1 :]]:
                assert not share_memory(g, other), case.sample


LAYOUTS = {
    "every second": lambda a: a.repeat(2, axis=-1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim else a,
    "Fortran": lambda a: a.T.copy().T,
}


@every_op
@pytest.mark.parametrize("layout", ["every second", "reversed", "Fortran"])
def test_memory_layout_makes_no_difference(op: Any, layout: str, device: Device) -> None:
    for case in cases(op):
        plain = case.run(layout=same)
        other = case.run(layout=LAYOUTS[layout])
        for a, b in zip([*plain[0], *plain[1]], [*other[0], *other[1]], strict=True):
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=str(case.sample))


def test_the_layouts_are_what_they_say() -> None:
    a = np.arange(12.0).reshape(3, 4)
    for name, strides in (("every second", (64, 16)), ("reversed", (32, -8)), ("Fortran", (8, 24))):
        tensor = laid_out(a, LAYOUTS[name])
        assert tensor.data.strides == strides
        np.testing.assert_array_equal(tensor.data, a)


@every_op
def test_no_graph_under_no_grad(op: Any) -> None:
    for case in cases(op):
        args, kwargs, _ = case.build()
        with tt.no_grad():
            assert all(not y.requires_grad and y.node is None for y in case.call(args, kwargs))
