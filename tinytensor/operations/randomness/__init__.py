"""Dropout, and draws from a distribution."""

from ...define.listing import publish
from .dropout import (
    dropout,
)
from .sampling import (
    multinomial,
)

publish(globals())
