"""Optimisers of float16 parameters: they compute and keep their state in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.train import Adam, AdamW, DataParallel
from tinytensor.train.parallel.data_parallel import why_not

from ..sharing import batch, make, shared_step, step
from .test_optim_state import KINDS, narrow


@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_adam_computes_float16_in_float32(device: Device, kind: Any) -> None:
    """Gradients whose squares vanish or overflow in float16 (a public report)."""
    grads = [0.0, 1e-4, 1e-3, 5e-3, 7e-3, 300.0, -60000.0]
    p = narrow(device, np.ones(7))
    p.grad = tt.tensor(np.array(grads, np.float16), device=device)
    optimizer = kind([p], lr=1e-2, weight_decay=0.0)
    optimizer.step()
    expected = np.float16([1.0, *[0.99] * 5, 1.01])
    np.testing.assert_array_equal(p.detach().numpy(), expected)
    assert p.dtype == np.float16
    assert {a.dtype for a in optimizer.state[p].values() if hasattr(a, "dtype")} == {
        np.dtype(np.float32)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_float16_steps_are_float32_steps_rounded_once(
    device: Device, kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several pieces, and with a decay that float16 could not hold."""
    monkeypatch.setattr("tinytensor.train.optim.pieces.PIECE", 5)
    start = rng.normal(size=(3, 4)).astype(np.float16)
    p = narrow(device, start)
    q = tt.tensor(start.astype(np.float32), requires_grad=True, device=device)
    ours, wide = KINDS[kind]([p]), KINDS[kind]([q])
    for _ in range(6):
        grad = (rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-6, 4)).astype(np.float16)
        for x, dtype in ((p, np.float16), (q, np.float32)):
            x.grad = tt.tensor(grad.astype(dtype), device=device)
        for optimizer in (ours, wide):
            optimizer.param_groups[0]["weight_decay"] = 1e-9
            optimizer.step()
        rounded = q.detach().numpy().astype(np.float16)
        np.testing.assert_array_equal(p.detach().numpy(), rounded)
        with tt.no_grad():  # both go on from the rounded one
            q.copy_(rounded.astype(np.float32))
    saved = ours.state_dict()
    assert {a.dtype for a in saved["arrays"].values()} == {np.dtype(np.float32)}
    again = KINDS[kind]([narrow(device, start)])
    with np.errstate(over="ignore"):  # as once saved
        old = {name: a.astype(np.float16) for name, a in saved["arrays"].items()}
    again.load_state_dict({**saved, "arrays": old})
    loaded = again.state_dict()["arrays"]
    for name, array in old.items():
        np.testing.assert_array_equal(loaded[name], array.astype(np.float32))
        assert loaded[name].dtype == np.float32


def test_a_float16_layer_with_input_zero_keeps_its_weights() -> None:
    layer = nn.Linear(2, 2).to("float16")
    before = layer.weight.detach().numpy().copy()
    optimizer = AdamW(layer.parameters(), lr=1e-3, weight_decay=0.0)
    layer(tt.zeros(3, 2, dtype="float16")).sum().backward()
    optimizer.step()
    np.testing.assert_array_equal(layer.weight.detach().numpy(), before)


def test_state_is_widened_and_narrowed_with_the_parameter() -> None:
    layer = nn.Linear(1, 1, bias=False)
    optimizer = Adam(layer.parameters())
    for dtype, kept in (("float32", "float32"), ("float16", "float32"), ("float64", "float64")):
        layer.to(dtype)
        layer.weight.grad = tt.ones(1, 1, dtype=dtype)
        optimizer.step()
        assert optimizer.state[layer.weight]["exp_avg"].dtype == kept
    np.testing.assert_allclose(optimizer.state[layer.weight]["exp_avg"], 0.271, rtol=1e-6)


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_processes_that_share_a_float16_model_keep_float32_state(rng: np.random.Generator) -> None:
    reference, model = make().to("float16"), make().to("float16")
    one, many = (AdamW(m.parameters(), lr=1e-2) for m in (reference, model))
    x, y = batch(rng)
    with DataParallel(model, many, 2) as parallel:
        for _ in range(2):
            (_, norm), (_, expected) = shared_step(parallel, x, y), step(reference, one, x, y)
            assert norm == pytest.approx(expected, rel=1e-2)
    for name, array in many.state_dict()["arrays"].items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, one.state_dict()["arrays"][name], atol=1e-3)
