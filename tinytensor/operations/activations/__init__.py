"""Activation functions and softmax."""

# ruff: noqa: F403, I001  (in reading order)
from .smooth import *
from .relu import *
from .softmax import *
