"""tinytensor: reverse-mode automatic differentiation written by hand on NumPy (and CuPy).

>>> import tinytensor as tt
>>> x = tt.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

if __name__ != "tinytensor":
    raise ImportError(f"import tinytensor, not {__name__}: it would be a second engine")

from . import early_interrupt as _early_interrupt  # noqa: F401  # before all that takes time

# isort: split
import importlib as _importlib
import math as _math
import os as _os
from typing import Any as _Any

from . import allocator as _allocator
from . import cuda, operations, random, registry
from . import hints as _hints
from . import imports as _imports
from . import operators as _operators
from .anomaly import detect_anomaly
from .autograd import grad
from .catalogue import explain, ops
from .checkpoint import checkpoint
from .creation import (
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    zeros,
    zeros_like,
)
from .custom import custom_op
from .device import Device, default_device, device, set_default_device
from .dlpack import from_dlpack
from .draw import draw
from .dtypes import NAMES as _DTYPES
from .functional import hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck
from .memory import memory_report
from .operations import *  # noqa: F403
from .other_functions import OF_PACKAGE as _OF_PACKAGE
from .profiling import profile
from .random import Generator, manual_seed
from .ranges import arange, linspace, logspace
from .samples import Sample
from .tensor import Tensor, tensor

__version__ = "0.1.0"

_allocator.tune()
_imports.install()
_operators.document()

concatenate = operations.concat
true_divide = operations.div
multiply = operations.mul
subtract = operations.sub
divide = operations.div
float32, float64, int64, bool_ = "float32", "float64", "int64", "bool"
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

__all__ = [
    "Device", "Generator", "Sample", "Tensor", "arange", "checkpoint", "cuda", "custom_op",
    "default_device", "detect_anomaly", "device", "draw", "empty", "empty_like", "enable_grad",
    "explain", "eye", "from_dlpack", "full", "full_like", "grad", "gradcheck", "gradgradcheck",
    "hessian", "hvp", "inference_mode", "is_grad_enabled", "jacobian", "jvp", "linspace",
    "logspace", "manual_seed", "memory_report", "no_grad", "ones", "ones_like", "operations",
    "ops", "profile",
    "rand", "rand_like", "randint", "randn", "randn_like", "random", "randperm", "registry",
    "set_default_device", "set_grad_enabled", "tensor", "value_and_grad", "vjp", "zeros",
    "zeros_like",
]  # fmt: skip
__all__ += operations.__all__


_hints.explain_arguments(__all__, globals())
_unknown = _hints.missing(__name__, _OF_PACKAGE, __all__)


def __getattr__(name: str) -> _Any:
    """``tt.nn``, ``tt.models`` and ``tt.train``: imported on first use; and names of dtypes."""
    if name in ("nn", "models", "train"):
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _DTYPES:
        return _DTYPES[name]
    return _unknown(name)


# in a source checkout nn/, models/ and train/ stand beside this folder; installed, they are in it
if not _os.path.isdir(_os.path.join(__path__[0], "nn")):  # noqa: F405
    __path__.append(_os.path.dirname(__path__[0]))  # noqa: F405
