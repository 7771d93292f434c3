"""Losses, distances and normalisations."""

from __future__ import annotations

from typing import Any

import tinytensor as tt

from . import Choice, Entry, NotApplicable, through


def _classes_last(x: Any) -> Any:
    """PyTorch has the classes on axis 1, we have them last."""
    return x.permute(0, *range(2, x.ndim), 1) if x.ndim > 2 else x


def _nll_loss(T: Any, s: Any) -> Any:
    return tt.nll_loss(_classes_last(T(s.input)), T(s.args[0]), **T(s.kwargs_of()))


def _ctc_loss(T: Any, s: Any) -> Any:
    """PyTorch's gradient is right behind log_softmax only; its samples come from there."""
    return through(tt.ctc_loss, T, s)


def _running(fn: Any, training: str) -> Any:
    """Batch and instance normalisation: ours write to copies of the running statistics."""

    def run(T: Any, s: Any) -> Any:
        stats = [a if a is None else T(a.clone()) for a in s.args]
        return fn(T(s.input), *stats, **{k: T(v) for k, v in s.kwargs.items()})

    return run


ENTRIES = [
    Entry("mse_loss", "nn.functional.mse_loss"),
    Entry("l1_loss", "nn.functional.l1_loss"),
    Entry("smooth_l1_loss", "nn.functional.smooth_l1_loss"),
    Entry("huber_loss", "nn.functional.huber_loss"),
    Entry("binary_cross_entropy", "nn.functional.binary_cross_entropy"),
    Entry("binary_cross_entropy_with_logits", "nn.functional.binary_cross_entropy_with_logits"),
    Entry("kl_div", "nn.functional.kl_div"),
    Entry("nll_loss", "nn.functional.nll_loss"),
    Entry("cosine_similarity", "nn.functional.cosine_similarity"),
    Entry("pairwise_distance", "nn.functional.pairwise_distance"),
    Entry("triplet_margin_loss", "nn.functional.triplet_margin_loss"),
    Entry("margin_ranking_loss", "nn.functional.margin_ranking_loss"),
    Entry("hinge_embedding_loss", "nn.functional.hinge_embedding_loss"),
    Entry("cosine_embedding_loss", "nn.functional.cosine_embedding_loss"),
    Entry("ctc_loss", "nn.functional.ctc_loss"),
    Entry("batch_norm", "nn.functional.batch_norm"),
    Entry("instance_norm", "nn.functional.instance_norm"),
    Entry("group_norm", "nn.functional.group_norm"),
    Entry("rms_norm", "nn.functional.rms_norm"),
]
