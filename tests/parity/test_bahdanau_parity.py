"""Bahdanau's translator beside the same formulas on ``torch.nn.GRU``: loss and every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinytensor.models import Bahdanau, BahdanauConfig
from tinytensor.models.encoder_decoder import teacher_forcing

from ..nn.helpers import randomize, values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
F = torch.nn.functional

CONFIG = BahdanauConfig(vocab_size=11, block_size=9, n_embd=6, n_hidden=7)


def gru_with(w: dict[str, Any], name: str, **settings: Any) -> Any:
    """A ``torch.nn.GRU`` that computes with these weights, through which gradients flow."""
    first = w[f"{name}.weight_ih_l0"]
    gru = torch.nn.GRU(first.shape[1], first.shape[0] // 3, **settings).double()
    own = {key: w[f"{name}.{key}"] for key, _ in gru.named_parameters()}
    return lambda *args: torch.func.functional_call(gru, own, args)


def in_torch(w: dict[str, Any], source: Any, given: Any, targets: Any) -> tuple[Any, Any]:
    """Logits and loss."""
    lengths = (source != 0).sum(1)
    encoder = gru_with(w, "encoder", batch_first=True, bidirectional=True)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        F.embedding(source, w["source_embedding.weight"]), lengths, True, enforce_sorted=False
    )
    keys, ends = encoder(packed)
    keys, _ = torch.nn.utils.rnn.pad_packed_sequence(keys, batch_first=True)
    s = torch.tanh(F.linear(ends[1], w["start.weight"], w["start.bias"]))
    projected = F.linear(keys, w["attention.key_proj.weight"])
    decoder = gru_with(w, "decoder")
    y = F.embedding(given, w["target_embedding.weight"])
    logits = []
    for t in range(given.shape[1]):
        asked = F.linear(s, w["attention.query_proj.weight"])[:, None]
        scores = torch.tanh(asked + projected) @ w["attention.v"]
        weights = scores.masked_fill(source == 0, -torch.inf).softmax(1)
        context = (weights[..., None] * keys).sum(1)
        s = decoder(torch.cat([y[:, t], context], 1)[None], s[None])[0][0]
        seen = torch.cat([s, y[:, t], context], 1)
        pairs = F.linear(seen, w["output.weight"], w["output.bias"]).chunk(2, 1)
        logits.append(F.linear(torch.maximum(*pairs), w["lm_head.weight"], w["lm_head.bias"]))
    stacked = torch.stack(logits, 1)
    return stacked, F.cross_entropy(stacked.flatten(0, 1), targets.flatten())


def test_logits_loss_and_every_gradient(rng: np.random.Generator) -> None:
    model = Bahdanau(CONFIG)
    randomize(model, rng)
    lengths = [(9, 4), (1, 8), (5, 1), (9, 9 - 1), (3, 0)]
    sources = [rng.integers(3, 11, n).tolist() for n, _ in lengths]
    batch = teacher_forcing(sources, [rng.integers(3, 11, m).tolist() for _, m in lengths])
    w = {
        name: torch.tensor(values_of(p), requires_grad=True) for name, p in model.named_parameters()
    }
    want, want_loss = in_torch(w, *map(torch.from_numpy, batch))
    want_loss.backward()
    logits, loss = model(*batch)
    loss.backward()
    np.testing.assert_allclose(values_of(logits), want.detach().numpy(), rtol=1e-9, atol=1e-12)
    assert loss.item() == pytest.approx(want_loss.item(), rel=1e-12)
    for name, param in model.named_parameters():
        np.testing.assert_allclose(
            values_of(param.grad), w[name].grad.numpy(), rtol=1e-8, atol=1e-12, err_msg=name
        )
