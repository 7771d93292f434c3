"""Hooks of modules: around forward, and with the gradients of inputs and outputs."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

pytestmark = pytest.mark.usefixtures("device")


class Weighted(nn.Module):
    """3a + 5b, and a dict with 7a in it on request."""

    def forward(self, a: Any, b: Any, nest: bool = False) -> Any:
        total = a * 3.0 + b * 5.0
        return {"total": total, "more": [(a * 7.0, "text")]} if nest else total


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(np.array(values, dtype=np.float64), requires_grad=True)


def values(grads: Any) -> list[Any]:
    return [None if g is None else g.tolist() for g in grads]


def test_forward_hooks_run_in_order_and_may_replace() -> None:
    module, seen = Weighted(), []

    def before(m: Any, args: Any) -> Any:
        assert m is module
        seen.append("before")
        return args[0] * 2.0, args[1]

    def after(m: Any, args: Any, out: Any) -> Any:
        seen.append(args[0].tolist())
        return out + 1.0

    handles = [
        module.register_forward_hook(after),
        module.register_forward_pre_hook(before),
        module.register_forward_hook(lambda m, args, out: out * 10.0),
    ]
    one = tt.tensor([1.0])
    assert module(one, one).tolist() == [(6 + 5 + 1) * 10]
    assert seen == ["before", [2.0]]
    for handle in handles:
        handle.remove()
    assert module(one, b=one).tolist() == [8]


def test_backward_hooks_see_all_gradients_once() -> None:
    module, seen = Weighted(), []
    module.register_full_backward_hook(
        lambda m, given, came: seen.append((values(given), values(came)))
    )
    a, b = leaf([1.0]), leaf([1.0])
    out = module(a, b, nest=True)
    assert out["more"][0][1] == "text"
    (out["total"] + out["more"][0][0] * 10.0).sum().backward()
    assert seen == [([[73], [5]], [[1], [10]])]
    out = module(a, tt.tensor([1.0]), nest=True)  # only a wants a gradient; one output is not used
    out["total"].sum().backward()
    assert seen[1:] == [([[3]], [[1], None])]


def test_one_tensor_given_twice_has_a_gradient_at_each_place() -> None:
    module, seen = Weighted(), []
    module.register_full_backward_hook(lambda m, given, came: seen.append(values(given)))
    x = leaf([1.0])
    module(x, x).sum().backward()
    assert seen == [[[3], [5]]]
    assert values([x.grad]) == [[8]]


def test_backward_hooks_may_replace_the_gradients_of_the_inputs() -> None:
    module = Weighted()
    handle = module.register_full_backward_hook(lambda m, given, came: (given[0] * 10.0, None))
    a, b = leaf([1.0]), leaf([1.0])
    module(a * 1.0, b * 1.0).sum().backward()
    assert values([a.grad]) == [[30]]
    assert b.grad is None or values([b.grad]) == [[0]]
    handle.remove()
    module(a, b).sum().backward()
    assert values([a.grad]) == [[33]]


@pytest.mark.parametrize("answer", [(tt.ones(5), tt.ones(1)), tt.ones(1), (1.0, 2.0)])
def test_a_wrong_answer_of_a_backward_hook_is_named(answer: Any) -> None:
    module = Weighted()

    def wrong(m: Any, given: Any, came: Any) -> Any:
        return answer

    module.register_full_backward_hook(wrong)
    with pytest.raises(TypeError, match=r"backward hook 'wrong'.*shapes \(\(1,\), \(1,\)\), got"):
        module(leaf([1.0]), leaf([1.0])).sum().backward()


def test_without_gradients_of_inputs_the_hook_still_sees_those_of_outputs() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, g, came: seen.append((g, values(came))))
    layer(tt.ones(1, 2)).sum().backward()
    assert seen == [((), [[[1.0]]])]
    with tt.no_grad():
        layer(tt.ones(1, 2))
    assert len(seen) == 1


def test_gradients_of_gradients_go_through_backward_hooks() -> None:
    class Cube(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * x * x

    module = Cube()
    module.register_full_backward_hook(lambda m, given, came: (given[0] * 2.0,))
    x = leaf([2.0])
    (g,) = tt.grad(module(x).sum(), x, create_graph=True)
    assert values([g]) == [[24]]
    g.sum().backward()
    assert values([x.grad]) == [[24]]  # no gradient of the output came: no hook, as in PyTorch


def test_a_copy_has_hooks_of_its_own() -> None:
    layer = nn.Linear(2, 2)
    handle = layer.register_forward_hook(lambda m, args, out: out * 2.0)
    other = copy.deepcopy(layer)
    handle.remove()
    x = tt.ones(1, 2)
    np.testing.assert_allclose(other(x).tolist(), (layer(x) * 2.0).tolist(), rtol=1e-6)


def test_hooks_keep_nothing_alive() -> None:
    gc.disable()
    try:
        module = Weighted()
        module.register_full_backward_hook(lambda m, given, came: None)
        x = leaf([1.0])
        out = module(x, x)
        node = weakref.ref(out.node)
        (g,) = tt.grad(out.sum(), x, create_graph=True)
        del g, out
        assert node() is None
    finally:
        gc.enable()


def test_a_hook_has_to_be_a_function() -> None:
    with pytest.raises(TypeError, match="hook: expected a function, got int"):
        Weighted().register_forward_hook(3)  # type: ignore[arg-type]


# ---- keyword arguments ---------------------------------------------------------------------------


class Twice(nn.Module):
    def forward(self, x: Any, *, scale: Any = 2.0) -> Any:
        return x * scale


def test_hooks_see_keyword_arguments_on_request() -> None:
    module, seen = Twice(), []
    module.register_forward_pre_hook(lambda m, args: seen.append(("plain", args)))
    module.register_forward_pre_hook(
        lambda m, args, kwargs: seen.append((args, sorted(kwargs))), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: seen.append((args, kwargs["x"].tolist(), out.tolist())),
        with_kwargs=True,
    )
    module.register_full_backward_hook(
        lambda m, given, came: seen.append((values(given), values(came)))
    )
    x, scale = leaf([1.0]), leaf([5.0])
    module(scale=scale, x=x).sum().backward()
    assert seen == [("plain", ()), ((), ["scale", "x"]), ((), [1.0], [5.0]), ([[1], [5]], [[1]])]
    assert values([x.grad, scale.grad]) == [[5], [1]]


def test_gradients_of_keywords_come_after_those_of_positions_and_may_be_replaced() -> None:
    module = Weighted()
    module.register_full_backward_hook(lambda m, given, came: (given[0] * 10.0, given[1] * 100.0))
    a, b = leaf([1.0]), leaf([1.0])
    module(b=b, a=a)  # in the order in which they are given
    module(a * 1.0, b=b * 1.0).sum().backward()
    assert values([a.grad, b.grad]) == [[30], [500]]


def test_hooks_before_may_replace_keyword_arguments_and_hooks_after_see_it() -> None:
    module, seen = Twice(), []

    def before(m: Any, args: Any, kwargs: Any) -> Any:
        return (args[0] + 1.0,), {"scale": kwargs.get("scale", 3.0) * 10.0}

    def after(m: Any, args: Any, kwargs: Any, out: Any) -> Any:
        seen.append((values(args), kwargs))
        return -out

    handle = module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, with_kwargs=True)
    assert module(tt.tensor([1.0])).tolist() == [-60]
    assert module(tt.tensor([1.0]), scale=1.0).tolist() == [-20]
    handle.remove()
    assert module(tt.tensor([1.0]), scale=1.0).tolist() == [-1]
    assert seen == [([[2]], {"scale": 30}), ([[2]], {"scale": 10}), ([[1]], {"scale": 1})]


@pytest.mark.parametrize("answer", [3, (1,), (tt.ones(1), {}), ((), [])])
def test_what_a_hook_with_keywords_returns_is_checked(answer: Any) -> None:
    module = Twice()

    def wrong(m: Any, args: Any, kwargs: Any) -> Any:
        return answer

    module.register_forward_pre_hook(wrong, with_kwargs=True)
    with pytest.raises(TypeError, match=r"forward pre-hook 'wrong'.*\(args, kwargs\).*, got"):
        module(tt.ones(1))


def test_a_hook_may_be_put_before_the_others() -> None:
    module, seen = Twice(), []
    for register in (
        module.register_forward_pre_hook,
        module.register_forward_hook,
        module.register_full_backward_hook,
    ):
        kind = register.__name__.split("_")[-2]
        for i, prepend in enumerate((False, True, False, True)):
            register(lambda *_, k=kind, i=i: seen.append((k, i)), prepend=prepend)
    module(leaf([1.0])).sum().backward()
    assert seen == [(kind, i) for kind in ("pre", "forward", "backward") for i in (3, 1, 0, 2)]
