"""tinytensor: reverse-mode automatic differentiation written by hand on NumPy (and CuPy).

    >>> import tinytensor as tt
    >>> x = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
"""

import os as _os

from . import cuda, ops, random, registry
from .autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
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
from .gradcheck import gradcheck
from .ops import *  # noqa: F403
from .ops import PUBLIC as _PUBLIC
from .random import Generator, manual_seed
from .tensor import Tensor, tensor

__version__ = "0.1.0"

concatenate = ops.concat
true_divide = ops.div
multiply = ops.mul
float32, float64, int64, bool_ = "float32", "float64", "int64", "bool"

__all__ = [
    "Device", "Generator", "Tensor", "arange", "cuda", "default_device", "device", "draw", "empty",
    "empty_like", "enable_grad", "eye", "full", "full_like", "grad", "gradcheck", "is_grad_enabled",
    "manual_seed", "no_grad", "ones", "ones_like", "ops", "rand", "rand_like", "randn", "randn_like",
    "random", "registry", "set_default_device", "set_grad_enabled", "tensor", "zeros", "zeros_like",
    *_PUBLIC,
]  # fmt: skip


# in a source checkout nn/, models/ and train/ stand beside this folder; installed, they are in it
if not _os.path.isdir(_os.path.join(__path__[0], "nn")):
    __path__.append(_os.path.dirname(__path__[0]))
