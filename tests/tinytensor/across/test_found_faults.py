"""Faults that a review found, each with its right value."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_a_write_is_noticed_by_the_graph_of_the_gradients_too() -> None:
    x = leaf([3.0])
    h = x * 1.0
    (g,) = tt.grad((h**3).sum(), [x], create_graph=True)
    with tt.no_grad():
        h += 100
    with pytest.raises(RuntimeError, match="changed in place"):
        tt.grad(g.sum(), [x])


def test_changing_an_index_tensor_later_does_not_move_the_gradient() -> None:
    x, i = leaf([1.0, 2.0, 3.0]), const([0, 1], np.int64)
    y = x[i]
    i[0] = 2
    y.sum().backward()
    close(x.grad, [1, 1, 0])


def test_a_single_element_is_a_view_like_any_other() -> None:
    z = const([0.0, 0.0, 0.0])
    z[1].fill_(5)
    close(z, [0, 5, 0])


def test_a_large_common_offset_does_not_change_a_loss() -> None:
    z = leaf([[1e7, 1e7, 1e7 - 1]], np.float32)
    loss = tt.cross_entropy(z, const([0], np.int64))
    loss.backward()
    close(loss, 0.8620, 1e-4)
    close(z.grad, [[-0.5777, 0.4223, 0.1554]], 1e-4)
    close(tt.log_softmax(z), [[-0.8620, -0.8620, -1.8620]], 1e-4)


def test_float16_gradients_do_not_stop_at_2048() -> None:
    b = leaf(np.ones(3), np.float16)
    (const(np.ones((4096, 3)), np.float16) + b).sum(axis=0).backward(const(np.ones(3), np.float16))
    close(b.grad, [4096, 4096, 4096])


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(TypeError, match="axis"):
        tt.sum(const(np.ones((2, 3))), 0, axis=1)


def test_integers_into_a_recurrent_network_are_refused() -> None:
    with pytest.raises(TypeError, match="x: expected a floating dtype"):
        w = const(np.eye(2))
        tt.rnn(const(np.ones((2, 1, 2)), np.int64), const(np.zeros((1, 2))), w, w)


def test_a_number_too_large_names_the_op() -> None:
    with pytest.raises(OverflowError, match="mul"):
        const([1, 2], np.int64) * 2**70


def test_axes_of_length_zero_go_through_products() -> None:
    w, b = leaf(np.zeros((2, 0))), leaf(np.ones(2))
    y = tt.linear(const(np.zeros((3, 0))), w, b)
    close(y, np.ones((3, 2)))
    y.sum().backward()
    close(b.grad, [3, 3])
    assert w.grad is not None and w.grad.shape == (2, 0)
    x, m = leaf(np.ones((2, 3, 4))), leaf(np.ones((4, 0)))
    (x @ m).sum().backward()
    close(x.grad, np.zeros((2, 3, 4)))
    assert m.grad is not None and m.grad.shape == (4, 0)


def test_subpackages_are_imported_on_first_use() -> None:
    assert tt.nn.Linear(2, 3).weight.shape == (3, 2)
    with pytest.raises(AttributeError, match="nosuch"):
        tt.nosuch  # noqa: B018
