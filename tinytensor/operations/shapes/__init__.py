"""The same elements in another shape or order; joining and splitting."""

# ruff: noqa: F403, I001  (in reading order)
from .reshaping import *
from .diagonals import *
from .rearranging import *
from .joining_and_splitting import *
