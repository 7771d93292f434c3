"""Random graphs of ops on small arrays, for the page's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .recorded import Graph

#: of one operand, for any number; smooth
SMOOTH = [
    "neg", "square", "sin", "cos", "tanh", "sigmoid", "silu", "gelu", "mish", "softplus", "erf",
    "exp", "expm1", "exp2", "atan", "asinh", "sinh", "cosh", "log_sigmoid", "erfc", "copy", "alias",
]  # fmt: skip
#: for numbers above 0
POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]
#: with kinks or steps
KINKED = [
    "abs", "relu", "leaky_relu", "elu", "selu", "hardtanh", "hard_sigmoid", "hard_swish", "celu",
    "softsign", "sign", "floor", "round", "trunc", "ceil",
]  # fmt: skip
PAIRS = ["add", "sub", "mul", "logaddexp", "lerp"]
KINKED_PAIRS = ["maximum", "minimum", "fmax", "fmin"]
ALONG = ["softmax", "log_softmax", "cumsum", "cumprod"]
REDUCTIONS = ["sum", "mean", "logsumexp", "var", "norm"]
KINKED_REDUCTIONS = ["max", "min", "prod"]


class Builder:
    """One graph in the making."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 4)))
        shapes = [
            shape,
            shape[1:],
            shape[-1:],
            tuple(1 if rng.random() < 0.4 else n for n in shape),
        ]
        leaves: list[Any] = [
            np.asarray(rng.standard_normal(s)) for s in shapes[: rng.integers(2, 5)]
        ]
        leaves += [float(rng.uniform(0.5, 2)), rng.random(shape) < 0.5]
        leaves.append(rng.integers(0, 3, tuple(rng.integers(1, 4, rng.integers(1, 3)))))
        if rng.random() < 0.3:  # ties
            leaves[0] = np.asarray(np.round(leaves[0]))
        self.graph = Graph(leaves)
        self.number, self.mask, self.ids = len(leaves) - 3, len(leaves) - 2, len(leaves) - 1
        self.smooth = True

    def shape(self, i: int) -> tuple[int, ...]:
        return tuple(self.graph.values[i].shape)

    def pick(self, test: Callable[[tuple[int, ...]], bool] = lambda _: True) -> int | None:
        """A value with a gradient, the later the likelier."""
        values = self.graph.values
        known = [
            i
            for i, x in enumerate(values)
            if getattr(x, "dtype", None) == "float64" and x.tracked and test(tuple(x.shape))
        ]
        if not known:
            return None
        return int(known[-1 - min(len(known) - 1, int(self.rng.exponential(3)))])

    def one_of(self, names: list[str]) -> str:
        return str(self.rng.choice(names))

    def add(self, op: str, inputs: list[int | None], smooth: bool = True, **params: Any) -> bool:
        """The step, unless its numbers get large or are none; a kinked one makes no difference
        quotients."""
        made = self.graph.try_out(op, inputs, **params)
        whole = np.concatenate([np.ravel(x.data).astype(float) for x in made])
        if whole.size > 40 or not whole.size or not np.all(np.abs(whole) < 30):
            return False
        self.graph.add(op, inputs, **params)
        self.smooth &= smooth
        return True

    # -- kinds of steps -----------------------------------------------------------------------

    def elementwise(self) -> bool:
        x = self.pick()
        assert x is not None
        kind = self.rng.integers(4)
        if kind == 0:
            data = self.graph.values[x].data
            if data.min(initial=9) < 0.1:
                if not self.add("square", [x]):
                    return False
                if not self.add("add", [len(self.graph.values) - 1, self.number]):
                    return False
                x = len(self.graph.values) - 1
            return self.add(self.one_of(POSITIVE), [x])
        if kind == 1 and self.rng.random() < 0.5:
            name = self.one_of(KINKED)
            params = {"leaky_relu": {"negative_slope": 0.2}, "round": {"decimals": 0}}.get(name, {})
            return self.add(name, [x], smooth=False, **params)
        return self.add(self.one_of(SMOOTH), [x])

    def pair(self) -> bool:
        x = self.pick()
        assert x is not None
        y = self.pick(lambda s: _fits(s, self.shape(x)))
        assert y is not None
        if self.rng.random() < 0.2:
            y = self.number
        if self.rng.random() < 0.5:
            x, y = y, x
        name = self.one_of(PAIRS)
        if name == "lerp":
            return self.add("lerp", [x, y, self.number])
        if self.rng.random() < 0.15:
            return self.add(self.one_of(KINKED_PAIRS), [x, y], smooth=False)
        if self.rng.random() < 0.15:
            if not self.add("exp", [x if x != self.number else y]):
                return False
            return self.add("div", [y, len(self.graph.values) - 1])
        return self.add(name, [x, y])

    def choosing(self) -> bool:
        x = self.pick(lambda s: _fits(s, self.shape(self.mask)))
        y = self.pick(lambda s: _fits(s, self.shape(self.mask)))
        if x is None or y is None:
            return False
        kind = self.rng.integers(4)
        if kind == 0:
            return self.add("where", [self.mask, x, y])
        if kind == 1:
            return self.add("masked_fill", [x, self.mask], value=-1.5)
        if kind == 2:
            return self.add("clip", [x], smooth=False, low=-0.5, high=None)
        if self.shape(x) != self.shape(self.mask):
            return False
        return self.add("dropout", [x, self.mask], p=0.5)

    def moved(self) -> bool:
        x = self.pick(lambda s: len(s) > 0)
        if x is None:
            return False
        shape, rng = self.shape(x), self.rng
        n, axis = len(shape), int(rng.integers(len(shape)))
        kind = rng.integers(15)
        if kind == 0:
            return self.add("reshape", [x], shape=(-1,))
        if kind == 1:
            return self.add("transpose", [x], axes=tuple(int(i) for i in rng.permutation(n)))
        if kind == 2:
            return self.add("swapaxes", [x], axis1=axis, axis2=-1)
        if kind == 3:
            return self.add("expand_dims", [x], axis=axis)
        if kind == 4:
            return self.add("squeeze", [x], axis=None)
        if kind == 5:
            return self.add("broadcast_to", [x], shape=(2, *shape))
        if kind == 6:
            return self.add("concat", [x, x, x][: rng.integers(1, 4)], axis=axis)
        if kind == 7:
            return self.add("stack", [x, x], axis=axis - n)
        if kind == 8:
            index = tuple(
                slice(None, None, -1) if rng.random() < 0.5 else int(rng.integers(m)) for m in shape
            )
            return self.add("getitem", [x], index=index)
        if kind == 9:
            rows = rng.integers(-shape[0], shape[0], 3)
            return self.add("getitem", [x], index=(rows, Ellipsis, None))
        if kind == 10:
            return self.add("flip", [x], axis=axis)
        if kind == 11:
            return self.add("roll", [x], shift=(1,), axis=(axis,))
        if kind == 12:
            return self.add("split", [x], points=(1,), axis=axis)
        if kind == 13:
            return self.add("repeat", [x], repeats=2, axis=axis)
        return self.add("tile", [x], reps=(2, 1))

    def matrix(self) -> bool:
        x = self.pick(lambda s: len(s) >= 2)
        if x is None:
            return False
        name = self.one_of(["tril", "triu", "diagonal", "trace"])
        return self.add(name, [x], **({"k": 0} if name.startswith("tri") else {}))

    def product(self) -> bool:
        x = self.pick(lambda s: len(s) > 0)
        if x is None:
            return False
        inner = self.shape(x)[-1]
        kind = self.rng.integers(4)
        if kind == 0:
            w = self.pick(lambda s: len(s) == 2 and s[1] == inner)
            if w is None:
                return False
            b = self.pick(lambda s: s == self.shape(w)[:1])
            return self.add("linear", [x, w, b])
        if kind == 1 and len(self.shape(x)) == 2:
            return self.add("einsum", [x, x], subscripts="ij,kj->ki")
        y = self.pick(
            lambda s: (
                len(s) > 0
                and (s[0] if len(s) == 1 else s[-2]) == inner
                and _fits(s[:-2], self.shape(x)[:-2])
            )
        )
        return y is not None and self.add("matmul", [x, y])

    def reduced(self) -> bool:
        x = self.pick()
        assert x is not None
        n = len(self.shape(x))
        axis: Any = None
        if n and self.rng.random() < 0.8:
            axis = int(self.rng.integers(-n, n))
        if n > 1 and self.rng.random() < 0.3:
            axis = (0, -1)
        params = {"axis": axis, "keepdims": bool(self.rng.random() < 0.5)}
        if self.rng.random() < 0.2:
            name = self.one_of(KINKED_REDUCTIONS)
            return self.add(name, [x], smooth=name == "prod", **params)
        name = self.one_of(REDUCTIONS)
        if name == "norm":
            return self.add("norm", [x], smooth=False, p=2, **params)
        if name == "var":
            return self.add("var", [x], ddof=0, **params)
        return self.add(name, [x], **params)

    def along(self) -> bool:
        x = self.pick(lambda s: len(s) > 0)
        if x is None:
            return False
        axis = int(self.rng.integers(-len(self.shape(x)), 0))
        if self.rng.random() < 0.15:
            return self.add("sort", [x], smooth=False, axis=axis, descending=False, stable=True)
        return self.add(self.one_of(ALONG), [x], axis=axis)

    def fused(self) -> bool:
        x = self.pick(lambda s: len(s) >= 2 and s[-1] > 1)
        if x is None:
            return False
        shape = self.shape(x)
        kind = self.rng.integers(6)
        if kind == 0:
            weight = self.pick(lambda s: s == shape[-1:])
            return self.add("layer_norm", [x, weight, None], eps=0.1)
        if kind == 1:
            return self.add("rms_norm", [x, None], eps=0.1)
        if kind == 2:
            causal = bool(self.rng.random() < 0.5)
            return self.add(
                "scaled_dot_product_attention", [x, x, x, None, None],
                is_causal=causal, dropout=0.0, scale=None,
            )  # fmt: skip
        y = self.pick(lambda s: s == shape)
        reduction = self.one_of(["mean", "sum", "none"])
        if kind == 3:
            return self.add("mse_loss", [x, y], reduction=reduction)
        if kind == 4:
            return self.add("huber_loss", [x, y], smooth=False, delta=0.7, reduction=reduction)
        return self.add("group_norm", [x, None, None], num_groups=1, eps=0.1)

    def looked_up(self) -> bool:
        x = self.pick(lambda s: len(s) == 2 and s[0] == 3)
        if x is None:
            return False
        return self.add("embedding", [self.ids, x], padding_idx=None, sparse=False)


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(n == m or 1 in (n, m) for n, m in zip(a[::-1], b[::-1], strict=False))


def random_graph(rng: np.random.Generator) -> tuple[Graph, bool]:
    """A graph of 3 to 25 steps whose last one is a scalar, and whether it is smooth throughout."""
    made = Builder(rng)
    kinds = [
        made.elementwise, made.elementwise, made.elementwise, made.pair, made.pair, made.pair,
        made.choosing, made.moved, made.moved, made.matrix, made.product, made.product,
        made.reduced, made.along, made.fused, made.looked_up,
    ]  # fmt: skip
    wanted = int(rng.integers(2, 22))
    while len(made.graph.steps) < wanted:
        kinds[rng.integers(len(kinds))]()
    # what nothing has read goes into the result, so that most steps have a gradient
    values = made.graph.values
    read = {i for step in made.graph.steps for i in step.inputs}
    loose = [i for i in range(len(made.graph.leaves), len(values)) if i not in read]
    total = None
    for i in [i for i in loose if getattr(values[i], "tracked", False)][-4:]:
        (part,) = made.graph.add("mean", [i], axis=None, keepdims=False)
        total = part if total is None else made.graph.add("add", [total, part])[0]
    return made.graph, made.smooth
