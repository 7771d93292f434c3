"""Sequences of several lengths in one batch: nothing behind a sequence's end leaves a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of
from .test_recurrent import run, states_of

KINDS = [nn.RNN, nn.GRU, nn.LSTM]


def layer_of(kind: Any, rng: np.random.Generator, **options: Any) -> Any:
    layer = kind(3, 2, **options)
    randomize(layer, rng)
    return layer


def results(layer: Any, x: np.ndarray, lengths: Any) -> list[np.ndarray]:
    """Outputs, last states, and the gradients of x and of every parameter."""
    leaf = double(x, requires_grad=True)
    ys = run(layer, leaf, lengths=lengths)
    rng = np.random.default_rng(0)
    leaves = [leaf, *layer.parameters()]
    grads = tt.grad(ys, leaves, [double(rng.standard_normal(y.shape)) for y in ys])
    return [values_of(t) for t in (*ys, *grads) if t is not None]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_sequence_is_as_alone_and_zeros_follow(
    kind: Any, bidirectional: bool, rng: np.random.Generator
) -> None:
    layer = layer_of(kind, rng, num_layers=2, bidirectional=bidirectional)
    x, lengths = rng.standard_normal((6, 4, 3)), [2, 6, 1, 2]
    first = [rng.standard_normal((states_of(layer), 4, 2)) for _ in layer.state_names]
    y, *ends = run(layer, double(x), *map(double, first), lengths=lengths)
    for i, n in enumerate(lengths):
        alone, *own = run(layer, double(x[:n, i]), *(double(s[:, i]) for s in first))
        np.testing.assert_allclose(values_of(y)[:n, i], values_of(alone), rtol=1e-12)
        assert not values_of(y)[n:, i].any()
        for a, b in zip(ends, own, strict=True):
            np.testing.assert_allclose(values_of(a)[:, i], values_of(b), rtol=1e-12)


anything = st.floats(width=64, allow_nan=True, allow_infinity=True)


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    bidirectional=st.booleans(),
    padding=st.lists(anything, min_size=3, max_size=3),
    more=st.integers(0, 2),
)
def test_what_stands_in_the_padding_changes_no_bit(
    kind: Any, lengths: list[int], bidirectional: bool, padding: list[float], more: int
) -> None:
    """Outputs, states and gradients, whatever it is: huge numbers, infinities, NaN."""
    rng = np.random.default_rng(1)
    layer = layer_of(kind, rng, num_layers=2, bidirectional=bidirectional)
    x = rng.standard_normal((max(lengths) + more, len(lengths), 3))
    other = x.copy()
    for i, n in enumerate(lengths):
        x[n:, i], other[n:, i] = 0.0, padding
    for a, b in zip(results(layer, x, lengths), results(layer, other, lengths), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
        assert np.isfinite(a).all()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: Any, rng: np.random.Generator) -> None:
    layer = layer_of(kind, rng, bidirectional=True)
    x = double(rng.standard_normal((4, 3, 3)), requires_grad=True)
    states = {
        name: double(rng.standard_normal((2, 3, 2)), requires_grad=True)
        for name in layer.state_names
    }

    def forward() -> tt.Tensor:
        ys = run(layer, x, *states.values(), lengths=[2, 3, 1])
        return tt.concat([y.reshape(-1, 2) for y in ys], axis=0)

    check_gradients(forward, {"x": x, **states, **dict(layer.named_parameters())}, rng)
    assert x.grad is not None
    for i, n in enumerate([2, 3, 1]):
        assert not values_of(x.grad)[n:, i].any()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_sequences_does_not_matter(
    kind: Any, bidirectional: bool, rng: np.random.Generator
) -> None:
    layer = layer_of(kind, rng, bidirectional=bidirectional)
    x, lengths, order = rng.standard_normal((5, 4, 3)), np.array([4, 1, 5, 4]), [2, 0, 3, 1]
    want = run(layer, double(x), lengths=lengths)
    got = run(layer, double(x[:, order]), lengths=lengths[order])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(values_of(a), values_of(b)[:, order], rtol=1e-12)


def test_lengths_may_be_a_list_an_array_or_a_tensor_of_any_integers(device: Device) -> None:
    gru, x = nn.GRU(3, 4, bidirectional=True), tt.randn(5, 3, 3, requires_grad=True)
    want = run(gru, x, lengths=[1, 3, 2])
    for lengths in (
        (1, 3, 2),
        np.array([1, 3, 2], np.uint8),
        tt.tensor([1, 3, 2]),
        tt.tensor(np.array([1, 3, 2], np.int16)),
    ):
        for a, b in zip(run(gru, x, lengths=lengths), want, strict=True):
            np.testing.assert_array_equal(a.detach().cpu().numpy(), b.detach().cpu().numpy())
    sum(y.sum() for y in want).backward()
    assert x.grad is not None and x.grad.device is device and x.grad.dtype == np.float32
    assert not x.grad[1:, 0].cpu().numpy().any()


def test_all_whole_is_the_plain_way_bit_for_bit(rng: np.random.Generator) -> None:
    for kind in KINDS:
        layer = layer_of(kind, rng, num_layers=2, bidirectional=True)
        x = rng.standard_normal((5, 3, 3))
        for a, b in zip(results(layer, x, [5, 5, 5]), results(layer, x, None), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("lengths", "error", "says"),
    [
        ([1, 2], ValueError, r"lengths: expected shape \(3,\), one a sequence, got \(2,\)"),
        (2, ValueError, r"lengths: expected shape \(3,\), .*got \(\)"),
        ([2, 0, 1], ValueError, "lengths: expected 1 to 5, the steps of x, got 0 for sequence 1"),
        ([2, 1, 6], ValueError, "lengths: expected 1 to 5, .*got 6 for sequence 2"),
        ([-1, 1, 1], ValueError, "got -1 for sequence 0"),
        ([1.0, 2.0, 3.0], TypeError, "lengths: expected integers, got float64"),
        ([True, True, True], TypeError, "lengths: expected integers, got bool"),
    ],
)
def test_lengths_that_fit_no_batch(lengths: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        nn.LSTM(3, 2)(tt.zeros((5, 3, 3)), lengths=lengths)
