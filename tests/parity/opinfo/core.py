"""The ops that a language model needs, against PyTorch's operators of every name they go by."""

from __future__ import annotations

from typing import Any

import torch

import tinytensor as tt
from tinytensor.define.op import OPS

from . import Choice, Entry, NotApplicable, through

_SCALED = {"alpha": "scales its second operand (alpha=)"}


def _swapped(fn: Any, **lacks: str) -> Any:
    """For PyTorch's reflected operators: ``torch.rsub(x, y)`` is y - x."""
    return lambda T, s: through(lambda x, y: fn(y, x), T, s, lacks=lacks)


def _clamp(T: Any, s: Any) -> Any:
    """Bounds that are tensors: the larger of x and low, then the smaller of that and high."""
    x, low, high = T(s.input), *[*T(s.args), None][:2]
    x = x if low is None else tt.maximum(x, low)
    return x if high is None else tt.minimum(x, high)


def _masked_fill(T: Any, s: Any) -> Any:
    if isinstance(s.args[1], torch.Tensor):
        raise NotApplicable("fills with a tensor (ours is where)")
    return through(tt.masked_fill, T, s)


def _var(T: Any, s: Any) -> Any:
    """PyTorch's ddof is 1 if nothing is said, ours, like NumPy's, is 0."""
    if s.args:  # torch.var(x, unbiased)
        return tt.var(T(s.input), ddof=int(s.args[0]))
    given = {"correction", "unbiased"} & s.kwargs.keys()
    return through(tt.var, T, s, **({} if given else {"ddof": 1}))


def _with_mean(T: Any, s: Any) -> Any:
    axis, keepdims = s.kwargs.get("dim"), s.kwargs.get("keepdim", False)
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _var(T, s), tt.mean(T(s.input), axis, keepdims)


def _with_positions(values: Any, positions: Any) -> Any:
    return lambda T, s: (through(values, T, s), through(positions, T, s))


def _dtype_among(T: Any, s: Any) -> Any:
    """``x.to(device, dtype, ...)``, in whatever order PyTorch takes them."""
    named = [a for a in (*s.args, *s.kwargs.values()) if isinstance(a, torch.dtype)]
    like = [a.dtype for a in s.args if isinstance(a, torch.Tensor)]
    return T(s.input).astype(T((named + like)[0])) if named + like else T(s.input).copy()


def _cast(dtype: str) -> Any:
    return lambda T, s: T(s.input).astype(dtype)


def _expand(T: Any, s: Any) -> Any:
    """-1 stands for the length there is."""
    x, shape = T(s.input), s.args[0]
    lengths = (1,) * (len(shape) - x.ndim) + x.shape
    return x.broadcast_to(tuple(n if given == -1 else given for given, n in zip(shape, lengths)))


def _slice(T: Any, s: Any) -> Any:
    axis = s.args[0] if s.args else s.kwargs.get("dim", 0)
    return _along(
        T(s.input), axis, slice(*(s.kwargs.get(name) for name in ("start", "end", "step")))
    )


def _narrow(T: Any, s: Any) -> Any:
    axis, start, length = s.args
    start = int(start)
    start += s.input.shape[axis] if start < 0 else 0
    return _along(T(s.input), axis, slice(start, start + length))


def _along(x: Any, axis: int, index: Any) -> Any:
    return x[(slice(None),) * (axis % x.ndim) + (index,)]


def _take_along(T: Any, s: Any) -> Any:
    if len(s.args) == 1:  # no axis: both are read flat
        return tt.take_along_axis(T(s.input).reshape(-1), T(s.args[0]).reshape(-1), 0)
    return through(tt.take_along_axis, T, s)


def _index_put(T: Any, s: Any) -> Any:
    """``x.index_put(index, values, accumulate)``; ours puts into zeros, and always adds."""
    if not s.kwargs["accumulate"]:
        raise NotApplicable("overwrites (accumulate=False)")
    x, index, values = T(s.input), T(s.args[0]), T(s.args[1])
    index = tuple(i.data for i in index)
    shape = x.data[index].shape
    return x + OPS["getitem_grad"](values.broadcast_to(shape), index=index, shape=x.shape)


def _embedding(T: Any, s: Any) -> Any:
    for name in ("max_norm", "scale_grad_by_freq", "sparse"):
        if s.kwargs.get(name):
            raise NotApplicable(f"embedding: {name}=")
    padding = s.kwargs.get("padding_idx")
    if padding is not None and padding < 0:
        padding += s.input.shape[0]
    return tt.embedding(T(s.args[0]), T(s.input), padding)


def _one_hot(T: Any, s: Any) -> Any:
    n = s.kwargs["num_classes"]
    return tt.one_hot(T(s.input), None if n == -1 else n, dtype="int64")


