"""Losses, distances and normalisations."""

from __future__ import annotations

from typing import Any

import tinytensor as tt

from . import Choice, Entry, through


def _classes_last(x: Any) -> Any:
    """PyTorch has the classes on axis 1, we have them last."""
    return x.permute(0, *range(2, x.ndim), 1) if x.ndim > 2 else x


def _nll_loss(T: Any, s: Any) -> Any:
    return through(lambda x, *args, **kw: tt.nll_loss(_classes_last(x), *args, **kw), T, s)


def _ctc_loss(T: Any, s: Any) -> Any:
    """PyTorch's gradient is that of the numbers before log_softmax; its samples come from there,
    and log_softmax of them changes nothing."""
    return through(lambda x, *args, **kw: tt.ctc_loss(tt.log_softmax(x), *args, **kw), T, s)


def _copied(fn: Any) -> Any:
    """The running statistics are written to: each framework gets its own."""

    def run(T: Any, s: Any) -> Any:
        stats = [a if a is None else T(a).detach().copy() for a in s.args[:2]]
        return fn(T(s.input), *stats, *T(s.args[2:]), **{k: T(v) for k, v in s.kwargs.items()})

    return run


def _instance_norm(T: Any, s: Any) -> Any:
    kwargs = {k: T(v) for k, v in s.kwargs.items()}
    for name in ("running_mean", "running_var"):
        if kwargs.get(name) is not None:
            kwargs[name] = kwargs[name].copy()
    return tt.instance_norm(T(s.input), **kwargs)


def _native_batch_norm(T: Any, s: Any) -> Any:
    """(weight, bias, mean, var, training, momentum, eps), and more results than we have."""
    weight, bias, mean, var, training, momentum, eps = s.args
    mean, var = (a if a is None else T(a).detach().copy() for a in (mean, var))
    return tt.batch_norm(T(s.input), mean, var, T(weight), T(bias), training, momentum, eps)


def _native_group_norm(T: Any, s: Any) -> Any:
    weight, bias, *_, groups, eps = s.args
    return tt.group_norm(T(s.input), groups, T(weight), T(bias), eps)


def _rms_norm(T: Any, s: Any) -> Any:
    """Over several axes: over one, of all their elements."""
    x, shape = T(s.input), s.args[0]
    weight = s.args[1] if len(s.args) > 1 else s.kwargs.get("weight")
    eps = s.args[2] if len(s.args) > 2 else s.kwargs.get("eps")
    flat = x.reshape(*x.shape[: x.ndim - len(shape)], -1) if x.size else x
    weight = None if weight is None else T(weight).reshape(-1)
    return tt.rms_norm(flat, weight, eps=eps).reshape(x.shape)


ENTRIES = [
    Entry("mse_loss", "nn.functional.mse_loss"),
    Entry("l1_loss", "nn.functional.l1_loss"),
    Entry("smooth_l1_loss", "nn.functional.smooth_l1_loss"),
    Entry("huber_loss", "nn.functional.huber_loss"),
    Entry("binary_cross_entropy", "nn.functional.binary_cross_entropy"),
    Entry("binary_cross_entropy_with_logits", "nn.functional.binary_cross_entropy_with_logits"),
    Entry("kl_div", "nn.functional.kl_div"),
    Entry("nll_loss", "nn.functional.nll_loss", call=_nll_loss),
    Entry("cosine_similarity", "nn.functional.cosine_similarity"),
    Entry("pairwise_distance", "nn.functional.pairwise_distance"),
    Entry("triplet_margin_loss", "nn.functional.triplet_margin_loss"),
    Entry("margin_ranking_loss", "nn.functional.margin_ranking_loss"),
    Entry("hinge_embedding_loss", "nn.functional.hinge_embedding_loss"),
    Entry("cosine_embedding_loss", "nn.functional.cosine_embedding_loss"),
    Entry("soft_margin_loss", "nn.functional.soft_margin_loss"),
    Entry("poisson_nll_loss", "nn.functional.poisson_nll_loss"),
    Entry("gaussian_nll_loss", "nn.functional.gaussian_nll_loss"),
    Entry(
        "ctc_loss",
        "nn.functional.ctc_loss",
        call=_ctc_loss,
        tolerance={"float32": (2e-3, 1e-4)},  # PyTorch's are off by as much, ours by a tenth of it
    ),
    Entry("batch_norm", "nn.functional.batch_norm", "", call=_copied(tt.batch_norm)),
    Entry("batch_norm", "native_batch_norm", call=_native_batch_norm, take=lambda out: out[0]),
    Entry("instance_norm", "nn.functional.instance_norm", call=_instance_norm),
    Entry("group_norm", "nn.functional.group_norm"),
    Entry("group_norm", "native_group_norm", call=_native_group_norm, take=lambda out: out[0]),
    Entry("rms_norm", "nn.functional.rms_norm", call=_rms_norm),
]

CHOICES = [
    Choice(
        "hinge_embedding_loss",
        lambda s: bool((s.args[0].abs() != 1).any()),
        "y is 1 or -1 (PyTorch adds up both cases for anything else)",
    ),
    Choice(
        "gaussian_nll_loss",
        lambda s: s.input.shape != s.args[0].shape,
        "prediction and target have one shape",
    ),
    Choice("batch_norm", lambda s: s.input.ndim < 2, "x has a batch and a channel axis"),
]
