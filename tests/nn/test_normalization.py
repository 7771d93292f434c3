"""BatchNorm, GroupNorm, InstanceNorm, RMSNorm: buffers, modes, state dicts, gradients, refusals."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d long": (lambda: nn.BatchNorm1d(3), (2, 3, 2)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), (2, 2, 2, 1)),
    "BatchNorm1d untracked": (lambda: nn.BatchNorm1d(3, track_running_stats=False), (4, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 2)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3, affine=True), (2, 3, 3)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(2), (2, 2, 2, 2)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (2, 3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("training", [True, False])
def test_gradients(name: str, training: bool, rng: np.random.Generator) -> None:
    make, shape = LAYERS[name]
    layer = make()
    randomize(layer, rng)
    for i, buffer in enumerate(layer.buffers()):
        if buffer.dtype.kind == "f":
            with tt.no_grad():
                buffer.copy_(rng.uniform(0.5 + i, 1.5 + i, buffer.shape))
    layer.train(training)
    x = double(rng.standard_normal(shape), requires_grad=True)
    check_gradients(lambda: layer(x), {"x": x, **dict(layer.named_parameters())}, rng)


@pytest.mark.parametrize("name", LAYERS)
def test_on_every_device_and_in_float32(name: str, device: Device) -> None:
    make, shape = LAYERS[name]
    layer = make()
    x = tt.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    out = layer(x)
    assert out.device is device and out.dtype == np.float32 and out.shape == shape
    assert np.isfinite(values_of(out)).all()
    layer.eval()
    assert layer(x).shape == shape


def test_batch_norm_trains_and_evaluates() -> None:
    layer = nn.BatchNorm1d(2, momentum=0.5)
    x = tt.tensor([[1.0, 10.0], [3.0, 10.0], [5.0, 40.0]])
    out = values_of(layer(x))
    np.testing.assert_allclose(out.mean(0), [0, 0], atol=1e-6)
    np.testing.assert_allclose(out.std(0), [1, 1], atol=1e-4)
    assert layer.running_mean is not None and layer.running_var is not None
    np.testing.assert_allclose(values_of(layer.running_mean), [1.5, 10])
    np.testing.assert_allclose(values_of(layer.running_var), [2.5, 150.5])
    assert layer.num_batches_tracked is not None and layer.num_batches_tracked.item() == 1
    layer.eval()
    want = (values_of(x) - [1.5, 10]) / np.sqrt(np.array([2.5, 150.5]) + 1e-5)
    np.testing.assert_allclose(values_of(layer(x)), want, rtol=1e-5)
    np.testing.assert_allclose(values_of(layer(x[:1])), want[:1], rtol=1e-5)  # one row will do
    assert layer.num_batches_tracked.item() == 1
    np.testing.assert_allclose(values_of(layer.running_mean), [1.5, 10])
    layer.reset_running_stats()
    assert values_of(layer.running_mean).tolist() == [0, 0]
    assert values_of(layer.running_var).tolist() == [1, 1]
    assert layer.num_batches_tracked.item() == 0


def test_momentum_none_averages_all_batches() -> None:
    layer = nn.BatchNorm1d(1, momentum=None)
    for center in (0.0, 3.0, 6.0):
        layer(tt.tensor([[center - 1], [center + 1]]))
    assert layer.running_mean is not None and layer.running_var is not None
    np.testing.assert_allclose(values_of(layer.running_mean), [3], rtol=1e-6)
    np.testing.assert_allclose(values_of(layer.running_var), [2], rtol=1e-6)


def test_frozen_layers_still_track() -> None:
    layer = nn.BatchNorm1d(1).requires_grad_(False)
    with tt.no_grad():
        layer(tt.tensor([[1.0], [3.0]]))
    assert layer.running_mean is not None
    np.testing.assert_allclose(values_of(layer.running_mean), [0.2], rtol=1e-6)


STATS = ["running_mean", "running_var", "num_batches_tracked"]


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (nn.BatchNorm1d(3), ["weight", "bias", *STATS]),
        (nn.BatchNorm2d(3, affine=False), STATS),
        (nn.BatchNorm2d(3, track_running_stats=False), ["weight", "bias"]),
        (nn.InstanceNorm1d(3), []),
        (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), ["weight", "bias", *STATS]),
        (nn.GroupNorm(1, 3), ["weight", "bias"]),
        (nn.GroupNorm(1, 3, affine=False), []),
        (nn.RMSNorm(3), ["weight"]),
        (nn.RMSNorm((3,), elementwise_affine=False), []),
    ],
    ids=repr,
)
def test_state_dicts(layer: nn.Module, names: list[str]) -> None:
    state = layer.state_dict()
    assert list(state) == names
    assert all(a.dtype == np.float32 for n, a in state.items() if n != "num_batches_tracked")
    if "num_batches_tracked" in state:
        assert state["num_batches_tracked"].dtype == np.int64
        assert state["num_batches_tracked"].shape == ()
    changed = {name: np.array(a + 1) for name, a in state.items()}
    layer.load_state_dict(changed)
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(array, changed[name])
    layer.to("float64")
    for name, array in layer.state_dict().items():
        assert array.dtype == (np.int64 if name == "num_batches_tracked" else np.float64)


def test_copies_track_for_themselves() -> None:
    layer = nn.BatchNorm1d(1)
    other = copy.deepcopy(layer)
    layer(tt.tensor([[1.0], [3.0]]))
    assert other.running_mean is not None and other.running_mean.item() == 0
    other.load_state_dict(layer.state_dict())
    layer(tt.tensor([[1.0], [3.0]]))
    assert other.num_batches_tracked is not None and other.num_batches_tracked.item() == 1
    assert other.running_mean.item() == pytest.approx(0.2)


def test_instances_do_not_depend_on_each_other(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 2, 5)).astype(np.float32)
    for layer in (nn.InstanceNorm1d(2), nn.GroupNorm(1, 2)):
        whole = values_of(layer(tt.tensor(x)))
        np.testing.assert_allclose(whole[:1], values_of(layer(tt.tensor(x[:1]))), rtol=1e-5)
    layer = nn.InstanceNorm1d(2, track_running_stats=True, momentum=1.0)
    trained = values_of(layer(tt.tensor(x)))
    assert np.abs(values_of(layer.eval()(tt.tensor(x))) - trained).max() > 0.1


@pytest.mark.parametrize(
    ("make", "shape", "words"),
    [
        (lambda: nn.BatchNorm1d(3), (3,), r"\(batch, 3\) or \(batch, 3, length\), got \(3,\)"),
        (lambda: nn.BatchNorm1d(3), (2, 4), r"got \(2, 4\)"),
        (lambda: nn.BatchNorm1d(3), (2, 3, 4, 4), r"got \(2, 3, 4, 4\)"),
        (lambda: nn.BatchNorm1d(3), (1, 3), r"more than one value per channel"),
        (lambda: nn.BatchNorm2d(3), (2, 3), r"\(batch, 3, height, width\), got \(2, 3\)"),
        (lambda: nn.InstanceNorm1d(3), (2, 3), r"\(batch, 3, length\), got \(2, 3\)"),
        (lambda: nn.InstanceNorm2d(3), (2, 3, 1, 1), "more than one position"),
        (lambda: nn.GroupNorm(2, 4), (2, 6), r"\(batch, 4, \.\.\.\), got \(2, 6\)"),
        (lambda: nn.RMSNorm(3), (2, 4), r"last axis of 3, got shape \(2, 4\)"),
    ],
)
def test_wrong_shapes(make: Callable[[], Any], shape: tuple[int, ...], words: str) -> None:
    layer = make()
    with pytest.raises(ValueError, match=words):
        layer(tt.zeros(shape))
    for buffer in getattr(layer, "buffers", list)():
        assert buffer.ndim == 1 or buffer.item() == 0, "a refused batch was counted"


def test_wrong_arguments() -> None:
    for words, make in (
        ("num_features: expected an integer >= 1", lambda: nn.BatchNorm1d(0)),
        (r"momentum: expected a number in \[0, 1\]", lambda: nn.BatchNorm2d(3, momentum=1.5)),
        ("num_groups: expected a divisor of num_channels 4, got 3", lambda: nn.GroupNorm(3, 4)),
        ("dim: RMSNorm is over the last axis only", lambda: nn.RMSNorm((2, 3))),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def test_representations() -> None:
    assert "BatchNorm1d(3, eps=1e-05, momentum=0.1" in repr(nn.BatchNorm1d(3))
    assert "affine=False, track_running_stats=False" in repr(nn.InstanceNorm1d(3))
    assert "GroupNorm(2, 4, eps=1e-05" in repr(nn.GroupNorm(2, 4))
    assert "RMSNorm(3, eps=None" in repr(nn.RMSNorm(3))
