"""The Transformer beside torch.nn.Transformer with the same weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tinytensor.models.encoder_decoder import teacher_forcing
from tinytensor.models.ids import PAD
from tinytensor.models.transformer import Transformer, TransformerConfig
from tinytensor.nn.positions import sinusoids

from ..nn.helpers import randomize, values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
F = torch.nn.functional

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")
SOURCES = [[3, 4, 5, 6, 7], [7, 3, 3], [6]]
TARGETS = [[5, 4], [8, 8, 3, 6], []]
THEIRS = {
    "encoder.": "encoder.layers.",
    "decoder.": "decoder.layers.",
    "ln_encoder.": "encoder.norm.",
    "ln_decoder.": "decoder.norm.",
}
IN_ENCODER = {
    "cross_attn.": "multihead_attn.",
    "attn.": "self_attn.",
    "mlp.c_fc.": "linear1.",
    "mlp.c_proj.": "linear2.",
    "ln_1.": "norm1.",
    "ln_2.": "norm2.",
}
IN_DECODER = {**IN_ENCODER, "ln_cross.": "norm2.", "ln_2.": "norm3."}


def their_name(name: str) -> str:
    """What torch.nn.Transformer calls a parameter of ours."""
    stack = next(start for start in THEIRS if name.startswith(start))
    rest = name.removeprefix(stack)
    number, _, part = rest.partition(".")
    if number.isdigit():
        parts = IN_DECODER if stack == "decoder." else IN_ENCODER
        old = next(start for start in parts if part.startswith(start))
        rest = f"{number}.{parts[old]}{part.removeprefix(old)}"
    return THEIRS[stack] + rest


def both(config: TransformerConfig, rng: np.random.Generator) -> tuple[Transformer, Any, Any]:
    """Ours in random float64 numbers, torch's with the same, and the embedding as its leaf."""
    ours = Transformer(config)
    randomize(ours, rng)
    theirs = torch.nn.Transformer(
        config.n_embd,
        config.n_head,
        config.n_layer,
        config.n_layer,
        config.hidden_width,
        dropout=config.dropout,
        activation="relu",
        batch_first=True,
        norm_first=config.norm_first,
        dtype=torch.float64,
    )
    if not config.norm_first:  # the paper has no norms after those of the last blocks
        theirs.encoder.norm = theirs.decoder.norm = None
    state = {k: torch.tensor(v) for k, v in ours.state_dict().items()}
    embedding = state.pop("wte.weight").requires_grad_()
    theirs.load_state_dict({their_name(k): v for k, v in state.items()})
    return ours, theirs, embedding


def their_logits(theirs: Any, embedding: Any, source: np.ndarray, given: np.ndarray) -> Any:
    """What Vaswani et al. have around torch.nn.Transformer: embeddings, positions, tied head."""
    width = embedding.shape[1]
    x, y = (
        F.embedding(torch.tensor(ids), embedding) * math.sqrt(width)
        + torch.tensor(sinusoids(ids.shape[1], width).astype(np.float32)).double()
        for ids in (source, given)
    )
    padding = torch.tensor(source == PAD)
    out = theirs(
        x,
        y,
        tgt_mask=torch.tensor(~np.tri(given.shape[1], dtype=bool)),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
        tgt_key_padding_mask=torch.tensor(given == PAD),
    )
    return out @ embedding.T


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_logits_loss_and_every_gradient(
    norm_first: bool, smoothing: float, rng: np.random.Generator
) -> None:
    config = TransformerConfig(
        9, 8, 0.0, smoothing, n_layer=2, n_head=2, n_embd=6, n_hidden=10, norm_first=norm_first
    )
    ours, theirs, embedding = both(config, rng)
    source, given, targets = teacher_forcing(SOURCES, TARGETS)
    logits, loss = ours(source, given, targets)
    expected = their_logits(theirs, embedding, source, given)
    counts = targets >= 0
    np.testing.assert_allclose(
        values_of(logits)[counts], expected.detach().numpy()[counts], rtol=1e-9, atol=1e-11
    )
    expected_loss = F.cross_entropy(
        expected.transpose(1, 2), torch.tensor(targets), label_smoothing=smoothing
    )
    assert loss.item() == pytest.approx(expected_loss.item(), rel=1e-12)
    loss.backward()
    expected_loss.backward()
    gradients = {k: p.grad for k, p in theirs.named_parameters()}
    names = [name for name, _ in ours.named_parameters()]
    assert {their_name(n) for n in names if n != "wte.weight"} == set(gradients)
    for name, param in ours.named_parameters():
        want = embedding.grad if name == "wte.weight" else gradients[their_name(name)]
        assert np.abs(want.numpy()).max() > 1e-6 or name.endswith("in_proj_bias")
        np.testing.assert_allclose(
            values_of(param.grad), want.numpy(), rtol=1e-8, atol=1e-11, err_msg=name
        )


@pytest.mark.parametrize("norm_first", [False, True])
def test_evaluation_and_weights_of_torch(norm_first: bool, rng: np.random.Generator) -> None:
    """A state dict of torch.nn.Transformer loads as it is, and dropout is off in evaluation."""
    config = TransformerConfig(9, 8, 0.3, n_layer=2, n_head=3, n_embd=6, norm_first=norm_first)
    ours, theirs, embedding = both(config, rng)
    fresh = Transformer(config).to("float64")
    fresh.load_state_dict({**theirs.state_dict(), "wte.weight": embedding.detach()})
    for model in (ours, fresh, theirs):
        model.eval()
    source, given, targets = teacher_forcing(SOURCES, TARGETS)
    theirs.encoder.enable_nested_tensor = False
    expected = their_logits(theirs, embedding, source, given).detach().numpy()
    for model in (ours, fresh):
        np.testing.assert_allclose(
            values_of(model(source, given))[targets >= 0],
            expected[targets >= 0],
            rtol=1e-8,
            atol=1e-11,
        )
