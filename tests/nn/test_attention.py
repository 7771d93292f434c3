"""MultiHeadAttention and TransformerBlock: masks, leaks, cases by hand, gradients."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from .helpers import DropAll, check_gradients, double, randomize, values_of


def attention(rng: np.random.Generator, *args: Any, **options: Any) -> nn.MultiHeadAttention:
    layer = nn.MultiHeadAttention(*args, **options)
    randomize(layer, rng)
    return layer


def inputs(rng: np.random.Generator, *shape: int) -> tt.Tensor:
    return double(rng.standard_normal(shape), requires_grad=True)


def by_hand(
    layer: nn.MultiHeadAttention, x: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Self attention in plain loops; ``allowed`` (Tq, Tk) or (batch, heads, Tq, Tk)."""
    w, b = values_of(layer.in_proj_weight), values_of(layer.in_proj_bias)
    batch, time, dim = x.shape
    heads, d = layer.num_heads, dim // layer.num_heads
    allowed = np.broadcast_to(allowed, (batch, heads, time, time))
    weights = np.zeros((batch, heads, time, time))
    merged = np.zeros((batch, time, dim))
    for n in range(batch):
        q, k, v = np.split(x[n] @ w.T + b, 3, axis=-1)
        for h in range(heads):
            part = slice(h * d, (h + 1) * d)
            for i in range(time):
                keys = np.flatnonzero(allowed[n, h, i])
                if keys.size:
                    scores = np.exp([q[i, part] @ k[j, part] / math.sqrt(d) for j in keys])
                    weights[n, h, i, keys] = scores / scores.sum()
                merged[n, i, part] = weights[n, h, i] @ v[:, part]
    out_w, out_b = values_of(layer.out_proj.weight), values_of(layer.out_proj.bias)
    return merged @ out_w.T + out_b, weights


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float", "per_batch", "per_head"])
def test_self_attention_equals_loops(kind: str, rng: np.random.Generator) -> None:
    layer = attention(rng, 6, 2)
    x = inputs(rng, 2, 4, 6)
    allowed = np.ones((4, 4), bool)
    options: dict[str, Any] = {}
    if kind == "causal":
        options, allowed = {"is_causal": True}, np.tri(4, dtype=bool)
    elif kind != "none":
        shape = {"per_batch": (2, 4, 4), "per_head": (2, 2, 4, 4)}.get(kind, (4, 4))
        allowed = rng.random(shape) < 0.6
        mask: Any = allowed
        if kind == "float":
            mask = np.where(allowed, 0.0, -np.inf)
        options = {"mask": mask}
        if kind == "per_batch":
            allowed = allowed[:, None]
    want, want_weights = by_hand(layer, values_of(x), allowed)
    np.testing.assert_allclose(values_of(layer(x, **options)), want, atol=1e-12)
    out, weights = layer(x, need_weights=True, average_weights=False, **options)
    np.testing.assert_allclose(values_of(out), want, atol=1e-12)
    np.testing.assert_allclose(values_of(weights), want_weights, atol=1e-12)
    _, average = layer(x, need_weights=True, **options)
    np.testing.assert_allclose(values_of(average), want_weights.mean(1), atol=1e-12)


def test_biased_scores(rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2)
    x = inputs(rng, 1, 3, 4)
    bias = rng.standard_normal((3, 3))
    bias[0, 1] = -np.inf
    plain = layer(x, mask=bias)
    shown, weights = layer(x, mask=tt.tensor(bias), need_weights=True)
    np.testing.assert_allclose(values_of(plain), values_of(shown), atol=1e-12)
    assert values_of(weights)[0, 0, 1] == 0
    assert not np.allclose(values_of(plain), values_of(layer(x, mask=np.isfinite(bias))))


def test_a_mask_that_blocks_nothing_equals_none(rng: np.random.Generator) -> None:
    # C39
    layer = attention(rng, 4, 2)
    x = inputs(rng, 2, 3, 4)
    want = values_of(layer(x))
    for mask in (np.ones((3, 3), bool), np.zeros((3, 3)), np.ones((2, 1, 3, 3), bool)):
        np.testing.assert_allclose(values_of(layer(x, mask=mask)), want, atol=1e-14)
    np.testing.assert_allclose(
        values_of(layer(x, key_mask=np.ones((2, 3), bool))), want, atol=1e-14
    )


