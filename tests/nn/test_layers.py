"""Linear, Embedding, LayerNorm, Dropout, activations, positions: values by hand and gradients."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of


def leaves(module: nn.Module, **inputs: tt.Tensor) -> dict[str, tt.Tensor]:
    return {**inputs, **dict(module.named_parameters())}


def test_linear_by_hand(device: Device) -> None:
    layer = nn.Linear(2, 3)
    layer.load_state_dict({"weight": [[1, 2], [3, 4], [5, 6]], "bias": [10, 20, 30]})
    np.testing.assert_array_equal(values_of(layer(tt.tensor([[1.0, -1.0]]))), [[9, 19, 29]])
    assert layer(tt.zeros((2, 5, 2))).shape == (2, 5, 3)
    assert layer(tt.zeros((2,))).shape == (3,)
    assert nn.Linear(2, 3, bias=False).bias is None


def test_linear_starts_as_pytorch_does() -> None:
    layer = nn.Linear(100, 400)
    for param in layer.parameters():
        values = values_of(param)
        assert np.abs(values).max() <= 0.1 and values.std() == pytest.approx(0.1 / 3**0.5, rel=0.1)
        assert param.dtype == np.float32
    tt.random.manual_seed(3)
    first = nn.Linear(3, 3).state_dict()
    tt.random.manual_seed(3)
    second = nn.Linear(3, 3).state_dict()
    np.testing.assert_array_equal(first["weight"], second["weight"])


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3"])
def test_sizes_are_checked(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"in_features: expected an integer >= 1"):
        nn.Linear(bad, 2)
    with pytest.raises(ValueError, match=r"out_features: expected an integer >= 1"):
        nn.Linear(2, bad)


@pytest.mark.parametrize("bias", [True, False])
def test_linear_gradients(bias: bool, rng: np.random.Generator) -> None:
    layer = nn.Linear(3, 2, bias=bias)
    randomize(layer, rng)
    x = double(rng.standard_normal((2, 4, 3)), requires_grad=True)
    check_gradients(lambda: layer(x), leaves(layer, x=x), rng)


def test_embedding_takes_tensors_arrays_and_lists(device: Device) -> None:
    table = nn.Embedding(4, 2)
    table.load_state_dict({"weight": np.arange(8).reshape(4, 2)})
    for ids in (tt.tensor([[3, 0]]), np.array([[3, 0]]), [[3, 0]], np.array([[3, 0]], np.int32)):
        np.testing.assert_array_equal(values_of(table(ids)), [[[6, 7], [0, 1]]])
    assert table([]).shape == (0, 2)
    assert table(2).shape == (2,)


def test_embedding_refuses_what_is_no_row(device: Device) -> None:
    table = nn.Embedding(4, 2)
    for bad in (4, -1):
        with pytest.raises(IndexError, match=rf"{bad}\b"):
            table([[0, bad]])
    with pytest.raises(TypeError, match="ids: expected integers, got dtype float"):
        table(np.array([1.0]))
    with pytest.raises(ValueError, match="ids: the lists are of unequal length"):
        table([[1], [1, 2]])
    with pytest.raises(ValueError, match=r"padding_idx: expected one of the 4 rows, got 4"):
        nn.Embedding(4, 2, padding_idx=4)


def test_embedding_gradients_with_repeats(rng: np.random.Generator) -> None:
    table = nn.Embedding(4, 3)
    randomize(table, rng)
    check_gradients(lambda: table([[1, 1, 0], [3, 1, 2]]), leaves(table), rng)


def test_padding_row_starts_zero_and_gets_no_gradient() -> None:
    for index in (2, -2):
        table = nn.Embedding(4, 3, padding_idx=index)
        assert table.padding_idx == 2
        np.testing.assert_array_equal(values_of(table.weight)[2], np.zeros(3))
        table.load_state_dict({"weight": np.arange(12).reshape(4, 3)})
        out = table([2, 1, 2, 1])
        np.testing.assert_array_equal(values_of(out)[0], [6, 7, 8])  # a loaded row is used as is
        out.sum().backward()
        assert table.weight.grad is not None
        np.testing.assert_array_equal(values_of(table.weight.grad)[:, 0], [0, 2, 0, 0])


def test_layer_norm_big_offset_constant_row_and_biased_variance() -> None:
    # C37: divides by n with eps inside the root; float32 does not cancel; a constant row is finite
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = nn.LayerNorm(3)(tt.tensor([0.0, 2.0, 4.0]))
        np.testing.assert_allclose(values_of(out), [-1.224743, 0, 1.224743], atol=2e-6)
        big = nn.LayerNorm(4)(tt.tensor(np.array([10000, 10001, 10002, 10003], np.float32)))
        want = [-1.341635, -0.447212, 0.447212, 1.341635]
        np.testing.assert_allclose(values_of(big), want, atol=2e-5)
        x = double([7, 7, 7], requires_grad=True)
        constant = nn.LayerNorm(3).to("float64")(x)
        np.testing.assert_array_equal(values_of(constant), [0, 0, 0])
        constant.backward(double([1, 2, 4]))
    assert x.grad is not None
    np.testing.assert_allclose(values_of(x.grad), [-421.637, -105.409, 527.046], atol=1e-3)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["weight", "bias"]),
        ({"bias": False}, ["weight"]),
        ({"elementwise_affine": False}, []),
    ],
)
def test_layer_norm_gradients(
    options: dict[str, bool], names: list[str], rng: np.random.Generator
) -> None:
    layer = nn.LayerNorm(4, **options)
    assert [n for n, _ in layer.named_parameters()] == names
    randomize(layer, rng)
    x = double(rng.standard_normal((2, 3, 4)), requires_grad=True)
    check_gradients(lambda: layer(x), leaves(layer, x=x), rng)


def test_layer_norm_errors() -> None:
    with pytest.raises(ValueError, match=r"x: expected a last axis of 3, got shape \(2, 4\)"):
        nn.LayerNorm(3)(tt.zeros((2, 4)))
    with pytest.raises(ValueError, match="last axis only"):
        nn.LayerNorm((2, 3))  # type: ignore[arg-type]
    assert nn.LayerNorm((3,)).dim == 3  # type: ignore[arg-type]


def test_dropout_scales_in_training_and_rests_in_evaluation(device: Device) -> None:
    layer = nn.Dropout(0.25)
    x = tt.ones((100, 100))
    y = values_of(layer(x))
    assert set(np.unique(y.round(4))) == {0.0, np.float32(1.3333)}
    assert (y == 0).mean() == pytest.approx(0.25, abs=0.02)
    layer.eval()
    state = tt.random.state()
    assert layer(x) is x
    nn.Dropout(0.0)(x)
    assert tt.random.state() == state, "evaluation must not draw"
    for bad in (-0.1, 1.01, math.nan, "x", True):
        with pytest.raises(ValueError, match=r"p: expected a probability in \[0, 1\]"):
            nn.Dropout(bad)  # type: ignore[arg-type]
    assert nn.Dropout(np.float32(0.5)).p == 0.5 and type(nn.Dropout(np.float64(0)).p) is float
    layer = nn.Dropout(1.0)
    assert not values_of(layer(x)).any()
    assert layer.eval()(x) is x


def test_dropout_follows_its_generator_and_masks_the_gradient() -> None:
    layer = nn.Dropout(0.5)
    x = tt.ones((50,), requires_grad=True)
    tt.random.generator("dropout").manual_seed(5)
    first = layer(x)
    tt.random.generator("dropout").manual_seed(5)
    np.testing.assert_array_equal(values_of(layer(x)), values_of(first))
    first.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(values_of(x.grad), values_of(first))


def test_sinusoids_by_hand() -> None:
    table = nn.sinusoids(3, 5)
    assert table.shape == (3, 5)
    np.testing.assert_array_equal(table[0], [0, 1, 0, 1, 0])
    want = [math.sin(2), math.cos(2), math.sin(2 / 10000**0.4), math.cos(2 / 10000**0.4)]
    np.testing.assert_allclose(table[2, :4], want)
    assert table[2, 4] == pytest.approx(math.sin(2 / 10000**0.8))


def test_positions_add_their_rows(device: Device, rng: np.random.Generator) -> None:
    fixed = nn.SinusoidalPositions(6, 4)
    x = tt.zeros((2, 3, 4))
    np.testing.assert_allclose(values_of(fixed(x, start=2))[1], nn.sinusoids(6, 4)[2:5], atol=1e-6)
    assert fixed.state_dict() == {} and fixed.num_parameters() == 0
    learned = nn.LearnedPositions(6, 4)
    np.testing.assert_array_equal(values_of(learned(x, 1))[0], values_of(learned.weight)[1:4])
    assert values_of(learned.weight).std() == pytest.approx(0.02, rel=0.5)
    for layer in (fixed, learned):
        assert layer(tt.zeros((6, 4))).shape == (6, 4)
        with pytest.raises(ValueError, match="positions 4 to 6 asked of a table of max_len=6"):
            layer(x, start=4)
        with pytest.raises(ValueError, match=r"x: expected shape \(\.\.\., time, 4\)"):
            layer(tt.zeros((2, 3)))


def test_learned_positions_gradients(rng: np.random.Generator) -> None:
    layer = nn.LearnedPositions(3, 2)
    randomize(layer, rng)
    x = double(rng.standard_normal((2, 3, 2)), requires_grad=True)
    check_gradients(lambda: layer(x), leaves(layer, x=x), rng)
    layer(x[:, :2], 1).sum().backward()


@pytest.mark.parametrize("other", [None, "no", -1])
def test_activation_names_are_checked(other: Any) -> None:
    with pytest.raises(ValueError, match="activation: expected one of"):
        nn.FeedForward(4, activation=other)


@pytest.mark.parametrize(("make", "says"), [
    (lambda: nn.Upsample(), "size: expected either size or scale_factor, got neither"),
    (lambda: nn.Upsample(2, 2.0), "size: expected either size or scale_factor, got both"),
    (lambda: nn.Upsample(2, mode="cubic"), "mode: expected one of nearest, .*, got 'cubic'"),
    (lambda: nn.Upsample(2, align_corners=True), "align_corners: expected False for mode='near"),
    (lambda: nn.Upsample((2, 0)), r"size: expected integers >= 1, got \(2, 0\)"),
    (lambda: nn.Upsample("big"), "size: expected an integer, got 'big'"),
    (lambda: nn.Upsample(scale_factor=(2, -1)), "scale_factor: expected numbers > 0, got -1"),
    (lambda: nn.Flatten("x"), "start_dim: expected an integer, got 'x'"),
    (lambda: nn.AdaptiveAvgPool2d("s"), "output_size: expected an integer >= 0 or 2 of them"),
    (lambda: nn.AdaptiveMaxPool1d((1, None)), "output_size: expected an integer >= 0"),
    (lambda: nn.LayerNorm(3, eps=-1), "eps: expected a number >= 0, got -1"),
    (lambda: nn.RMSNorm(3, eps="x"), "eps: expected a number >= 0, got 'x'"),
    (lambda: nn.GroupNorm(1, 2, eps="x"), "eps: expected a number >= 0, got 'x'"),
    (lambda: nn.BatchNorm1d(3, momentum="x"), r"momentum: expected a number in \[0, 1\], or None"),
    (lambda: nn.Embedding(3, 3, padding_idx="s"), "padding_idx: expected one of the 3 rows"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=3), "label_smoothing: expected a probability"),
    (lambda: nn.NLLLoss(ignore_index="x"), "ignore_index: expected an integer, got 'x'"),
    (lambda: nn.SmoothL1Loss("a"), "beta: expected a number >= 0, got 'a'"),
    (lambda: nn.HuberLoss(-1), "delta: expected a number > 0, got -1"),
    (lambda: nn.TripletMarginLoss(margin=0), "margin: expected a number > 0, got 0"),
    (lambda: nn.MarginRankingLoss("a"), "margin: expected a number, got 'a'"),
    (lambda: nn.Sequential([nn.ReLU()]), r"got a list; write nn\.Sequential\(\*layers\)"),
])  # fmt: skip
def test_settings_are_checked_where_they_are_given(make: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        make()


def test_upsample_shows_its_flags() -> None:
    layer = nn.Upsample(scale_factor=2, mode="linear", align_corners=True)
    assert repr(layer) == "Upsample(scale_factor=2, mode='linear', align_corners=True)"


def test_a_module_moves_by_keyword_too() -> None:
    layer = nn.Linear(1, 1).to(dtype="float64", device=None)
    assert layer.weight.dtype == np.float64
    assert layer.to(device="cpu", dtype=np.float32).bias.dtype == np.float32
    with pytest.raises(TypeError, match="to: unknown argument 'non_blocking'.*leave it out"):
        layer.to("cpu", non_blocking=True)
    with pytest.raises(TypeError, match="floating dtype.*got int64"):
        layer.to(dtype="int64")


def test_a_sparse_embedding_differs_in_its_gradient_only(rng: np.random.Generator) -> None:
    sparse = nn.Embedding(200, 3, padding_idx=2, sparse=True)
    randomize(sparse, rng)
    ids = np.array([[1, 3, 150], [1, 199, 1]])
    check_gradients(lambda: sparse(ids), leaves(sparse), rng)
    ids[0, 1] = 2
    plain = nn.Embedding(200, 3, padding_idx=2).to("float64")
    plain.load_state_dict(sparse.to("float64").state_dict())
    for layer in (sparse, plain):
        layer.weight.grad = None
        (layer(ids) ** 2).sum().backward()
    assert isinstance(sparse.weight.grad, tt.RowGrad)
    np.testing.assert_array_equal(values_of(sparse.weight.grad), values_of(plain.weight.grad))
    assert repr(sparse).startswith("Embedding(200, 3, padding_idx=2, sparse=True)")
