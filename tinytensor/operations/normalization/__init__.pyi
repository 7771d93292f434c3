# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Layer, batch and other normalisations."""

from ...define.operand import Operand
from ...tensor.tensor import Tensor

def layer_norm(
    x: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Layer normalisation over the last axis (Ba et al. 2016, arXiv:1607.06450)."""

def rms_norm(x: Operand, weight: Operand | None = None, eps: float | None = None) -> Tensor:
    """Normalisation by the root mean square of the last axis (Zhang and Sennrich 2019,
    arXiv:1910.07467)."""

def batch_norm(
    x: Operand,
    running_mean: Operand | None = None,
    running_var: Operand | None = None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167): each channel by its mean and
    variance over the batch and all positions, or by running ones."""

def group_norm(
    x: Operand,
    num_groups: int,
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Group normalisation (Wu and He 2018, arXiv:1803.08494): each example's channels, in
    ``num_groups`` groups, by the mean and variance of their group."""

def instance_norm(
    x: Operand,
    running_mean: Operand | None = None,
    running_var: Operand | None = None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Instance normalisation (Ulyanov et al. 2016, arXiv:1607.08022): each channel of each example
    by its own mean and variance. It is group normalisation with one channel per group."""
