"""Attention, and recurrent layers over whole sequences."""

from ...define.listing import listing
from .attention import (
    scaled_dot_product_attention,
    self_attention,
)
from .recurrent import (
    rnn,
    lstm,
)

__all__ = listing(globals())