def _layer_norm(T: Any, s: Any) -> Any:
    """Over several axes: over one, of all their elements."""
    x, (shape, *rest) = T(s.input), T(s.args)
    flat = x.reshape(*x.shape[: x.ndim - len(shape)], -1) if x.size else x
    weight, bias = (None if p is None else p.reshape(-1) for p in [*rest[:2], None, None][:2])
    eps = rest[2] if len(rest) > 2 else s.kwargs.get("eps", 1e-5)
    return tt.layer_norm(flat, weight, bias, eps=eps).reshape(x.shape)


def _cross_entropy(T: Any, s: Any) -> Any:
    """PyTorch has the classes on axis 1, we have them last."""

    def last(x: Any) -> Any:
        return x.permute(0, *range(2, x.ndim), 1) if x.ndim > 2 else x

    target = T(s.args[0])
    target = last(target) if target.dtype.kind == "f" else target
    return tt.cross_entropy(last(T(s.input)), target, **{k: T(v) for k, v in s.kwargs.items()})


def _attention(T: Any, s: Any) -> Any:
    if s.kwargs.get("dropout_p"):
        raise NotApplicable("draws random numbers")
    if s.kwargs.get("enable_gqa"):
        raise NotApplicable("fewer key heads than query heads (enable_gqa=)")
    return tt.scaled_dot_product_attention(
        T(s.input),
        *T(s.args),
        mask=T(s.kwargs.get("attn_mask")),
        is_causal=s.kwargs.get("is_causal", False),
        scale=s.kwargs.get("scale"),
    )


def _dropout(T: Any, s: Any) -> Any:
    p, training = s.kwargs.get("p", 0.5), s.kwargs.get("training", True)
    if training and 0 < p < 1:
        raise NotApplicable("draws random numbers")
    return tt.dropout(T(s.input), p, training)


def _same_names(*names: str) -> list[Entry]:
    return [Entry(name) for name in names]


def _functional(*names: str) -> list[Entry]:
    return [Entry(name, f"nn.functional.{name}") for name in names]


_NO_AXES = "a 0-d tensor has no axis, as in NumPy; PyTorch takes 0 and -1 for one"
# rows of one element: their gradient is 0, and 5e-4 in PyTorch's float32
_ROUNDED: dict[str, Any] = {"tolerance": {"float32": (1e-4, 1e-3)}}
_TRIANGLE: dict[str, Any] = {"rename": {"diagonal": "k"}}

