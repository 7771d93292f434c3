"""Recomputing instead of keeping: the same numbers, less memory, honest failure."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from ..helpers import close, host, leaf

pytestmark = pytest.mark.usefixtures("device")


def block(x: tt.Tensor, w: tt.Tensor) -> tt.Tensor:
    h = tt.dropout(tt.tanh(x @ w), 0.3)
    return tt.layer_norm(tt.gelu(h @ w) + x)


def inputs(rng: np.random.Generator) -> tuple[tt.Tensor, tt.Tensor]:
    return leaf(rng.normal(size=(6, 5))), leaf(rng.normal(size=(5, 5)))


def test_values_and_gradients_are_the_same_dropout_included(rng: np.random.Generator) -> None:
    x, w = inputs(rng)
    results = []
    for wrap in (block, lambda x, w: tt.checkpoint(block, x, w)):
        tt.manual_seed(3)
        loss = (wrap(wrap(x, w), w) * wrap(x, w)).sum()
        after = tt.rand(1).item()  # the generators stand where they stood
        results.append((loss, tt.grad(loss, [x, w]), after))
    (a, first, after), (b, second, also) = results
    assert float(a) == float(b) and after == also
    for p, q in zip(first, second, strict=True):
        close(p, q)


def test_one_inside_another(rng: np.random.Generator) -> None:
    x, w = inputs(rng)

    def two(x: tt.Tensor) -> tt.Tensor:
        return tt.checkpoint(block, tt.checkpoint(block, x, w), w)

    results = []
    for wrap in (lambda x: block(block(x, w), w), two, lambda x: tt.checkpoint(two, x)):
        tt.manual_seed(3)
        results.append(tt.grad((wrap(x) ** 2).sum(), [x, w]))
    for p, q, r in zip(*results, strict=True):
        close(p, q)
        close(p, r)


def test_second_order(rng: np.random.Generator) -> None:
    x, w = inputs(rng)

    def curved(x: tt.Tensor) -> tt.Tensor:
        return tt.exp(tt.sin(x @ w) * 0.3)

    results = []
    for wrap in (curved, lambda x: tt.checkpoint(curved, x)):
        (g,) = tt.grad(wrap(x).sum(), x, create_graph=True)
        results.append(tt.grad((g * g).sum(), [x, w]))
    for p, q in zip(*results, strict=True):
        close(p, q)


def test_nothing_is_kept_but_the_arguments(rng: np.random.Generator) -> None:
    x, w = inputs(rng)
    plain = tt.memory_report(block(x, w))
    kept = tt.memory_report(tt.checkpoint(block, x, w))
    assert plain.total > 1000
    assert kept.total == 0 and kept.nodes == plain.nodes


def test_backward_twice_with_retain_graph(rng: np.random.Generator) -> None:
    x, w = inputs(rng)
    loss = tt.checkpoint(block, x, w).sum()
    loss.backward(retain_graph=True)
    assert x.grad is not None
    once = x.grad.detach().copy()
    loss.backward()
    close(x.grad, once * 2.0)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_module_and_keyword_arguments() -> None:
    model = nn.Linear(3, 2)
    x = tt.ones((4, 3))
    tt.checkpoint(model, x).sum().backward()
    close(model.bias.grad, np.array([4.0, 4.0], np.float32))
    y = leaf([1.0])
    tt.checkpoint(lambda x, power: x**power, y, power=3).sum().backward()
    close(y.grad, [3])


def test_outside_a_graph_it_is_a_plain_call() -> None:
    with tt.no_grad():
        assert not tt.checkpoint(tt.exp, leaf([1.0])).requires_grad
    close(tt.checkpoint(tt.exp, tt.tensor([0.0])), [1])


def test_a_function_that_computes_something_else_the_second_time() -> None:
    calls = [tt.exp, tt.sin]
    x = leaf([1.0])
    y = tt.checkpoint(lambda x: calls.pop(0)(x) * 2.0, x).sum()
    with pytest.raises(RuntimeError, match="did not compute the same.*'sin', not 'exp'"):
        y.backward()
    more = [1, 3]
    z = tt.checkpoint(lambda x: sum((x * x for _ in range(more.pop(0))), x), x).sum()
    with pytest.raises(RuntimeError, match="6 ops instead of 2"):
        z.backward()


def test_a_parameter_changed_before_backward_is_noticed() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    y = tt.checkpoint(lambda x: x * w, x).sum()
    with tt.no_grad():
        w += 1.0
    with pytest.raises(RuntimeError, match="'mul'.*changed in place"):
        y.backward()


def test_a_wrong_argument() -> None:
    with pytest.raises(TypeError, match="fn: expected a function, got Tensor"):
        tt.checkpoint(leaf([1.0]))  # type: ignore[arg-type]


def test_an_argument_that_becomes_another_is_remembered_as_it_was() -> None:
    a = leaf([1.0, 2.0])
    x = a * 2.0
    y = tt.checkpoint(tt.sin, x)
    x += 1.0  # recorded: x is the result from here on
    y.sum().backward()
    close(a.grad, 2 * np.cos([2.0, 4.0]))


def test_a_function_may_change_its_argument() -> None:
    def fn(x: tt.Tensor) -> tt.Tensor:
        x += 1.0
        return tt.sin(x)

    a = leaf([1.0, 2.0])
    tt.checkpoint(fn, a * 2.0).sum().backward()
    close(a.grad, 2 * np.cos([3.0, 5.0]))


def test_an_argument_written_to_before_backward_is_noticed() -> None:
    a, c = leaf([1.0, 2.0]), tt.tensor(np.ones(2))
    y = tt.checkpoint(lambda a, c: tt.exp(a + c), a, c)  # no op keeps c
    c += 1.0
    with pytest.raises(RuntimeError, match=r"argument of '<lambda>' was changed in place.*\.py:"):
        y.sum().backward()


def test_an_error_in_the_second_run_leaves_nothing_behind() -> None:
    calls = []

    def fn(x: tt.Tensor) -> tt.Tensor:
        calls.append(1)
        y = tt.dropout(tt.sin(x), 0.5)
        if len(calls) == 2:
            raise KeyError("the second run")
        return tt.exp(y)

    x = leaf(np.linspace(0.0, 1.0, 50))
    tt.manual_seed(0)
    y = tt.checkpoint(fn, x)
    with pytest.raises(KeyError):
        y.sum().backward()
    state = tt.random.state()
    y.sum().backward()
    assert tt.random.state() == state
    tt.manual_seed(0)
    (g,) = tt.grad(fn(x).sum(), x)
    close(x.grad, host(g))
