"""Losses."""

# ruff: noqa: F403, I001  (in reading order)
from .cross_entropy import *
from .regression import *
from .divergence import *
from .similarity import *
from .likelihood import *
from .ctc import *
