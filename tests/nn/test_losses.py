"""Losses: values by hand, gradients, ties, and the refusal to broadcast."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, values_of


def test_cross_entropy_with_ignored_targets(device: Device) -> None:
    # C11: the mean is over the targets that count
    loss = nn.CrossEntropyLoss()
    z = double([[2, 0], [0, 2], [5, -5]], requires_grad=True)
    out = loss(z, tt.tensor([0, 0, -100]))
    assert out.item() == pytest.approx(1.126928, abs=1e-6)
    out.backward()
    assert z.grad is not None
    want = [[-0.059601, 0.059601], [-0.440399, 0.440399], [0, 0]]
    np.testing.assert_allclose(values_of(z.grad), want, atol=1e-6)
    z.grad = None
    loss(z, tt.tensor([-100, -100, -100])).backward()
    np.testing.assert_array_equal(values_of(z.grad), np.zeros((3, 2)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_options(reduction: str) -> None:
    loss = nn.CrossEntropyLoss(ignore_index=0, reduction=reduction, label_smoothing=0.1)
    out = values_of(loss(double([[[1.0, 3.0, 2.0], [0.0, 0.0, 0.0]]]), tt.tensor([[1, 0]])))
    log_sum = math.log(math.exp(1) + math.exp(3) + math.exp(2))
    want = 0.9 * (log_sum - 3) + 0.1 * (log_sum - 2)
    np.testing.assert_allclose(out, [[want, 0]] if reduction == "none" else want, rtol=1e-12)


@pytest.mark.parametrize(
    "loss", [nn.MSELoss(), nn.L1Loss(), nn.HuberLoss(), nn.BCEWithLogitsLoss()], ids=repr
)
def test_shapes_must_agree(loss: nn.Module) -> None:
    # C13: (2, 1) against (2,) would average a 2 x 2 table
    with pytest.raises(ValueError, match=r"target: .*shape \(2, 1\), got \(2,\)"):
        loss(double([[2], [4]]), double([1, 5]))
    with pytest.raises(ValueError, match="reduction: expected one of"):
        type(loss)(reduction="avg")


def test_values_by_hand(device: Device) -> None:
    p, y = double([[2], [4]]), [[1], [7]]
    assert nn.mse_loss(p, y).item() == 5
    assert nn.l1_loss(p, y).item() == 2
    assert nn.huber_loss(p, y, reduction="sum").item() == 0.5 + 2.5
    assert nn.huber_loss(p, y, delta=2.0, reduction="sum").item() == 0.5 + 4.0
    np.testing.assert_array_equal(values_of(nn.mse_loss(p, y, "none")), [[1], [9]])
    x = double([0.0, 2.0, -3.0])
    want = [math.log(2), math.log(1 + math.exp(-2)), 0.5 * 3 + math.log(1 + math.exp(-3))]
    got = nn.binary_cross_entropy_with_logits(x, [1.0, 1.0, 0.5], "none")
    np.testing.assert_allclose(values_of(got), want, rtol=1e-12)
    weighted = nn.binary_cross_entropy_with_logits(x, [1.0, 1.0, 0.0], "none", pos_weight=3.0)
    want = [3 * want[0], 3 * want[1], math.log(1 + math.exp(-3))]
    np.testing.assert_allclose(values_of(weighted), want, rtol=1e-12)


def test_bce_is_finite_far_out_and_right_at_zero() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = double([0.0, 1000.0, -1000.0], requires_grad=True)
        loss = nn.binary_cross_entropy_with_logits(x, [1.0, 0.0, 1.0], "sum")
        loss.backward()
    assert loss.item() == pytest.approx(2000 + math.log(2))
    assert x.grad is not None
    np.testing.assert_allclose(values_of(x.grad), [-0.5, 1, -1])


LOSSES: dict[str, Callable[[Any, Any], tt.Tensor]] = {
    "mse": nn.MSELoss(),
    "mse_sum": nn.MSELoss("sum"),
    "mse_none": nn.MSELoss("none"),
    "l1": nn.L1Loss(),
    "huber": nn.HuberLoss(0.7),
    "bce": nn.BCEWithLogitsLoss(),
    "bce_weighted": nn.BCEWithLogitsLoss(pos_weight=2.5),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name: str, rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((3, 4)), requires_grad=True)
    y = double(rng.random((3, 4)), requires_grad=not name.startswith("bce"))
    tensors = {"x": x, "y": y} if y.requires_grad else {"x": x}
    check_gradients(lambda: LOSSES[name](x, y), tensors, rng)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_follows_log_softmax(reduction: str, rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((2, 3, 5)), requires_grad=True)
    target = np.array([[1, -100, 4], [0, 0, 2]])
    both = [
        nn.NLLLoss(reduction=reduction)(tt.log_softmax(x, axis=-1), target),
        nn.CrossEntropyLoss(reduction=reduction)(x, tt.tensor(target)),
    ]
    np.testing.assert_allclose(values_of(both[0]), values_of(both[1]), rtol=1e-12)
    logs = tt.log_softmax(x, axis=-1).detach()
    logs.requires_grad_(True)
    check_gradients(
        lambda: nn.nll_loss(logs, target, reduction=reduction), {"log_probs": logs}, rng
    )


def test_nll_errors() -> None:
    logs = double(np.zeros((2, 3)))
    with pytest.raises(IndexError, match=r"target: 3 is out of range for 3 classes"):
        nn.nll_loss(logs, [0, 3])
    with pytest.raises(ValueError, match=r"target: expected integers of shape \(2,\)"):
        nn.nll_loss(logs, [0, 1, 2])
    assert math.isnan(nn.nll_loss(logs, [-100, -100]).item()), "the mean of nothing"
    with pytest.raises(ValueError, match="delta: expected a number > 0"):
        nn.huber_loss(logs, logs, delta=0)


def test_host_targets_follow_the_prediction(other_device: Device, rng: np.random.Generator) -> None:
    x = tt.tensor(rng.standard_normal((2, 3)).astype(np.float32), device=other_device)
    x.requires_grad_(True)
    y = rng.random((2, 3))
    for loss in LOSSES.values():
        assert loss(x, y).device is other_device
    out = nn.nll_loss(tt.log_softmax(x, axis=-1), [1, -100])
    assert out.device is other_device
    out.backward()
    assert x.grad is not None and x.grad.dtype == np.float32
