"""PyTorch's counterparts of convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

F = torch.nn.functional


def _dims(x: Any) -> int:
    return x.ndim - 2


def _conv(
    x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int, size: Any,
) -> Any:  # fmt: skip
    """torch pads both sides alike, so what the windows reach over is cut out or filled up here."""
    pads = []
    for n, k, s, p, d, m in zip(
        x.shape[2:], weight.shape[2:], stride, padding, dilation, size, strict=True
    ):
        pads = [p, (m - 1) * s + (k - 1) * d + 1 - p - n, *pads]
    fn = getattr(F, f"conv{_dims(x)}d")
    return fn(F.pad(x, pads), weight, bias, stride, 0, dilation, groups)


def _conv_transpose(
    x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int, size: Any,
) -> Any:  # fmt: skip
    fn = getattr(F, f"conv_transpose{_dims(x)}d")
    out = fn(x, weight, None, stride, 0, 0, groups, dilation)
    pads = []
    for n, p, m in zip(out.shape[2:], padding, size, strict=True):
        pads = [-p, m - n + p, *pads]
    out = F.pad(out, pads)
    return out if bias is None else out + bias.reshape(-1, *(1,) * _dims(x))


def _conv_weight_grad(
    x: Any, g: Any, *, stride: Any, padding: Any, dilation: Any, groups: int, size: Any
) -> Any:
    shape = (g.shape[1], x.shape[1] // groups, *size)
    weight = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
    geometry = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    out = _conv(x, weight, size=g.shape[2:], **geometry)
    return torch.autograd.grad(out, weight, g, create_graph=True)[0]


def _max_pool(x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any) -> Any:
    fn = getattr(F, f"max_pool{_dims(x)}d")
    out, positions = fn(x, kernel, stride, padding, dilation, True, True)
    part = (..., *(slice(m) for m in size))
    return out[part], positions[part]


def _avg_pool(
    x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, size: Any,
    count_include_pad: bool, divisor_override: Any,
) -> Any:  # fmt: skip
    settings = [kernel, stride, padding, True, count_include_pad]
    if divisor_override is not None:
        settings.append(divisor_override)
    out = getattr(F, f"avg_pool{_dims(x)}d")(x, *settings)
    return out[(..., *(slice(m) for m in size))]


def _transposed(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a linear function of x, as a function of the cotangent."""

    def run(g: Any, shape: Any, **settings: Any) -> Any:
        x = torch.zeros(shape, dtype=g.dtype, requires_grad=True)
        return torch.autograd.grad(fn(x, **settings), x, g, create_graph=True)[0]

    return run


def _adaptive(kind: str, **options: Any) -> Callable[..., Any]:
    return lambda x, size: getattr(F, f"adaptive_{kind}_pool{_dims(x)}d")(x, size, **options)


def _pool_put(g: Any, positions: Any, shape: Any) -> Any:
    out = torch.zeros((*shape[:2], shape[2:].numel()), dtype=g.dtype)
    return out.scatter_add(2, positions.flatten(2), g.flatten(2)).reshape(shape)


TORCH: dict[str, Callable[..., Any]] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "conv_weight_grad": _conv_weight_grad,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "avg_pool_grad": _transposed(_avg_pool),
    "adaptive_max_pool": _adaptive("max", return_indices=True),
    "adaptive_avg_pool": _adaptive("avg"),
    "adaptive_avg_pool_grad": lambda g, shape: _transposed(_adaptive("avg"))(
        g, shape, size=g.shape[2:]
    ),
    "pool_put": lambda g, positions, shape: _pool_put(g, positions, torch.Size(shape)),
    "pool_pick": lambda x, positions: (
        x.flatten(2).gather(2, positions.flatten(2)).reshape(positions.shape)
    ),
}

WITHOUT: dict[str, str] = {}
