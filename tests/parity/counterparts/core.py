"""PyTorch's counterparts of the ops that a language model needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

F = torch.nn.functional


def _dims(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(axis) if isinstance(axis, tuple) else (axis,)


def _reduce(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        dims = _dims(x, axis)
        if not dims:  # PyTorch reads () as "all axes", NumPy as "none"
            return x * 1
        return getattr(torch, name)(x, dim=dims, keepdim=keepdims)

    return run


def _positions(name: str) -> Callable[..., Any]:
    return lambda x, axis=None, keepdims=False: getattr(torch, name)(x, dim=axis, keepdim=keepdims)


def _var(x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
    if not x.ndim:
        return x * 0
    return torch.var(x, dim=_dims(x, axis), keepdim=keepdims, correction=ddof)


def _any_number(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A torch function that takes no Python numbers, fed with 0-d tensors instead."""

    def run(x: Any, y: Any) -> Any:
        like = x if torch.is_tensor(x) else y
        x, y = (a if torch.is_tensor(a) else torch.tensor(a, dtype=like.dtype) for a in (x, y))
        return fn(x, y)

    return run


def _cross_entropy(
    logits: Any,
    target: Any,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    loss = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        target.reshape(-1),
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
    return loss.reshape(target.shape) if reduction == "none" else loss


def _attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    keep: Any = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Any:
    """torch's attention where it can do it, its pieces where it cannot (our dropout pattern)."""
    allowed = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if is_causal:  # torch aligns top left, we align bottom right
        allowed = allowed.tril(k.shape[-2] - q.shape[-2])
    closed = mask is not None and mask.dtype == torch.bool and not mask.any(-1).all()
    if keep is None and not closed:
        if mask is None:
            mask = allowed
        elif mask.dtype == torch.bool:
            mask = mask & allowed
        elif is_causal:
            mask = mask.masked_fill(~allowed, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        allowed = allowed & mask
    # a row that is closed completely gives zeros here and NaN in torch
    weights = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(-1) * allowed.any(
        -1, keepdim=True
    )
    weights = weights if keep is None else weights * keep / (1 - dropout)
    return weights @ v


def _self_attention(
    qkv: Any, keep: Any = None, heads: int = 1, is_causal: bool = False, dropout: float = 0.0
) -> Any:
    q, k, v = (x.unflatten(-1, (heads, -1)).swapaxes(-2, -3) for x in qkv.chunk(3, dim=-1))
    y = _attention(q, k, v, None, keep, is_causal, dropout)
    return y.swapaxes(-2, -3).flatten(-2)


def _recurrent(run: Any, x: Any, states: Any, w_ih: Any, w_hh: Any, bias: Any) -> Any:
    biases = () if bias is None else (bias, torch.zeros_like(bias))
    weights = (w_ih, w_hh, *biases)
    return run(x, states, weights, bias is not None, 1, 0.0, False, False, False)


def _rnn(
    x: Any, h0: Any, w_ih: Any, w_hh: Any, bias: Any = None, nonlinearity: str = "tanh"
) -> Any:
    run = torch.rnn_tanh if nonlinearity == "tanh" else torch.rnn_relu
    return _recurrent(run, x, h0[None], w_ih, w_hh, bias)[0]


def _gru(x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    nothing = torch.zeros(len(w_ih), dtype=w_ih.dtype)
    biases = (nothing if b is None else b for b in (b_ih, b_hh))
    weights = (w_ih, w_hh, *biases)
    return torch.gru(x, h0[None], weights, True, 1, 0.0, False, False, False)[0]


def _lstm(x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, bias: Any = None) -> Any:
    out, _, c = _recurrent(torch.lstm, x, (h0[None], c0[None]), w_ih, w_hh, bias)
    return out, c[0]


def _index(x: Any, index: tuple) -> Any:
    if any(isinstance(i, slice) and (i.step or 1) < 0 for i in index):  # torch has no negative step
        (axis,) = [n for n, i in enumerate(index) if isinstance(i, slice) and (i.step or 1) < 0]
        order = torch.tensor(list(range(x.shape[axis])[index[axis]]))
        x = x.index_select(axis, order)
        index = (*index[:axis], slice(None), *index[axis + 1 :])
    return x[index]


def _index_put(g: Any, index: tuple, shape: tuple) -> Any:
    arrays = [i for i in index if torch.is_tensor(i)]
    out = torch.zeros(shape, dtype=g.dtype)
    if arrays and index[0] == slice(None):
        return out.index_add(1, index[1], g)
    if arrays:
        return out.index_put(index, g, accumulate=True)
    out[index] = g
    return out


def _embedding_grad(g: Any, ids: Any, rows: int, padding_idx: int | None = None) -> Any:
    table = torch.zeros(rows, g.shape[-1], dtype=g.dtype)
    return table.index_add(0, ids.reshape(-1), g.reshape(-1, g.shape[-1]))


TORCH: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sign,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "maximum": _any_number(torch.maximum),
    "minimum": _any_number(torch.minimum),
    "where": torch.where,
    "clip": torch.clip,
    "masked_fill": lambda x, mask, value: torch.masked_fill(x, mask, value),
    "astype": lambda x, dtype: x.to(getattr(torch, dtype)),
    "copy": torch.clone,
    "equal": _any_number(torch.eq),
    "not_equal": _any_number(torch.ne),
    "less": _any_number(torch.lt),
    "less_equal": _any_number(torch.le),
    "greater": _any_number(torch.gt),
    "greater_equal": _any_number(torch.ge),
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "bitwise_not": torch.bitwise_not,
    "logical_and": _any_number(torch.logical_and),
    "logical_or": _any_number(torch.logical_or),
    "logical_xor": _any_number(torch.logical_xor),
    "logical_not": torch.logical_not,
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "sum": _reduce("sum"),
    "mean": _reduce("mean"),
    "max": _reduce("amax"),
    "min": _reduce("amin"),
    "any": _reduce("any"),
    "all": _reduce("all"),
    "var": _var,
    "argmax": _positions("argmax"),
    "argmin": _positions("argmin"),
    "reshape": torch.reshape,
    "transpose": lambda x, axes=None: x.permute(axes or tuple(reversed(range(x.ndim)))),
    "swapaxes": torch.swapaxes,
    "squeeze": lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis),
    "expand_dims": lambda x, axis: x[None, :, None] if axis == (0, 2) else x.unsqueeze(axis),
    "broadcast_to": torch.broadcast_to,
    "concat": lambda xs, axis=0: torch.cat(xs, dim=axis),
    "stack": lambda xs, axis=0: torch.stack(xs, dim=axis),
    "split": lambda x, points, axis=0: torch.tensor_split(x, points, dim=axis),
    "tril": torch.tril,
    "triu": torch.triu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
    "getitem": _index,
    "getitem_grad": _index_put,
    "take_along_axis": lambda x, indices, axis: torch.take_along_dim(x, indices, dim=axis),
    "embedding": lambda ids, weight, padding_idx=None, sparse=False: F.embedding(
        ids, weight, padding_idx
    ),
    "embedding_grad": _embedding_grad,
    "one_hot": lambda ids, n: F.one_hot(ids, n).float(),
    "matmul": torch.matmul,
    "linear": F.linear,
    "softmax": lambda x, axis=-1: torch.softmax(x, dim=axis),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, dim=axis),
    "layer_norm": lambda x, weight=None, bias=None, eps=1e-5: F.layer_norm(
        x, x.shape[-1:], weight, bias, eps
    ),
    "cross_entropy": _cross_entropy,
    "scaled_dot_product_attention": _attention,
    "self_attention": _self_attention,
    "gru": _gru,
    "rnn": _rnn,
    "lstm": _lstm,
}

WITHOUT: dict[str, str] = {
    "alias": "the identity; it exists for the graph only",
    "dropout": "takes the pattern of kept elements, PyTorch's draws its own",
    "tie": "the identity on several tensors; it exists for the graph only",
    "to_device": "moves between devices, computes nothing",
}
