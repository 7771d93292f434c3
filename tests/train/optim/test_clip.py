"""Gradient clipping: by norm where squares overflow or vanish, shared gradients, by value."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.train import SGD, DataParallel, clip_grad_norm, clip_grad_value, param_groups
from tinytensor.train.parallel.data_parallel import why_not

from ..sharing import batch, make


def held(values: Any, dtype: str = "float32", device: Any = None) -> tt.Tensor:
    """A parameter with this gradient."""
    grad = tt.tensor(np.array(values, dtype=dtype), device=device)
    p = tt.zeros(grad.shape, dtype=dtype, requires_grad=True, device=device)
    p.grad = grad
    return p


def grad(p: tt.Tensor) -> np.ndarray:
    assert p.grad is not None
    return p.grad.detach().numpy().astype(np.float64)


def test_clipping_scales_all_gradients_by_one_factor(device: Device) -> None:
    p, q, r = held([[3.0], [3.0]]), held([[4.0], [4.0]]), tt.ones(2, 1, requires_grad=True)
    assert clip_grad_norm([p, q, r, p], math.inf) == pytest.approx(math.sqrt(50))
    assert p.grad.numpy()[0, 0] == 3.0, "a norm below the limit changes nothing"
    assert clip_grad_norm(iter([p, q, r]), 1.0) == pytest.approx(math.sqrt(50))
    np.testing.assert_allclose(p.grad.numpy(), 3 / math.sqrt(50), rtol=1e-5)
    np.testing.assert_allclose(q.grad.numpy(), 4 / math.sqrt(50), rtol=1e-5)
    assert r.grad is None
    assert clip_grad_norm([r], 1.0) == 0.0 == clip_grad_norm(r, 1.0)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("float32", 1e20), ("float32", 1e25), ("float32", 6e37), ("float32", 1e10),
        ("float64", 1e160), ("float64", 1e300), ("float16", 1e4), ("float16", 100.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.filterwarnings("error")
def test_large_gradients_have_their_norm(
    device: Device, dtype: str, size: float, apart: bool
) -> None:
    """[3e20, 4e20] in float32 to 1 (a public report): their squares are infinite."""
    rows = [[3 * size], [4 * size]] if apart else [[3 * size, 4 * size]]
    params = [held(row, dtype) for row in rows]
    assert clip_grad_norm(params, 1.0) == pytest.approx(5 * size, rel=2e-3 if size < 1e5 else 1e-6)
    found = np.concatenate([grad(p) for p in params])
    np.testing.assert_allclose(found, [0.6, 0.8], rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 1e-18), ("float32", 1e-25), ("float32", 1e-40), ("float64", 1e-200)],
)
def test_small_gradients_have_their_norm(device: Device, dtype: str, size: float) -> None:
    p = held([3 * size, 0.0, 4 * size], dtype)
    norm = clip_grad_norm([p], 1.0)
    assert norm == pytest.approx(5 * size, rel=1e-6 if size > 1e-38 else 1e-4)
    np.testing.assert_array_equal(grad(p), np.array([3 * size, 0.0, 4 * size], dtype))
    assert clip_grad_norm([held([0.0, 0.0], dtype)], 1.0) == 0.0
    assert clip_grad_norm([held([], dtype)], 1.0) == 0.0


def test_a_large_float16_gradient_is_scaled_by_less_than_float16_holds(device: Device) -> None:
    """30,000 in each of 10,000 places: norm 3e6, factor 3e-7, which float16 rounds to 3.6e-7."""
    p = held(np.full((100, 100), 30000.0), "float16")
    assert clip_grad_norm([p], 1.0) == pytest.approx(3e6, rel=1e-3)
    np.testing.assert_allclose(grad(p), 0.01, rtol=1e-3)


def test_a_factor_that_float32_cannot_hold(device: Device) -> None:
    p = held([3e37, 4e37])
    assert clip_grad_norm([p], 1e-5) == pytest.approx(5e37)
    np.testing.assert_allclose(grad(p), [6e-6, 8e-6], rtol=1e-6)


def test_dtypes_and_devices_mix(other_device: Device) -> None:
    params = [
        held([2.0]), held([4.0], "float64"), held([5.0], "float16"),
        held([6.0], device=other_device), held([1e-30], "float64", device=other_device),
    ]  # fmt: skip
    assert clip_grad_norm(params, 0.9) == pytest.approx(9.0)
    for p, expected in zip(params, (0.2, 0.4, 0.5, 0.6, 1e-31), strict=True):
        np.testing.assert_allclose(p.grad.cpu().numpy(), [expected], rtol=1e-3)


@pytest.mark.parametrize(("bad", "norm"), [(math.inf, math.inf), (math.nan, math.nan)])
def test_a_norm_that_is_not_finite_is_returned(device: Device, bad: float, norm: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert clip_grad_norm([held([1.0, bad])], 1.0) == pytest.approx(norm, nan_ok=True)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_infinity_only_measures(device: Device, bad: float) -> None:
    p = held([bad, 4.0], device=device)
    assert str(clip_grad_norm([p], math.inf)) == str(bad)
    np.testing.assert_array_equal(grad(p), [bad, 4.0])


def test_a_gradient_that_two_parameters_hold_is_scaled_once(device: Device) -> None:
    p, q = held([3.0, 4.0]), held([0.0, 0.0])
    q.grad = p.grad
    r = held([0.0, 0.0])
    r.grad = p.grad.detach()  # another Tensor, the same array
    assert clip_grad_norm([p, q, r], 1.0) == pytest.approx(5 * math.sqrt(3)), "it counts for each"
    for x in (p, q, r):
        np.testing.assert_allclose(grad(x), np.array([0.6, 0.8]) / math.sqrt(3), rtol=1e-6)


def test_gradients_whose_memory_overlaps_are_scaled_once() -> None:
    flat = np.array([3.0, 4.0, 12.0], np.float32)
    p, q, r = held([0.0, 0.0]), held([0.0, 0.0]), held([0.0] * 3)
    for x, array in ((p, flat[:2]), (q, flat[1:]), (r, flat)):
        x.grad.data = array
    norm = math.sqrt(9 + 16 + 16 + 144 + 169)
    assert clip_grad_norm([p, q, r], 1.0) == pytest.approx(norm)
    np.testing.assert_allclose(flat, np.array([3, 4, 12]) / norm, rtol=1e-6)
    assert np.shares_memory(p.grad.data, flat)


def test_a_gradient_that_cannot_be_written_to_is_replaced() -> None:
    """As NumPy's broadcasting makes them."""
    for clip, expected in ((clip_grad_norm, 1.0), (clip_grad_value, 2.0)):
        p = held(np.zeros(4))
        p.grad.data = np.broadcast_to(np.float32(3.0), (4,))
        clip([p], 2.0)
        np.testing.assert_allclose(grad(p), expected, rtol=1e-6)


