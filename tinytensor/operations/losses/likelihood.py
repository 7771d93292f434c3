"""Negative log-likelihoods of numbers, under distributions whose parameters are predicted."""

from __future__ import annotations

import math
from typing import Any

from ...tensor.axes import as_tensor
from ..activations.smooth import log_sigmoid
from ..elementwise.choosing import clip, where
from ..elementwise.exponential import exp, log
from ..shapes.reshaping import expand_dims
from .reduction import check_reduction, fits, total


def _pair(loss: str, prediction: Any, target: Any, reduction: str) -> tuple[Any, Any]:
    """Both as tensors of one shape."""
    check_reduction(reduction)
    prediction = as_tensor(prediction)
    target = as_tensor(target, prediction)
    if prediction.shape != target.shape:
        raise ValueError(
            f"{loss}: target: expected the shape of prediction, {prediction.shape}, got "
            f"{target.shape}; reshape one of them (they are not broadcast)"
        )
    return prediction, target


def soft_margin_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """ln(1 + exp(-target · prediction)): logistic regression with targets 1 and -1.

    Args:
        prediction: any shape. target: the same shape, 1 or -1. reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the shapes differ.
    """
    prediction, target = _pair("soft_margin_loss", prediction, target, reduction)
    return total(-log_sigmoid(target * prediction), reduction)


def poisson_nll_loss(
    prediction: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Negative log-likelihood of counts under a Poisson distribution, less ln(target!).

    Args:
        prediction: any shape: the logarithm of the expected count, or if ``log_input`` is False
            the expected count itself.
        target: the same shape, counts.
        log_input: exp(x) - target · x if True, else x - target · ln(x + eps).
        full: add Stirling's approximation of ln(target!) where the target is above 1.
        eps: keeps ln finite. reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the shapes differ.
    """
    x, y = _pair("poisson_nll_loss", prediction, target, reduction)
    loss = exp(x) - y * x if log_input else x - y * log(x + eps)
    if full:
        many = where(y > 1, y, 1.0)
        stirling = many * log(many) - many + 0.5 * log(2 * math.pi * many)
        loss = loss + where(y > 1, stirling, 0.0)
    return total(loss, reduction)


def gaussian_nll_loss(
    prediction: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """½ (ln var + (prediction - target)² / var): the negative log-likelihood under a normal
    distribution whose variance is predicted too (Nix and Weigend 1994).

    Args:
        prediction: any shape, the expected values. target: the same shape.
        var: the variances, of a shape that broadcasts to theirs, or one per row: that shape without
            the last axis. Counts as ``eps`` at least, with gradient 0 where it is less.
        full: add ½ ln 2π. eps: > 0. reduction: "mean", "sum" or "none".

    Raises:
        ValueError: the shapes do not fit, or a variance is negative.
    """
    x, y = _pair("gaussian_nll_loss", prediction, target, reduction)
    var = as_tensor(var, x)
    if not eps > 0:
        raise ValueError(f"gaussian_nll_loss: eps: expected a number > 0, got {eps}")
    if var.shape != x.shape and var.shape == x.shape[:-1]:
        var = expand_dims(var, -1)
    if not fits(var.shape, x.shape):
        raise ValueError(
            f"gaussian_nll_loss: var: expected a shape that broadcasts to {x.shape}, or "
            f"{x.shape[:-1]}, got {var.shape}"
        )
    if bool((var.data < 0).any()):
        raise ValueError("gaussian_nll_loss: var: expected variances >= 0, got a negative one")
    var = clip(var, eps)
    loss = 0.5 * (log(var) + (x - y) ** 2 / var)
    return total(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)
