"""Derivatives of functions (vjp, jacobian, hessian, ...), and the check of any gradient."""

from typing import TYPE_CHECKING

from ..hints.finding import missing
from ..hints.other_names import OF_AUTOGRAD
from .checkpoint import checkpoint
from .functional import hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .grad import grad
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "checkpoint",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "value_and_grad",
    "vjp",
]

if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = missing(__name__, OF_AUTOGRAD)
