"""Every op, one small definition each; see :mod:`tinytensor.registry` for how one is written."""

# fmt: off
# ruff: noqa: I001  (in reading order: from the simplest to the most fused)
from .elementwise import (
    abs, add, alias, astype, clip, copy, cos, div, erf, exp, log, masked_fill, maximum, minimum,
    mul, neg, pow, sign, sin, sqrt, sub, tanh, where,
)
from .comparison import (
    equal, greater, greater_equal, isfinite, isnan, less, less_equal, logical_and, logical_not,
    logical_or, logical_xor, not_equal,
)
from .reduce import all, any, argmax, argmin, max, mean, min, sum, var
from .shape import (
    broadcast_to, concat, expand_dims, permute, reshape, split, squeeze, stack, swapaxes,
    to_device, transpose, tril, triu,
)
from .activation import gelu, relu, sigmoid, silu
from .index import (
    embedding, embedding_grad, getitem, index_put, one_hot, raw_index, take_along_axis,
)
from .linalg import linear, matmul
from .normalize import dropout, layer_norm, log_softmax, softmax
from .loss import cross_entropy
from .attention import scaled_dot_product_attention
from .recurrent import lstm, rnn
# fmt: on

__all__ = [
    "abs", "add", "alias", "all", "any", "argmax", "argmin", "astype", "broadcast_to", "clip",
    "concat", "copy", "cos", "cross_entropy", "div", "dropout", "embedding", "embedding_grad",
    "equal", "erf", "exp", "expand_dims", "gelu", "getitem", "greater", "greater_equal",
    "index_put", "isfinite", "isnan", "layer_norm", "less", "less_equal", "linear", "log",
    "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "lstm",
    "masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mul", "neg",
    "not_equal", "one_hot", "permute", "pow", "raw_index", "relu", "reshape", "rnn",
    "scaled_dot_product_attention", "sigmoid", "sign", "silu", "sin", "softmax", "split",
    "sqrt", "squeeze", "stack", "sub", "sum", "swapaxes", "take_along_axis", "tanh",
    "to_device", "transpose", "tril", "triu", "var", "where",
]  # fmt: skip
