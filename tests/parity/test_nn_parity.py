"""Each layer against PyTorch's with the same weights: outputs and every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from ..nn.helpers import values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")


def same_weights(ours: nn.Module, theirs: Any, rng: np.random.Generator) -> None:
    """Random float64 weights in both: PyTorch's state dict is loaded as it is."""
    theirs.double()
    with torch.no_grad():
        for param in theirs.parameters():
            param.copy_(torch.from_numpy(0.5 * rng.standard_normal(tuple(param.shape))))
    ours.to("float64")
    ours.load_state_dict(theirs.state_dict())


def pair(rng: np.random.Generator, *shape: int) -> tuple[tt.Tensor, Any]:
    """The same random leaf in both."""
    values = rng.standard_normal(shape)
    return tt.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)


def compare(ours: Any, theirs: Any, what: str = "output", rtol: float = 1e-9) -> None:
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape, what
    np.testing.assert_allclose(values_of(ours), theirs, rtol=rtol, atol=1e-11, err_msg=what)


def compare_gradients(
    outputs: list[tuple[Any, Any]],
    leaves: list[tuple[Any, Any]],
    rng: np.random.Generator,
    ours: nn.Module | None = None,
    theirs: Any = None,
    rtol: float = 1e-9,
) -> None:
    """Outputs, then the gradients of a random combination of them for leaves and parameters."""
    total: Any = 0.0
    reference: Any = 0.0
    for i, (a, b) in enumerate(outputs):
        compare(a, b, f"output {i}")
        cotangent = rng.standard_normal(a.shape)
        total = total + (a * cotangent).sum()
        reference = reference + (b * torch.from_numpy(np.asarray(cotangent))).sum()
    total.backward()
    reference.backward()
    for i, (a, b) in enumerate(leaves):
        compare(a.grad, b.grad, f"gradient of input {i}", rtol)
    if ours is None:
        return
    for name, param in theirs.named_parameters():
        # PyTorch's name, found through the module's aliases by loading a marker under it
        compare(ours.get_parameter(own_name(ours, name)).grad, param.grad, name)


def own_name(module: nn.Module, key: str) -> str:
    from tinytensor.nn.state import _own_name

    return _own_name(module, key, dict(module.named_parameters(remove_duplicate=False)))


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias: bool, rng: np.random.Generator) -> None:
    ours, theirs = nn.Linear(4, 3, bias=bias), torch.nn.Linear(4, 3, bias=bias)
    same_weights(ours, theirs, rng)
    x = pair(rng, 2, 5, 4)
    compare_gradients([(ours(x[0]), theirs(x[1]))], [x], rng, ours, theirs)


@pytest.mark.parametrize("padding_idx", [None, 2, -1])
def test_embedding(padding_idx: int | None, rng: np.random.Generator) -> None:
    ours = nn.Embedding(6, 3, padding_idx=padding_idx)
    theirs = torch.nn.Embedding(6, 3, padding_idx=padding_idx)
    same_weights(ours, theirs, rng)
    ids = np.array([[2, 2, 0], [5, 1, 2]])
    compare_gradients([(ours(ids), theirs(torch.from_numpy(ids)))], [], rng, ours, theirs)


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm(bias: bool, rng: np.random.Generator) -> None:
    ours, theirs = nn.LayerNorm(5, bias=bias), torch.nn.LayerNorm(5, bias=bias)
    same_weights(ours, theirs, rng)
    x = pair(rng, 2, 3, 5)
    compare_gradients([(ours(x[0]), theirs(x[1]))], [x], rng, ours, theirs)


