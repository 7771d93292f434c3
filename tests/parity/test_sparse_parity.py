"""Sparse gradients of embeddings, and the steps taken with them, against PyTorch in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import SGD, Adagrad, Adam, clip_grad_norm

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")

KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "sgd": (SGD, torch.optim.SGD, {"lr": 0.5}),
    "adagrad": (Adagrad, torch.optim.Adagrad, {"lr": 0.5, "lr_decay": 0.1}),
    # PyTorch adds eps to another root here than in its Adam; so small it is the same
    "adam": (Adam, torch.optim.SparseAdam, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-30}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", [None, 3])
def test_thirty_steps(kind: str, padding: int | None, rng: np.random.Generator) -> None:
    """Rows that come often and seldom, forward, gradient, and table after each step."""
    ours, theirs, settings = KINDS[kind]
    layer = nn.Embedding(400, 5, padding_idx=padding, sparse=True).to("float64")
    other = torch.nn.Embedding(400, 5, padding_idx=padding, sparse=True, dtype=torch.float64)
    start = rng.normal(size=(400, 5))
    layer.load_state_dict({"weight": start})
    other.load_state_dict({"weight": torch.tensor(start)})
    optimizer = ours(layer.parameters(), **settings)
    reference = theirs(other.parameters(), **settings)
    for _ in range(30):
        ids = np.minimum(rng.geometric(0.02, size=(6, 7)), 400) - 1
        target = rng.normal(size=(6, 7, 5))
        loss = ((layer(ids) - tt.tensor(target)) ** 2).sum()
        expected = ((other(torch.tensor(ids)) - torch.tensor(target)) ** 2).sum()
        np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-12)
        loss.backward()
        expected.backward()
        grad = other.weight.grad.coalesce()
        padded = grad.indices()[0].numpy() != (-1 if padding is None else padding)
        np.testing.assert_array_equal(layer.weight.grad.rows, grad.indices()[0].numpy()[padded])
        np.testing.assert_allclose(
            layer.weight.grad.values, grad.values().numpy()[padded], rtol=1e-10, atol=1e-12
        )
        if kind == "sgd":  # torch.nn.utils has no norm of sparse gradients
            clip_grad_norm(layer.parameters(), 3.0)
            norm = float(grad.values().norm())
            other.weight.grad = grad * (3.0 / (norm + 1e-6)) if norm > 3.0 else grad
        optimizer.step()
        reference.step()
        optimizer.zero_grad()
        reference.zero_grad()
        np.testing.assert_allclose(
            layer.weight.detach().numpy(), other.weight.detach().numpy(), rtol=1e-9, atol=1e-10
        )
