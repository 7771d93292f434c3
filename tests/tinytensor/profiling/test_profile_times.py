"""``tt.profile``: times add up whatever runs inside what, and leaving it leaves nothing behind."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import BY_TYPE, CPU, Device
from tinytensor.define.custom import CUSTOM
from tinytensor.define.op import Op
from tinytensor.graph import backward
from tinytensor.profiling import Product, Profile

from ..profiles import (  # noqa: F401
    CALL,
    PULL_BACK,
    calls,
    check_sums,
    nothing_stays_behind,
    weights,
)

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")


def test_times_are_most_of_the_wall_time_where_the_work_is() -> None:
    x, w = tt.randn(400, 400), weights(400, 400)
    with tt.profile() as p:
        for _ in range(3):
            (x @ w).sum().backward()
    check_sums(p)
    assert p.total.total.ns > 0.5 * p.wall_ns
    before = p.total.total.ns
    with p:  # a second time adds to it
        time.sleep(0.05)
        (x @ w).sum()
    assert p.elsewhere_ns > 0.05e9 and p.total.total.ns > before
    assert calls(p)["matmul"] == (4, 3)
    check_sums(p)


def test_time_inside_an_op_is_not_counted_twice() -> None:
    """The outer op's own time is what its inner ops, here slow ones, leave."""

    @tt.custom_op("x")
    def slow_inner(xp: Any, x: Any) -> Any:
        time.sleep(0.03)
        return x + 1

    slow_inner.vjp(x=lambda xp, g, k: g)

    @tt.custom_op("x")
    def outer_op(xp: Any, x: Any) -> Any:
        with tt.no_grad():
            return slow_inner(x).data

    outer_op.vjp(x=lambda xp, g, k: g)
    try:
        with tt.profile() as p:
            outer_op(tt.ones(2))
    finally:
        for name in ("slow_inner", "outer_op"):
            CUSTOM.pop(name)
    assert calls(p) == {"slow_inner": (1, 0), "outer_op": (1, 0)}
    assert p.by_op["slow_inner"].total.ns > max(0.03e9, 2 * p.by_op["outer_op"].total.ns)
    check_sums(p)


def test_create_graph_counts_what_the_rules_apply() -> None:
    x, y = weights(3, 4), weights(4, 5)
    with tt.profile() as p:
        (g,) = tt.grad((x @ y).sum(), x, create_graph=True)
    # gᵀ and g yᵀ, applied on Tensors by the rule of matmul, whose products are counted once
    assert p.by_op["matmul"].backward.calls == 1 and p.by_op["matmul"].backward.flops == 0
    assert p.by_op["matmul"].forward.calls >= 2
    products = p.total.total.products
    assert products[Product(1, 3, 5, 4, "float32", "cpu")] >= 1
    assert all(len({*key[1:4]}) == 3 for key in products)
    check_sums(p)
    with tt.profile() as second:
        g.square().sum().backward()
    assert calls(second)["matmul"][1] >= 1
    check_sums(second)


def test_a_checkpoint_runs_its_part_twice() -> None:
    x = weights(2, 3)
    with tt.profile() as p:
        tt.checkpoint(lambda x: tt.exp(tt.sin(x)), x).sum().backward()
    assert calls(p) == {"sin": (2, 1), "exp": (2, 1), "sum": (1, 1)}
    check_sums(p)


# ---- leaving it --------------------------------------------------------------------------------


def test_an_exception_inside_leaves_nothing_behind() -> None:
    x = weights(2, 3)
    with pytest.raises(ValueError, match="matmul"):
        with tt.profile() as p:
            tt.exp(x)
            with p.phase("forward"):
                x @ x
    assert calls(p) == {"exp": (1, 0)}, "what raised is not counted"
    with p:
        with pytest.raises(ValueError, match="matmul"):
            x @ x
        x @ tt.ones(3, 1)
    assert calls(p) == {"exp": (1, 0), "matmul": (1, 0)}
    check_sums(p)
    y = tt.exp(x).sum()
    y.backward()
    with tt.profile() as p:
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward()
        tt.exp(x)
    assert calls(p)["exp"] == (1, 0)
    assert backward.pull_back is PULL_BACK
    check_sums(p)


def test_one_inside_another() -> None:
    x = weights(2)
    with tt.profile() as outer:
        tt.exp(x)
        with tt.profile() as inner:
            tt.sin(x).sum().backward()
        assert Op.__call__ is not CALL
        tt.cos(x)
    assert calls(inner) == {"sin": (1, 1), "sum": (1, 1)}
    assert calls(outer) == {"sin": (1, 1), "sum": (1, 1), "exp": (1, 0), "cos": (1, 0)}
    assert inner.by_op["sin"] == outer.by_op["sin"]
    assert inner.wall_ns <= outer.wall_ns
    for p in (inner, outer):
        check_sums(p)


def test_threads_keep_apart() -> None:
    """Each counts its own, one without a profile runs on, and the last to leave cleans up."""
    x = tt.ones(2)
    found: dict[str, Profile] = {}
    started, finish = threading.Barrier(3), threading.Event()

    def watched(name: str) -> None:
        with tt.profile() as p:
            started.wait(10)
            for _ in range(50):
                getattr(tt, name)(x)
            finish.wait(10)
        found[name] = p

    threads = [threading.Thread(target=watched, args=(name,)) for name in ("exp", "sin")]
    for thread in threads:
        thread.start()
    started.wait(10)
    assert Op.__call__ is not CALL
    w = weights(2)
    tt.tanh(w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 1 - np.tanh(w.detach().numpy()) ** 2, rtol=1e-5)
    finish.set()
    for thread in threads:
        thread.join(10)
    assert {name: calls(p) for name, p in found.items()} == {
        "exp": {"exp": (50, 0)}, "sin": {"sin": (50, 0)},
    }  # fmt: skip


class _Array(np.ndarray):
    """The arrays of a device that works later, as a GPU does."""


def test_on_a_gpu_it_waits_for_each_op() -> None:
    waits: list[int] = []

    class Later(Device):
        def synchronize(self) -> None:
            waits.append(1)

    later = Later("later", np, _Array, lambda a: np.array(a).view(_Array), np.asarray)
    BY_TYPE[_Array] = later
    try:
        x = tt.ones(2, requires_grad=True)
        with tt.profile() as p:
            assert len(waits) == 1, "on entering"
            tt.exp(x).sum()
            assert len(waits) == 1 + 2 * 2, "before and after each op"
        assert len(waits) == 6
    finally:
        del BY_TYPE[_Array]
    assert calls(p) == {"exp": (1, 0), "sum": (1, 0)} and BY_TYPE[np.ndarray] is CPU


@pytest.mark.cuda
def test_on_cuda() -> None:
    with tt.device("cuda"):
        x, w = tt.randn(64, 32), tt.randn(16, 32).requires_grad_()
        with tt.profile() as p:
            tt.linear(x, w).sum().backward()
    assert p.total.total.products == {
        Product(1, 64, 32, 16, "float32", "cuda"): 1,
        Product(1, 16, 64, 32, "float32", "cuda"): 1,
    }
    assert p.alone(p.total.total) > 0
    check_sums(p)
