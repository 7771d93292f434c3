"""What users do out of habit, from NumPy and PyTorch, does what they expect or says why not."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_bits_of_integers_and_booleans() -> None:
    x = const([5, 6], np.int64)
    close(x & 1, [1, 0])
    close(8 | x, [13, 14])
    close(x ^ x, [0, 0])
    close(~x, [-6, -7])
    close((x > 5) & (x < 9), [False, True])
    close(~(x > 5), [True, False])
    with pytest.raises(TypeError, match="bitwise_and"):
        const([1.0]) & 1


def test_what_an_attribute_sets_is_checked() -> None:
    with pytest.raises(TypeError, match="only floating-point tensors can have gradients"):
        const([1, 2], np.int64).requires_grad = True
    y = leaf([1.0]) * 2.0
    with pytest.raises(RuntimeError, match="cannot be unset inside a graph"):
        y.requires_grad = False
    with pytest.raises(TypeError, match="lose their graph; use tt.stack"):
        tt.tensor([y[0], 1.0])
    with pytest.raises(RuntimeError, match="create_graph=True when computing the first"):
        tt.grad(tt.grad((y * y).sum(), y)[0], y)


def test_no_grad_without_parentheses() -> None:
    @tt.no_grad
    def double(x: tt.Tensor) -> tt.Tensor:
        return x * 2.0

    assert not double(leaf([1.0])).requires_grad and tt.is_grad_enabled()


def test_methods_are_documented_by_their_ops() -> None:
    assert tt.Tensor.softmax.__doc__ == tt.softmax.__doc__
    assert "axis" in (tt.Tensor.sum.__doc__ or "")


def test_a_setting_is_a_number_and_a_tensor_there_loses_no_gradient() -> None:
    x = leaf([-2.0, 0.5, 2.0])
    close(tt.clip(x, const(-1.0), const([1.0])), [-1, 0.5, 1])
    with pytest.raises(TypeError, match=r"clip: high: expected a number.*requires gradients"):
        tt.clip(x, None, leaf(1.0))
    with pytest.raises(TypeError, match=r"masked_fill: value: .*shape \(3,\).*tt\.where"):
        tt.masked_fill(x, x > 0, const([1.0, 2.0, 3.0]))
