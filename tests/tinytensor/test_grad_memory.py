"""A leaf may say where its next gradient is to be written."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

from .helpers import close, leaf


@pytest.fixture
def x() -> tt.Tensor:
    return tt.tensor(np.random.default_rng(0).normal(size=(4, 3)))


def weight() -> tt.Tensor:
    w = leaf(np.random.default_rng(1).normal(size=(2, 3)))
    w.grad_memory = np.full((2, 3), np.nan)
    return w


def test_the_gradient_is_written_there_once(x: tt.Tensor) -> None:
    w = weight()
    memory = w.grad_memory
    tt.linear(x, w).sum().backward()
    assert w.grad is not None and w.grad.data is memory and w.grad_memory is None
    want = np.tile(x.numpy().sum(axis=0), (2, 1))
    close(w.grad, want)
    tt.linear(x, w).sum().backward()  # added to it
    assert w.grad.data is memory
    close(w.grad, 2 * want)


def test_a_weight_used_twice_adds_up(x: tt.Tensor) -> None:
    w, plain = weight(), weight()
    plain.grad_memory = None
    for p in (w, plain):
        (tt.linear(x, p).sum() + (tt.linear(x * x, p) ** 2).sum() + (p * p).sum()).backward()
    assert w.grad is not None and plain.grad is not None
    close(w.grad, plain.grad, 1e-12)


def test_a_gradient_that_is_returned_or_differentiable_is_not_the_memory(x: tt.Tensor) -> None:
    w = weight()
    memory = w.grad_memory
    (g,) = tt.grad((tt.linear(x, w) ** 2).sum(), [w], create_graph=True)
    assert g is not None and np.isnan(memory).all() and w.grad_memory is memory
    (g,) = tt.grad((tt.linear(x, w) ** 2).sum(), [w])
    assert g is not None and g.data is not memory


def test_ops_that_cannot_leave_it_alone(x: tt.Tensor) -> None:
    w = weight()
    memory = w.grad_memory
    (w * 2).sum().backward()
    close(w.grad, np.full((2, 3), 2.0))
    assert w.grad_memory is memory and np.isnan(memory).all()