ACTIVATIONS: list[tuple[str, tuple[Any, ...]]] = [
    ("CELU", (2.0,)),
    ("ELU", ()),
    ("ELU", (0.7,)),
    ("GELU", ()),
    ("GELU", ("tanh",)),
    ("GLU", (1,)),
    ("Hardshrink", ()),
    ("Hardsigmoid", ()),
    ("Hardswish", ()),
    ("Hardtanh", ()),
    ("Hardtanh", (-0.5, 2.0)),
    ("Identity", ()),
    ("LeakyReLU", ()),
    ("LeakyReLU", (0.3,)),
    ("LogSigmoid", ()),
    ("LogSoftmax", (1,)),
    ("Mish", ()),
    ("PReLU", ()),
    ("PReLU", (4, 0.1)),
    ("ReLU", ()),
    ("ReLU6", ()),
    ("SELU", ()),
    ("SiLU", ()),
    ("Sigmoid", ()),
    ("Softmax", (1,)),
    ("Softmax2d", ()),
    ("Softmin", (2,)),
    ("Softplus", ()),
    ("Softplus", (3.0, 2.0)),
    ("Softshrink", ()),
    ("Softsign", ()),
    ("Tanh", ()),
    ("Tanhshrink", ()),
    ("Threshold", (0.3, 2.0)),
]


@pytest.mark.parametrize(("name", "args"), ACTIVATIONS)
def test_activations(name: str, args: tuple[Any, ...], rng: np.random.Generator) -> None:
    ours, theirs = getattr(nn, name)(*args), getattr(torch.nn, name)(*args)
    if name == "PReLU":
        assert ours.state_dict()["weight"].tolist() == theirs.state_dict()["weight"].tolist()
    same_weights(ours, theirs, rng)
    values = 4 * rng.standard_normal((3, 4, 2, 2))
    values[0, 0] = [[0.0, -0.0], [0.5, -0.5]]  # kinks
    values[1, 1] = [[3.0, -3.0], [1.0, -1.0]]
    values[2, 2] = [[6.0, 0.3], [100.0, -100.0]]
    x = tt.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    rtol = 1e-7 if name == "Hardsigmoid" else 1e-9  # PyTorch's 1/6 is a float32
    compare_gradients([(ours(x[0]), theirs(x[1]))], [x], rng, ours, theirs, rtol)


def test_every_activation_of_pytorch_is_there() -> None:
    missing = {name for name in torch.nn.modules.activation.__all__ if not hasattr(nn, name)}
    assert missing == {"RReLU", "MultiheadAttention"}  # the second is nn.MultiHeadAttention


ATTENTION_MASKS = ["none", "causal", "bool", "float", "padding"]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ATTENTION_MASKS)
@pytest.mark.parametrize("average", [True, False])
def test_self_attention(kind: str, bias: bool, average: bool, rng: np.random.Generator) -> None:
    ours = nn.MultiHeadAttention(6, 3, bias=bias)
    theirs = torch.nn.MultiheadAttention(6, 3, bias=bias, batch_first=True)
    same_weights(ours, theirs, rng)
    x = pair(rng, 2, 4, 6)
    allowed = np.tri(4, dtype=bool)
    if kind == "bool":
        allowed = rng.random((4, 4)) < 0.5
        allowed[:, 0] = True
    options: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    if kind == "causal":
        options["is_causal"] = True
        reference["attn_mask"] = torch.from_numpy(~allowed)  # there True blocks
    elif kind == "bool":
        options["mask"] = allowed
        reference["attn_mask"] = torch.from_numpy(~allowed)
    elif kind == "float":
        scores = rng.standard_normal((4, 4))
        options["mask"] = scores
        reference["attn_mask"] = torch.from_numpy(scores)
    elif kind == "padding":
        real = np.array([[True] * 4, [True, True, False, False]])
        options["key_mask"] = real
        reference["key_padding_mask"] = torch.from_numpy(~real)
    a, weights = ours(x[0], need_weights=True, average_weights=average, **options)
    b, reference_weights = theirs(x[1], x[1], x[1], average_attn_weights=average, **reference)
    compare(weights, reference_weights, "weights")
    compare(ours(x[0], **options), b, "fused path")
    compare_gradients([(a, b), (weights, reference_weights)], [x], rng, ours, theirs)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 5, "vdim": 3}])
