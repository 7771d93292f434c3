"""Normalisation of images and signals with channels: batch, group and instance normalisation.

All three see x as (batch, channels, positions). What differs is which cells of the (batch,
channels) table share their statistics: those of a channel over the whole batch, those of a group of
channels of one example, or each its own. So every sum over many elements is made cell by cell, and
the rest is arithmetic on small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...define.op import op
from ...define.samples import Sample
from ...tensor.tensor import Tensor, make, tensor
from ..elementwise.arithmetic import sqrt
from ..reductions import sum_mean_max as reduce
from ..shapes.reshaping import reshape
from .layer_norm import column_sums, row_dots, row_sums

#: adds up the cells that share their statistics: a (batch, channels) table to one that broadcasts
Pool = Callable[[Any], Any]


def _cells(x: Any) -> Any:
    """(N, C, ...) as (N, C, L)."""
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _sums(xp: Any, x: Any) -> Any:
    """Σ x over the positions: (N, C, L) to (N, C)."""
    if x.shape[2] == 1:
        return x[..., 0]
    return row_sums(xp, x)


def _dots(xp: Any, a: Any, b: Any) -> Any:
    """Σ a b over the positions: two of (N, C, L) to (N, C)."""
    return a[..., 0] * b[..., 0] if a.shape[2] == 1 else row_dots(xp, a, b)


def _over_batch(xp: Any) -> Pool:
    return lambda table: column_sums(xp, table)[None, :]


def _over_groups(xp: Any, groups: int) -> Pool:
    def pool(table: Any) -> Any:
        n, channels = table.shape
        per_group = channels // groups
        whole = xp.sum(table.reshape(n, groups, per_group), axis=2, keepdims=True)
        return xp.broadcast_to(whole, (n, groups, per_group)).reshape(n, channels)

    return pool


def _moments(xp: Any, x: Any, pool: Pool, count: int) -> tuple[Any, Any]:
    """Mean and variance of the cells that belong together; ``count`` is their number of elements.

    The mean is subtracted before squaring, so that a large offset does not cancel the variance.
    """
    per = 1 / max(1, count)
    mean = pool(_sums(xp, x)) * per
    centred = x - mean[..., None]
    return mean, pool(_dots(xp, centred, centred)) * per


def _normalised(x: Any, mean: Any, rstd: Any, weight: Any, bias: Any) -> Any:
    """(x - mean) · rstd · weight + bias on (N, C, L), the factors multiplied first."""
    scale = rstd if weight is None else rstd * weight
    out = (x - mean[..., None]) * scale[..., None]
    if bias is None:
        return out
    bias = bias[:, None]
    if bias.dtype == out.dtype:
        out += bias
        return out
    return out + bias


class _Backward:
    """The sums that all gradients of a normalisation are made from."""

    def __init__(self, xp: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any):
        self.g, self.rstd, self.weight, self.xp = g, rstd, weight, xp
        self.centred = x - mean[..., None]
        self.sums = _sums(xp, g)
        self.dots = _dots(xp, g, self.centred)

    def dx(self, pool: Pool | None, count: int = 1) -> Any:
        """The gradient of x; through its statistics too where ``pool`` says how they arose."""
        scale = self.rstd if self.weight is None else self.rstd * self.weight
        dx = self.g * scale[..., None]
        if pool is None:
            return dx
        weight = 1 if self.weight is None else self.weight
        rstd, per = self.rstd, 1 / max(1, count)
        self.centred *= (pool(self.dots * weight) * (rstd * rstd * rstd) * per)[..., None]
        dx -= self.centred
        dx -= (pool(self.sums * weight) * rstd * per)[..., None]
        return dx

    def dweight(self) -> Any:
        return column_sums(self.xp, self.dots * self.rstd)

    def dbias(self) -> Any:
        return column_sums(self.xp, self.sums)


def _check(x: Any, **parameters: Any) -> None:
    if x.ndim < 2:
        raise ValueError(f"x: expected shape (batch, channels, ...), got {x.shape}")
    for name, p in parameters.items():
        if p is not None and p.shape != x.shape[1:2]:
            raise ValueError(
                f"{name}: expected shape {x.shape[1:2]}, one number per channel of x {x.shape}, "
                f"got {p.shape}"
            )


@op(
    "x mean var weight bias",
    name="batch_norm",
    keeps="x mean var weight bias centre rstd",
    formula="(x - mean) / √(var + eps) · weight + bias, over the batch and all positions",
    gradient="dx = rstd (h - mean h - x̂ mean(h x̂)) with h = g weight, and rstd h for given "
    "statistics; dweight = Σ g x̂; dbias = Σ g",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 3), None, None, r(3), r(3)),
        Sample(r(2, 3, 4), None, None, r(3), r(3), True, 1e-3),
        Sample(r(2, 2, 2, 3)),
        Sample(r(3, 2, 2), None, None, r(2)),
        Sample(r(3, 2), r(2), r.positive(2), r(2), r(2), False),
        Sample(r(2, 3, 2), r(3), r.positive(3), None, r(3), False),
        Sample(r(0, 3), r(3), r.positive(3), r(3), r(3), False),
        Sample(r(0, 3), None, None, r(3), r(3)),
    ],
)
def _batch_norm(xp, x, mean=None, var=None, weight=None, bias=None, own=True, eps=1e-5):
    """Batch normalisation by the statistics of x (``own``) or by given ones; see ``tt.batch_norm``.

    With ``own`` the gradient goes through the statistics; ``mean`` and ``var``, where given, are
    those of x, to save computing them again.
    """
    _check(x, mean=mean, var=var, weight=weight, bias=bias)
    cells = _cells(x)
    if mean is None:
        mean, var = _moments(xp, cells, _over_batch(xp), cells.shape[0] * cells.shape[2])
    else:
        mean, var = mean[None], var[None]
    rstd = 1 / xp.sqrt(var + eps)
    return _normalised(cells, mean, rstd, weight, bias).reshape(x.shape), mean, rstd


@_batch_norm.vjp
def _batch_norm_vjp(xp: Any, g: Any, k: Any) -> Any:
    x = _cells(k.x)
    back = _Backward(xp, _cells(g), x, k.centre, k.rstd, k.weight)
    dx = dmean = dvar = None
    if k.needs[0]:
        pool = _over_batch(xp) if k.own else None
        dx = back.dx(pool, x.shape[0] * x.shape[2]).reshape(g.shape)
    scale = k.rstd[0] if k.weight is None else k.rstd[0] * k.weight
    if k.needs[1]:
        dmean = -back.dbias() * scale
    if k.needs[2]:
        dvar = -0.5 * back.dweight() * scale * k.rstd[0]
    return dx, dmean, dvar, back.dweight(), back.dbias()


@_batch_norm.reference_is
def _batch_norm_reference(
    x: Any,
    mean: Any = None,
    var: Any = None,
    weight: Any = None,
    bias: Any = None,
    own: bool = True,
    eps: float = 1e-5,
) -> Any:
    axes = (0, *range(2, x.ndim))
    per_channel = (1, -1, *[1] * (x.ndim - 2))
    if own and not x.size:
        return x * 1.0 if weight is None else x * weight + bias
    if own:
        centred = x - reduce.mean(x, axes, True)
        spread = reduce.mean(centred * centred, axes, True)
    else:
        centred, spread = x - reshape(mean, per_channel), reshape(var, per_channel)
    out = centred / sqrt(spread + eps)
    out = out if weight is None else out * reshape(weight, per_channel)
    return out if bias is None else out + reshape(bias, per_channel)


@op(
    "x weight bias",
    name="group_norm",
    keeps="x weight bias centre rstd",
    formula="(x - mean) / √(var + eps) · weight + bias, over each group of channels",
    gradient="dx = rstd (h - mean h - x̂ mean(h x̂)) with h = g weight; dweight = Σ g x̂; dbias = Σ g",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 4, 3), r(4), r(4), 2),
        Sample(r(3, 4), r(4), r(4), 1, 1e-3),
        Sample(r(2, 3, 2, 2), r(3), r(3), 3),
        Sample(r(2, 4, 2), None, None, 2),
        Sample(r(2, 4, 2), r(4), None, 4),
        Sample(r(2, 6), r(6), r(6), 2),
        Sample(r(0, 4, 2), r(4), r(4), 2),
    ],
)
def _group_norm(xp, x, weight=None, bias=None, num_groups=1, eps=1e-5):
    """Group normalisation; see ``tt.group_norm``."""
    _check(x, weight=weight, bias=bias)
    channels = x.shape[1]
    if not isinstance(num_groups, int) or num_groups < 1 or channels % num_groups:
        raise ValueError(
            f"num_groups: expected a divisor of the {channels} channels of x {x.shape}, got "
            f"{num_groups}"
        )
    cells = _cells(x)
    count = channels // num_groups * cells.shape[2]
    mean, var = _moments(xp, cells, _over_groups(xp, num_groups), count)
    rstd = 1 / xp.sqrt(var + eps)
    return _normalised(cells, mean, rstd, weight, bias).reshape(x.shape), mean, rstd


@_group_norm.vjp
def _group_norm_vjp(xp: Any, g: Any, k: Any) -> Any:
    x = _cells(k.x)
    back = _Backward(xp, _cells(g), x, k.centre, k.rstd, k.weight)
    dx = None
    if k.needs[0]:
        count = x.shape[1] // k.num_groups * x.shape[2]
        dx = back.dx(_over_groups(xp, k.num_groups), count).reshape(g.shape)
    return dx, back.dweight(), back.dbias()


@_group_norm.reference_is
def _group_norm_reference(
    x: Any, weight: Any = None, bias: Any = None, num_groups: int = 1, eps: float = 1e-5
) -> Any:
    per_channel = (1, -1, *[1] * (x.ndim - 2))
    if x.size:
        rows = reshape(x, (x.shape[0], num_groups, -1))
        centred = rows - reduce.mean(rows, -1, True)
        spread = reduce.mean(centred * centred, -1, True)
        x = reshape(centred / sqrt(spread + eps), x.shape)
    x = x * 1.0 if weight is None else x * reshape(weight, per_channel)
    return x if bias is None else x + reshape(bias, per_channel)


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Group normalisation (Wu and He 2018, arXiv:1803.08494): each example's channels, in
    ``num_groups`` groups, by the mean and variance of their group.

    Args:
        x: (batch, channels, ...). num_groups: a divisor of the number of channels.
        weight, bias: (channels,) or None. eps: added to the variance, which divides by n.

    Raises:
        ValueError: shapes do not fit, or the channels do not go into that many groups.
    """
    return _group_norm(x, weight, bias, num_groups=num_groups, eps=eps)


