"""Convolution and pooling layers: starting values, sizes, gradients, what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of

CONVOLUTIONS = [
    nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
]  # fmt: skip
every_convolution = pytest.mark.parametrize("layer", CONVOLUTIONS)


def dims_of(layer: Any) -> int:
    return int(layer.__name__[-2])


def test_conv2d_by_hand(device: Device) -> None:
    layer = nn.Conv2d(1, 2, (1, 2), bias=True)
    layer.load_state_dict({"weight": [[[[1, 10]]], [[[0, 2]]]], "bias": [0.5, 0]})
    out = layer(tt.tensor([[[1.0, 2.0, 3.0]]]))
    np.testing.assert_array_equal(values_of(out), [[[21.5, 32.5]], [[4, 6]]])


@every_convolution
def test_shapes_of_parameters(layer: Any) -> None:
    dims = dims_of(layer)
    kernel = (3, 5, 2)[:dims]
    made = layer(4, 6, kernel, groups=2)
    transposed = "Transpose" in layer.__name__
    assert made.weight.shape == ((4, 3, *kernel) if transposed else (6, 2, *kernel))
    assert list(made.state_dict()) == ["weight", "bias"] and made.bias.shape == (6,)
    assert list(layer(4, 6, 3, bias=False).state_dict()) == ["weight"]


@every_convolution
def test_starts_as_pytorch_does(layer: Any) -> None:
    made = layer(40, 60, 3, groups=2)
    bound = 1 / math.sqrt(math.prod(made.weight.shape[1:]))
    for param in made.parameters():
        values = values_of(param)
        assert param.dtype == np.float32 and np.abs(values).max() <= bound
        assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.25)
    tt.random.manual_seed(3)
    first = layer(2, 2, 2).state_dict()
    tt.random.manual_seed(3)
    second = layer(2, 2, 2).state_dict()
    np.testing.assert_array_equal(first["weight"], second["weight"])


@every_convolution
@pytest.mark.parametrize("bias", [True, False])
def test_gradients(layer: Any, bias: bool, rng: np.random.Generator) -> None:
    made = layer(2, 4, 2, stride=2, padding=1, groups=2, bias=bias)
    randomize(made, rng)
    shape = (2, 2, *(3, 4, 2)[: dims_of(layer)])
    x = double(rng.standard_normal(shape), requires_grad=True)
    check_gradients(lambda: made(x), {"x": x, **dict(made.named_parameters())}, rng)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_what_stands_in_the_padding(mode: str, rng: np.random.Generator) -> None:
    layer = nn.Conv1d(1, 1, 2, padding=2, padding_mode=mode, bias=False)
    layer.load_state_dict({"weight": [[[1, 10]]]})
    padded = {
        "reflect": [3, 2, 1, 2, 3, 2, 1],
        "replicate": [1, 1, 1, 2, 3, 3, 3],
        "circular": [2, 3, 1, 2, 3, 1, 2],
    }[mode]
    out = values_of(layer(tt.tensor([[1.0, 2.0, 3.0]])))[0]
    np.testing.assert_array_equal(
        out, [a + 10 * b for a, b in zip(padded, padded[1:], strict=False)]
    )
    image = nn.Conv2d(1, 2, 3, padding="same", dilation=(1, 2), padding_mode=mode)
    randomize(image, rng)
    x = double(rng.standard_normal((1, 1, 5, 5)), requires_grad=True)
    assert image(x).shape == (1, 2, 5, 5)
    check_gradients(lambda: image(x), {"x": x, **dict(image.named_parameters())}, rng)


LAYERS: list[tuple[Callable[[], nn.Module], tuple[int, ...], tuple[int, ...], str]] = [
    (lambda: nn.Conv1d(2, 3, 3, padding="same"), (4, 2, 5), (4, 3, 5),
     "Conv1d(2, 3, kernel_size=(3,), padding='same')"),
    (lambda: nn.Conv2d(2, 4, 3, 2, 1, 2, 2, False, "reflect"), (1, 2, 9, 9), (1, 4, 4, 4),
     "Conv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, "
     "bias=False, padding_mode='reflect')"),
    (lambda: nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), (2, 4, 4), (3, 8, 8),
     "ConvTranspose2d(2, 3, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), "
     "output_padding=(1, 1))"),
    (lambda: nn.ConvTranspose1d(2, 3, 4), (1, 2, 4), (1, 3, 7),
     "ConvTranspose1d(2, 3, kernel_size=(4,))"),
    (lambda: nn.MaxPool1d(3, 1, 1), (2, 5), (2, 5),
     "MaxPool1d(kernel_size=(3,), stride=(1,), padding=(1,))"),
    (lambda: nn.MaxPool2d(2, ceil_mode=True), (1, 2, 5, 5), (1, 2, 3, 3),
     "MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"),
    (lambda: nn.AvgPool1d(2), (1, 2, 5), (1, 2, 2),
     "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    (lambda: nn.AvgPool2d((2, 3), 1, (1, 0)), (1, 2, 5, 5), (1, 2, 6, 3),
     "AvgPool2d(kernel_size=(2, 3), stride=(1, 1), padding=(1, 0))"),
    (lambda: nn.AdaptiveAvgPool1d(2), (1, 2, 5), (1, 2, 2), "AdaptiveAvgPool1d(output_size=2)"),
    (lambda: nn.AdaptiveAvgPool2d((None, 2)), (1, 2, 5, 5), (1, 2, 5, 2),
     "AdaptiveAvgPool2d(output_size=(None, 2))"),
    (lambda: nn.AdaptiveMaxPool1d(3), (2, 5), (2, 3), "AdaptiveMaxPool1d(output_size=3)"),
    (lambda: nn.AdaptiveMaxPool2d(1), (3, 2, 5, 5), (3, 2, 1, 1),
     "AdaptiveMaxPool2d(output_size=1)"),
    (lambda: nn.Conv3d(2, 3, (1, 2, 3)), (1, 2, 4, 4, 4), (1, 3, 4, 3, 2),
     "Conv3d(2, 3, kernel_size=(1, 2, 3))"),
    (lambda: nn.ConvTranspose3d(2, 3, 2, 2), (2, 3, 3, 3), (3, 6, 6, 6),
     "ConvTranspose3d(2, 3, kernel_size=(2, 2, 2), stride=(2, 2, 2))"),
    (lambda: nn.MaxPool3d(2), (2, 4, 5, 6), (2, 2, 2, 3),
     "MaxPool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0))"),
    (lambda: nn.AvgPool3d(2, 1), (2, 4, 5, 6), (2, 3, 4, 5),
     "AvgPool3d(kernel_size=(2, 2, 2), stride=(1, 1, 1), padding=(0, 0, 0))"),
    (lambda: nn.AdaptiveAvgPool3d((1, None, 2)), (2, 4, 5, 6), (2, 1, 5, 2),
     "AdaptiveAvgPool3d(output_size=(1, None, 2))"),
    (lambda: nn.AdaptiveMaxPool3d(2), (1, 2, 4, 5, 6), (1, 2, 2, 2, 2),
     "AdaptiveMaxPool3d(output_size=2)"),
    (lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"), (1, 2, 4, 5), (1, 2, 6, 7),
     "Upsample(scale_factor=1.5, mode='bilinear')"),
    (lambda: nn.Flatten(), (3, 2, 5, 5), (3, 50), "Flatten(start_dim=1, end_dim=-1)"),
    (lambda: nn.Flatten(0, 1), (3, 2, 5), (6, 5), "Flatten(start_dim=0, end_dim=1)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "before", "after", "text"), LAYERS, ids=[t[3] for t in LAYERS])
def test_shapes_and_repr(
    make: Callable[[], nn.Module], before: tuple, after: tuple, text: str, device: Device
) -> None:
    layer = make()
    assert layer(tt.randn(*before)).shape == after
    assert repr(layer).split("  #")[0] == text


@pytest.mark.parametrize(
    "layer", [nn.MaxPool1d(2), nn.AdaptiveMaxPool1d(2), nn.MaxPool2d((1, 2)),
              nn.AdaptiveMaxPool2d((1, 2))],
    ids=repr,
)  # fmt: skip
def test_positions_of_maxima(layer: nn.Module) -> None:
    layer.return_indices = True
    shape = (1, 1, 4) if type(layer).__name__.endswith("1d") else (1, 1, 1, 4)
    out, where = layer(tt.tensor(np.reshape([1.0, 3, 9, 2], shape)))
    np.testing.assert_array_equal(values_of(out).ravel(), [3, 9])
    np.testing.assert_array_equal(values_of(where).ravel(), [1, 2])


def test_settings_of_the_mean() -> None:
    x = tt.tensor([[[[2.0, 4.0]]]])
    np.testing.assert_array_equal(
        values_of(nn.AvgPool2d((1, 2), padding=(0, 1), count_include_pad=False)(x)), [[[[2, 4]]]]
    )
    np.testing.assert_array_equal(values_of(nn.AvgPool2d((1, 2), divisor_override=3)(x)), [[[[2]]]])
    np.testing.assert_array_equal(
        values_of(nn.AvgPool1d(2, padding=1, count_include_pad=False)(x[0])), [[[2, 4]]]
    )
    assert nn.AvgPool1d(3, 2, ceil_mode=True)(tt.zeros((1, 6))).shape == (1, 3)


def test_a_small_network_learns(device: Device) -> None:
    """Horizontal against vertical stripes: every layer of the path gets its gradient."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 64)
    stripes = np.arange(8)[:, None] + rng.integers(0, 2, 64)[:, None, None]
    images = np.where(kinds[:, None, None] > 0, stripes, stripes.transpose(0, 2, 1)) % 2
    images = np.broadcast_to(images, (64, 8, 8)) + 0.3 * rng.normal(size=(64, 8, 8))
    x, y = tt.tensor(images[:, None].astype(np.float32)), tt.tensor(kinds)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    )  # fmt: skip
    losses = []
    for _ in range(40):
        loss = tt.cross_entropy(net(x), y)
        net.zero_grad()
        loss.backward()
        losses.append(loss.item())
        with tt.no_grad():
            for param in net.parameters():
                assert param.grad is not None
                param -= 0.5 * param.grad
    assert losses[-1] < 0.2 * losses[0]


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.Conv2d(0, 2, 3), "in_channels: expected an integer >= 1, got 0"),
    (lambda: nn.Conv2d(2, 2.5, 3), "out_channels: expected an integer >= 1, got 2.5"),
    (lambda: nn.Conv2d(3, 4, 3, groups=2), "groups: expected a divisor of in_channels = 3, got 2"),
    (lambda: nn.ConvTranspose1d(4, 3, 3, groups=2), "groups: expected a divisor of out_channels"),
    (lambda: nn.Conv2d(2, 2, (1, 2, 3)), "kernel_size: expected an integer >= 1 or 2 of them, got"),
    (lambda: nn.Conv1d(2, 2, 3, stride=0), "stride: expected an integer >= 1, got 0"),
    (lambda: nn.Conv1d(2, 2, 3, padding="full"), "Conv1d: padding: expected .*, got 'full'"),
    (lambda: nn.Conv2d(2, 2, 3, 2, "same"), "Conv2d: stride: expected 1 with padding='same'"),
    (lambda: nn.Conv2d(2, 2, 3, padding_mode="edge"), "padding_mode: expected .*, got 'edge'"),
    (lambda: nn.MaxPool2d(0), "kernel_size: expected an integer >= 1 or 2 of them, got 0"),
    (lambda: nn.MaxPool2d(2, padding=2), r"padding: expected at most half of kernel_size \(2, 2\)"),
    (lambda: nn.Conv2d(3, 2, 3)(tt.zeros((2, 4, 5, 5))), r"conv2d: weight: expected shape"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m for _, m in BAD])
def test_says_what_is_wrong(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()