def test_cross_attention(sizes: dict[str, int], rng: np.random.Generator) -> None:
    ours = nn.MultiHeadAttention(6, 2, **sizes)
    theirs = torch.nn.MultiheadAttention(6, 2, batch_first=True, **sizes)
    same_weights(ours, theirs, rng)
    q = pair(rng, 2, 3, 6)
    k = pair(rng, 2, 4, sizes.get("kdim", 6))
    v = pair(rng, 2, 4, sizes.get("vdim", 6))
    b, _ = theirs(q[1], k[1], v[1])
    compare_gradients([(ours(q[0], k[0], v[0]), b)], [q, k, v], rng, ours, theirs)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False])
def test_encoder_layer(
    norm_first: bool, causal: bool, activation: str, bias: bool, rng: np.random.Generator
) -> None:
    ours = nn.TransformerBlock(
        6, 2, hidden=10, activation=activation, norm_first=norm_first, causal=causal, bias=bias
    )
    theirs = torch.nn.TransformerEncoderLayer(
        6,
        2,
        dim_feedforward=10,
        dropout=0.0,
        activation=activation,
        norm_first=norm_first,
        batch_first=True,
        bias=bias,
    )
    same_weights(ours, theirs, rng)
    x = pair(rng, 2, 4, 6)
    blocked = torch.from_numpy(~np.tri(4, dtype=bool)) if causal else None
    compare_gradients([(ours(x[0]), theirs(x[1], src_mask=blocked))], [x], rng, ours, theirs)


@pytest.mark.parametrize("norm_first", [True, False])
def test_decoder_layer(norm_first: bool, rng: np.random.Generator) -> None:
    ours = nn.TransformerBlock(
        6, 2, hidden=8, activation="relu", norm_first=norm_first, causal=True, cross=True
    )
    theirs = torch.nn.TransformerDecoderLayer(
        6, 2, dim_feedforward=8, dropout=0.0, norm_first=norm_first, batch_first=True
    )
    same_weights(ours, theirs, rng)
    x, memory = pair(rng, 2, 4, 6), pair(rng, 2, 3, 6)
    blocked = torch.from_numpy(~np.tri(4, dtype=bool))
    b = theirs(x[1], memory[1], tgt_mask=blocked)
    compare_gradients([(ours(x[0], memory[0]), b)], [x, memory], rng, ours, theirs)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_of_everything(training: bool, rng: np.random.Generator) -> None:
    """With probability 1 nothing is left to chance, so whole layers can be compared."""
    x = pair(rng, 2, 5, 6)
    attention = torch.nn.MultiheadAttention(6, 2, dropout=1.0, batch_first=True)
    block = {"dropout": 1.0, "norm_first": False}
    for ours, theirs in (
        (nn.Dropout(1.0), torch.nn.Dropout(1.0)),
        (nn.MultiHeadAttention(6, 2, dropout=1.0), attention),
        (nn.LSTM(6, 4, 2, dropout=1.0), torch.nn.LSTM(6, 4, 2, dropout=1.0)),
        (nn.RNN(6, 4, 3, dropout=1.0), torch.nn.RNN(6, 4, 3, dropout=1.0)),
        (nn.GRU(6, 4, 2, dropout=1.0), torch.nn.GRU(6, 4, 2, dropout=1.0)),
        (
            nn.TransformerBlock(6, 2, 8, activation="relu", **block),
            torch.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, **block),
        ),
    ):
        same_weights(ours.train(training), theirs.train(training), rng)
        a = ours(x[0])
        b = theirs(x[1], x[1], x[1]) if theirs is attention else theirs(x[1])
        if theirs is attention or isinstance(theirs, torch.nn.RNNBase):
            b = b[0]
        a = a[0] if isinstance(a, tuple) else a
        x[0].grad = x[1].grad = None
        compare_gradients([(a, b)], [x], rng)


