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

if _os.path.islink(__path__[0]):  # an editable installation; see .ci/editable.py
    __path__[0] = _os.path.realpath(__path__[0])  # a file has one path, however it was found
    __file__ = _os.path.join(__path__[0], "__init__.py")

from . import derivatives, operations
from . import late as _late
from .arrays import allocator as _allocator
from .arrays import cuda, random
from .arrays import device as _devices
from .arrays.device import Device, default_device, device, set_default_device
from .arrays.dtypes import NAMES as _DTYPES
from .arrays.random import Generator, manual_seed
from .context import checkout as _checkout
from .define import op as registry
from .define.custom import custom_op
from .define.samples import Sample
from .derivatives import (
    checkpoint,
    grad,
    gradcheck,
    gradgradcheck,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_grad,
    vjp,
)
from .draw import draw
from .explain import explain, ops
from .graph.anomaly import detect_anomaly
from .graph.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .hints import finding as _hints
from .hints import imports as _imports
from .hints.other_functions import OF_PACKAGE as _OF_PACKAGE
from .operations import *  # noqa: F403
from .profiling import profile
from .profiling.memory import memory_report
from .shown.printing import get_printoptions, printoptions, set_printoptions
from .stepper import step_through
from .tensor import methods as _operators
from .tensor.creation import (
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
from .tensor.dlpack import from_dlpack
from .tensor.ranges import arange, linspace, logspace
from .tensor.row_grad import RowGrad
from .tensor.tensor import Tensor, tensor

__version__ = "0.1.0"

_OTHER_NAMES = {"autograd": derivatives, "functional": derivatives}  # as PyTorch calls it

_late.arrive()
_allocator.tune()
_imports.install(
    {"cuda": cuda, "device": _devices, "random": random, "registry": registry, **_OTHER_NAMES}
)
_checkout.install(__path__[0])  # noqa: F405
_operators.document()

_SECOND_NAMES = ("concatenate", "true_divide", "multiply", "subtract", "divide", "bool_")
concatenate = operations.concat
true_divide = operations.div
multiply = operations.mul
subtract = operations.sub
divide = operations.div
float32, float64, int64, bool_ = "float32", "float64", "int64", "bool"
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

__all__ = [
    "Device", "Generator", "RowGrad", "Sample", "Tensor", "arange", "checkpoint", "cuda",
    "custom_op", "default_device", "detect_anomaly", "device", "draw", "empty", "empty_like",
    "enable_grad", "explain", "eye", "from_dlpack", "full", "full_like", "get_printoptions",
    "grad", "gradcheck", "gradgradcheck", "hessian", "hvp", "inference_mode", "is_grad_enabled",
    "jacobian", "jvp", "linspace", "logspace", "manual_seed", "memory_report", "no_grad",
    "ones", "ones_like", "operations", "ops", "printoptions", "profile", "rand", "rand_like",
    "randint", "randn", "randn_like", "random", "randperm", "registry", "set_default_device",
    "set_grad_enabled", "set_printoptions", "step_through", "tensor", "value_and_grad", "vjp",
    "zeros", "zeros_like",
]  # fmt: skip
__all__ += vars(operations)["__all__"]


_hints.explain_arguments(__all__, globals())
_unknown = _hints.missing(__name__, _OF_PACKAGE, __all__)


def __getattr__(name: str) -> _Any:
    """``tt.nn``, ``tt.models`` and ``tt.train``: imported on first use; and names of dtypes."""
    if name in ("nn", "models", "train"):
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    if name in _DTYPES:
        return _DTYPES[name]
    return _unknown(name)


def __dir__() -> list[str]:
    """What a user may call."""
    constants = ("inf", "nan", "pi", "e", "newaxis", "__version__", "__doc__")
    return sorted({*__all__, *_DTYPES, *_SECOND_NAMES, *constants, "nn", "models", "train"})
