"""Resizing gives what PyTorch's gives, for every pair of lengths up and down."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")

F = torch.nn.functional
MODES = [("nearest", None), ("linear", False), ("linear", True)]

#: float64 lengths where PyTorch's own gradient goes to another element than its output came from
CONTRADICTIONS = {(14, 46), (26, 22), (26, 44), (28, 46), (30, 58), (39, 33)}


def both(x: np.ndarray, mode: str, corners: bool | None, **how: Any) -> tuple[Any, Any, Any, Any]:
    """Our input and output, and PyTorch's."""
    a, b = tt.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    ours = tt.interpolate(a, mode=mode, align_corners=bool(corners), **how)
    return a, ours, b, F.interpolate(b, mode=mode, align_corners=corners, **how)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("mode", "corners"), MODES)
def test_lengths(mode: str, corners: bool | None, dtype: str) -> None:
    rng = np.random.default_rng(0)
    tolerance = 1e-12 if dtype == "float64" else 3e-5
    for n, m in itertools.product(range(1, 40), range(1, 60)):
        if dtype == "float64" or (n + m) % 5 == 0:
            x, g = (rng.normal(size=(1, 1, k)).astype(dtype) for k in (n, m))
            a, ours, b, theirs = both(x, mode, corners, size=m)
            np.testing.assert_allclose(
                ours.detach().numpy(), theirs.detach().numpy(), tolerance, tolerance, err_msg=(n, m)
            )
            if mode == "nearest" and dtype == "float64" and (n, m) in CONTRADICTIONS:
                continue
            ours.backward(tt.tensor(g))
            theirs.backward(torch.tensor(g))
            np.testing.assert_allclose(
                a.grad.numpy(), b.grad.numpy(), tolerance, tolerance, err_msg=(n, m)
            )


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("factor", [0.3, 0.5, 0.77, 1.3, 1.9, 2, 2.5, 3.7])
def test_factors(factor: float, recompute: bool) -> None:
    rng = np.random.default_rng(0)
    for n in range(5, 30):
        how = {"scale_factor": factor, "recompute_scale_factor": recompute}
        for mode, corners in MODES:
            _, ours, _, theirs = both(rng.normal(size=(1, 2, n)), mode, corners, **how)
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-9, 1e-9)
        for mode, corners in (("nearest", None), ("bilinear", False), ("bilinear", True)):
            _, ours, _, theirs = both(rng.normal(size=(1, 1, n, n - 1)), mode, corners, **how)
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-9, 1e-9)
