"""Arithmetic and functions of each element, with broadcasting."""

# ruff: noqa: F403, I001  (in reading order)
from .arithmetic import *
from .rounding import *
from .exponential import *
from .special import *
from .trigonometric import *
from .comparison import *
from .choosing import *
from .conversion import *
