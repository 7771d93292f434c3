"""Layer, batch and other normalisations."""

from ...define.listing import listing
from .layer_norm import (
    layer_norm,
    rms_norm,
)
from .batch_norm import (
    group_norm,
    batch_norm,
    instance_norm,
)

__all__ = listing(globals())
