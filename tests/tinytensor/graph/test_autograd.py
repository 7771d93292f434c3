"""The graph and the backward pass: values, life cycle, modes, higher order."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt

from ..helpers import close, const, grad_of, leaf, numeric_gradients, share_memory

pytestmark = pytest.mark.usefixtures("device")


# -- values -------------------------------------------------------------------------------
def test_chain_rule_by_hand() -> None:
    x, w, b = leaf(3.0), leaf(-2.0), leaf(1.0)
    y = tt.tanh(x * w + b)
    y.backward()
    slope = 1 - np.tanh(-5.0) ** 2
    close(y, np.tanh(-5.0))
    close(x.grad, slope * -2, 1e-12)
    close(w.grad, slope * 3, 1e-12)
    close(b.grad, slope, 1e-12)


def test_a_tensor_used_many_times_sums_its_gradients() -> None:
    x = leaf([2.0, 3.0])
    (x * x + x).sum().backward()
    close(x.grad, [5, 7])
    y = leaf(1.5)
    (y + y + y).backward()
    close(y.grad, 3.0)


def test_diamond() -> None:
    x = leaf(2.0)
    a = x * 3
    (a * a + a * x).backward()  # 9x^2 + 3x^2
    close(x.grad, 48.0)


def test_each_node_is_visited_once() -> None:
    # 2**60 paths: a walk over paths never ends
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    close(x.grad, 2.0**60)


def test_gradients_accumulate_until_cleared() -> None:
    x = leaf(3.0)
    for total in (6.0, 12.0):
        (x * x).backward()
        close(x.grad, total)
    x.zero_grad()
    (x * x).backward()
    close(x.grad, 6.0)


def test_only_the_part_that_was_asked_for_gets_gradients() -> None:
    x, y = leaf(2.0), leaf(5.0)
    a = x * y
    b = a * 2
    _unused = b * x
    a.backward()
    close(x.grad, 5.0)
    close(y.grad, 2.0)


def test_constants_get_none() -> None:
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    (x * c).sum().backward()
    assert c.grad is None and not c.requires_grad
    close(x.grad, [3, 4])


def test_intermediate_results_hold_no_gradient() -> None:
    x = leaf(2.0)
    y = x * 3
    (y * y).backward()
    with pytest.warns(UserWarning, match="fills only those of leaves"):
        assert y.grad is None
    close(x.grad, 36.0)


def test_upstream_gradient_forms_agree() -> None:
    for upstream in (const([1, 10]), const([1, 10]).data, [1.0, 10.0]):
        v = leaf([1, 2])
        (v * v).backward(upstream)
        close(v.grad, [2, 40])


def test_backward_of_a_leaf_is_the_upstream_gradient() -> None:
    x = leaf([1.0, 2.0])
    x.backward(const([5.0, 6.0]))
    close(x.grad, [5, 6])


def test_size_one_result_needs_no_upstream_gradient() -> None:
    x = leaf([[3.0]])
    (x * x).backward()
    close(x.grad, [[6.0]])


# -- errors of use ------------------------------------------------------------------------
def test_non_scalar_without_upstream_gradient_says_what_to_do() -> None:
    v = leaf([1, 2])
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        (v * v).backward()


def test_upstream_gradient_of_another_shape_names_both() -> None:
    v = leaf([[1.0, 2.0]])
    with pytest.raises(ValueError) as error:
        (v * v).backward(const([1.0, 2.0, 3.0]))
    assert "(1, 2)" in str(error.value) and "(3,)" in str(error.value)
    with pytest.raises(ValueError):
        (v * v).backward(const([1.0, 2.0]))  # would broadcast, and must not


def test_backward_without_history_raises() -> None:
    with pytest.raises(RuntimeError, match="requires_grad"):
        const(1.0).backward()


def test_second_backward_raises_and_names_the_remedy() -> None:
    x = leaf(2.0)
    y = tt.exp(x)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    close(x.grad, np.exp(2.0))


def test_second_backward_through_a_shared_freed_part_raises() -> None:
    x = leaf(2.0)
    shared = tt.exp(x)
    a, b = shared * 2, shared * 3
    a.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        b.backward()


def test_retained_graph_gives_the_same_again() -> None:
    x = leaf([0.3, 0.7])
    y = tt.softmax(tt.tanh(x) * tt.exp(x), axis=-1)[0]
    y.backward(retain_graph=True)
    first = grad_of(x).copy()
    for _ in range(2):
        x.grad = None
        y.backward(retain_graph=True)
        np.testing.assert_array_equal(grad_of(x), first)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_integers_cannot_require_gradients(dtype: type) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=np.dtype(dtype).name):
        tt.tensor(np.array([1, 0]).astype(dtype), requires_grad=True)
    with pytest.raises((TypeError, ValueError, RuntimeError), match=np.dtype(dtype).name):
        const([1, 0], dtype).requires_grad_(True)


# -- recording or not ---------------------------------------------------------------------
def test_no_grad_records_nothing() -> None:
    x = leaf(2.0)
    with tt.no_grad():
        assert not tt.is_grad_enabled()
        y = x * x
        with tt.enable_grad():
            z = x * x
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()
    assert not y.requires_grad and y.node is None
    assert z.requires_grad and z.node is not None


def test_no_grad_ends_when_an_error_leaves_it() -> None:
    with pytest.raises(KeyError), tt.no_grad():
        raise KeyError
    assert tt.is_grad_enabled()


def test_no_grad_as_decorator() -> None:
    @tt.no_grad()
    def double(x: tt.Tensor) -> tt.Tensor:
        return x * 2

    assert not double(leaf(1.0)).requires_grad
    assert tt.is_grad_enabled()


def test_grad_mode_belongs_to_its_thread() -> None:
    seen: list[bool] = []
    with tt.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tt.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_detach_cuts_the_graph_and_shares_the_values() -> None:
    x = leaf(3.0)
    y = x * x
    d = y.detach()
    assert not d.requires_grad and d.is_leaf
    close(d, 9.0)
    (d * x).backward()
    close(x.grad, 9.0)


def test_requires_grad_spreads() -> None:
    x, c = leaf(1.0), const(1.0)
    assert (x + c).requires_grad and (c + x).requires_grad
    assert not (c + c).requires_grad and (c + c).node is None
    assert x.is_leaf and c.is_leaf and not (x + c).is_leaf


def test_comparisons_are_not_in_the_graph() -> None:
    x = leaf([1.0, 2.0])
    for y in (x > 1, x >= 1, x < 1, x <= 1, x == 1, x != 1):
        assert y.dtype == np.bool_ and not y.requires_grad


# -- tt.grad ------------------------------------------------------------------------------
def test_grad_returns_and_leaves_the_leaves_alone() -> None:
    x, y = leaf([1.0, 2.0]), leaf(3.0)
    gx, gy = tt.grad((x * x * y).sum(), [x, y])
    close(gx, [6, 12])
    close(gy, 5.0)
    assert x.grad is None and y.grad is None
    assert not gx.requires_grad


def test_grad_of_several_outputs_sums() -> None:
    x = leaf([1.0, 2.0])
    (g,) = tt.grad([(x * x).sum(), x * 3], [x], grad_outputs=[None, const([1.0, 10.0])])
    close(g, [2 + 3, 4 + 30])


def test_grad_to_an_intermediate_result() -> None:
    x = leaf(2.0)
    y = x * x
    z = tt.exp(y)
    (g,) = tt.grad(z, [y])
    close(g, np.exp(4.0), 1e-9)


def test_grad_of_an_output_to_itself_is_the_upstream() -> None:
    x = leaf(2.0)
    y = x * x
    (g,) = tt.grad(y, [y])
    close(g, 1.0)


def test_grad_of_something_unused() -> None:
    x, z = leaf(2.0), leaf(1.0)
    with pytest.raises((ValueError, RuntimeError), match="allow_unused"):
        tt.grad(x * x, [x, z])
    gx, gz = tt.grad(x * x, [x, z], allow_unused=True)
    close(gx, 4.0)
    assert gz is None


def test_grad_to_an_intermediate_result_leaves_what_is_above_it_alone() -> None:
    """Nothing above the inputs is walked or freed: their own backward still works."""
    x = leaf(2.0)
    y = tt.exp(x)
    z = y * y
    tt.grad(z, [y])
    y.backward()
    close(x.grad, np.exp(2.0), 1e-9)


def test_grad_frees_only_the_paths_to_its_inputs() -> None:
    x, w = leaf(2.0), leaf(3.0)
    side = tt.exp(w)
    tt.grad(tt.tanh(x) * side, [x])
    side.backward()
    close(w.grad, np.exp(3.0), 1e-9)


def test_gradients_returned_by_grad_share_no_memory() -> None:
    a, b, upstream = leaf([1.0, 1.0]), leaf([1.0, 1.0]), const([1.0, 2.0])
    ga, gb = tt.grad(a + b, [a, b], upstream)
    assert not share_memory(ga, gb)
    assert not share_memory(ga, upstream) and not share_memory(gb, upstream)


def test_grad_leaves_other_leaves_without_gradient() -> None:
    x, other = leaf(2.0), leaf(5.0)
    tt.grad(x * other, [x])
    assert other.grad is None


# -- random graphs ------------------------------------------------------------------------
UNARY = {
    "tanh": (tt.tanh, np.tanh),
    "sigmoid": (tt.sigmoid, lambda a: 1 / (1 + np.exp(-a))),
    "square": (lambda t: t**2, np.square),
    "negate": (lambda t: -t, np.negative),
    "softplus-like": (lambda t: tt.log(tt.exp(t) + 1), lambda a: np.log(np.exp(a) + 1)),
    "row sum": (lambda t: t.sum(axis=-1, keepdims=True), lambda a: a.sum(axis=-1, keepdims=True)),
    "column mean": (lambda t: t.mean(axis=0), lambda a: a.mean(axis=0)),
}
BINARY = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: a - b, np.subtract),
    "*": (lambda a, b: a * b, np.multiply),
    "/": (lambda a, b: a / (b * b + 1), lambda a, b: a / (b * b + 1)),
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*UNARY, *BINARY]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=9,
)


@given(steps=STEPS, seed=st.integers(0, 2**16))
def test_random_graphs_equal_finite_differences(steps: list, seed: int) -> None:
    random = np.random.default_rng(seed)
    inputs = [random.normal(size=shape) for shape in ((2, 3), (3,), (2, 1), ())]

    def run(values: list, which: int) -> list:
        pool = list(values)
        for name, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            if name in UNARY:
                pool.append(UNARY[name][which](a) if a.ndim else a * 0.5)
            else:
                pool.append(BINARY[name][which](a, b))
        return pool[len(values) :]

    leaves = [leaf(a) for a in inputs]
    made = run(leaves, 0)
    total = sum((m.sum() for m in made[1:]), made[0].sum())
    total.backward()
    expected = numeric_gradients(
        lambda *arrays: sum(np.sum(m) for m in run(list(arrays), 1)), inputs, np.array(1.0)
    )
    for tensor, value in zip(leaves, expected, strict=True):
        got = np.zeros(tensor.shape) if tensor.grad is None else grad_of(tensor)
        np.testing.assert_allclose(got, value, rtol=1e-4, atol=1e-6 * max(1.0, np.abs(value).max()))


LINEAR: dict[str, Callable[[tt.Tensor], tt.Tensor]] = {
    "x * 2": lambda x: x * 2.0,
    "x + 1": lambda x: x + 1.0,
    "3 - x": lambda x: 3.0 - x,
    "mean": tt.mean,
    "relu": tt.relu,
    "clip": lambda x: tt.clip(x, -1.0, 5.0),
    "indexing": lambda x: x[0],
}


@pytest.mark.parametrize("f", LINEAR)
@pytest.mark.parametrize("through", ["itself", "a sum"])
def test_the_gradient_of_a_constant_gradient(f: str, through: str) -> None:
    x = leaf([1.0, 2.0])
    (g,) = tt.grad(LINEAR[f](x).sum(), x, create_graph=True)
    seed = const([1.0, 1.0]) if through == "itself" else None
    out = g if through == "itself" else g.sum()
    assert tt.grad(out, x, seed, allow_unused=True) == (None,)
    assert tt.grad(out, x, seed, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="is constant, for it is that of a linear function"):
        tt.grad(out, x, seed)
    tt.grad((x * x).sum(), x)  # whatever runs in between
    assert tt.grad(out, x, seed, allow_unused=True) == (None,)
    (g,) = tt.grad(LINEAR[f](x).sum(), x)
    with pytest.raises(RuntimeError, match="pass create_graph=True when computing the first"):
        tt.grad(g.sum(), x)


def test_an_op_without_a_gradient_is_named() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="has no graph.*op without a gradient, as 'greater'"):
        ((x > 1.0).astype("float64") * 2.0).sum().backward()
    (x * x).sum().backward()
    with pytest.raises(RuntimeError, match=r"detached; call \.requires_grad_"):
        const([1.0]).sum().backward()
