"""The matrix products of a profile: known ones, and those that arrays in fact go through."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import BY_TYPE
from tinytensor.define.op import OPS
from tinytensor.define.samples import Sample
from tinytensor.profiling import Product, floor, products
from tinytensor.tensor.tensor import make


def weights(*shape: int) -> tt.Tensor:
    """A leaf that wants a gradient."""
    return tt.randn(*shape, requires_grad=True)


def conv(**settings: Any) -> Any:
    """A convolution of two images of 3 channels with kernels of 2 x 3."""
    groups = settings.get("groups", 1)
    x, w = weights(2, 3 * groups, 5, 7), weights(4 * groups, 3, 2, 3)
    return lambda: tt.conv2d(x, w, **settings)


def recurrent(name: str, gates: int) -> Any:
    steps, batch, n = 7, 3, 5
    x, h = weights(steps, batch, 2), weights(batch, n)
    w = (weights(gates * n, 2), weights(gates * n, n), weights(gates * n))
    if name == "rnn":
        return lambda: tt.rnn(x, h, *w)
    if name == "gru":
        return lambda: tt.gru(x, h, *w, weights(gates * n))
    return lambda: tt.lstm(x, h, weights(batch, n), *w)[0]


def of(kind: Any, *shapes: tuple[int, ...], **settings: Any) -> Any:
    """A call on leaves of these shapes."""
    operands = [weights(*shape) for shape in shapes]
    return lambda: kind(*operands, **settings)


attention = tt.scaled_dot_product_attention

#: what is applied -> (stack, rows, inner, columns) forward, and backward, with repetitions
KNOWN: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "matrices": (of(tt.matmul, (3, 4), (4, 5)), [(1, 3, 4, 5)], [(1, 3, 5, 4), (1, 4, 3, 5)]),
    "stacks": (
        of(tt.matmul, (6, 3, 4), (6, 4, 5)), [(6, 3, 4, 5)], [(6, 3, 5, 4), (6, 4, 3, 5)]),
    "stacks that broadcast": (
        of(tt.matmul, (2, 1, 3, 4), (6, 4, 5)), [(12, 3, 4, 5)], [(12, 3, 5, 4), (12, 4, 3, 5)]),
    "a stack and a matrix": (
        of(tt.matmul, (6, 3, 4), (4, 5)), [(1, 18, 4, 5)], [(1, 18, 5, 4), (1, 4, 18, 5)]),
    "a matrix and a vector": (of(tt.matmul, (3, 4), (4,)), [(1, 3, 4, 1)], [(1, 4, 3, 1)]),
    "a vector and a matrix": (of(tt.matmul, (3,), (3, 4)), [(1, 1, 3, 4)], [(1, 1, 4, 3)]),
    "vectors": (of(tt.matmul, (3,), (3,)), [(1, 1, 3, 1)], []),
    "nothing": (of(tt.matmul, (0, 3), (3, 2)), [], []),
    "linear": (
        of(tt.linear, (2, 3, 4), (5, 4), (5,)), [(1, 6, 4, 5)], [(1, 6, 5, 4), (1, 5, 6, 4)]),
    "attention": (
        of(attention, (2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)),
        [(6, 5, 4, 7), (6, 5, 7, 6)],
        [(6, 7, 5, 6), (6, 5, 6, 7), (6, 5, 7, 4), (6, 7, 5, 4)]),
    "causal attention counts what is masked": (
        of(attention, (2, 5, 4), (2, 5, 4), (2, 5, 4), is_causal=True),
        [(2, 5, 4, 5), (2, 5, 5, 4)],
        [(2, 5, 5, 4), (2, 5, 4, 5), (2, 5, 5, 4), (2, 5, 5, 4)]),
    "attention that broadcasts": (
        of(attention, (5, 4), (7, 4), (2, 7, 6)),
        [(1, 5, 4, 7), (2, 5, 7, 6)],
        [(2, 7, 5, 6), (2, 5, 6, 7), (2, 5, 7, 4), (2, 7, 5, 4)]),
    "einsum": (
        of(lambda a, b: tt.einsum("bij,kjb->kbi", a, b), (2, 3, 4), (5, 4, 2)),
        [(2, 3, 4, 5)], [(2, 3, 5, 4), (2, 3, 4, 5)]),
    "an outer product": (of(lambda a, b: tt.einsum("i,j->ij", a, b), (3,), (4,)), [],
                         [(1, 3, 4, 1), (1, 1, 3, 4)]),
    "convolution": (
        conv(), [(1, 4, 18, 40)], [(1, 18, 4, 40), (1, 4, 40, 18)]),
    "convolution in groups": (
        conv(groups=2, stride=2), [(2, 4, 18, 12)], [(2, 18, 4, 12), (2, 4, 12, 18)]),
    "transposed convolution": (
        of(tt.conv_transpose1d, (2, 3, 5), (3, 4, 2)), [(1, 8, 3, 10)],
        [(1, 3, 8, 10), (1, 3, 10, 8)]),
    "rnn": (
        recurrent("rnn", 1),
        [(1, 21, 2, 5)] + [(1, 3, 5, 5)] * 7,
        [(1, 3, 5, 5)] * 7 + [(1, 21, 5, 2), (1, 5, 21, 2), (1, 5, 21, 5)]),
    "lstm": (
        recurrent("lstm", 4),
        [(1, 21, 2, 20)] + [(1, 3, 5, 20)] * 7,
        [(1, 3, 20, 5)] * 7 + [(1, 21, 20, 2), (1, 20, 21, 2), (1, 20, 21, 5)]),
    "gru": (
        recurrent("gru", 3),
        [(1, 21, 2, 15)] + [(1, 3, 5, 15)] * 7,
        [(1, 3, 15, 5)] * 7 + [(1, 21, 15, 2), (1, 15, 21, 2), (1, 15, 21, 5)]),
}  # fmt: skip


def flops(sizes: Any) -> int:
    """Two operations for each term."""
    return sum(2 * math.prod(size) for size in sizes)


@pytest.mark.parametrize("case", KNOWN)
def test_products_of_known_shapes_are_exact(case: str) -> None:
    call, forward, backward = KNOWN[case]
    with tt.profile() as p:
        call().sum().backward()
    total = p.total
    assert total.forward.flops == flops(forward)
    assert total.backward.flops == flops(backward)

    def one_way(size: tuple[int, ...]) -> tuple[int, ...]:
        return size[0], *sorted(size[1:])  # a product is its own transpose

    for cost, sizes in ((total.forward, forward), (total.backward, backward)):
        found: Counter[tuple[int, ...]] = Counter()
        for product, times in cost.products.items():
            assert (product.dtype, product.device) == ("float32", "cpu")
            found[one_way(product[:4])] += times
        assert found == Counter(map(one_way, sizes))


def test_only_wanted_gradients_count() -> None:
    x, w, b = tt.randn(2, 3), weights(4, 3), weights(4)
    with tt.profile() as p:
        tt.linear(x, w, b).sum().backward()
    assert p.by_op["linear"].backward.products == {Product(1, 4, 2, 3, "float32", "cpu"): 1}
    q, k, v = tt.randn(2, 3), tt.randn(4, 3), weights(4, 5)
    with tt.profile() as p:
        attention(q, k, v).sum().backward()
    assert p.total.backward.products == {Product(1, 4, 2, 5, "float32", "cpu"): 1}
    with tt.profile() as p:
        attention(q, k, v.detach(), weights(2, 4)).sum().backward()
    assert p.total.backward.products == {Product(1, 2, 5, 4, "float32", "cpu"): 1}


@pytest.mark.parametrize(
    ("dtype", "counted"), [("float64", "float64"), ("float16", "float32"), ("int64", None)]
)
def test_products_are_of_the_dtype_they_are_computed_in(dtype: str, counted: str | None) -> None:
    x = tt.ones(2, 2).astype(dtype)
    with tt.profile() as p:
        x @ x
    assert {product.dtype for product in p.total.total.products} == ({counted} - {None})


# ---- beside what is really multiplied ----------------------------------------------------------


class Counting(np.ndarray):
    """Arrays that add up the operations of each product they go through."""

    flops = 0
    __array_priority__ = 1.0  # what is concatenated with one is one

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, Counting) else x for x in inputs]
        out = kwargs.pop("out", None)
        if out is not None:
            kwargs["out"] = tuple(np.asarray(x) for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            Counting.flops += 2 * np.size(result) * plain[0].shape[-1]
        if out is not None:
            return out[0]
        return np.asarray(result).view(Counting) if isinstance(result, np.ndarray) else result


@pytest.fixture
def counting() -> Iterator[None]:
    """The engine takes any subclass of ndarray, and remembers it: forgotten again after."""
    yield
    BY_TYPE.pop(Counting, None)


def leaves(sample: Sample) -> list[Any]:
    """The operands of a sample as leaves on counting arrays."""
    operands: list[Any] = []
    for given in sample.args:
        if isinstance(given, np.ndarray) and given.dtype.kind == "f":
            given = make(np.array(given).view(Counting)).requires_grad_()
        operands.append(given)
    return operands


@pytest.mark.parametrize("name", ["matmul", "linear", "einsum", "conv", "conv_transpose",
                                  "conv_weight_grad", "rnn", "lstm", "gru"])  # fmt: skip
def test_rules_agree_with_what_is_multiplied(name: str, counting: None) -> None:
    """On all samples of the op. Without a bias, whose gradient is a sum written as a product."""
    op, seen = OPS[name], 0
    for sample in op.samples():
        if "bias" in op.inputs:
            at = op.inputs.index("bias")
            args = [None if i == at else a for i, a in enumerate(sample.args)]
            sample = Sample(*args, **sample.kwargs)
        operands = leaves(sample)
        with tt.profile() as p:
            Counting.flops = 0
            out = op(*operands, **sample.kwargs)
            assert p.total.forward.flops == Counting.flops, sample
            first = out[0] if isinstance(out, tuple) else out
            Counting.flops = 0
            tt.grad([first], [x for x in operands if isinstance(x, tt.Tensor)],
                    [make(np.ones(first.shape).view(Counting))])  # fmt: skip
            assert p.total.backward.flops == Counting.flops, sample
        seen += p.total.total.flops
    assert seen > 0


def test_every_op_with_a_rule_is_there() -> None:
    assert set(products._RULES) <= set(OPS)
    assert not products.has_products(OPS["exp"])


# ---- the floor ---------------------------------------------------------------------------------


def test_the_floor_is_measured_once_per_product(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = tt.randn(30, 20), weights(10, 20)
    with tt.profile() as p:
        for _ in range(3):
            tt.linear(x, w).sum().backward()
    asked: list[Product] = []

    def measured(product: Product) -> float:
        asked.append(product)
        return 0.5

    monkeypatch.setattr("tinytensor.profiling.costs.seconds_alone", measured)
    assert p.alone(p.total.total) == 0.5 * 6
    assert p.alone(p.by_op["linear"].forward) == 0.5 * 3
    assert sorted(asked) == sorted({*p.total.total.products})


@pytest.mark.parametrize("stack", [1, 3])
def test_a_product_alone(stack: int, monkeypatch: pytest.MonkeyPatch) -> None:
    product = Product(stack, 64, 32, 16, "float64", "cpu")
    whole = floor.seconds_alone(product, budget=0.01)
    assert 0 < whole < 10
    assert str(product).endswith("(64, 32) @ (32, 16)") and ("3 x" in str(product)) == (stack == 3)
    sizes: list[tuple[int, ...]] = []
    matmul = np.matmul

    def watched(a: Any, b: Any, **kwargs: Any) -> Any:
        sizes.append((*a.shape, b.shape[-1]))
        return matmul(a, b, **kwargs)

    monkeypatch.setattr(np, "matmul", watched)
    monkeypatch.setattr(floor, "_MOST", 1000)
    monkeypatch.setattr(floor, "min", lambda taken: 1.0, raising=False)
    assert floor.seconds_alone(product, budget=0.0) == (4.0 if stack == 1 else 8.0)
    assert set(sizes) == {(16, 32, 16) if stack == 1 else (3, 16, 16, 16)}
    assert len(sizes) == 4, "one to claim the memory, and three that count"
