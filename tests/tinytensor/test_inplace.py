"""Writing into tensors: allowed where nothing is recorded, noticed where something was saved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tinytensor as tt

from .helpers import close, const, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_writes_work_outside_the_graph() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    x[0, 1] = 9.0
    x[1] = const([5.0, 6.0])
    close(x, [[1, 9], [5, 6]])
    x += 1
    x *= const([1.0, 2.0])
    x -= 1.0
    x /= 2.0
    close(x, [[0.5, 9.5], [2.5, 6.5]])
    x.copy_(const([[0.0, 1.0], [2.0, 3.0]]))
    close(x, [[0, 1], [2, 3]])


def test_a_write_keeps_the_tensor_and_its_dtype() -> None:
    x = const([1.0, 2.0], np.float32)
    same, data = x, x.data
    x += np.float64(1.5)
    x[0] = 7
    assert x is same and x.data is data and x.dtype == np.float32
    close(x, [7, 3.5])


def test_views_are_written_through() -> None:
    x = const(np.zeros((2, 3)))
    x[0].copy_(const([1.0, 2.0, 3.0]))
    close(x, [[1, 2, 3], [0, 0, 0]])


def test_a_broadcast_result_can_be_written_to() -> None:
    x = const([1.0])
    y = tt.broadcast_to(x, (3,))
    y[0] = 5.0
    close(y, [5, 1, 1])
    close(x, [1])


WRITES: dict[str, Callable[[tt.Tensor], object]] = {
    "setitem": lambda x: x.__setitem__(0, 5.0),
    "+=": lambda x: x.__iadd__(1.0),
    "*=": lambda x: x.__imul__(2.0),
    "-=": lambda x: x.__isub__(1.0),
    "/=": lambda x: x.__itruediv__(2.0),
    "copy_": lambda x: x.copy_(const([5.0, 6.0])),
}


@pytest.mark.parametrize("write", WRITES)
def test_writing_where_a_graph_is_recorded_raises_with_advice(write: str) -> None:
    for target in (leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 1.0):
        with pytest.raises(RuntimeError, match="no_grad|where|detach|new tensor"):
            WRITES[write](target)
        close(target, [1.0, 2.0])


@pytest.mark.parametrize("write", WRITES)
def test_a_write_under_no_grad_to_a_saved_tensor_is_noticed(write: str) -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with tt.no_grad():
        WRITES[write](x)
    with pytest.raises(RuntimeError, match="mul"):
        y.backward()


def test_a_write_to_a_saved_constant_is_noticed() -> None:
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x * c).sum()
    c[0] = 100.0
    with pytest.raises(RuntimeError, match="mul"):
        y.backward()


def test_a_write_to_a_saved_output_is_noticed() -> None:
    x = leaf([1.0, 2.0])
    y = tt.exp(x)
    with tt.no_grad():
        y += 1
    with pytest.raises(RuntimeError, match="exp"):
        y.sum().backward()


def test_a_write_through_a_detached_tensor_is_noticed() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.detach().copy_(const([5.0, 6.0]))
    with pytest.raises(RuntimeError, match="mul"):
        y.backward()


def test_a_write_through_a_view_is_noticed() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = (x * x).sum()
    with tt.no_grad():
        row = x[0]
        row += 1.0
    if float(x.detach()[0, 0].item()) == 1.0:
        close(row, [2, 3])  # indexing copied: nothing that was saved has changed
        y.backward()
        close(x.grad, [[2, 4], [6, 8]])
    else:
        with pytest.raises(RuntimeError, match="mul"):
            y.backward()


def test_a_write_to_what_was_not_saved_is_harmless() -> None:
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x + c).sum()
    c[0] = 100.0
    with tt.no_grad():
        x += 10
    y.backward()
    close(x.grad, [1, 1])


def test_a_write_before_use_counts_for_nothing() -> None:
    x = leaf([1.0, 2.0])
    with tt.no_grad():
        x *= 3
    (x * x).sum().backward()
    close(x, [3, 6])
    close(x.grad, [6, 12])


def test_an_optimiser_like_loop() -> None:
    w = leaf([4.0])
    for _ in range(60):
        w.zero_grad()
        (w * w).sum().backward()
        with tt.no_grad():
            w -= 0.1 * w.grad
    assert abs(w.item()) < 1e-4
    assert w.is_leaf and w.requires_grad


def test_copy_takes_arrays_and_checks_shapes() -> None:
    x = const(np.zeros((2, 3)), np.float32)
    x.copy_(np.ones((2, 3)) if x.device.name == "cpu" else const(np.ones((2, 3))))
    close(x, np.ones((2, 3)))
    assert x.dtype == np.float32
    with pytest.raises(ValueError) as error:
        x.copy_(const(np.zeros((3, 2))))
    text = str(error.value).replace(" ", "")
    assert "(2,3)" in text and "(3,2)" in text


def test_tensor_copies_its_input() -> None:
    a = np.array([1.0, 2.0])
    x = tt.tensor(a)
    a[0] = 99.0
    close(x, [1, 2])
    y = tt.tensor(x)
    with tt.no_grad():
        x += 1
    close(y, [1, 2])


def test_writing_into_one_of_several_outputs_is_noticed() -> None:
    """lstm keeps the hidden states that it also returns."""
    x = leaf(np.ones((3, 2, 8)))
    hs, _ = tt.lstm(x, const(np.zeros((2, 2))), const(np.zeros((2, 2))), const(np.ones((8, 2))))
    with tt.no_grad():
        hs[0] = 1.0
    with pytest.raises(RuntimeError, match="lstm"):
        hs.sum().backward()
