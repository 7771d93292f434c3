"""Products of matrices and vectors: matmul, linear, mv, bmm, cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")


# -- what is kept -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("needs", "kept"),
    [
        ((True, False, False), ["weight"]),
        ((False, True, False), ["x"]),
        ((False, False, True), []),
        ((True, True, True), ["x", "weight"]),
    ],
)
def test_linear_keeps_only_what_its_gradients_read(needs: Any, kept: list[str]) -> None:
    values = (np.ones((3, 4)), np.ones((2, 4)), np.ones(2))
    x, weight, bias = ((leaf if need else const)(v) for need, v in zip(needs, values, strict=True))
    node = tt.linear(x, weight, bias).node
    have = [key for key, array in zip(node.op.keys, node.saved, strict=True) if array is not None]
    assert sorted(have) == sorted(kept)


def test_a_write_to_an_operand_that_no_gradient_reads_is_allowed() -> None:
    x, weight, bias = const(np.ones((3, 4))), leaf(np.ones((2, 4))), leaf([0.5, 0.5])
    out = tt.linear(x, weight, bias)
    with tt.no_grad():
        weight += 1  # x wants no gradient, so the weight is not read again
        bias += 1
    out.backward(const([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]))
    close(weight.grad, [[6.0] * 4, [1.0] * 4])
    close(bias.grad, [6.0, 1.0])
    out = tt.matmul(x, weight.mT)
    with tt.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="matmul.*'x'.*changed"):
        out.sum().backward()


# -- values -------------------------------------------------------------------------------
def test_linear_gradients_of_a_worked_example() -> None:
    x, weight, bias = (
        leaf([[1.0, 2.0], [3.0, 5.0]]),
        leaf([[1.0, 0.0], [4.0, -1.0]]),
        leaf([1.0, 2]),
    )
    out = tt.linear(x, weight, bias)
    close(out, [[2, 4], [4, 9]])
    out.backward(const([[1.0, 2.0], [3.0, -1.0]]))
    close(x.grad, [[9, -2], [-1, 1]])
    close(weight.grad, [[10, 17], [-1, -1]])
    close(bias.grad, [4, 1])


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_linear_of_nothing_gives_zero_gradients(shape: tuple[int, ...]) -> None:
    x, weight, bias = leaf(np.ones((*shape, 4))), leaf(np.ones((2, 4))), leaf(np.ones(2))
    out = tt.linear(x, weight, bias)
    assert out.shape == (*shape, 2)
    out.sum().backward()
    close(x.grad, np.zeros((*shape, 4)))
    close(weight.grad, np.zeros((2, 4)))
    close(bias.grad, np.zeros(2))


def test_linear_without_inputs_or_outputs() -> None:
    x, weight, bias = leaf(np.ones((3, 0))), leaf(np.ones((2, 0))), leaf([1.0, 2.0])
    out = tt.linear(x, weight, bias)
    close(out, [[1, 2]] * 3)
    out.sum().backward()
    close(bias.grad, [3, 3])
    x, weight, bias = leaf(np.ones((3, 2))), leaf(np.ones((0, 2))), leaf(np.ones(0))
    tt.linear(x, weight, bias).sum().backward()
    close(x.grad, np.zeros((3, 2)))
    close(bias.grad, np.zeros(0))


def test_linear_twice_differentiated() -> None:
    rng = np.random.default_rng(0)
    tensors = [leaf(rng.normal(size=s)) for s in ((2, 3, 4), (5, 4), (5,))]
    (gx, gw, gb) = tt.grad((tt.linear(*tensors) ** 2).sum(), tensors, create_graph=True)
    assert all(g.requires_grad for g in (gx, gw, gb))
    plain = tt.grad((tt.linear(*tensors) ** 2).sum(), tensors)
    for a, b in zip((gx, gw, gb), plain, strict=True):
        close(a, host(b))
    assert tt.gradgradcheck(lambda x, w, b: (tt.linear(x, w, b) ** 2).sum(), tensors)


def test_the_bias_gradient_of_many_rows_is_accurate_in_float32() -> None:
    rows = np.random.default_rng(0).normal(1.0, 1.0, size=(20000, 3)).astype(np.float32)
    bias = leaf(np.zeros(3), np.float32)
    x, weight = const(np.zeros((20000, 2)), np.float32), const(np.zeros((3, 2)), np.float32)
    tt.linear(x, weight, bias).backward(const(rows, np.float32))
    np.testing.assert_allclose(grad_of(bias), rows.astype(np.float64).sum(axis=0), rtol=1e-5)


def test_float16_products_do_not_overflow_on_the_way() -> None:
    a = leaf(np.full((1, 4000), 8.0), np.float16)
    out = tt.matmul(a, const(np.full((4000, 1), 1.0), np.float16))
    assert out.dtype == np.float16
    close(out, [[32000.0]])
    bias = leaf(np.zeros(1), np.float16)
    x, weight = const(np.zeros((4096, 1)), np.float16), const(np.zeros((1, 1)), np.float16)
    tt.linear(x, weight, bias).backward(const(np.ones((4096, 1)), np.float16))
    assert bias.grad is not None and bias.grad.dtype == np.float16
    close(bias.grad, [4096.0])  # adding ones in float16 stops at 2048


def test_a_nan_stays_in_its_row() -> None:
    x = leaf([[1.0, np.nan], [2.0, 3.0]])
    y = leaf([[1.0, 2.0], [3.0, 4.0]])
    out = tt.matmul(x, y)
    assert np.isnan(host(out)[0]).all() and np.isfinite(host(out)[1]).all()
    out.backward(const(np.ones((2, 2))))
    close(x.grad, [[3, 7], [3, 7]])
    assert np.isnan(grad_of(y)[1]).all() and np.isfinite(grad_of(y)[0]).all()


@pytest.mark.parametrize("swapped", [False, True], ids=["x is a view", "y is a view"])
def test_a_stack_that_is_no_block_in_memory(swapped: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3)), rng.normal(size=(4, 5))
    x, y = leaf(a), leaf(b)
    out = tt.matmul(x.mT, y) if not swapped else tt.matmul(x.mT, y.T.copy().T)
    close(out, np.swapaxes(a, -1, -2) @ b)
    g = rng.normal(size=out.shape)
    out.backward(const(g))
    close(x.grad, np.swapaxes(g @ b.T, -1, -2))
    close(y.grad, np.einsum("bij,bik->jk", np.swapaxes(a, -1, -2), g))


def test_integers() -> None:
    out = tt.matmul(const([[1, 2]], np.int64), const([[3], [4]], np.int64))
    assert out.dtype == np.int64
    close(out, [[11]])
    assert not out.requires_grad


def test_matrix_times_vector_and_stacks_one_by_one() -> None:
    close(tt.mv(const([[1.0, 2], [3, 4]]), const([1.0, 1])), [3, 7])
    x, y = leaf(np.arange(12.0).reshape(2, 2, 3)), leaf(np.arange(18.0).reshape(2, 3, 3))
    close(tt.bmm(x, y), host(x) @ host(y))
    assert tt.gradcheck(tt.bmm, [x, y])
    close(tt.mv([[1.0, 2.0]], [3.0, 4.0]), [11])


# -- cross --------------------------------------------------------------------------------
def test_cross_is_perpendicular_and_right_handed() -> None:
    x, y = leaf([1.0, 0, 0]), leaf([0.0, 1, 0])
    out = tt.cross(x, y)
    close(out, [0, 0, 1])
    out.backward(const([0.0, 0.0, 2.0]))
    close(x.grad, [2, 0, 0])
    close(y.grad, [0, 2, 0])


def test_cross_broadcasts_and_takes_an_axis() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 4))
    close(tt.cross(const(a), const(b), axis=-2), np.cross(a, b, axis=-2))
    with pytest.raises(ValueError, match=r"axis: expected one that counts from the end.*got 0"):
        tt.cross(const(np.ones((3, 3, 3))), const(np.ones((3, 3))), axis=0)


# -- errors -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tt.linear(np.ones((2, 3)), np.ones((5, 4))),
            r"x: expected shape \(\.\.\., 4\) for a weight of shape \(5, 4\), got \(2, 3\)",
        ),
        (
            lambda: tt.linear(np.ones(()), np.ones((5, 4))),
            r"x: expected shape \(\.\.\., 4\).*got \(\)",
        ),
        (
            lambda: tt.linear(np.ones((2, 4)), np.ones(4)),
            r"weight: expected shape \(out, in\), got \(4,\)",
        ),
        (
            lambda: tt.linear(np.ones((2, 4)), np.ones((5, 4)), np.ones(4)),
            r"bias: expected shape \(5,\), got \(4,\)",
        ),
        (
            lambda: tt.matmul(np.ones((2, 3)), np.ones((2, 3))),
            r"last axis of x \(3\) and the second last axis of y \(2\) must be equal",
        ),
        (
            lambda: tt.matmul(np.ones((2, 3)), np.ones(2)),
            r"last axis of x \(3\) and the only axis of y \(2\)",
        ),
        (lambda: tt.matmul(2.0, np.ones(2)), r"x: expected at least one axis, got a number"),
        (
            lambda: tt.mv(np.ones((2, 3)), np.ones((3, 1))),
            r"mv: expected x \(n, m\) and y \(m,\), got \(2, 3\) and \(3, 1\)",
        ),
        (
            lambda: tt.bmm(np.ones((2, 3, 4)), np.ones((1, 4, 3))),
            r"bmm: expected x \(b, n, m\).*got \(2, 3, 4\) and \(1, 4, 3\)",
        ),
        (
            lambda: tt.cross(np.ones(2), np.ones(2)),
            r"x: expected length 3 along axis -1, got shape \(2,\)",
        ),
        (
            lambda: tt.cross(np.ones(3), np.ones(3), axis=1),
            r"x: expected length 3 along axis 1, got shape \(3,\)",
        ),
    ],
)
def test_errors_name_the_argument(call: Any, message: str) -> None:
    with tt.device("cpu"), pytest.raises(ValueError, match=message):
        call()


def test_a_layer_blames_the_input_not_its_weight() -> None:
    from tinytensor.nn import Linear

    with pytest.raises(ValueError, match=r"x: expected shape \(\.\.\., 4\)"):
        Linear(4, 2)(const(np.ones((3, 5)), np.float32))
