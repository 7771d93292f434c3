"""``tt.profile``: counts, sizes and products are exact, times add up, and nothing stays behind."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import autograd, nn
from tinytensor.device import BY_TYPE, CPU, Device
from tinytensor.profiling import Entry, Product, Profile
from tinytensor.registry import Op

CALL, PULL_BACK = Op.__call__, autograd.pull_back


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    """Every test here leaves the engine as it was: not a wrapper, the functions themselves."""
    yield
    assert Op.__call__ is CALL
    assert autograd.pull_back is PULL_BACK
    loss = tt.exp(tt.tensor([1.0], requires_grad=True)).sum()
    with tt.profile() as p:
        pass
    loss.backward()
    assert not p.entries and 0 <= p.elsewhere_ns <= p.wall_ns


def calls(p: Profile) -> dict[str, tuple[int, int]]:
    """How many applications, and steps back, of each op."""
    return {name: (e.forward.calls, e.backward.calls) for name, e in p.by_op.items()}


def weights(*shape: int) -> tt.Tensor:
    """A leaf that wants a gradient."""
    return tt.randn(*shape, requires_grad=True)


def check_sums(p: Profile) -> None:
    """Ops, the measuring and the rest are the wall time; each grouping has all of the ops."""
    total = p.total.total
    assert total.ns > 0 and p.own_ns > 0 and p.elsewhere_ns >= 0
    assert total.ns + p.own_ns + p.elsewhere_ns == p.wall_ns
    for groups in (p.by_op, p.by_module, p.by_phase, p.modules(1), p.modules(merge=True)):
        for name in ("calls", "ns", "bytes", "flops"):
            assert sum(getattr(e.total, name) for e in groups.values()) == getattr(total, name)
        ns = [e.total.ns for e in groups.values()]
        assert ns == sorted(ns, reverse=True)


# ---- counts and sizes --------------------------------------------------------------------------


def test_calls_and_bytes_are_exact() -> None:
    x, w = tt.randn(3, 4), weights(4, 5)
    with tt.profile() as p:
        y = x @ w
        (tt.tanh(y) + tt.tanh(y)).sum().backward()
    assert calls(p) == {"matmul": (1, 1), "tanh": (2, 2), "add": (1, 1), "sum": (1, 1)}
    check_sums(p)
    out = 3 * 5 * 4
    sizes = {name: (e.forward.bytes, e.backward.bytes) for name, e in p.by_op.items()}
    assert sizes == {
        "matmul": (out, 4 * 5 * 4),
        "tanh": (2 * out, 2 * out),
        "add": (out, 0),  # both operands get the gradient that came in
        "sum": (4, sizes["sum"][1]),
    }


def test_without_a_graph_and_by_keyword_it_counts_as_well() -> None:
    with tt.no_grad(), tt.profile() as p:
        tt.matmul(x=tt.ones(2, 3), y=[[1.0], [2.0], [3.0]])
        tt.linear(tt.ones(2, 3), weight=tt.ones(4, 3))
    assert calls(p) == {"matmul": (1, 0), "linear": (1, 0)}
    assert p.total.forward.flops == 2 * (2 * 3 * 1 + 2 * 3 * 4)


def test_an_op_that_converts_its_operands_is_one_call() -> None:
    with tt.profile() as p:
        tt.exp([1.0, 2.0])
        tt.add(1.0, 2.0)
        tt.concat([[1.0], tt.ones(2)])
        tt.exp(tt.tensor(np.array([1, 2], np.int8)))  # goes by way of float32
    assert calls(p)["exp"] == (2, 0) and calls(p)["add"] == (1, 0) and calls(p)["concat"] == (1, 0)


def test_a_view_has_no_bytes_and_a_copy_has() -> None:
    x = tt.randn(4, 6)
    with tt.profile() as p:
        turned = tt.swapaxes(x, 0, 1)
        tt.reshape(x, (24,))
    assert p.total.total.bytes == 0
    with tt.profile() as p:
        tt.reshape(turned, (24,))
    assert p.total.total.bytes == 24 * 4


def test_values_and_gradients_are_the_same() -> None:
    def run() -> list[np.ndarray]:
        tt.manual_seed(3)
        x, w = weights(5, 4), weights(3, 4)
        y = tt.softmax(tt.linear(x, w), -1)
        (y * y).sum().backward()
        return [y.detach().numpy(), x.grad.numpy(), w.grad.numpy()]

    plain = run()
    with tt.profile():
        watched = run()
    for a, b in zip(plain, watched, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- modules and phases ------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self) -> None:
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return tt.relu(self.inner(x))


class Net(nn.Module):
    def __init__(self) -> None:
        self.h = [Block(), Block()]

    def forward(self, x: Any) -> Any:
        for block in self.h:
            x = block(x)
        return x * 2.0


def test_time_goes_to_the_module_that_applied_the_op() -> None:
    net, x = Net(), tt.randn(2, 4)
    with tt.profile() as p:
        net(x).sum().backward()
    assert {name: (e.forward.calls, e.backward.calls) for name, e in p.by_module.items()} == {
        "h.0.inner": (1, 1), "h.1.inner": (1, 1), "h.0": (1, 1), "h.1": (1, 1), "Net": (1, 1),
        "": (1, 1),
    }  # fmt: skip
    assert set(p.modules(merge=True)) == {"h.*.inner", "h.*", "Net", ""}
    assert set(p.modules(1)) == {"h.0", "h.1", "Net", ""}
    assert p.modules(1, merge=True)["h.*"].forward.calls == 4
    assert p.entries["", "linear", "h.1.inner"].backward.flops == 2 * 2 * 4 * 4 * 2
    check_sums(p)


def test_phases() -> None:
    x = weights(3)
    with tt.profile() as p:
        for _ in range(2):
            with p.phase("forward"):
                y = tt.exp(x).sum()
            with p.phase("backward"):
                y.backward()
            tt.exp(x)
    assert p.by_phase["forward"].total.calls == p.by_phase["backward"].total.calls == 4
    assert p.by_phase[""].total.calls == 2
    assert p.by_phase["backward"].forward.calls == 0
    for name in ("forward", "backward"):
        assert p.by_phase[name].total.ns <= p.phase_ns[name]
    assert sum(p.phase_ns.values()) <= p.wall_ns
    check_sums(p)


def test_a_phase_needs_a_running_profile_and_no_other_phase() -> None:
    p = tt.profile()
    with pytest.raises(RuntimeError, match="phase 'a': the profile is not running"):
        with p.phase("a"):
            pass
    with p:
        with pytest.raises(RuntimeError, match="phase 'b': the profile is in phase 'a' already"):
            with p.phase("a"):
                with p.phase("b"):
                    pass
        with p.phase("b"):
            pass
        with pytest.raises(RuntimeError, match="this one is running already"):
            p.__enter__()
    assert set(p.phase_ns) == {"a", "b"}


# ---- times -------------------------------------------------------------------------------------


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
            tt.custom.CUSTOM.pop(name)
    assert calls(p) == {"slow_inner": (1, 0), "outer_op": (1, 0)}
    assert p.by_op["slow_inner"].total.seconds > 0.03 > 6 * p.by_op["outer_op"].total.seconds
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
    assert autograd.pull_back is PULL_BACK
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


# ---- the report --------------------------------------------------------------------------------


def test_the_report_as_text_and_as_plain_values() -> None:
    assert str(tt.profile()).startswith("profile: nothing measured yet")
    net, x = Net(), tt.randn(2, 4)
    with tt.profile() as p:
        with p.phase("all"):
            net(x).sum().backward()
    text = str(p)
    for part in ("wall time", "elsewhere", "matrix products", "linear", "h.*.inner", "(none)"):
        assert part in text, text
    head = text.splitlines()[3].split()
    assert head == ["op", "calls", "forward", "backward", "share", "output", "GFLOP/s", "floor"]
    values = json.loads(json.dumps(p.to_dict()))
    assert values["ops"]["linear"]["backward"]["calls"] == 2
    assert values["modules"]["h.0.inner"]["forward"]["flops"] == 2 * 2 * 4 * 4
    assert values["flops"] == p.total.total.flops == 2 * 3 * 2 * 2 * 4 * 4 - 2 * 2 * 4 * 4
    assert set(values["phases"]) == {"all"}
    assert sum(entry["times"] for entry in values["products"]) == 5
    for entry in values["products"]:
        assert entry["seconds_alone"] > 0
    parts = [values[f"{name}_seconds"] for name in ("op", "elsewhere", "measuring")]
    assert math.isclose(sum(parts), values["wall_seconds"], rel_tol=1e-9)
    assert values["floor_seconds"] == p.alone(p.total.total)


def test_nothing_but_ops_without_products_has_no_floor() -> None:
    with tt.profile() as p:
        tt.exp(tt.ones(3))
    assert "matrix products" not in str(p)
    assert p.alone(p.total.total) == 0.0 and Entry().total.flops == 0
