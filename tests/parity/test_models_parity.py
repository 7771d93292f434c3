"""Whole models against the same models written in PyTorch: logits, loss, every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models

from ..models.test_models import LANGUAGE
from ..nn.helpers import randomize, values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
F = torch.nn.functional

IDS = np.array([[0, 3, 1, 4, 2, 2], [2, 2, 0, 1, 6, 5]])
TARGETS = np.array([[3, 1, 4, 2, -100, 0], [2, 0, 1, 6, 5, -100]])


def weights(model: Any) -> dict[str, Any]:
    """The model's parameters as PyTorch leaves."""
    return {k: torch.tensor(v, requires_grad=True) for k, v in model.state_dict().items()}


def gpt_in_torch(w: dict[str, Any], ids: Any, config: models.GPTConfig) -> Any:
    """GPT-2 from its description, with PyTorch's functions."""

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (config.n_embd,), w[f"{name}.weight"], w.get(f"{name}.bias"))

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))

    approximate = "tanh" if config.activation == "gelu_tanh" else "none"
    batch, time = ids.shape
    x = F.embedding(ids, w["wte.weight"]) + w["wpe.weight"][:time]
    for i in range(config.n_layer):
        q, k, v = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").chunk(3, dim=-1)
        q, k, v = (
            t.view(batch, time, config.n_head, config.n_embd // config.n_head).transpose(1, 2)
            for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, time, config.n_embd)
        x = x + linear(y, f"h.{i}.attn.c_proj")
        y = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate=approximate)
        x = x + linear(y, f"h.{i}.mlp.c_proj")
    return F.linear(norm(x, "ln_f"), w["wte.weight"])


def recurrent_in_torch(w: dict[str, Any], ids: Any, config: Any) -> Any:
    """Embedding, PyTorch's own RNN, GRU or LSTM, head."""
    kind = getattr(torch.nn, type(config).__name__.removesuffix("Config"))
    options = {"nonlinearity": config.nonlinearity} if kind is torch.nn.RNN else {}
    net = kind(
        config.n_embd, config.n_hidden, config.n_layer, batch_first=True, dtype=torch.float64,
        **options,
    )  # fmt: skip
    own = {name[4:]: value for name, value in w.items() if name.startswith("rnn.")}
    x = F.embedding(ids, w["wte.weight"])
    y, _ = torch.func.functional_call(net, own, (x,))
    return F.linear(y, w.get("lm_head.weight", w["wte.weight"]), w["lm_head.bias"])


CASES: list[tuple[str, dict[str, Any]]] = [
    ("gpt", {"n_layer": 2, "n_head": 2, "n_embd": 8}),
    ("gpt", {"n_layer": 2, "n_head": 2, "n_embd": 8, "bias": False, "activation": "gelu"}),
    ("rnn", {"n_layer": 2, "n_embd": 5, "n_hidden": 6}),
    ("rnn", {"n_layer": 1, "n_embd": 5, "n_hidden": 6, "nonlinearity": "relu"}),
    ("gru", {"n_layer": 2, "n_embd": 5, "n_hidden": 6}),
    ("gru", {"n_layer": 1, "n_embd": 6, "n_hidden": 6, "tie_weights": True}),
    ("lstm", {"n_layer": 2, "n_embd": 5, "n_hidden": 6}),
    ("lstm", {"n_layer": 2, "n_embd": 6, "n_hidden": 6, "tie_weights": True}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}{o}" for n, o in CASES])
def test_model(name: str, options: dict[str, Any], rng: np.random.Generator) -> None:
    model: Any = models.build(name, vocab_size=7, block_size=6, **options)
    randomize(model, rng)
    w = weights(model)
    in_torch = gpt_in_torch if name == "gpt" else recurrent_in_torch
    reference = in_torch(w, torch.from_numpy(IDS), model.config)
    reference_loss = F.cross_entropy(reference.view(-1, 7), torch.from_numpy(TARGETS).view(-1))
    reference_loss.backward()

    logits, loss = model(IDS, TARGETS)
    loss.backward()
    np.testing.assert_allclose(values_of(logits), reference.detach().numpy(), rtol=1e-9, atol=1e-11)
    assert loss.item() == pytest.approx(reference_loss.item(), rel=1e-12)
    for key, param in model.named_parameters():
        want = w[key].grad.numpy()
        np.testing.assert_allclose(values_of(param.grad), want, rtol=1e-8, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", LANGUAGE)
def test_float32_stays_close(name: str) -> None:
    model: Any = models.build(name, vocab_size=7, block_size=6)
    w = {k: torch.tensor(v, dtype=torch.float64) for k, v in model.state_dict().items()}
    in_torch = gpt_in_torch if name == "gpt" else recurrent_in_torch
    reference = in_torch(w, torch.from_numpy(IDS), model.config).numpy()
    np.testing.assert_allclose(values_of(model(IDS)), reference, rtol=1e-3, atol=1e-5)


def test_torch_tensors_load_as_they_are() -> None:
    model: Any = models.build("gpt", vocab_size=7, block_size=6)
    state = {f"transformer.{k}": torch.tensor(v) for k, v in model.state_dict().items()}
    state["lm_head.weight"] = state["transformer.wte.weight"]
    state["transformer.h.0.attn.bias"] = torch.ones(1, 1, 6, 6)
    other: Any = models.build("gpt", vocab_size=7, block_size=6)
    other.load_state_dict(state)
    np.testing.assert_array_equal(values_of(other(IDS)), values_of(model(IDS)))


def test_sampling_probabilities() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0, -1.0], [0.0, 0.1, 0.2, 0.3]], dtype=torch.float64)
    got = models.probabilities(tt.tensor(logits.numpy()), temperature=0.7, top_k=3)
    kept = logits / 0.7
    kept[kept < kept.topk(3).values[:, -1:]] = -float("inf")
    np.testing.assert_allclose(got, kept.softmax(-1).numpy(), rtol=1e-12)
