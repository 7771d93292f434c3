"""Attention, and recurrent layers over whole sequences."""

from ...define.listing import publish
from .attention import (
    scaled_dot_product_attention,
    self_attention,
)
from .gru import gru
from .recurrent import (
    rnn,
    lstm,
)

publish(globals())
