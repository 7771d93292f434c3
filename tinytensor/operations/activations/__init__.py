"""Activation functions and softmax."""

from ...define.listing import publish
from .smooth import (
    sigmoid,
    log_sigmoid,
    softplus,
    softsign,
    silu,
    mish,
    gelu,
)
from .relu import (
    relu,
    leaky_relu,
    prelu,
    elu,
    selu,
    celu,
    hardtanh,
    relu6,
    hard_sigmoid,
    hard_swish,
)
from .softmax import (
    softmax,
    log_softmax,
)

publish(globals())
