# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""tinytensor: reverse-mode automatic differentiation written by hand on NumPy (and CuPy)."""

import builtins as _builtins

from . import operations as operations
from .arrays import cuda as cuda
from .arrays import random as random
from .arrays.device import Device as Device
from .arrays.device import default_device as default_device
from .arrays.device import device as device
from .arrays.device import set_default_device as set_default_device
from .arrays.random import Generator as Generator
from .arrays.random import manual_seed as manual_seed
from .define import op as _op
from .define.custom import custom_op as custom_op
from .define.samples import Sample as Sample
from .derivatives.checkpoint import checkpoint as checkpoint
from .derivatives.grad import grad as grad
from .derivatives.gradcheck import gradcheck as gradcheck
from .derivatives import gradgradcheck as gradgradcheck
from .derivatives import hessian as hessian
from .derivatives import hvp as hvp
from .derivatives import jacobian as jacobian
from .derivatives import jvp as jvp
from .derivatives import value_and_grad as value_and_grad
from .derivatives import vjp as vjp
from .draw import draw as draw
from .explain import explain as explain
from .explain import ops as ops
from .graph.anomaly import detect_anomaly as detect_anomaly
from .graph.grad_mode import enable_grad as enable_grad
from .graph.grad_mode import inference_mode as inference_mode
from .graph.grad_mode import is_grad_enabled as is_grad_enabled
from .graph.grad_mode import no_grad as no_grad
from .graph.grad_mode import set_grad_enabled as set_grad_enabled
from .operations import *
from .profiling import profile as profile
from .profiling.memory import memory_report as memory_report
from .shown.printing import get_printoptions as get_printoptions
from .shown.printing import printoptions as printoptions
from .shown.printing import set_printoptions as set_printoptions
from .stepper import step_through as step_through
from .tensor.creation import empty as empty
from .tensor.creation import empty_like as empty_like
from .tensor.creation import eye as eye
from .tensor.creation import full as full
from .tensor.creation import full_like as full_like
from .tensor.creation import ones as ones
from .tensor.creation import ones_like as ones_like
from .tensor.creation import rand as rand
from .tensor.creation import rand_like as rand_like
from .tensor.creation import randint as randint
from .tensor.creation import randn as randn
from .tensor.creation import randn_like as randn_like
from .tensor.creation import randperm as randperm
from .tensor.creation import zeros as zeros
from .tensor.creation import zeros_like as zeros_like
from .tensor.dlpack import from_dlpack as from_dlpack
from .tensor.ranges import arange as arange
from .tensor.ranges import linspace as linspace
from .tensor.ranges import logspace as logspace
from .tensor.row_grad import RowGrad as RowGrad
from .tensor.tensor import Tensor as Tensor
from .tensor.tensor import tensor as tensor
from . import models as models
from . import nn as nn
from . import train as train

registry = _op
concatenate = concat
divide = div
multiply = mul
subtract = sub
true_divide = div

__version__: _builtins.str
bool: _builtins.str
bool_: _builtins.str
double: _builtins.str
e: _builtins.float
float: _builtins.str
float16: _builtins.str
float32: _builtins.str
float64: _builtins.str
half: _builtins.str
inf: _builtins.float
int: _builtins.str
int16: _builtins.str
int32: _builtins.str
int64: _builtins.str
int8: _builtins.str
long: _builtins.str
nan: _builtins.float
newaxis: None
pi: _builtins.float
short: _builtins.str
uint16: _builtins.str
uint32: _builtins.str
uint64: _builtins.str
uint8: _builtins.str
