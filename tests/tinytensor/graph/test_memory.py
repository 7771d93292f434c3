"""Graphs are freed at once, by reference counting alone, however deep they are."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, leaf

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


PROGRAMS: dict[str, Callable[[tt.Tensor], tt.Tensor]] = {
    "elementwise": lambda x: tt.exp(x * 0.1) + tt.tanh(x) / (x * x + 1),
    "matmul": lambda x: (x @ x.T) @ x,
    "fused": lambda x: tt.layer_norm(tt.gelu(tt.linear(x, const(np.ones((4, 4)))))),
    "softmax": lambda x: tt.log_softmax(tt.softmax(x)),
    "attention": lambda x: tt.scaled_dot_product_attention(x, x, x, is_causal=True),
    "index": lambda x: x[[0, 0, 1]] + x[1:],
    "several outputs": lambda x: sum(tt.split(x, 2, axis=-1)[1:], tt.split(x, 2, axis=-1)[0]),
    "concat": lambda x: tt.stack([tt.concat([x, x], axis=0), tt.concat([x, x], axis=0)]),
    "reductions": lambda x: x.max(axis=0) + x.var(axis=0) + x.mean(axis=0),
    "masking": lambda x: tt.where(x > 0, x, -x) + tt.clip(x, -1, 1),
    "dropout": lambda x: tt.dropout(x, 0.5),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("run_backward", [False, True], ids=["dropped", "after backward"])
def test_freed_at_once(name: str, run_backward: bool) -> None:
    x = leaf(np.linspace(-1, 1, 16).reshape(4, 4))
    hidden = x * 1.5
    y = PROGRAMS[name](hidden)
    out = y.sum()
    refs = [weakref.ref(t) for t in (hidden, y, out)] + [
        weakref.ref(hidden.data),
        weakref.ref(y.data),
    ]
    if run_backward:
        out.backward()
    del hidden, y, out
    assert [r() for r in refs] == [None] * len(refs)
    assert not run_backward or x.grad is not None


def test_backward_frees_saved_arrays_while_the_result_lives() -> None:
    x = leaf(np.ones(100))  # more elements than a node keeps to be drawn
    y = tt.exp(x)
    array = weakref.ref(y.data)
    z = y.sum()
    del y
    assert array() is not None, "exp keeps its output for the backward pass"
    z.backward()
    assert array() is None


def test_no_grad_keeps_no_intermediate() -> None:
    x = leaf(np.ones(8))
    with tt.no_grad():
        y = tt.exp(x)
        array = weakref.ref(y.data)
        z = y * 2
        del y
    assert array() is None
    close(z, np.full(8, 2 * np.e), 1e-9)


def test_higher_order_graph_is_freed() -> None:
    x = leaf([1.0, 2.0])
    (g,) = tt.grad((tt.tanh(x) ** 3).sum(), [x], create_graph=True)
    out = (g * g).sum()
    out.backward()
    refs = [weakref.ref(g), weakref.ref(g.data), weakref.ref(out)]
    del g, out
    assert [r() for r in refs] == [None] * 3


def test_a_failed_backward_leaves_nothing_behind() -> None:
    x = leaf([1.0, 2.0])
    y = tt.exp(x)
    refs = [weakref.ref(y.data)]
    with pytest.raises(RuntimeError):
        (y * y).backward()
    del y
    assert refs[0]() is None


DEEP = 10_000


def test_deep_chain_at_the_default_recursion_limit() -> None:
    assert sys.getrecursionlimit() < DEEP
    x = leaf([0.5])
    y = x
    for i in range(DEEP):
        y = tt.tanh(y) if i % 2 else y * 1.0001 + 0.001
    y.sum().backward()
    assert x.grad is not None and np.isfinite(x.grad.item())


def test_deep_chain_dropped_without_backward() -> None:
    x = leaf([0.5])
    y = x
    arrays = []
    for i in range(5 * DEEP):
        y = tt.exp(y * 0.0)
        if i % 1000 == 0:
            arrays.append(weakref.ref(y.data))
    del y
    assert all(a() is None for a in arrays)


def test_deep_chain_with_shared_inputs_and_several_outputs() -> None:
    x = leaf([1.0, 2.0])
    y = x
    for _ in range(2000):
        a, b = tt.split(y, 1)
        y = tt.concat([b, a], axis=0)
    ref = weakref.ref(y.data)
    (y * const([1.0, 10.0])).sum().backward()
    close(x.grad, [1.0, 10.0])
    del y, a, b
    assert ref() is None


def test_deep_second_order() -> None:
    x = leaf(0.5)
    y = x
    for _ in range(1000):
        y = y * 1.0
    (g,) = tt.grad(y * y, [x], create_graph=True)
    (h,) = tt.grad(g, [x])
    close(h, 2.0)


def test_no_growth_over_many_iterations() -> None:
    with tt.device("cpu"):  # whose arrays tracemalloc sees
        x = leaf(np.ones((50, 50)), np.float32)

    def step() -> None:
        y = tt.softmax(tt.gelu(x @ x), axis=-1)
        tt.layer_norm(y)[[0, 0, 3]].sum().backward()
        x.zero_grad()

    for _ in range(5):
        step()
    tracemalloc.start()
    step()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(100):
        step()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    one_array = 50 * 50 * 4
    assert after - before < 4 * one_array, f"{after - before} bytes more after 100 steps"


def test_collector_finds_nothing_after_training_steps() -> None:
    x = leaf(np.linspace(0, 1, 12).reshape(3, 4))
    gc.collect()
    for program in PROGRAMS.values():
        program(tt.concat([x, x[:1]], axis=0)).sum().backward()
    assert gc.collect() == 0
