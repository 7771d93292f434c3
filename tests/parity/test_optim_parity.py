"""Optimisers, clipping and schedule against ``torch.optim`` over many steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    CosineWarmup,
    ExponentialDecay,
    LinearWarmup,
    StepDecay,
    clip_grad_norm,
    clip_grad_value,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")

SHAPES = [(3, 4), (5,), (1, 2, 3)]
KINDS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "sgd": (SGD, "SGD", {"lr": 0.05}),
    "momentum": (SGD, "SGD", {"lr": 0.05, "momentum": 0.9}),
    "momentum, decay": (SGD, "SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    "nesterov": (SGD, "SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "adam": (Adam, "Adam", {"lr": 0.01}),
    "adam, decay": (Adam, "Adam", {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
    "adamw": (AdamW, "AdamW", {"lr": 0.01}),
    "adagrad": (Adagrad, "Adagrad", {"lr": 0.05}),
    "adagrad, decay": (Adagrad, "Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    "adamw, decay": (AdamW, "AdamW", {"lr": 0.01, "weight_decay": 0.2, "eps": 1e-3}),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_steps(kind: str, dtype: str, rng: np.random.Generator) -> None:
    """50 steps with clipping, a schedule, and now and then a parameter without a gradient."""
    ours, theirs, settings = KINDS[kind]
    start = [rng.normal(size=shape).astype(dtype) for shape in SHAPES]
    params = [tt.tensor(a, requires_grad=True) for a in start]
    torch_params = [torch.tensor(a, requires_grad=True) for a in start]
    optimizer = ours(params, **settings)
    reference = getattr(torch.optim, theirs)(torch_params, **settings)
    schedule = CosineWarmup(settings["lr"], settings["lr"] / 10, 5, 40)
    for step in range(50):
        for i, (p, q) in enumerate(zip(params, torch_params, strict=True)):
            grad = (rng.normal(size=p.shape) * 10.0 ** rng.uniform(-3, 1)).astype(dtype)
            missing = step % 7 == 3 and i == 1
            p.grad = None if missing else tt.tensor(grad)
            q.grad = None if missing else torch.tensor(grad)
        norm = clip_grad_norm(params, 2.0)
        expected = torch.nn.utils.clip_grad_norm_(torch_params, 2.0)
        assert norm == pytest.approx(float(expected), rel=1e-5)
        optimizer.lr = schedule(step)
        for group in reference.param_groups:
            group["lr"] = schedule(step)
        optimizer.step()
        reference.step()
        tolerance = (
            {"rtol": 1e-9, "atol": 1e-12} if dtype == "float64" else {"rtol": 2e-4, "atol": 2e-6}
        )
        for p, q in zip(params, torch_params, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), **tolerance)
            assert p.dtype == dtype


def torch_rates(make: Any, lr: float, steps: int) -> list[float]:
    """The rates that a scheduler of PyTorch gives its optimiser."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_schedules_give_the_rates_of_pytorchs() -> None:
    kinds = torch.optim.lr_scheduler
    cases: list[tuple[Any, Any]] = [
        (StepDecay(0.3, 7, 0.4), lambda o: kinds.StepLR(o, 7, 0.4)),
        (StepDecay(0.3, 7), lambda o: kinds.StepLR(o, 7)),
        (ExponentialDecay(0.3, 0.93), lambda o: kinds.ExponentialLR(o, 0.93)),
        (CosineWarmup(0.3, 0.01, 0, 40), lambda o: kinds.CosineAnnealingLR(o, 40, 0.01)),
        (LinearWarmup(0.3, 9), lambda o: kinds.LinearLR(o, 0.1, 1.0, 9)),
    ]
    for ours, theirs in cases:
        expected = torch_rates(theirs, 0.3, 40)
        assert [ours(step) for step in range(40)] == pytest.approx(expected, rel=1e-9), repr(ours)


def test_clipping_by_value(rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=shape).astype("float32") for shape in SHAPES]
    params = [tt.zeros(a.shape, requires_grad=True) for a in arrays]
    torch_params = [torch.zeros(a.shape, requires_grad=True) for a in arrays]
    for p, q, a in zip(params, torch_params, arrays, strict=True):
        p.grad, q.grad = tt.tensor(a), torch.tensor(a)
    clip_grad_value(params, 0.7)
    torch.nn.utils.clip_grad_value_(torch_params, 0.7)
    for p, q in zip(params, torch_params, strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), q.grad.numpy())
