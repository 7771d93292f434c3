"""tinytensor: reverse-mode automatic differentiation written by hand on NumPy (and CuPy).

>>> import tinytensor as tt
>>> x = tt.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

import importlib as _importlib
import os as _os
from typing import Any as _Any

from . import allocator as _allocator
from . import cuda, ops, random, registry
from .autograd import grad
from .creation import (
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    rand,
    rand_like,
    randn,
    randn_like,
    zeros,
    zeros_like,
)
from .device import Device, default_device, device, set_default_device
from .draw import draw
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .gradcheck import gradcheck
from .ops import (
    abs,
    add,
    all,
    any,
    argmax,
    argmin,
    astype,
    broadcast_to,
    clip,
    concat,
    copy,
    cos,
    cross_entropy,
    div,
    dropout,
    embedding,
    equal,
    erf,
    exp,
    expand_dims,
    gelu,
    getitem,
    greater,
    greater_equal,
    isfinite,
    isnan,
    layer_norm,
    less,
    less_equal,
    linear,
    log,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lstm,
    masked_fill,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    mul,
    neg,
    not_equal,
    one_hot,
    permute,
    pow,
    relu,
    reshape,
    rnn,
    scaled_dot_product_attention,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    split,
    sqrt,
    squeeze,
    stack,
    sub,
    sum,
    swapaxes,
    take_along_axis,
    tanh,
    transpose,
    tril,
    triu,
    var,
    where,
)
from .random import Generator, manual_seed
from .tensor import Tensor, tensor

__version__ = "0.1.0"

_allocator.tune()

concatenate = ops.concat
true_divide = ops.div
multiply = ops.mul
float32, float64, int64, bool_ = "float32", "float64", "int64", "bool"

__all__ = [
    "Device", "Generator", "Tensor", "abs", "add", "all", "any", "arange", "argmax", "argmin",
    "astype", "broadcast_to", "clip", "concat", "copy", "cos", "cross_entropy", "cuda",
    "default_device", "device", "div", "draw", "dropout", "embedding", "empty", "empty_like",
    "enable_grad", "equal", "erf", "exp", "expand_dims", "eye", "full", "full_like", "gelu",
    "getitem", "grad", "gradcheck", "greater", "greater_equal", "is_grad_enabled", "isfinite",
    "isnan", "layer_norm", "less", "less_equal", "linear", "log", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lstm", "manual_seed", "masked_fill", "matmul",
    "max", "maximum", "mean", "min", "minimum", "mul", "neg", "no_grad", "not_equal", "one_hot",
    "ones", "ones_like", "ops", "permute", "pow", "rand", "rand_like", "randn", "randn_like",
    "random", "registry", "relu", "reshape", "rnn", "scaled_dot_product_attention",
    "set_default_device", "set_grad_enabled", "sigmoid", "sign", "silu", "sin", "softmax",
    "split", "sqrt", "squeeze", "stack", "sub", "sum", "swapaxes", "take_along_axis", "tanh",
    "tensor", "transpose", "tril", "triu", "var", "where", "zeros", "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    """``tt.nn``, ``tt.models`` and ``tt.train``: imported on first use."""
    if name in ("nn", "models", "train"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# in a source checkout nn/, models/ and train/ stand beside this folder; installed, they are in it
if not _os.path.isdir(_os.path.join(__path__[0], "nn")):
    __path__.append(_os.path.dirname(__path__[0]))
