"""Gradients of gradients: derivatives, Hessians, penalties, and who owns the results."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, host, leaf, numeric_gradients, share_memory

pytestmark = pytest.mark.usefixtures("device")


def test_derivatives_of_a_cube() -> None:
    x = leaf([2.0, -1.0])
    (first,) = tt.grad((x**3).sum(), [x], create_graph=True)
    close(first, [12, 3])
    (second,) = tt.grad(first.sum(), [x], create_graph=True)
    close(second, [12, -6])
    (third,) = tt.grad(second.sum(), [x])
    close(third, [6, 6])


def test_backward_with_create_graph() -> None:
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    assert x.grad is not None and x.grad.requires_grad
    gradient, x.grad = x.grad, None
    gradient.backward()
    close(x.grad, 12.0)


def test_leaves_share_no_gradient_with_create_graph_either() -> None:
    a, b, upstream = leaf([1.0, 1.0]), leaf([1.0, 1.0]), const([1.0, 2.0])
    (a + b).backward(upstream, create_graph=True)
    assert not share_memory(a.grad, b.grad)
    assert not share_memory(a.grad, upstream) and not share_memory(b.grad, upstream)


def test_fourth_derivative_of_sine_like_function() -> None:
    x = leaf(0.4)
    y = tt.exp(2 * x)
    for order in range(1, 5):
        (y,) = tt.grad(y, [x], create_graph=True)
        close(y, 2.0**order * np.exp(0.8), 1e-9)


def test_hessian_vector_product() -> None:
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 4.0]])
    x, v = leaf([0.5, -1.0, 2.0]), const([1.0, 2.0, 3.0])
    energy = 0.5 * (x @ (const(a) @ x)) + (x**4).sum()
    (g,) = tt.grad(energy, [x], create_graph=True)
    (hv,) = tt.grad((g * v).sum(), [x])
    hessian = a + np.diag(12 * np.array([0.5, -1.0, 2.0]) ** 2)
    close(hv, hessian @ np.array([1.0, 2.0, 3.0]), 1e-9)


def test_gradient_penalty_trains_through_a_fused_layer() -> None:
    """A loss made of a gradient: its own gradient equals finite differences."""
    w0 = np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.7]])
    x0 = np.array([[0.2, -0.6], [1.1, 0.4]])

    def penalty(w: tt.Tensor) -> tt.Tensor:
        x = leaf(x0)
        loss = tt.cross_entropy(tt.layer_norm(tt.linear(x, w)), const([0, 2], np.int64))
        (g,) = tt.grad(loss, [x], create_graph=True)
        return (g * g).sum()

    w = leaf(w0)
    penalty(w).backward()
    (expected,) = numeric_gradients(lambda a: host(penalty(leaf(a))), [w0], np.array(1.0))
    close(w.grad, expected, 1e-6)


def test_fused_operand_computed_from_another() -> None:
    """The differentiable gradient of a fused op counts each way into it once."""
    values = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])
    upstream = np.array([[1.0, -2.0, 0.5], [0.3, 0.8, -1.1]])
    gradients = []
    for create_graph in (False, True):
        x = leaf(values)
        y = tt.layer_norm(x, x.mean(axis=0), x[1])
        (g,) = tt.grad(y, [x], const(upstream), create_graph=create_graph)
        gradients.append(host(g))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-10)
    (expected,) = numeric_gradients(
        lambda a: host(tt.layer_norm(const(a), const(a.mean(axis=0)), const(a[1]))),
        [values],
        upstream,
    )
    np.testing.assert_allclose(gradients[0], expected, rtol=1e-6, atol=1e-8)
