"""Attention, and recurrent layers over whole sequences."""

# ruff: noqa: F403  (in reading order)
from .attention import *
from .recurrent import *
