"""Dropout, and draws from a distribution."""

# ruff: noqa: F403  (in reading order)
from .dropout import *
from .sampling import *
