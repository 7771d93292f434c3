"""Layer, batch and other normalisations."""

from ...define.listing import publish
from .layer_norm import (
    layer_norm,
    rms_norm,
)
from .batch_norm import (
    group_norm,
    batch_norm,
    instance_norm,
)

publish(globals())
