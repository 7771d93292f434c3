"""Kinds of fault that were reported of one way to differentiate, looked for in every other way.

Memory that waits for the collector, two gradients in one buffer, recursion over a deep graph:
through hooks, checkpoints, custom ops, functional transforms, modules and in-place writes.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.define.custom import CUSTOM

from ..helpers import close, leaf, share_memory

Refs = list[Any]


def refs(*tensors: tt.Tensor) -> Refs:
    """Weak references to tensors and to their nodes."""
    return [weakref.ref(o) for t in tensors for o in (t, t.node) if o is not None]


# -- memory: nothing waits for the collector -----------------------------------------------------
def hooks() -> Refs:
    y = tt.tanh(leaf([1.0]))
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.sum().backward()
    return refs(y)


def hooks_without_backward() -> Refs:
    y = tt.tanh(leaf([1.0]))
    y.register_hook(lambda g: g * 2)
    return refs(y, y.sum())


def checkpoint() -> Refs:
    y = tt.checkpoint(lambda x: tt.tanh(x) * 2, leaf([1.0]))
    z = y.sum()
    z.backward()
    return refs(y, z)


def checkpoint_without_backward() -> Refs:
    return refs(tt.checkpoint(lambda x: tt.tanh(x) * 2, leaf([1.0])))


def custom_op() -> Refs:
    op = tt.custom_op("x", name="own_tanh", keeps="out")(lambda xp, x: xp.tanh(x))
    op.vjp(x=lambda xp, g, k: g * (1 - k.out * k.out))
    CUSTOM.pop("own_tanh")  # other tests walk all ops
    y = op(leaf([1.0]))
    y.sum().backward()
    return refs(y)


def gradient_of_a_gradient() -> Refs:
    x = leaf([1.0])
    y = tt.tanh(x)
    (g,) = tt.grad(y.sum(), [x], create_graph=True)
    g.sum().backward()
    return refs(y, g)


def functional() -> Refs:
    x, made = leaf([1.0, 2.0]), []

    def f(x: tt.Tensor) -> tt.Tensor:
        y = tt.tanh(x)
        made.extend(refs(y))
        return y

    def g(x: tt.Tensor) -> tt.Tensor:
        return f(x).sum()

    tt.jacobian(f, x)
    tt.hessian(g, x)
    tt.hvp(g, (x,), (x,))
    tt.jvp(f, (x,), (x,))
    tt.value_and_grad(g, x)
    tt.vjp(f, x)[1](np.ones(2))
    return made


def an_error() -> Refs:
    y = tt.tanh(leaf([1.0, 2.0]))
    with pytest.raises(RuntimeError):
        y.backward()
    return refs(y)


def modules_with_hooks() -> Refs:
    model = nn.Sequential(nn.Linear(3, 3), nn.TransformerBlock(3, 1), nn.Linear(3, 2))
    made: Refs = []
    model[0].register_forward_hook(lambda m, args, out: made.extend(refs(out)))
    model[2].register_full_backward_hook(lambda *args: None)
    out = model(tt.ones((1, 2, 3)))
    nn.CrossEntropyLoss()(out, [[0, 1]]).backward()
    return made + refs(out)


def recurrent() -> Refs:
    out = nn.LSTM(3, 4)(tt.ones((2, 5, 3)))[0]
    out.sum().backward()
    return refs(out)


def anomaly() -> Refs:
    with tt.detect_anomaly():
        y = tt.tanh(leaf([1.0]))
        y.sum().backward()
    return refs(y)


def looked_at() -> Refs:
    y = tt.tanh(leaf([1.0])).sum()
    assert str(tt.memory_report(y)) and tt.draw(y).source and repr(y)
    return refs(y)


def written_to() -> Refs:
    x = leaf([1.0, 2.0])
    y = x * 1
    first = refs(y)[1:]
    y[0] = 3.0
    y += x
    y.sum().backward()
    return first + refs(y)


WAYS = [
    hooks, hooks_without_backward, checkpoint, checkpoint_without_backward, custom_op,
    gradient_of_a_gradient, functional, an_error, modules_with_hooks, recurrent, anomaly,
    looked_at, written_to,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_freed_without_the_collector(way: Callable[[], Refs]) -> None:
    way()  # what is made once, such as a cache, is made now
    gc.collect()
    gc.disable()
    try:
        made = way()
        assert made and [r() for r in made] == [None] * len(made)
    finally:
        gc.enable()


# -- buffers: each gradient is an array of its own ------------------------------------------------
Pair = tuple[tt.Tensor, tt.Tensor]


def backward(a: tt.Tensor, b: tt.Tensor, up: tt.Tensor, **how: bool) -> list[Any]:
    (a + b).backward(up, **how)
    return [a.grad, b.grad]


def with_hooks(a: tt.Tensor, b: tt.Tensor, up: tt.Tensor) -> list[Any]:
    seen: list[Any] = []
    for x in (a, b):
        x.register_hook(seen.append)
    return [*backward(a, b, up), *seen]


def with_hooks_that_return_one_tensor(a: tt.Tensor, b: tt.Tensor, up: tt.Tensor) -> list[Any]:
    one = tt.tensor([5.0, 5.0], dtype="float64")
    for x in (a, b):
        x.register_hook(lambda g: one)
    return [*backward(a, b, up), one]


def retained(a: tt.Tensor, b: tt.Tensor, up: tt.Tensor) -> list[Any]:
    y = a + b
    z = y.reshape(1, 2).reshape(2)
    y.retain_grad()
    z.retain_grad()
    z.backward(up)
    return [a.grad, b.grad, y.grad, z.grad]


BUFFERS: dict[str, Callable[[tt.Tensor, tt.Tensor, tt.Tensor], list[Any]]] = {
    "backward": backward,
    "backward, create_graph": lambda a, b, up: backward(a, b, up, create_graph=True),
    "backward, retain_graph": lambda a, b, up: backward(a, b, up, retain_graph=True),
    "backward of a leaf": lambda a, b, up: [a.backward(up), a.grad][1:],
    "hooks": with_hooks,
    "hooks that return one tensor": with_hooks_that_return_one_tensor,
    "retain_grad": retained,
    "grad": lambda a, b, up: list(tt.grad(a + b, [a, b], up)),
    "grad, create_graph": lambda a, b, up: list(tt.grad(a + b, [a, b], up, create_graph=True)),
    "vjp": lambda a, b, up: list(tt.vjp(lambda a, b: a + b, a, b)[1](up)),
    "value_and_grad": lambda a, b, up: list(
        tt.value_and_grad(lambda p: ((p[0] + p[1]) * up).sum(), [a, b])[1]
    ),
    "jvp": lambda a, b, up: [tt.jvp(lambda a: a, (a,), (up,))[1]],
    "checkpoint": lambda a, b, up: [
        tt.checkpoint(lambda a, b: a + b, a, b).backward(up), a.grad, b.grad,
    ][1:],
    "written to": lambda a, b, up: backward_through_a_write(a, b, up),
}  # fmt: skip


def backward_through_a_write(a: tt.Tensor, b: tt.Tensor, up: tt.Tensor) -> list[Any]:
    y = a * 1
    y[:] = b
    y += a
    y.backward(up)
    return [a.grad, b.grad]


@pytest.mark.parametrize("name", BUFFERS)
def test_gradients_share_no_memory(name: str) -> None:
    a, b = leaf([1.0, 1.0]), leaf([1.0, 1.0])
    up = tt.tensor([1.0, 10.0], dtype="float64")
    grads = BUFFERS[name](a, b, up)
    close(up, [1.0, 10.0])
    arrays = [a, b, up, *grads]
    for i, x in enumerate(arrays):
        assert not any(share_memory(x, y) for y in arrays[i + 1 :])


# -- depth: no recursion, whatever walks the graph -------------------------------------------------
DEEP = 2000


def deep(x: tt.Tensor) -> tt.Tensor:
    for _ in range(DEEP):
        x = x * 1.0 + 0.0
    return x


def second_order(x: tt.Tensor) -> Any:
    y = deep(x)
    (g,) = tt.grad(y * y, x, create_graph=True)
    return tt.grad(g, x)[0] / 2


def chain_of_checkpoints(x: tt.Tensor) -> Any:
    y = x
    for _ in range(DEEP // 2):
        y = tt.checkpoint(lambda v: v * 1.0, y)
    return tt.grad(y, x)[0]


def chain_of_writes(x: tt.Tensor) -> Any:
    y = x * tt.ones(2, dtype="float64")
    for _ in range(DEEP):
        y[0] = y[1] * 1.0
    return tt.grad(y[0], x)[0]


def with_anomaly_detection(x: tt.Tensor) -> Any:
    with tt.detect_anomaly():
        return tt.grad(deep(x), x)[0]


WALKS: dict[str, Callable[[tt.Tensor], Any]] = {
    "grad": lambda x: tt.grad(deep(x), x)[0],
    "second order": second_order,
    "vjp": lambda x: tt.vjp(deep, x)[1](1.0)[0],
    "jvp": lambda x: tt.jvp(deep, (x,), (tt.ones((), dtype="float64"),))[1],
    "checkpoint": lambda x: tt.grad(tt.checkpoint(deep, x), x)[0],
    "chain of checkpoints": chain_of_checkpoints,
    "chain of writes": chain_of_writes,
    "anomaly detection": with_anomaly_detection,
    "memory_report": lambda x: bool(str(tt.memory_report(deep(x)))) * 1.0,
}


@pytest.mark.parametrize("name", WALKS)
def test_a_deep_graph_is_walked_without_recursion(name: str) -> None:
    assert sys.getrecursionlimit() <= DEEP
    assert float(WALKS[name](leaf(2.0))) == 1.0
