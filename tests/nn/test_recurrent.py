"""RNN, GRU and LSTM: by hand, layouts, states, both directions, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import check_gradients, double, randomize, values_of


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


Layer = nn.RNN | nn.GRU | nn.LSTM


def step_by_hand(layer: Layer, a: np.ndarray, u: np.ndarray, h: np.ndarray, c: np.ndarray) -> Any:
    """One step from the products a of the input and u of the state, biases included -> h, c."""
    if isinstance(layer, nn.GRU):
        (r, z, n), (s, t, q) = np.split(a, 3, axis=-1), np.split(u, 3, axis=-1)
        n, z = np.tanh(n + sigmoid(r + s) * q), sigmoid(z + t)
        return (1 - z) * n + z * h, c
    if isinstance(layer, nn.LSTM):
        i, f, g, o = np.split(a + u, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    return np.tanh(a + u) if layer.nonlinearity == "tanh" else np.maximum(a + u, 0), c


def by_hand(layer: Layer, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> Any:
    """Plain loops over layers, directions and steps; x (T, B, F), h and c (L D, B, H)."""
    h, c = h.copy(), c.copy()
    state = {name: values_of(p) for name, p in layer.named_parameters()}
    ends = ["", "_reverse"] if layer.bidirectional else [""]
    for layer_index in range(layer.num_layers):
        outputs = []
        for direction, end in enumerate(ends):
            k = layer_index * len(ends) + direction
            w, u, b, d = (
                state.get(f"{kind}_l{layer_index}{end}", 0.0)
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            steps = []
            for x_t in x[::-1] if direction else x:
                h[k], c[k] = step_by_hand(layer, x_t @ w.T + b, h[k] @ u.T + d, h[k], c[k])
                steps.append(h[k].copy())
            outputs.append(np.stack(steps[::-1] if direction else steps))
        x = np.concatenate(outputs, axis=-1)
    return x, h, c


def run(layer: Layer, x: tt.Tensor, *state: tt.Tensor, lengths: Any = None) -> Any:
    """(output, h_n) or (output, h_n, c_n), whichever layer it is."""
    if isinstance(layer, nn.LSTM):
        y, (h, c) = layer(x, tuple(state) or None, lengths)
        return y, h, c
    return tuple(layer(x, *(state or (None,)), lengths))


KINDS: list[tuple[Any, dict[str, Any]]] = [
    (nn.RNN, {}),
    (nn.RNN, {"nonlinearity": "relu"}),
    (nn.RNN, {"bias": False, "num_layers": 2}),
    (nn.RNN, {"bidirectional": True}),
    (nn.GRU, {}),
    (nn.GRU, {"bias": False}),
    (nn.GRU, {"num_layers": 2, "bidirectional": True}),
    (nn.LSTM, {}),
    (nn.LSTM, {"bias": False}),
    (nn.LSTM, {"num_layers": 2}),
    (nn.LSTM, {"num_layers": 2, "bidirectional": True, "bias": False}),
]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0].__name__}{kind[1] or ''}")
def layer(request: pytest.FixtureRequest, rng: np.random.Generator) -> Any:
    made = request.param[0](3, 2, **request.param[1])
    randomize(made, rng)
    if request.param[1].get("nonlinearity") == "relu":
        with tt.no_grad():  # all units alive, or some gradients would be zero
            made.bias_ih_l0.copy_(values_of(made.bias_ih_l0) + 1)
    return made


def states_of(layer: Any) -> int:
    return int(layer.num_layers * len(layer.directions))


def test_equals_loops(layer: Any, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 4, 3))
    states = [rng.standard_normal((states_of(layer), 4, 2)) for _ in range(2)]
    want = by_hand(layer, x, *states)
    got = run(layer, double(x), *(double(s) for s in states[: len(layer.state_names)]))
    for a, b in zip(got, want, strict=False):
        np.testing.assert_allclose(values_of(a), b, rtol=1e-12, atol=1e-12)
    zeros = [np.zeros((states_of(layer), 4, 2))] * 2
    for a, b in zip(run(layer, double(x)), by_hand(layer, x, *zeros), strict=False):
        np.testing.assert_allclose(values_of(a), b, rtol=1e-12, atol=1e-12)


def test_gradients(layer: Any, rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((4, 2, 3)), requires_grad=True)
    states = {
        name: double(rng.standard_normal((states_of(layer), 2, 2)), requires_grad=True)
        for name in layer.state_names
    }

    def forward() -> tt.Tensor:
        y, *ends = run(layer, x, *states.values())
        return tt.concat([part.reshape(-1, 2) for part in (y, *ends)], axis=0)

    check_gradients(forward, {"x": x, **states, **dict(layer.named_parameters())}, rng)


def test_batch_first_and_unbatched_are_other_layouts(layer: Any, rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((5, 4, 3)))
    state = [double(rng.standard_normal((states_of(layer), 4, 2))) for _ in layer.state_names]
    want = run(layer, x, *state)
    layer.batch_first = True
    got = run(layer, x.swapaxes(0, 1), *state)
    np.testing.assert_allclose(values_of(got[0]).swapaxes(0, 1), values_of(want[0]), atol=1e-14)
    for a, b in zip(got[1:], want[1:], strict=True):
        np.testing.assert_allclose(values_of(a), values_of(b), atol=1e-14)
    one = run(layer, x[:, 2], *(s[:, 2] for s in state))
    assert one[0].shape == (5, 2 * len(layer.directions))
    np.testing.assert_allclose(values_of(one[0]), values_of(want[0])[:, 2], atol=1e-14)
    for a, b in zip(one[1:], want[1:], strict=True):
        np.testing.assert_allclose(values_of(a), values_of(b)[:, 2], atol=1e-14)


ONE_WAY = [kind for kind in KINDS if "bidirectional" not in kind[1]]


@pytest.mark.parametrize("layer", ONE_WAY, indirect=True)
def test_two_halves_with_the_state_between_equal_the_whole(
    layer: Any, rng: np.random.Generator
) -> None:
    x = double(rng.standard_normal((6, 2, 3)))
    whole, *ends = run(layer, x)
    first, *middle = run(layer, x[:2])
    second, *last = run(layer, x[2:], *middle)
    np.testing.assert_allclose(values_of(whole), values_of(tt.concat([first, second])), atol=1e-14)
    for a, b in zip(ends, last, strict=True):
        np.testing.assert_allclose(values_of(a), values_of(b), atol=1e-14)


def test_names_shapes_and_starting_values() -> None:
    lstm = nn.LSTM(3, 25, num_layers=2)
    shapes = {name: p.shape for name, p in lstm.named_parameters()}
    assert shapes == {
        "weight_ih_l0": (100, 3),
        "weight_hh_l0": (100, 25),
        "bias_ih_l0": (100,),
        "bias_hh_l0": (100,),
        "weight_ih_l1": (100, 25),
        "weight_hh_l1": (100, 25),
        "bias_ih_l1": (100,),
        "bias_hh_l1": (100,),
    }
    for param in lstm.parameters():
        assert 0.15 < np.abs(values_of(param)).max() <= 0.2
    assert list(dict(nn.RNN(3, 2, bias=False).named_parameters())) == [
        "weight_ih_l0",
        "weight_hh_l0",
    ]
    both = nn.GRU(3, 2, num_layers=2, bias=False, bidirectional=True)
    assert {name: p.shape for name, p in both.named_parameters()} == {
        "weight_ih_l0": (6, 3),
        "weight_hh_l0": (6, 2),
        "weight_ih_l0_reverse": (6, 3),
        "weight_hh_l0_reverse": (6, 2),
        "weight_ih_l1": (6, 4),
        "weight_hh_l1": (6, 2),
        "weight_ih_l1_reverse": (6, 4),
        "weight_hh_l1_reverse": (6, 2),
    }
    assert "GRU(3, 2, num_layers=2, bias=False, bidirectional=True" in repr(both)
    assert "RNN(3, 2, nonlinearity='relu'" in repr(nn.RNN(3, 2, nonlinearity="relu"))


def test_dropout_between_layers_only_in_training(rng: np.random.Generator) -> None:
    x = double(rng.standard_normal((5, 2, 3)))
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        single = kind(3, 4, dropout=0.9).to("float64")
        np.testing.assert_array_equal(values_of(single(x)[0]), values_of(single(x)[0]))
        double_layer = kind(3, 4, num_layers=2, dropout=0.5).to("float64")
        assert not np.allclose(values_of(double_layer(x)[0]), values_of(double_layer(x)[0]))
        double_layer.eval()
        np.testing.assert_array_equal(values_of(double_layer(x)[0]), values_of(double_layer(x)[0]))


def test_errors_name_argument_and_shapes() -> None:
    rnn, lstm = nn.RNN(3, 2), nn.LSTM(3, 2, batch_first=True)
    with pytest.raises(ValueError, match=r"x: expected shape \(time, batch, 3\).*got \(5, 4, 2\)"):
        rnn(tt.zeros((5, 4, 2)))
    with pytest.raises(ValueError, match=r"x: expected shape \(batch, time, 3\).*got \(3,\)"):
        lstm(tt.zeros((3,)))
    with pytest.raises(ValueError, match=r"none of it empty, got \(0, 4, 3\)"):
        rnn(tt.zeros((0, 4, 3)))
    with pytest.raises(
        ValueError, match=r"h_0: expected a Tensor of shape \(1, 4, 2\), got \(4, 2\)"
    ):
        rnn(tt.zeros((5, 4, 3)), tt.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"c_0: expected a Tensor of shape \(1, 4, 2\)"):
        lstm(tt.zeros((4, 5, 3)), (tt.zeros((1, 4, 2)), tt.zeros((1, 5, 2))))
    with pytest.raises(TypeError, match=r"state: expected the pair \(h_0, c_0\), got Tensor"):
        lstm(tt.zeros((4, 5, 3)), tt.zeros((1, 4, 2)))
    with pytest.raises(ValueError, match=r"h_0: expected a Tensor .*, got list"):
        rnn(tt.zeros((5, 1, 3)), [[[0.0, 0.0]]])
    with pytest.raises(ValueError, match="nonlinearity: expected 'tanh' or 'relu', got 'gelu'"):
        nn.RNN(3, 2, nonlinearity="gelu")
    with pytest.raises(ValueError, match="num_layers: expected an integer >= 1, got 0"):
        nn.LSTM(3, 2, num_layers=0)


def test_a_gru_keeps_its_state_where_z_is_one_and_forgets_it_where_z_and_r_are_zero() -> None:
    gru = nn.GRU(1, 1).to("float64")
    with tt.no_grad():
        for param in gru.parameters():
            param.fill_(1.0)
        gru.get_parameter("bias_ih_l0").copy_([0.0, 1000.0, 0.0])
    x, h = double([[[0.3]], [[-0.7]]]), double([[[0.25]]])
    np.testing.assert_array_equal(values_of(gru(x, h)[0]).ravel(), [0.25, 0.25])
    with tt.no_grad():
        gru.get_parameter("bias_ih_l0").copy_([-1000.0, -1000.0, 0.0])
    np.testing.assert_allclose(values_of(gru(x, h)[0]).ravel(), np.tanh([0.3, -0.7]), rtol=1e-15)


def test_stays_float32_and_on_its_device(device: Device) -> None:
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        layer = kind(3, 4, num_layers=2, dropout=0.2, batch_first=True)
        x = tt.ones((2, 6, 3), requires_grad=True)
        y, *ends = run(layer, x)
        (y.sum() + ends[0].sum()).backward()
        assert y.dtype == np.float32 and y.device is device
        for tensor in [x, *layer.parameters()]:
            assert tensor.grad is not None
            assert tensor.grad.dtype == np.float32 and tensor.grad.device is device


def test_long_sequences_do_not_recurse() -> None:
    rnn = nn.RNN(1, 2)
    y, h = rnn(tt.ones((3000, 1, 1)))
    h.sum().backward()
    assert rnn.get_parameter("weight_hh_l0").grad is not None
