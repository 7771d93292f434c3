"""Layer, batch and other normalisations."""

# ruff: noqa: F403, I001  (in reading order)
from .layer_norm import *
from .batch_norm import *