ENTRIES = [
    *_same_names("abs", "cos", "erf", "exp", "log", "maximum", "minimum", "mul", "neg"),
    *_same_names("pow", "sigmoid", "sign", "sin", "sqrt", "tanh", "isfinite", "isnan"),
    *_same_names("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor"),
    *_same_names("logical_and", "logical_not", "logical_or", "logical_xor"),
    *_same_names("all", "any", "argmax", "argmin", "mean", "sum"),
    *_same_names("broadcast_to", "permute", "reshape", "split", "squeeze", "stack"),
    *_same_names("log_softmax", "matmul", "softmax"),
    *_functional("gelu", "linear", "relu"),
    Entry("silu", "nn.functional.silu", ""),
    # arithmetic
    Entry("add", lacks=_SCALED),
    Entry("sub", lacks=_SCALED),
    Entry("add", "__radd__", call=_swapped(tt.add)),
    Entry("sub", "rsub", call=_swapped(tt.sub, **_SCALED)),
    Entry("sub", "__rsub__", call=_swapped(tt.sub)),
    Entry("mul", "__rmul__", call=_swapped(tt.mul)),
    Entry("div", "div", "no_rounding_mode"),
    Entry("div", "true_divide"),
    Entry("div", "__rdiv__", call=_swapped(tt.div)),
    Entry("pow", "__rpow__", call=_swapped(tt.pow)),
    Entry("maximum", "max", "binary"),
    Entry("minimum", "min", "binary"),
    Entry("maximum", "clamp_min"),
    Entry("minimum", "clamp_max"),
    Entry("clip", "clamp", call=_clamp),
    Entry("clip", "nn.functional.relu6", call=lambda T, s: tt.clip(T(s.input), 0.0, 6.0)),
    Entry(
        "clip",
        "nn.functional.hardtanh",
        call=lambda T, s: tt.clip(
            T(s.input), s.kwargs.get("min_val", -1.0), s.kwargs.get("max_val", 1.0)
        ),
    ),
    # comparing and choosing
    Entry("equal", "eq"),
    Entry("not_equal", "ne"),
    Entry("less", "lt"),
    Entry("less_equal", "le"),
    Entry("greater", "gt"),
    Entry("greater_equal", "ge"),
    Entry("where", call=lambda T, s: tt.where(T(s.args[0]), T(s.input), T(s.args[1]))),
    Entry("masked_fill", call=_masked_fill),
    # the same values elsewhere
    Entry("alias", "alias_copy"),
    Entry("copy", "clone"),
    Entry("astype", "to", call=_dtype_among),
    *[
        Entry("astype", theirs, call=_cast(ours))
        for theirs, ours in {
            "bool": "bool",
            "byte": "uint8",
            "double": "float64",
            "float": "float32",
            "half": "float16",
            "int": "int32",
            "long": "int64",
            "short": "int16",
        }.items()
    ],
    # reductions
    Entry("max", "amax"),
    Entry("min", "amin"),
    Entry("max", "max", "reduction_no_dim"),
    Entry("min", "min", "reduction_no_dim"),
    Entry("max", "max", "reduction_with_dim", call=_with_positions(tt.max, tt.argmax)),
    Entry("min", "min", "reduction_with_dim", call=_with_positions(tt.min, tt.argmin)),
    Entry("max", "aminmax", call=_with_positions(tt.min, tt.max)),
    Entry("var", call=_var),
    Entry("var", "var_mean", call=_with_mean),
    # shapes
    Entry("broadcast_to", "expand", call=_expand),
    Entry("broadcast_to", "expand_as", call=lambda T, s: T(s.input).broadcast_to(s.args[0].shape)),
    Entry("concat", "cat"),
    Entry("expand_dims", "unsqueeze"),
    Entry("reshape", "view"),
    Entry("reshape", "reshape_as", call=lambda T, s: T(s.input).reshape(s.args[0].shape)),
    Entry("reshape", "view_as", call=lambda T, s: T(s.input).reshape(s.args[0].shape)),
    Entry("reshape", "ravel", call=lambda T, s: T(s.input).reshape(-1)),
    Entry("split", "split_with_sizes"),
    Entry("swapaxes", "transpose"),
    Entry("swapaxes", "mT", call=lambda T, s: T(s.input).mT),
    Entry("transpose", "T"),
    Entry("transpose", "t"),
    Entry("tril", **_TRIANGLE),
    Entry("triu", **_TRIANGLE),
    # indexing
    Entry("getitem", "__getitem__", call=lambda T, s: T(s.input)[T(s.args[0])]),
    Entry("getitem", "select", call=lambda T, s: _along(T(s.input), s.args[0], s.args[1])),
    Entry("getitem", "slice", call=_slice),
    Entry("getitem", "narrow", call=_narrow),
    Entry("take_along_axis", "take_along_dim", call=_take_along),
    Entry("getitem_grad", "index_put", call=_index_put),
    Entry("embedding", "nn.functional.embedding", call=_embedding),
    Entry("one_hot", "nn.functional.one_hot", call=_one_hot),
    # products
    Entry("matmul", "mm"),
    Entry("matmul", "mv"),
    Entry("matmul", "bmm", ""),
    Entry("matmul", "dot"),
    Entry("matmul", "__rmatmul__", call=_swapped(tt.matmul)),
    # fused
    Entry("layer_norm", "nn.functional.layer_norm", call=_layer_norm, **_ROUNDED),
    Entry("layer_norm", "native_layer_norm", call=_layer_norm, take=lambda out: out[0], **_ROUNDED),
    Entry("cross_entropy", "nn.functional.cross_entropy", call=_cross_entropy),
    Entry(
        "scaled_dot_product_attention",
        "nn.functional.scaled_dot_product_attention",
        call=_attention,
    ),
    Entry("dropout", "nn.functional.dropout", call=_dropout),
]


def _zero_d(s: Any) -> bool:
    return isinstance(s.input, torch.Tensor) and s.input.ndim == 0


def _longer_than_one(s: Any) -> bool:
    axes = s.args[0] if s.args else ()
    return any(s.input.shape[a] > 1 for a in ([axes] if isinstance(axes, int) else axes))


CHOICES = [
    Choice(
        "squeeze",
        lambda s: not _zero_d(s) and _longer_than_one(s),
        "an axis of another length than 1 is an error, as in NumPy; PyTorch leaves it",
    ),
    Choice("squeeze", _zero_d, _NO_AXES),
    Choice("swapaxes", _zero_d, _NO_AXES),
    Choice(
        "concat",
        lambda s: any(t.shape == (0,) for t in s.input) and any(t.ndim > 1 for t in s.input),
        "an empty vector among matrices is an error, as in NumPy; PyTorch passes over it",
    ),
    Choice(
        "scaled_dot_product_attention",
        lambda s: s.kwargs["is_causal"] and s.input.shape[-2] != s.args[0].shape[-2],
        "is_causal lets the last query see the last key; PyTorch aligns the first with the first",
    ),
]
