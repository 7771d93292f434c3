"""Inputs of derivatives of functions: which are taken, and what is said of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, leaf


def square(x: Any) -> Any:
    return x * x


@pytest.mark.parametrize(
    "inputs", [[np.ones(2)], np.ones(2), [2.0], 2.0, [[1.0, 2.0]], [np.ones(2, np.float32)]]
)
def test_gradients_of_arrays_are_checked(inputs: Any) -> None:
    report = tt.gradcheck(square, inputs)
    assert report and report.inputs[0].checked >= 1
    assert tt.gradgradcheck(square, inputs)


def test_a_gradient_check_of_arrays_finds_a_fault() -> None:
    with pytest.raises(AssertionError, match="a factor is wrong"):
        tt.gradcheck(lambda x: (x + x.detach()) * x * 0.5 + x * x.detach() * 0.5, [np.ones(2)])


def test_what_a_gradient_check_cannot_take() -> None:
    with pytest.raises(ValueError, match="none of them requires gradients; give a float64 tensor"):
        tt.gradcheck(square, [np.ones(2, np.int64), 3])
    with pytest.raises(TypeError, match=r"gradcheck: inputs\[1\]: expected a tensor, .* got str"):
        tt.gradcheck(square, [1.0, "a"])
    with pytest.raises(TypeError, match=r"gradgradcheck: inputs\[0\]: expected .* got NoneType"):
        tt.gradgradcheck(square, [None])
    with pytest.raises(TypeError, match="gradcheck: fn: expected a tensor .* got float"):
        tt.gradcheck(lambda x: float(x), [1.0])


def test_derivatives_take_one_array() -> None:
    def f(x: Any) -> Any:
        return (x * x * x).sum()

    x, v = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    close(tt.hvp(f, x, v), [6, 12])
    close(tt.hvp(f, [x], [v])[0], [6, 12])
    close(tt.jvp(square, x, v)[1], [2, 4])
    close(tt.jvp(square, np.float32(3), 1.0)[1], 6)
    close(tt.value_and_grad(f, np.float32(2))[1], 12)


def test_errors_of_derivatives_name_the_function_called() -> None:
    for function in (tt.hessian, tt.jacobian, tt.vjp, tt.value_and_grad):
        text = rf"^{function.__name__}: expected .* got .*1.*; integers have no .*: write 1\.0"
        with pytest.raises(TypeError, match=text):
            function(square, 1)
    with pytest.raises(ValueError, match="^hessian: fn: expected a tensor with one element"):
        tt.hessian(square, np.ones(2))
    with pytest.raises(ValueError, match="^hvp: fn: expected a tensor with one element"):
        tt.hvp(square, np.ones(2), np.ones(2))


def test_grad_says_what_it_takes() -> None:
    x = leaf([1.0])
    with pytest.raises(TypeError, match=r"inputs\[0\]: expected a tensor, got numpy\.ndarray"):
        tt.grad(x.sum(), [np.ones(1)])
    with pytest.raises(TypeError, match="outputs: expected a tensor, got int"):
        tt.grad(3, x)
    with pytest.raises(TypeError, match=r"got a function; tt\.value_and_grad\(fn, x\)"):
        tt.grad(square, x)