def _update(running: Any, value: Any, momentum: float) -> None:
    """Move running statistics, a tensor or an array, towards the value of this batch, in place."""
    array = running.data if isinstance(running, Tensor) else running
    array[...] = (1 - momentum) * array + momentum * value.astype(array.dtype)
    if isinstance(running, Tensor):
        running.bump_version()


def _check_running(op_name: str, x: Tensor, running: dict[str, Any]) -> None:
    given = [name for name, value in running.items() if value is not None]
    if len(given) == 1:
        raise ValueError(f"{op_name}: running_mean and running_var: expected both or neither")
    for name in given:
        if running[name].shape != x.shape[1:2]:
            raise ValueError(
                f"{op_name}: {name}: expected shape {x.shape[1:2]}, one number per channel of x "
                f"{x.shape}, got {running[name].shape}"
            )


def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167): each channel by its mean and
    variance over the batch and all positions, or by running ones.

    Args:
        x: (batch, channels, ...).
        running_mean, running_var: (channels,) tensors or arrays, or None. In training they are
            moved towards the batch's statistics, in place, the variance dividing by n - 1; else
            they are what x is normalised by.
        weight, bias: (channels,) or None.
        training: normalise by the batch's own statistics, the variance dividing by n.
        momentum: how far the running statistics move: new = (1 - momentum) old + momentum batch.
        eps: added to the variance.

    Raises:
        ValueError: shapes do not fit; in training there is one value per channel only; or without
            training there are no running statistics.
    """
    x = x if isinstance(x, Tensor) else tensor(x)
    if x.ndim < 2:
        raise ValueError(f"batch_norm: x: expected shape (batch, channels, ...), got {x.shape}")
    _check_running("batch_norm", x, {"running_mean": running_mean, "running_var": running_var})
    if not training:
        if running_mean is None:
            raise ValueError(
                "batch_norm: running_mean: expected statistics, since training is False"
            )
        return _batch_norm(x, running_mean, running_var, weight, bias, own=False, eps=eps)
    n = x.shape[0] * math.prod(x.shape[2:])
    if n == 1:
        raise ValueError(
            "batch_norm: x: expected more than one value per channel in training, got shape "
            f"{x.shape}; the variance of one value is 0"
        )
    if running_mean is None or not x.size:
        return _batch_norm(x, None, None, weight, bias, eps=eps)
    array = x.data.astype("float32") if x.dtype == "float16" else x.data
    xp = x.device.xp
    mean, var = (a[0] for a in _moments(xp, _cells(array), _over_batch(xp), n))
    _update(running_mean, mean, momentum)
    _update(running_var, var * (n / (n - 1)), momentum)
    return _batch_norm(x, make(mean), make(var), weight, bias, eps=eps)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Instance normalisation (Ulyanov et al. 2016, arXiv:1607.08022): each channel of each example
    by its own mean and variance. It is group normalisation with one channel per group.

    Args:
        x: (batch, channels, ...) with at least one axis of positions.
        running_mean, running_var: (channels,) tensors or arrays, or None; moved towards the mean
            over the batch of the examples' statistics as in :func:`batch_norm`.
        weight, bias: (channels,) or None.
        use_input_stats: False normalises by the running statistics instead.
        momentum, eps: as in :func:`batch_norm`.

    Raises:
        ValueError: shapes do not fit, or there is one position only.
    """
    x = x if isinstance(x, Tensor) else tensor(x)
    if x.ndim < 3:
        raise ValueError(
            f"instance_norm: x: expected shape (batch, channels, positions ...), got {x.shape}"
        )
    _check_running("instance_norm", x, {"running_mean": running_mean, "running_var": running_var})
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    n = math.prod(x.shape[2:])
    if n == 1:
        raise ValueError(
            "instance_norm: x: expected more than one position per channel, got shape "
            f"{x.shape}; the variance of one value is 0"
        )
    if running_mean is not None and x.size:
        array = x.data.astype("float32") if x.dtype == "float16" else x.data
        xp = x.device.xp
        mean, var = _moments(xp, _cells(array), lambda table: table, n)
        _update(running_mean, xp.mean(mean, axis=0), momentum)
        _update(running_var, xp.mean(var, axis=0) * (n / (n - 1)), momentum)
    return _group_norm(x, weight, bias, num_groups=x.shape[1], eps=eps)