def test_cross_entropy_puts_classes_last(rng: np.random.Generator) -> None:
    x = pair(rng, 2, 4, 5)
    target = np.array([[0, 4, -100, 2], [1, 1, 3, -100]])
    for options in ({}, {"label_smoothing": 0.2}, {"reduction": "sum"}, {"reduction": "none"}):
        x[0].grad = x[1].grad = None
        ours = nn.CrossEntropyLoss(**options)(x[0], tt.tensor(target))
        theirs = torch.nn.CrossEntropyLoss(**options)(
            x[1].permute(0, 2, 1), torch.from_numpy(target)
        )
        compare_gradients([(ours, theirs)], [x], rng)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction: str, rng: np.random.Generator) -> None:
    x, y = pair(rng, 3, 4), pair(rng, 3, 4)
    cases = [
        (nn.MSELoss(reduction), torch.nn.MSELoss(reduction=reduction)),
        (nn.L1Loss(reduction), torch.nn.L1Loss(reduction=reduction)),
        (nn.HuberLoss(0.6, reduction), torch.nn.HuberLoss(reduction, 0.6)),
        (
            nn.BCEWithLogitsLoss(reduction, pos_weight=3.0),
            torch.nn.BCEWithLogitsLoss(
                reduction=reduction, pos_weight=torch.tensor(3.0, dtype=torch.float64)
            ),
        ),
    ]
    for ours, theirs in cases:
        for leaf in (*x, *y):
            leaf.grad = None
        compare_gradients([(ours(x[0], y[0]), theirs(x[1], y[1]))], [x, y], rng)


def test_loading_leaves_no_shared_memory(rng: np.random.Generator) -> None:
    theirs = torch.nn.Linear(2, 2)
    ours = nn.Linear(2, 2)
    ours.load_state_dict(theirs.state_dict())
    before = values_of(ours.weight)
    with torch.no_grad():
        theirs.weight += 1
    np.testing.assert_array_equal(values_of(ours.weight), before)
    ours.load_state_dict(dict(theirs.named_parameters()))  # tensors that want gradients
    theirs.load_state_dict({k: torch.from_numpy(v) for k, v in ours.state_dict().items()})


@pytest.mark.parametrize(
    "kind", ["bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "strided"]
)
def test_state_dicts_of_every_dtype_load(kind: str) -> None:
    theirs, ours = torch.nn.Linear(2, 3), nn.Linear(2, 3)
    if kind == "strided":
        state = {k: torch.stack([v, v], -1)[..., 0].flip(0) for k, v in theirs.state_dict().items()}
    else:
        state = {k: v.to(getattr(torch, kind)) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    for name, value in state.items():
        want = value.float().numpy()
        np.testing.assert_array_equal(values_of(ours.get_parameter(name)), want)
    if value.is_floating_point():
        ours.load_state_dict({k: v.requires_grad_() for k, v in state.items()})


def test_files_written_by_pytorch_load(tmp_path: Any) -> None:
    from safetensors.torch import save_file

    theirs = torch.nn.Linear(2, 3).bfloat16()
    save_file(theirs.state_dict(), tmp_path / "theirs.safetensors")
    ours = nn.Linear(2, 3)
    ours.load_state_dict(nn.load_weights(tmp_path / "theirs.safetensors"))
    np.testing.assert_array_equal(values_of(ours.weight), theirs.weight.detach().float().numpy())


def test_initial_spread_matches(rng: np.random.Generator) -> None:
    # wide enough for the largest of a parameter's elements to be near the bound of its distribution
    torch.manual_seed(0)
    for name in ("Linear", "RNN", "GRU", "LSTM"):
        options = (40 if name == "Linear" else 20, 300)
        ours, theirs = getattr(nn, name)(*options), getattr(torch.nn, name)(*options)
        for key, param in theirs.named_parameters():
            mine = values_of(ours.get_parameter(key))
            scale = float(param.detach().abs().max())
            assert np.abs(mine).max() == pytest.approx(scale, rel=0.05), (name, key)
