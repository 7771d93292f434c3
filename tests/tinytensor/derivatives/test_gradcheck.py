"""The checker is itself checked: every planted fault must be found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import const, host, leaf


def planted(
    value: Callable[..., tt.Tensor], gradient: Callable[..., tt.Tensor]
) -> Callable[..., tt.Tensor]:
    """A function with the value of one expression and the gradient of another.

    The value is `gradient(x) + constant`, so that differences of the forward follow `value`
    while the graph only sees `gradient`.
    """

    def fn(*xs: tt.Tensor) -> tt.Tensor:
        with tt.no_grad():
            offset = value(*xs) - gradient(*xs)
        return gradient(*xs) + offset.detach()

    return fn


A = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7]])
SQUARE = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, -1.1]])
B = np.array([[0.1, 0.7, -0.4]])


def check(fn: Callable[..., tt.Tensor], *arrays: np.ndarray, **options: Any) -> Any:
    return tt.gradcheck(fn, [leaf(a) for a in arrays], **options)


def half_of_a_repeated_use(x: tt.Tensor) -> tt.Tensor:
    """x * x whose backward forgets one of the two uses."""
    return x * x.detach()


FAULTS: dict[str, tuple[Callable[..., tt.Tensor], tuple[np.ndarray, ...], str]] = {
    "sign": (planted(lambda x: tt.tanh(x), lambda x: -tt.tanh(x)), (A,), "sign"),
    "factor": (planted(lambda x: x.mean() * 1.0, lambda x: x.sum()), (A,), "factor"),
    "factor of two": (planted(lambda x: x * x, lambda x: 0.5 * x * x), (A,), "factor"),
    "transposed": (
        planted(lambda x: x * const(SQUARE), lambda x: x.T * const(SQUARE)),
        (SQUARE,),
        "transpos",
    ),
    "missing accumulation": (half_of_a_repeated_use, (A,), "accumul"),
    "missing unbroadcast": (
        planted(lambda x: x.sum(axis=0, keepdims=True) * const(A), lambda x: x * const(A)),
        (A,),
        "broadcast",
    ),
    "missing unbroadcast of a row": (
        planted(lambda a, b: a * b, lambda a, b: a * b.detach() + a[:1].detach() * b),
        (A, B),
        "inputs[1]",
    ),
    "zero": (planted(lambda x: tt.tanh(x), lambda x: x * 0.0), (A,), "zero"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found_and_named(name: str) -> None:
    fn, arrays, word = FAULTS[name]
    report = check(fn, *arrays, raise_on_failure=False)
    assert not report
    assert word in str(report).lower(), str(report)


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_raises_by_default(name: str) -> None:
    fn, arrays, _ = FAULTS[name]
    with pytest.raises(AssertionError):
        check(fn, *arrays)


def test_a_small_wrong_entry_is_found() -> None:
    """One entry of many, off by a hundredth."""
    bump = np.zeros((20, 30))
    bump[7, 11] = 0.01
    wrong = planted(lambda x: tt.tanh(x), lambda x: tt.tanh(x) + (x - x.detach()) * const(bump))
    x = np.linspace(-1, 1, 600).reshape(20, 30)
    report = check(wrong, x, raise_on_failure=False)
    assert not report
    assert "7" in str(report) and "11" in str(report), str(report)


def test_wrong_gradient_hidden_from_ones_is_found() -> None:
    """Softmax rows sum to one: with a cotangent of ones every gradient looks right."""
    wrong = planted(lambda x: tt.softmax(x), lambda x: 3.0 * tt.softmax(x))
    assert not check(wrong, A, raise_on_failure=False)


def test_zero_gradients_are_refused() -> None:
    """A check that could not fail proves nothing."""
    with pytest.raises((AssertionError, ValueError), match="zero"):
        check(lambda x: (x - x) * 1.0, A)
    with pytest.raises((AssertionError, ValueError), match="zero"):
        check(lambda x: tt.softmax(x).sum(), A)


def test_disconnected_input_is_found() -> None:
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        check(lambda a, b: a * host(b).sum(), A, A)


def test_nan_gradient_is_found() -> None:
    def poisoned(x: tt.Tensor) -> tt.Tensor:
        return x + tt.where(x > 100, tt.sqrt(x - 200), 0.0).sum() * 0.0

    with np.errstate(invalid="ignore"), pytest.raises(AssertionError):
        check(poisoned, A)


def test_right_gradients_pass() -> None:
    for fn, arrays in (
        (lambda x: tt.tanh(x), (A,)),
        (lambda a, b: a * b, (A, B)),
        (lambda a, b: a @ b.T, (A, SQUARE)),
        (lambda x: x * x + x, (A,)),
        (lambda x: tt.layer_norm(x), (A,)),
        (lambda x: tt.split(x, 1, axis=1)[1], (A,)),
    ):
        report = check(fn, *arrays)
        assert report and bool(report) is True
        assert str(report)


def test_several_outputs_are_all_checked() -> None:
    def second_wrong(x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
        return tt.exp(x), FAULTS["sign"][0](x)

    assert check(lambda x: (tt.exp(x), tt.tanh(x)), A)
    assert not check(second_wrong, A, raise_on_failure=False)


def test_inputs_without_gradient_are_left_alone() -> None:
    x, ids = leaf(A), const([1, 0], np.int64)
    assert tt.gradcheck(lambda x, ids: tt.embedding(ids, x), [x, ids])


def test_the_check_changes_nothing() -> None:
    x = leaf(A)
    state = tt.random.state()
    tt.gradcheck(lambda x: tt.tanh(x), [x])
    np.testing.assert_array_equal(host(x), A)
    assert x.grad is None
    assert tt.random.state() == state


def test_the_same_check_gives_the_same_report() -> None:
    wrong = FAULTS["factor"][0]
    one = check(wrong, A, raise_on_failure=False, generator=tt.Generator(3))
    two = check(wrong, A, raise_on_failure=False, generator=tt.Generator(3))
    assert str(one) == str(two)


def test_float32_inputs_are_refused() -> None:
    """Differences of float32 values are noise: the error says to use float64."""
    with pytest.raises((TypeError, ValueError), match="float64"):
        tt.gradcheck(lambda x: tt.tanh(x), [leaf(A, np.float32)])


def test_works_on_another_device(other_device: Any) -> None:
    with other_device:
        assert check(lambda a, b: tt.softmax(a * b), A, B)
        assert not check(FAULTS["transposed"][0], SQUARE, raise_on_failure=False)


def test_a_wrong_element_beside_a_large_one_is_found() -> None:
    scales = np.array([1e4, 1.0])
    x = leaf([1.0, 2.0])
    right = tt.tensor(scales)
    assert tt.gradcheck(lambda x: x * right, [x])

    def wrong(x: tt.Tensor) -> tt.Tensor:
        y = x * right
        y.register_hook(lambda g: g * tt.tensor([1.0, 1.01], dtype="float64"))
        return y

    report = tt.gradcheck(wrong, [x], raise_on_failure=False)
    assert not report and report.inputs[0].worst == (1,)


def test_a_function_that_is_random_is_named() -> None:
    x = tt.tensor(np.ones(8), requires_grad=True)
    with pytest.raises(ValueError, match="another result each time.*dropout"):
        tt.gradcheck(lambda x: tt.dropout(x, 0.5), [x])