def test_causal_mask_stands_at_the_bottom_right() -> None:
    # C39 (a), (b): one query after three keys sees all of them
    q, k = double([[[1.0]]]), double([[[0.0], [1.0], [2.0]]])
    v = double([[[10.0], [20.0], [30.0]]])
    last = nn.attention_weights(q, k, is_causal=True)
    assert (last @ v).item() == pytest.approx(25.752104, abs=1e-6)
    full = nn.attention_weights(double([[[1.0]] * 3]).reshape(1, 3, 1), k, is_causal=True)
    assert values_of(full @ v)[0, 1, 0] == pytest.approx(17.310586, abs=1e-6)
    fused = tt.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert fused.item() == pytest.approx(25.752104, abs=1e-6)


def test_padding_keys_are_as_if_absent(rng: np.random.Generator, device: Device) -> None:
    layer = attention(rng, 4, 2)
    x = inputs(rng, 2, 5, 4)
    keep = np.array([[True] * 5, [True, True, True, False, False]])
    out = values_of(layer(x, key_mask=keep))
    short = values_of(layer(x[1:, :3]))
    np.testing.assert_allclose(out[1, :3], short[0], atol=1e-12)
    both = values_of(layer(x, mask=np.zeros((5, 5)), key_mask=keep))
    np.testing.assert_allclose(both, out, atol=1e-12)
    causal = values_of(layer(x, mask=np.tri(5, dtype=bool), key_mask=keep))
    np.testing.assert_allclose(
        causal, values_of(layer(x, key_mask=keep, is_causal=True)), atol=1e-12
    )


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("floating", [False, True])
def test_a_query_without_keys_gives_zeros_and_no_nan(
    need_weights: bool, floating: bool, rng: np.random.Generator
) -> None:
    # C07
    layer = attention(rng, 4, 2)
    x = inputs(rng, 1, 3, 4)
    allowed = np.array([[True, True, False], [False, False, False], [True, True, True]])
    mask = np.where(allowed, 0.0, -np.inf) if floating else allowed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = layer(x, mask=mask, need_weights=need_weights)
        out = out[0] if need_weights else out
        np.testing.assert_allclose(values_of(out)[0, 1], values_of(layer.out_proj.bias), atol=1e-14)
        out[:, 0].sum().backward()
    for tensor in [x, *layer.parameters()]:
        assert tensor.grad is not None and np.isfinite(values_of(tensor.grad)).all()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("need_weights", [False, True])
def test_self_attention_gradients(bias: bool, need_weights: bool, rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2, bias=bias)
    names = [n for n, _ in layer.named_parameters()]
    want = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    assert names == (want if bias else want[::2])
    x = inputs(rng, 2, 3, 4)
    mask = np.tri(3, dtype=bool) | np.eye(3, k=1, dtype=bool)

    def forward() -> tt.Tensor:
        out = layer(x, mask=mask, need_weights=need_weights)
        return tt.concat([out[0], out[1]], axis=-1) if need_weights else out

    check_gradients(forward, {"x": x, **dict(layer.named_parameters())}, rng)


