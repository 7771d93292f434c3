"""Every op in words: listed, and explained with its source, why its gradient is what it is, and
numbers."""

from .catalogue import ops
from .explanation import explain

__all__ = ["explain", "ops"]
