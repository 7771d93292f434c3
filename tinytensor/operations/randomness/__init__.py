"""Dropout, and draws from a distribution."""

from ...define.listing import listing
from .dropout import (
    dropout,
)
from .sampling import (
    multinomial,
)

__all__ = listing(globals())
