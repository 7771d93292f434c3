"""``tt.profile``: counts and sizes by op, module and phase are exact, and the report has them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.profiling import Entry

from ..profiles import calls, check_sums, nothing_stays_behind, weights  # noqa: F401

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

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