def test_backward_is_told_of_the_write() -> None:
    x = tt.tensor([3.0], requires_grad=True)
    (x * x * x).sum().backward(create_graph=True)
    later = (x.grad * x.grad).sum()
    clip_grad_norm([x], 1.0)
    with pytest.raises(RuntimeError, match="changed in place"):
        later.backward()


@pytest.mark.parametrize("clip", [clip_grad_norm, clip_grad_value])
def test_what_cannot_be_clipped_is_refused(clip: Any) -> None:
    """An exhausted generator above all (a public report): nothing would be clipped."""
    model = nn.Linear(1, 1)
    params = model.parameters()
    SGD(params)
    for nothing in (params, [], ()):
        with pytest.raises(ValueError, match="at least one parameter, got none; a generator"):
            clip(nothing, 1.0)
    with pytest.raises(TypeError, match=r"got a Linear; pass model\.parameters\(\)"):
        clip(model, 1.0)
    with pytest.raises(TypeError, match="params: expected tensors, got dict"):
        clip(param_groups(model, 0.1), 1.0)
    with pytest.raises(TypeError, match="params: expected tensors, got tuple"):
        clip(model.named_parameters(), 1.0)
    for bad in (0.0, -1.0, math.nan, True, "1", None, [1.0], np.ones(1), 1j):
        with pytest.raises(ValueError, match="(max_norm|clip_value): expected a number > 0, got"):
            clip(model.parameters(), bad)


@pytest.mark.parametrize(
    "one", [1, np.float32(1), np.int64(1), np.array(1.0), tt.tensor(1.0)], ids=repr
)
def test_limits_may_be_numpys(one: Any) -> None:
    p, q = held([3.0, 4.0]), held([3.0, -0.5])
    assert clip_grad_norm([p], one) == 5.0
    np.testing.assert_allclose(grad(p), [0.6, 0.8], rtol=1e-6)
    assert p.grad.dtype == np.float32
    clip_grad_value([q], one)
    np.testing.assert_array_equal(grad(q), [1.0, -0.5])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_clipping_by_value(device: Device, dtype: str) -> None:
    p, q, r = held([[3.0, -0.25], [math.nan, -math.inf]], dtype), held(2.0, dtype), held([], dtype)
    s = tt.ones(1, requires_grad=True)
    clip_grad_value(iter([p, q, r, s]), 0.5)
    np.testing.assert_array_equal(grad(p), [[0.5, -0.25], [math.nan, -0.5]])
    assert grad(q) == 0.5 and s.grad is None and p.grad.dtype == dtype
    clip_grad_value(q, 1e6)  # more than float16 holds
    assert grad(q) == 0.5


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_the_joint_norm_of_several_processes_does_not_overflow(
    size: float, rng: np.random.Generator
) -> None:
    reference, model = make().to("float32"), make().to("float32")
    x, y = batch(rng)
    loss = reference(x, y)[1]
    loss.backward()
    expected = clip_grad_norm(reference.parameters(), math.inf) * size
    with DataParallel(model, SGD(model.parameters(), lr=1.0), 2) as parallel:
        parallel.backward(x, y, scale=size)
        assert parallel.reduce() == pytest.approx(expected, rel=1e-4)
        before = [p.detach().numpy().copy() for p in model.parameters()]
        parallel.update(np.float32(1e-2) if size > 1 else 1.0)
    moved = [a - p.detach().numpy() for a, p in zip(before, model.parameters(), strict=True)]
    length = math.sqrt(sum(float((a.astype(float) ** 2).sum()) for a in moved))
    assert length == pytest.approx(1e-2 if size > 1 else 0.0, rel=1e-2)
