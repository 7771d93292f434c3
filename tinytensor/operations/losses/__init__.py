"""Losses: how far predictions are from what they should be."""

from ...define.listing import publish
from .cross_entropy import (
    nll_loss,
    cross_entropy,
)
from .regression import (
    mse_loss,
    l1_loss,
    smooth_l1_loss,
    huber_loss,
)
from .divergence import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
)
from .similarity import (
    cosine_similarity,
    pairwise_distance,
    triplet_margin_loss,
    margin_ranking_loss,
    hinge_embedding_loss,
    cosine_embedding_loss,
)
from .likelihood import (
    soft_margin_loss,
    poisson_nll_loss,
    gaussian_nll_loss,
)
from .ctc import (
    ctc_loss,
)

publish(globals())