@pytest.mark.parametrize("same_value", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_cross_attention_gradients(same_value: bool, bias: bool, rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2, bias=bias)
    q, k, v = inputs(rng, 2, 3, 4), inputs(rng, 2, 5, 4), inputs(rng, 2, 5, 4)
    assert layer(q, k, v).shape == (2, 3, 4)
    leaves = {"q": q, "k": k, **dict(layer.named_parameters())}
    if not same_value:
        leaves["v"] = v
    check_gradients(lambda: layer(q, k, None if same_value else v), leaves, rng)


def test_keys_and_values_of_other_sizes(rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2, kdim=3, vdim=5)
    q, k, v = inputs(rng, 1, 2, 4), inputs(rng, 1, 3, 3), inputs(rng, 1, 3, 5)
    leaves = {"q": q, "k": k, "v": v, **dict(layer.named_parameters())}
    assert "k_proj_weight" in leaves and "in_proj_weight" not in leaves
    check_gradients(lambda: layer(q, k, v), leaves, rng)


def test_the_three_ways_to_project_agree(rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2)
    x = inputs(rng, 2, 3, 4)
    copy = double(values_of(x))
    other = double(values_of(x))
    for arguments in ((x,), (x, copy), (x, copy, other), (x, x, other)):
        np.testing.assert_allclose(values_of(layer(*arguments)), values_of(layer(x)), atol=1e-13)


def test_errors_name_argument_and_shapes(rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2)
    x = inputs(rng, 2, 3, 4)
    with pytest.raises(ValueError, match="embed_dim, num_heads: 5 is not a multiple of 2 heads"):
        nn.MultiHeadAttention(5, 2)
    with pytest.raises(ValueError, match=r"query: expected shape \(2, time, 4\), got \(2, 3, 5\)"):
        layer(inputs(rng, 2, 3, 5))
    with pytest.raises(ValueError, match=r"query: expected shape \(batch, time, 4\), got \(3, 4\)"):
        layer(inputs(rng, 3, 4))
    with pytest.raises(ValueError, match=r"key: expected shape \(2, time, 4\), got \(1, 3, 4\)"):
        layer(x, inputs(rng, 1, 3, 4))
    with pytest.raises(ValueError, match="value: expected 5 steps as in key, got 3"):
        layer(x, inputs(rng, 2, 5, 4), x)
    with pytest.raises(ValueError, match=r"mask: expected shape \(3, 3\).*got \(3, 4\)"):
        layer(x, mask=np.ones((3, 4), bool))
    with pytest.raises(ValueError, match=r"mask: .*got \(3,\)"):
        layer(x, mask=np.ones(3, bool))
    with pytest.raises(TypeError, match="mask: expected bool.*got int64"):
        layer(x, mask=np.ones((3, 3), np.int64))
    with pytest.raises(ValueError, match=r"key_mask: expected bool of shape \(2, 3\)"):
        layer(x, key_mask=np.ones((2, 4), bool))


def test_dropout_of_weights_only_in_training(rng: np.random.Generator) -> None:
    layer = attention(rng, 4, 2, dropout=0.5)
    x = inputs(rng, 2, 3, 4)
    a, b = values_of(layer(x)), values_of(layer(x))
    assert not np.allclose(a, b)
    layer.eval()
    np.testing.assert_array_equal(values_of(layer(x)), values_of(layer(x)))
    assert repr(layer).startswith("MultiHeadAttention(4, 2, dropout=0.5  # in_proj_weight (12, 4)")


# ---- TransformerBlock --------------------------------------------------------------------------


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_block_gradients(norm_first: bool, bias: bool, rng: np.random.Generator) -> None:
    block = nn.TransformerBlock(4, 2, hidden=6, norm_first=norm_first, bias=bias, causal=True)
    randomize(block, rng)
    assert ("attn.in_proj_bias" in dict(block.named_parameters())) is bias
    x = inputs(rng, 2, 3, 4)
    check_gradients(lambda: block(x), {"x": x, **dict(block.named_parameters())}, rng)


def test_block_with_memory_gradients(rng: np.random.Generator) -> None:
    block = nn.TransformerBlock(4, 2, hidden=3, cross=True, causal=True, activation="silu")
    randomize(block, rng)
    x, memory = inputs(rng, 1, 3, 4), inputs(rng, 1, 2, 4)
    leaves = {"x": x, "memory": memory, **dict(block.named_parameters())}
    check_gradients(lambda: block(x, memory), leaves, rng)


@pytest.mark.parametrize("cross", [False, True])
def test_causal_block_leaks_nothing(cross: bool, rng: np.random.Generator) -> None:
    # C39 (c)
    block = nn.TransformerBlock(8, 2, causal=True, cross=cross)
    x = rng.standard_normal((1, 6, 8)).astype(np.float32)
    memory = (tt.tensor(rng.standard_normal((1, 4, 8)).astype(np.float32)),) if cross else ()
    before = values_of(block(tt.tensor(x), *memory))
    x[0, 3, :4] += 1  # not all of them: a constant offset vanishes in the layer norm
    after = values_of(block(tt.tensor(x), *memory))
    np.testing.assert_allclose(after[0, :3], before[0, :3], atol=1e-6)
    assert np.abs(after[0, 3:] - before[0, 3:]).max(-1).min() > 1e-4
    free = nn.TransformerBlock(8, 2, causal=False, cross=cross)
    assert not np.allclose(
        values_of(free(tt.tensor(x), *memory))[0, 0],
        values_of(free(tt.tensor(x[:, :3]), *memory))[0, 0],
    )


def test_block_masks_reach_their_attention(rng: np.random.Generator) -> None:
    block = nn.TransformerBlock(4, 2, cross=True)
    randomize(block, rng)
    x, memory = inputs(rng, 2, 3, 4), inputs(rng, 2, 4, 4)
    real = np.array([[True, True, False]] * 2)
    short = values_of(block(x[:, :2], memory))
    np.testing.assert_allclose(values_of(block(x, memory, key_mask=real))[:, :2], short, atol=1e-12)
    kept = np.array([[True, True, False, False]] * 2)
    want = values_of(block(x, memory[:, :2]))
    got = values_of(block(x, memory, memory_key_mask=kept))
    np.testing.assert_allclose(got, want, atol=1e-12)
    window = np.broadcast_to(kept[0], (3, 4))
    np.testing.assert_allclose(values_of(block(x, memory, memory_mask=window)), want, atol=1e-12)
    tri = np.tri(3, dtype=bool)
    causal = nn.TransformerBlock(4, 2, cross=True, causal=True)
    causal.to("float64").load_state_dict(block.state_dict())
    np.testing.assert_allclose(
        values_of(block(x, memory, mask=tri)), values_of(causal(x, memory)), atol=1e-12
    )


def test_block_wants_memory_exactly_if_cross(rng: np.random.Generator) -> None:
    x = tt.zeros((1, 2, 4))
    with pytest.raises(ValueError, match="memory: a TransformerBlock with cross=True needs it"):
        nn.TransformerBlock(4, 2, cross=True)(x)
    with pytest.raises(ValueError, match="memory: .*one without takes none"):
        nn.TransformerBlock(4, 2)(x, x)


def test_block_dropout_only_in_training() -> None:
    block = nn.TransformerBlock(8, 2, dropout=0.3)
    x = tt.ones((1, 4, 8))
    assert not np.allclose(values_of(block(x)), values_of(block(x)))
    block.eval()
    np.testing.assert_array_equal(values_of(block(x)), values_of(block(x)))


@pytest.mark.parametrize("where", ["attn", "mlp"])
def test_block_drops_the_output_of_each_part(where: str) -> None:
    block = nn.TransformerBlock(8, 2)
    (block if where == "attn" else block.mlp).dropout = DropAll()  # type: ignore[assignment]
    block.mlp.c_proj.bias = None
    block.attn.out_proj.load_state_dict({"weight": np.eye(8), "bias": np.ones(8)})
    if where == "attn":
        block.mlp.dropout = DropAll()  # type: ignore[assignment]
    x = tt.tensor(np.arange(32, dtype=np.float32).reshape(1, 4, 8) ** 2)
    out = values_of(block(x))
    if where == "attn":
        np.testing.assert_array_equal(out, values_of(x))
    else:
        attended = block.attn(block.ln_1(x), is_causal=False)
        np.testing.assert_allclose(out, values_of(x + attended), rtol=1e-6)


def test_attention_starts_as_pytorch_does() -> None:
    layer = nn.MultiHeadAttention(100, 4)
    weight = values_of(layer.in_proj_weight)
    assert 0.95 < np.abs(weight).max() / (6 / 400) ** 0.5 <= 1.0001  # Xavier over all three
    assert not values_of(layer.in_proj_bias).any() and not values_of(layer.out_proj.bias).any()


def test_everything_stays_float32_and_on_its_device(device: Device) -> None:
    block = nn.TransformerBlock(8, 2, cross=True, causal=True, dropout=0.1)
    x, memory = tt.ones((2, 3, 8), requires_grad=True), tt.ones((2, 5, 8))
    keep = np.array([[True] * 5, [True] * 2 + [False] * 3])
    out = block(x, memory, memory_key_mask=keep)
    out.sum().backward()
    assert out.dtype == np.float32 and out.device is device
    for tensor in [x, *block.parameters()]:
        assert tensor.grad is not None
        assert tensor.grad.dtype == np.float32 and tensor.grad.device is device
    attn, weights = block.attn(x, mask=np.tri(3), need_weights=True)
    assert attn.dtype == weights.dtype == np.float32 and weights.device is device
