"""PyTorch's counterparts of the losses and of the normalisations over channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

F = torch.nn.functional


def _floats(*xs: Any) -> list[Any]:
    """Integers and booleans in the dtype of the others: PyTorch's losses want one."""
    dtype = next(x.dtype for x in xs if torch.is_tensor(x) and x.is_floating_point())
    return [x.to(dtype) if torch.is_tensor(x) else x for x in xs]


def _nll_loss(
    log_probs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    if weight is not None:  # PyTorch has no gradient of the weights, so by hand
        counts = target != ignore_index
        ids = torch.where(counts, target, 0)
        rows = torch.where(counts, weight[ids], 0.0)
        loss = -log_probs.gather(-1, ids[..., None])[..., 0] * rows
        if reduction == "none":
            return loss
        return loss.sum() / (rows.sum() if reduction == "mean" else 1)
    loss = F.nll_loss(
        log_probs.reshape(-1, log_probs.shape[-1]),
        target.reshape(-1),
        ignore_index=ignore_index,
        reduction=reduction,
    )
    return loss.reshape(target.shape) if reduction == "none" else loss


def _pair(fn: Callable[..., Any], *names: str) -> Callable[..., Any]:
    def run(prediction: Any, target: Any, *settings: Any, **kwargs: Any) -> Any:
        kwargs |= dict(zip((*names, "reduction"), settings, strict=False))
        return fn(*_floats(prediction, target), **kwargs)

    return run


def _weighted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch gives no gradient to the weights of these, so each factor by hand."""

    def run(x: Any, y: Any, *rest: Any) -> Any:
        y = y.to(x.dtype)
        reduction = rest[-1] if rest and isinstance(rest[-1], str) else "mean"
        weights = [r for r in rest if not isinstance(r, str)]
        weight = weights[0] if weights else None
        pos = weights[1] if len(weights) > 1 else None
        if fn is F.binary_cross_entropy or pos is None:
            loss = fn(x, y, reduction="none")
        else:
            loss = -pos * y * F.logsigmoid(x) - (1 - y) * F.logsigmoid(-x)
        loss = loss if weight is None else loss * weight
        return loss if reduction == "none" else getattr(loss, reduction)()

    return run


def _kl_div(x: Any, target: Any, log_target: bool = False, reduction: str = "mean") -> Any:
    if reduction == "mean":  # PyTorch warns that it will mean "batchmean" one day
        return F.kl_div(x, target, reduction="none", log_target=log_target).mean()
    return F.kl_div(x, target, reduction=reduction, log_target=log_target)


def _cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    if eps < 1:
        return F.cosine_similarity(x1, x2, axis, eps)
    # where eps stands in for a length PyTorch's gradient still moves the length; ours is exact
    sizes = [x.norm(dim=axis).clamp(min=eps) for x in (x1, x2)]
    out = (x1 * x2).sum(axis) / (sizes[0] * sizes[1])
    torch.testing.assert_close(out, F.cosine_similarity(x1, x2, axis, eps))
    return out


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    lengths = [torch.tensor(n) for n in (input_lengths, target_lengths)]
    loss = F.ctc_loss(log_probs, targets, *lengths, blank, "none", zero_infinity)
    # PyTorch's gradient is off by exp(log_probs), which log_softmax before it takes away: take it
    # away here, with a term whose value is 0
    p = log_probs.exp()
    active = torch.arange(len(log_probs))[:, None] < lengths[0]
    extra = torch.where(active, (p - p.detach()).sum(-1), 0.0).sum(0)
    loss = loss - torch.where(loss == 0, 0.0, extra)
    if reduction == "mean":
        return (loss / lengths[1].clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss


def _batch_norm(
    x: Any,
    mean: Any = None,
    var: Any = None,
    weight: Any = None,
    bias: Any = None,
    own: bool = True,
    eps: float = 1e-5,
) -> Any:
    if own:
        return F.batch_norm(x, None, None, weight, bias, True, 0.1, eps)
    mean, var, weight, bias = (
        p if p is None else p.reshape(-1, *[1] * (x.ndim - 2)) for p in (mean, var, weight, bias)
    )  # PyTorch gives no gradient to running statistics
    out = (x - mean) / (var + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


TORCH: dict[str, Callable[..., Any]] = {
    "nll_loss": _nll_loss,
    "mse_loss": _pair(F.mse_loss),
    "l1_loss": _pair(F.l1_loss),
    "smooth_l1_loss": _pair(lambda x, y, **kw: F.smooth_l1_loss(x, y, **kw), "beta"),
    "huber_loss": _pair(lambda x, y, **kw: F.huber_loss(x, y, **kw), "delta"),
    "binary_cross_entropy": _weighted(F.binary_cross_entropy),
    "binary_cross_entropy_with_logits": _weighted(F.binary_cross_entropy_with_logits),
    "kl_div": _kl_div,
    "cosine_similarity": _cosine_similarity,
    "ctc_loss": _ctc_loss,
    "rms_norm": lambda x, weight=None, eps=None: F.rms_norm(x, x.shape[-1:], weight, eps),
    "batch_norm": _batch_norm,
    "group_norm": lambda x, weight=None, bias=None, num_groups=1, eps=1e-5: F.group_norm(
        x, num_groups, weight, bias, eps
    ),
}

WITHOUT: dict[str, str] = {}
