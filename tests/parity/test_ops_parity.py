"""Each op that PyTorch has gives PyTorch's values and PyTorch's gradients.

The ops run over their own samples from the registry, with one random cotangent, in float64 and in
float32.  A new op must be put into a table of
`counterparts/`, or, with a reason, into one of its `WITHOUT`s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tinytensor.define import op as registry

from ..tinytensor.ops_under_test import Case, cases

torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")

from .counterparts import TORCH, WITHOUT  # noqa: E402  (they import torch)


def test_every_op_is_in_one_of_the_tables() -> None:
    assert set(TORCH) | set(WITHOUT) == set(registry.OPS)
    assert not set(TORCH) & set(WITHOUT)
    assert all(len(reason.split()) > 3 for reason in WITHOUT.values())


def by_torch(case: Case, dtype: Any) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """The case's values and gradients by PyTorch."""
    floats = []

    def operand(a: np.ndarray) -> Any:
        if a.dtype.kind != "f":
            return torch.from_numpy(a.copy())
        floats.append(torch.from_numpy(a.astype(dtype)).requires_grad_())
        return floats[-1]

    args, kwargs = case.map(operand, lambda a: torch.from_numpy(a.copy()))
    outputs = TORCH[case.op.name](*args, **kwargs)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    values = [y.detach().numpy() for y in outputs]
    wanted = [y for y in outputs if y.requires_grad]
    gradients: list[Any] = [None] * len(floats)
    if wanted and floats and case.op.differentiable:
        upstream = [
            torch.from_numpy(c.astype(dtype)) for c in case.cotangents(outputs) if c is not None
        ]
        gradients = list(torch.autograd.grad(wanted, floats, upstream, allow_unused=True))
    return values, [None if g is None else g.numpy() for g in gradients]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", sorted(TORCH))
def test_op_equals_torch(name: str, dtype: Any) -> None:
    rtol, atol = (1e-9, 1e-11) if dtype == np.float64 else (1e-3, 2e-5)
    for case in cases(registry.OPS[name]):
        values, gradients = case.run(dtype)
        torch_values, torch_gradients = by_torch(case, dtype)
        for a, b in zip(values, torch_values, strict=True):
            assert a.shape == b.shape, case.sample
            assert a.dtype == b.dtype or name == "sign", case.sample
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=str(case.sample))
        for x, a, b in zip(case.arrays, gradients, torch_gradients, strict=True):
            a, b = (np.zeros_like(x) if g is None else g for g in (a, b))
            assert a.shape == b.shape, case.sample
            scale = max(1.0, float(np.abs(b).max(initial=0)))
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * scale, err_msg=str(case.sample))
