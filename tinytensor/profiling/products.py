"""The matrix products in an op, read off the shapes of its operands.

A rule below says which products an op's mathematics asks for, forward and backward; not what a
clever implementation may skip (the masked half of causal attention) or add (a sum over rows that
is written as a product with ones). So the time of ``xp.matmul`` for these products
(floor.py) is what a straightforward program can't beat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays.device import device_of
from ..define.arguments import bind
from ..define.op import Op
from ..graph.node import Node
from .floor import Product

Shape = tuple[int, ...]
Sizes = tuple[int, int, int, int]
#: sizes of a product -> how many times it is computed
Found = dict[Sizes, int]


class _Call(NamedTuple):
    """One application: shapes of the operands (None for one left out), settings, the output's
    shape (that of the first output), and which operands want a gradient (all False: forward)."""

    shapes: Sequence[Any]
    settings: Mapping[str, Any]
    out: Shape
    needs: Sequence[bool]


#: ops that may leave out nearly half of their products: what a causal mask hides
MASKED = frozenset({"scaled_dot_product_attention", "self_attention"})

_Rule = Callable[[_Call], Found]
#: op name -> (rule of the forward pass, rule of backward)
_RULES: dict[str, tuple[_Rule, _Rule]] = {}


def _total(*sizes: tuple[bool, Sizes]) -> Found:
    """The products that are wanted, equal ones added up."""
    found: Found = {}
    for wanted, size in sizes:
        if wanted:
            found[size] = found.get(size, 0) + 1
    return found


def _matmul_sizes(x: Shape, y: Shape) -> Sizes:
    rows = x[-2] if len(x) > 1 else 1
    columns = y[-1] if len(y) > 1 else 1
    if len(x) > 2 and len(y) == 2:  # the stack is part of the rows of a single product
        return 1, math.prod(x[:-1]), x[-1], columns
    return math.prod(np.broadcast_shapes(x[:-2], y[:-2])), rows, x[-1], columns


def _matmul(call: _Call) -> Found:
    return _total((True, _matmul_sizes(*call.shapes[:2])))


def _matmul_back(call: _Call) -> Found:
    x, y = call.shapes[:2]
    stack, rows, inner, columns = _matmul_sizes(x, y)
    # the gradient of what meets a vector is an outer product: nothing is summed
    return _total(
        (call.needs[0] and len(y) > 1, (stack, rows, columns, inner)),
        (call.needs[1] and len(x) > 1, (stack, inner, rows, columns)),
    )


def _linear(call: _Call) -> Found:
    x, weight = call.shapes[:2]
    return _total((True, (1, math.prod(x[:-1]), weight[1], weight[0])))


def _linear_back(call: _Call) -> Found:
    x, (out, inner) = call.shapes[:2]
    rows = math.prod(x[:-1])
    return _total((call.needs[0], (1, rows, out, inner)), (call.needs[1], (1, out, rows, inner)))


def _attention_stacks(call: _Call) -> tuple[int, int]:
    """How many matrices the scores are, and the output."""
    q, k, v = (shape[:-2] for shape in call.shapes[:3])
    return math.prod(np.broadcast_shapes(q, k)), math.prod(np.broadcast_shapes(q, k, v))


def _attention(call: _Call) -> Found:
    (queries, d), (keys, dv) = call.shapes[0][-2:], call.shapes[2][-2:]
    scores, outputs = _attention_stacks(call)
    return _total((True, (scores, queries, d, keys)), (True, (outputs, queries, keys, dv)))


def _attention_back(call: _Call) -> Found:
    (queries, d), (keys, dv) = call.shapes[0][-2:], call.shapes[2][-2:]
    stack = _attention_stacks(call)[1]
    q, k, v, mask = call.needs[:4]
    return _total(
        (v, (stack, keys, queries, dv)),
        (q or k or mask, (stack, queries, dv, keys)),
        (q, (stack, queries, keys, d)),
        (k, (stack, keys, queries, d)),
    )


def _heads(call: _Call) -> _Call:
    """Self-attention as the attention that it is."""
    *lead, time, width = call.shapes[0]
    heads = call.settings["heads"]
    one = (*lead, heads, time, width // 3 // heads)
    return call._replace(shapes=[one] * 3, needs=[call.needs[0]] * 3 + [False])


def _contraction(notation: str, x: Shape, y: Shape) -> Found:
    """An einsum of two operands as a stack of matrix products."""
    inputs, out = notation.split("->")
    a, b = inputs.split(",")
    sizes = {**dict(zip(a, x, strict=True)), **dict(zip(b, y, strict=True))}
    summed = [c for c in a if c not in out]
    shared = [c for c in a if c in b and c in out]
    rows = [c for c in a if c not in b]
    columns = [c for c in b if c not in a]
    stack, m, k, n = (math.prod(sizes[c] for c in part) for part in (shared, rows, summed, columns))
    return _total((bool(summed), (stack, m, k, n)))


def _einsum(call: _Call) -> Found:
    return _contraction(call.settings["subscripts"], *call.shapes[:2])


def _einsum_back(call: _Call) -> Found:
    inputs, out = call.settings["subscripts"].split("->")
    a, b = inputs.split(",")
    x, y = call.shapes[:2]
    found: Found = {}
    for wanted, notation, shapes in (
        (call.needs[0], f"{out},{b}->{a}", (call.out, y)),
        (call.needs[1], f"{a},{out}->{b}", (x, call.out)),
    ):
        if wanted:
            for size, times in _contraction(notation, *shapes).items():
                found[size] = found.get(size, 0) + times
    return found


def _conv_products(call: _Call, x: Shape, weight: Shape, places: Shape) -> list[Found]:
    """The products of conv, of its gradient by x, and of that by the weight.

    Args:
        x: (N, C, ...). weight: (out, C / groups, kernel ...). places: where windows lie.
    """
    groups = call.settings["groups"]
    out, seen = weight[0] // groups, math.prod(weight[1:])
    columns = x[0] * math.prod(places)
    return [
        _total((True, (groups, out, seen, columns))),
        _total((out > 1, (groups, seen, out, columns))),  # of one channel an outer product
        _total((True, (groups, out, columns, seen))),
    ]


def _conv(order: tuple[int, int, int]) -> tuple[_Rule, _Rule]:
    """The rules of one of the three ops of convolution, each of whose gradients are the others.

    Args:
        order: of :func:`_conv_products`: the forward pass, and the gradients of both operands.
    """

    def products(call: _Call) -> list[Found]:
        first, second = call.shapes[:2]
        if order[0] == 0:  # conv(x, weight)
            return _conv_products(call, first, second, call.out[2:])
        if order[0] == 1:  # conv_transpose(g, weight)
            return _conv_products(call, call.out, second, first[2:])
        return _conv_products(call, first, call.out, second[2:])  # conv_weight_grad(x, g)

    def forward(call: _Call) -> Found:
        return products(call)[order[0]]

    def back(call: _Call) -> Found:
        found: Found = {}
        all_three = products(call)
        for wanted, which in zip(call.needs, order[1:], strict=False):
            for size, times in all_three[which].items() if wanted else ():
                found[size] = found.get(size, 0) + times
        return found

    return forward, back


def _recurrent(w_hh: int) -> tuple[_Rule, _Rule]:
    """The rules of an op over all steps, whose operand ``w_hh`` is (gates hidden, hidden)."""

    def forward(call: _Call) -> Found:
        (steps, batch, inputs), (gates, hidden) = call.shapes[0], call.shapes[w_hh]
        found = _total((True, (1, steps * batch, inputs, gates)))
        step = (1, batch, hidden, gates)
        found[step] = found.get(step, 0) + steps
        return found

    def back(call: _Call) -> Found:
        (steps, batch, inputs), (gates, hidden) = call.shapes[0], call.shapes[w_hh]
        found = _total(
            (call.needs[0], (1, steps * batch, gates, inputs)),
            (call.needs[w_hh - 1], (1, gates, steps * batch, inputs)),
            (call.needs[w_hh], (1, gates, steps * batch, hidden)),
        )
        step = (1, batch, gates, hidden)
        found[step] = found.get(step, 0) + steps
        return found

    return forward, back


_RULES["matmul"] = _matmul, _matmul_back
_RULES["linear"] = _linear, _linear_back
_RULES["scaled_dot_product_attention"] = _attention, _attention_back
_RULES["self_attention"] = (
    lambda call: _attention(_heads(call)),
    lambda call: _attention_back(_heads(call)),
)
_RULES["einsum"] = _einsum, _einsum_back
_RULES["rnn"] = _RULES["gru"] = _recurrent(3)
_RULES["lstm"] = _recurrent(4)
_RULES["conv"] = _conv((0, 1, 2))
_RULES["conv_transpose"] = _conv((1, 0, 2))
_RULES["conv_weight_grad"] = _conv((2, 1, 0))


def has_products(op: Op) -> bool:
    """Whether there is a rule for the products of this op."""
    return op.name in _RULES


def of_forward(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> dict:
    """The products of one application: {Product: how many}.

    Args:
        op: one with a rule. args, kwargs: as it was called. out: the Tensor it returned.
    """
    operands, settings = bind(op, args, kwargs)
    shapes = [None if x is None else np.shape(getattr(x, "data", x)) for x in operands]
    call = _Call(shapes, settings, out.shape, (False,) * len(shapes))
    return _named(_RULES[op.name][0](call), out.dtype, out.device.name)


def of_backward(node: Node, array: Any) -> dict:
    """The products of the walk back through a node of an op with a rule.

    Args:
        node: the application. array: a gradient of its output, for its device.
    """
    several = type(node.dtype) is tuple
    shapes = [None if meta is None else meta[0] for meta in node.in_meta]
    call = _Call(shapes, node.params, node.shape[0] if several else node.shape, node.needs)
    dtype = node.dtype[0] if several else node.dtype
    return _named(_RULES[node.op.name][1](call), dtype, device_of(array).name)


def _named(found: Found, dtype: Any, where: str) -> dict[Product, int]:
    if dtype.kind != "f":
        return {}  # integers go through no library of matrix products
    name = "float32" if dtype.itemsize < 4 else str(dtype)  # float16 is only stored as such
    return {Product(*size, name, where): times for size, times in found.items() if math.prod(size)}
