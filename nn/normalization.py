"""Normalising layers: RMSNorm over the last axis; batch, group and instance normalisation.

Names, buffers and state dicts are those of ``torch.nn``, so its checkpoints load.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import no_grad, ones, operations, tensor, zeros
from ..tensor.tensor import Tensor
from .layers import check_eps, check_number, check_size
from .module import Module
from .parameter import Parameter


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last axis: Zhang and Sennrich, 2019.

    Args:
        dim: size of the last axis, as a number or as a shape of one axis.
        eps: added to the mean square; None is the machine epsilon of the input's dtype.
        elementwise_affine: False leaves the weight out.

    Attributes:
        weight: (dim,) ones, or None.
    """

    def __init__(self, dim: Any, eps: float | None = None, elementwise_affine: bool = True):
        if isinstance(dim, (tuple, list)):
            if len(dim) != 1:
                raise ValueError(f"dim: RMSNorm is over the last axis only, got {tuple(dim)}")
            dim = dim[0]
        self.dim = check_size("dim", dim)
        self.eps = None if eps is None else check_eps(eps)
        self.weight: Parameter | None = Parameter(ones((self.dim,))) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., dim) -> (..., dim)."""
        if x.shape[-1:] != (self.dim,):
            raise ValueError(f"x: expected a last axis of {self.dim}, got shape {x.shape}")
        return operations.rms_norm(x, self.weight, eps=self.eps)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        flag = "" if self.weight is not None else ", elementwise_affine=False"
        return f"{self.dim}, eps={self.eps}{flag}"


class GroupNorm(Module):
    """Channels in groups, each example's groups by their own statistics: Wu and He, 2018.

    Args:
        num_groups: a divisor of ``num_channels``.
        num_channels: size of axis 1 of the input.
        eps: added to the variance.
        affine: False leaves weight and bias out.

    Attributes:
        weight: (num_channels,) ones, or None. bias: (num_channels,) zeros, or None.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True):
        self.num_groups = check_size("num_groups", num_groups)
        self.num_channels = check_size("num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"num_groups: expected a divisor of num_channels {num_channels}, got {num_groups}"
            )
        self.eps = check_eps(eps)
        self.weight: Parameter | None = Parameter(ones((num_channels,))) if affine else None
        self.bias: Parameter | None = Parameter(zeros((num_channels,))) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, num_channels, ...) -> the same shape."""
        if x.shape[1:2] != (self.num_channels,):
            raise ValueError(f"x: expected shape (batch, {self.num_channels}, ...), got {x.shape}")
        return operations.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        flag = "" if self.weight is not None else ", affine=False"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps:g}{flag}"


class _RunningNorm(Module):
    """What batch and instance normalisation share: parameters, running statistics, checks."""

    _axes: tuple[int, ...] = ()  # numbers of axes that the input may have
    _shapes = ""
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ):
        self.num_features = n = check_size("num_features", num_features)
        if momentum is not None:
            expected = "a number in [0, 1], or None for the plain average over all batches"
            momentum = check_number("momentum", momentum, expected, lambda x: 0 <= x <= 1)
        self.eps = check_eps(eps)
        self.momentum = momentum
        self.weight = Parameter(ones((n,))) if affine else None
        self.bias = Parameter(zeros((n,))) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros((n,)) if tracked else None)
        self.register_buffer("running_var", ones((n,)) if tracked else None)
        count = tensor(np.array(0, dtype=np.int64)) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self._axes or x.shape[1] != self.num_features:
            raise ValueError(
                f"x: expected shape {self._shapes.format(self.num_features)}, got {x.shape}"
            )

    def _run(self, op: Any, x: Tensor) -> Tensor:
        """Normalise; in training move the running statistics and count the batch."""
        self._check(x)
        own = self.training or self.running_mean is None
        count = self.num_batches_tracked if self.training else None
        momentum = self.momentum
        if momentum is None:
            momentum = 0.0 if count is None else 1.0 / (int(count) + 1)
        mean, var = self.running_mean, self.running_var
        out: Tensor = op(x, mean, var, self.weight, self.bias, own, momentum, self.eps)
        if count is not None:
            with no_grad():
                count.copy_(count + 1)
        return out

    def reset_running_stats(self) -> None:
        """Running mean 0, variance 1, and no batches counted."""
        if self.running_mean is None or self.running_var is None:
            return
        assert self.num_batches_tracked is not None
        with no_grad():
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        flags = "" if self.weight is not None else ", affine=False"
        flags += "" if self.running_mean is not None else ", track_running_stats=False"
        return f"{self.num_features}, eps={self.eps:g}, momentum={self.momentum}{flags}"


class _BatchNorm(_RunningNorm):
    def forward(self, x: Tensor) -> Tensor:
        """(batch, num_features, ...) -> the same shape."""
        return self._run(operations.batch_norm, x)


class BatchNorm1d(_BatchNorm):
    """Each feature by its mean and variance over the batch: Ioffe and Szegedy, 2015.

    In training the batch's statistics normalise, and the running ones move towards them; in
    evaluation mode the running ones normalise.

    Args:
        num_features: size of axis 1 of the input, which is (batch, num_features) or (batch,
            num_features, length).
        eps: added to the variance.
        momentum: how far the running statistics move with each batch; None averages all batches.
        affine: False leaves weight and bias out.
        track_running_stats: False keeps none, so that the batch's normalise in evaluation too.

    Attributes:
        weight: (num_features,) ones, or None. bias: (num_features,) zeros, or None.
        running_mean, running_var: (num_features,) buffers, saved with the module; the variance
            divides by n - 1. num_batches_tracked: how many batches they have seen.
    """

    _axes = (2, 3)
    _shapes = "(batch, {0}) or (batch, {0}, length)"


class BatchNorm2d(_BatchNorm):
    """:class:`BatchNorm1d` for images: (batch, num_features, height, width)."""

    _axes = (4,)
    _shapes = "(batch, {0}, height, width)"


class _InstanceNorm(_RunningNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, num_features, ...) -> the same shape."""
        return self._run(operations.instance_norm, x)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each example by its own mean and variance: Ulyanov et al., 2016.

    Args:
        num_features: size of axis 1 of the input (batch, num_features, length).
        eps: added to the variance.
        momentum: as in :class:`BatchNorm1d`.
        affine: True adds weight and bias.
        track_running_stats: True keeps running statistics and uses them in evaluation mode.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as in :class:`BatchNorm1d`,
            None by default. (PyTorch's InstanceNorm does not count its batches.)
    """

    _axes = (3,)
    _shapes = "(batch, {0}, length)"


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` for images: (batch, num_features, height, width)."""

    _axes = (4,)
    _shapes = "(batch, {0}, height, width)"
