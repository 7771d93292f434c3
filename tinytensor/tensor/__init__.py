"""Tensor: the class, its methods, and the functions that make one from nothing."""

from .conversions import _unpickle as _unpickle  # where pickles of earlier versions look for it
from .tensor import Tensor as Tensor
