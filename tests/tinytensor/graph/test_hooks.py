"""Hooks on tensors: seen, replaced, removed; and gradients kept on tensors that are no leaves."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, host, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_a_hook_sees_the_complete_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    seen: list[tt.Tensor] = []
    y.register_hook(seen.append)
    (y * 3.0 + y * const([1.0, 10.0])).sum().backward()
    assert len(seen) == 1
    close(seen[0], [4, 13])
    close(x.grad, [8, 52])


def test_a_hook_on_a_leaf_runs_once_with_what_is_added_to_grad() -> None:
    x = leaf([1.0, 2.0])
    seen: list[tt.Tensor] = []
    x.register_hook(seen.append)
    (x * x + x).sum().backward()
    (x * x).sum().backward()
    close(seen[0], [3, 5])
    close(seen[1], [2, 4])
    close(x.grad, [5, 9])


def test_a_hook_may_replace_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    y.register_hook(lambda g: g * 10.0)
    x.register_hook(lambda g: g + 1.0)
    y.sum().backward()
    close(x.grad, [21, 41])
    close(tt.grad((x * x).sum(), x)[0], [3, 5])


def test_hooks_run_in_the_order_they_were_registered() -> None:
    x = leaf([1.0])
    x.register_hook(lambda g: g * 2.0)
    x.register_hook(lambda g: g + 1.0)
    (x * 5.0).sum().backward()
    close(x.grad, [11])


def test_a_removed_hook_is_not_called() -> None:
    x = leaf([1.0])
    handle = x.register_hook(lambda g: g * 2.0)
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: g * 100.0):
        pass
    (x * 5.0).sum().backward()
    close(x.grad, [5])


def test_what_a_hook_does_to_its_argument_changes_nothing() -> None:
    a, b = leaf([1.0]), leaf([2.0])
    y, z = a * 1.0, b * 1.0

    def spoil(g: tt.Tensor) -> None:
        g *= 100.0

    y.register_hook(spoil)
    a.register_hook(spoil)
    (y + z).sum().backward()  # one array is the gradient of both
    close(a.grad, [1])
    close(b.grad, [1])


def test_a_kept_gradient_is_not_the_leafs() -> None:
    x = leaf([1.0])
    seen: list[tt.Tensor] = []
    x.register_hook(seen.append)
    (x * 5.0).sum().backward()
    assert x.grad is not None
    x.grad *= 0.0
    close(seen[0], [5])


def test_hooks_are_differentiable_under_create_graph() -> None:
    x = leaf([2.0])
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = tt.grad(y.sum(), x, create_graph=True)
    close(g, [8])  # 2x · x
    close(tt.grad(g.sum(), x)[0], [8])  # 4x


def test_a_hook_that_returns_another_shape_is_named() -> None:
    x = leaf([1.0, 2.0])

    def wrong(g: tt.Tensor) -> tt.Tensor:
        return g.sum()

    x.register_hook(wrong)
    with pytest.raises(TypeError, match=r"wrong.*shape \(2,\).*got shape \(\)"):
        (x * x).sum().backward()


def test_hooks_need_a_gradient_to_come() -> None:
    with pytest.raises(RuntimeError, match="register_hook.*requires_grad=True"):
        const([1.0]).register_hook(lambda g: None)
    with pytest.raises(RuntimeError, match="retain_grad.*requires_grad=True"):
        const([1.0]).retain_grad()


def test_retain_grad() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    z = y * 3.0
    y.retain_grad()
    z.sum().backward(retain_graph=True)
    close(y.grad, [3, 3])
    with pytest.warns(UserWarning, match="result of 'mul'.*retain_grad"):
        assert z.grad is None
    z.sum().backward()
    close(y.grad, [6, 6])  # adds up, as on a leaf
    x.retain_grad()  # of a leaf: nothing to do
    close(x.grad, [12, 24])


def test_retained_gradient_is_that_after_the_hooks() -> None:
    x = leaf([1.0])
    y = x * 2.0
    y.retain_grad()
    y.register_hook(lambda g: g * 7.0)
    y.sum().backward()
    close(y.grad, [7])


def test_retain_grad_makes_no_cycle() -> None:
    gc.disable()
    try:
        y = leaf(np.ones(1000)) * 2.0
        y.retain_grad()
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("write", ["*=", "[...] ="])
def test_retain_grad_is_about_the_tensor_after_a_write(write: str) -> None:
    y = leaf([1.0, 2.0]) * 2.0
    y.retain_grad()
    if write == "*=":
        y *= 3.0
    else:
        y[0] = 5.0
    (y * y).sum().backward()
    close(y.grad, 2 * host(y))


def test_a_removed_or_forgotten_hook_makes_no_cycle() -> None:
    class Held:
        pass

    gc.disable()
    try:
        held = Held()
        alive = weakref.ref(held)
        y = leaf([1.0]) * 2.0
        y.register_hook(lambda g, held=held: None)
        del held, y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_writes_to_its_argument_changes_nothing(create_graph: bool) -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0

    def write(g: tt.Tensor) -> None:
        g *= 10.0

    y.register_hook(write)
    close(tt.grad((y * y).sum(), x, create_graph=create_graph)[0], [18, 36])
