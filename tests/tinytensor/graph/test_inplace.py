"""Writing into tensors: allowed where nothing is recorded, noticed where something was saved."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import close, const, host, leaf

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
    "//=": lambda x: x.__ifloordiv__(2.0),
    "%=": lambda x: x.__imod__(2.0),
    "**=": lambda x: x.__ipow__(2.0),
    "copy_": lambda x: x.copy_(const([5.0, 6.0])),
}


@pytest.mark.parametrize("write", WRITES)
def test_writing_to_a_leaf_that_wants_a_gradient_raises_with_advice(write: str) -> None:
    target = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"leaf that requires gradients.*tt.no_grad\(\)"):
        WRITES[write](target)
    close(target, [1.0, 2.0])


#: each write to y = 3x with x = [1, 2], what y is then, and the gradient of Σ y [1, 10]
RECORDED = {
    "setitem": ([5, 6], [0, 30]),
    "+=": ([4, 7], [3, 30]),
    "*=": ([6, 12], [6, 60]),
    "-=": ([2, 5], [3, 30]),
    "/=": ([1.5, 3], [1.5, 15]),
    "//=": ([1, 3], [0, 0]),
    "%=": ([1, 0], [3, 30]),
    "**=": ([9, 36], [18, 360]),
    "copy_": ([5, 6], [0, 0]),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_inside_a_graph_is_recorded(write: str) -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    before = y * y  # has saved the old numbers
    WRITES[write](y)
    value, gradient = RECORDED[write]
    close(y, value)
    (y * const([1.0, 10.0])).sum().backward()
    close(x.grad, gradient)
    x.zero_grad()
    before.sum().backward()
    close(x.grad, [18, 36])


def test_what_is_written_gets_its_gradient() -> None:
    out, v = const(np.zeros((3, 2))), leaf([1.0, 2.0])
    out[1] = v * v
    out[2, 0] = v[1] * 5.0
    assert out.requires_grad and not out.is_leaf
    close(out, [[0, 0], [1, 4], [10, 0]])
    (out * const([[1.0, 1.0], [1.0, 10.0], [100.0, 1.0]])).sum().backward()
    close(v.grad, [2, 40 + 500])


def test_filling_row_by_row_reads_what_was_written() -> None:
    w, n = leaf(0.5), 6
    h = const(np.zeros((n, 2)))
    h[0] = w * const([1.0, 2.0])
    for t in range(1, n):
        h[t] = h[t - 1] * w + 1.0
    expected, slope = np.zeros((n, 2)), np.zeros((n, 2))
    expected[0], slope[0] = [0.5, 1.0], [1.0, 2.0]
    for t in range(1, n):
        expected[t] = expected[t - 1] * 0.5 + 1
        slope[t] = slope[t - 1] * 0.5 + expected[t - 1]
    close(h, expected)
    h.sum().backward()
    close(w.grad, slope.sum())


def test_filling_does_not_copy_each_time(device: Device) -> None:
    v = leaf(np.ones(100))
    out = const(np.zeros((50, 100)))
    out[0] = v
    array = out.data
    del array  # a second reference would make the next write copy
    places = []
    for i in range(1, 50):
        out[i] = v
        places.append(id(out.data))
    if device.xp is np:
        assert len(set(places)) == 1
    kept = out.data
    out[0] = v * 2.0
    assert out.data is not kept
    close(kept[0], np.ones(100))
    out.sum().backward()
    close(v.grad, np.full(100, 51.0))


def test_a_boolean_and_an_integer_index_are_recorded() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    y[np.array([True, False, True]) if y.device.name == "cpu" else y > 1.5] = 0.0
    assert y.node is not None and y.node.op.name == "index_set"
    z = x * 1.0
    z[tt.tensor([0, 0, 2])] = x[:2].sum()
    close(z, [3, 2, 3])
    z.sum().backward()
    close(x.grad, [2, 3, 0])


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_another_tensor_would_see_is_refused(write: str) -> None:
    for view in (lambda y: y[0], lambda y: y.T, lambda y: y.detach(), lambda y: y.reshape(2, 1)):
        y = leaf([1.0, 2.0]) * 3.0
        other = view(y)
        with pytest.raises(RuntimeError, match=r"shares the memory of x.*(tt.at|x = x|new tensor)"):
            WRITES[write](y)
        close(y, [3.0, 6.0])
        with pytest.raises(RuntimeError, match="shares the memory"):
            other += 1.0 if other.requires_grad else leaf(1.0)
        del other  # nobody looks any more
        WRITES[write](y)


def test_a_recorded_write_keeps_the_name_and_second_order() -> None:
    x = leaf([2.0])
    y = x * x
    y.name = "y"
    y *= x
    assert y.name == "y" and y.node is not None and y.node.name == "y"
    (g,) = tt.grad(y.sum(), x, create_graph=True)
    close(g, [12])
    close(tt.grad(g.sum(), x)[0], [12])


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
    x, h, w = leaf(np.ones((3, 2, 2))), const(np.zeros((2, 2))), const(np.ones((8, 2)))
    hs, _ = tt.lstm(x, h, h, w, w)
    with tt.no_grad():
        hs[0] = 1.0
    with pytest.raises(RuntimeError, match="lstm"):
        hs.sum().backward()


def test_a_view_whose_base_was_saved_is_not_written_to() -> None:
    a = leaf(np.linspace(-1.0, 1.0, 20))
    x = tt.exp(a)  # keeps its output, of which y is a view
    y = x.reshape(4, 5)
    del x
    y[0] = 5.0
    y.sum().backward()
    expected = np.exp(np.linspace(-1.0, 1.0, 20))
    expected[:5] = 0
    close(a.grad, expected)
    b = leaf(np.linspace(-1.0, 1.0, 20))
    x = tt.exp(b)
    squares = (x * x).sum()
    y = x.reshape(4, 5)
    del x
    y[0] = 5.0
    squares.backward()
    close(b.grad, 2 * np.exp(2 * np.linspace(-1.0, 1.0, 20)))


def test_a_list_is_written_in_the_dtype_of_the_tensor() -> None:
    x = const(np.zeros(2))
    x[:] = [0.1, 0.2]
    assert host(x).tolist() == [0.1, 0.2]
    x.copy_([0.3, 0.7])
    assert host(x).tolist() == [0.3, 0.7]


def test_a_boolean_tensor_cannot_hold_integers() -> None:
    x = tt.tensor([True, False])
    with pytest.raises(TypeError, match="dtype bool cannot hold the result of dtype int64"):
        x += 1
    close(x, [True, False])


@pytest.mark.parametrize("width", [1, 8, 16, 17])
def test_a_graph_holds_no_constant_that_may_become_part_of_it(width: int) -> None:
    w = leaf(np.eye(width))
    h = const(np.zeros((4, width)))
    for t in range(3):
        h[t + 1] = tt.tanh(h[t] @ w + 1.0)  # the first h[t] is a constant, and small
    h.sum().backward()
    assert w.grad is not None and np.abs(host(w.grad)).sum() > 0
    total = const(np.zeros(width))
    alive = weakref.ref(total)
    gc.disable()
    try:
        total += w.sum(axis=0)
        total[0] = w[0, 0]
        del total
        assert alive() is None
    finally:
        gc.enable()


def test_a_picture_shows_a_constant_as_it_was_read() -> None:
    w, x = leaf([1.0]), const([1.0])
    y = w + x
    x[0] = 5.0
    source = tt.draw(y + x).source
    assert "2" in source and "7" in source and "5" in source


def test_backward_after_another_array_says_what_was_replaced() -> None:
    w = tt.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    w.data = w.data + 1.0
    with pytest.raises(RuntimeError, match=r"the data of that tensor was replaced at .*test_inpl"):
        y.backward()


@pytest.mark.parametrize("write", ["**=", "/="])
def test_a_write_after_a_recorded_one_is_noticed_where_its_result_is_kept(write: str) -> None:
    w = tt.tensor([1.0, 2.0], requires_grad=True)
    e = tt.tensor([2.0, 2.0], requires_grad=True)
    x = w * 1.0
    if write == "**=":
        x **= e
    else:
        x /= e
    kept = "out" in x.node.op.keys
    y = x.sum()
    with tt.no_grad():
        x += 5.0
    if kept:
        with pytest.raises(RuntimeError, match="its output.*changed in place"):
            y.backward()
    else:
        y.backward()
        np.testing.assert_allclose(w.grad.numpy(), [0.5, 0.5])
