# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Losses: how far predictions are from what they should be."""

from ...define.operand import Operand
from ...tensor.tensor import Tensor

def cross_entropy(
    logits: Operand,
    target: Operand,
    weight: Operand | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy between softmax(logits) and class indices or probabilities."""

def nll_loss(
    log_probs: Operand,
    target: Operand,
    weight: Operand | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of class indices: what cross-entropy does after ``log_softmax``."""

def mse_loss(prediction: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """Squared error."""

def l1_loss(prediction: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """Absolute error; where prediction and target are equal its gradient is 0, and its second
    derivative NaN, as of ``abs``."""

def smooth_l1_loss(
    prediction: Operand,
    target: Operand,
    beta: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """Absolute error, rounded off near 0 (Girshick 2015, arXiv:1504.08083)."""

def huber_loss(
    prediction: Operand,
    target: Operand,
    delta: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """Squared error near 0 and absolute error far away (Huber 1964)."""

def binary_cross_entropy(
    prediction: Operand,
    target: Operand,
    weight: Operand | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of probabilities; better use :func:`binary_cross_entropy_with_logits`."""

def binary_cross_entropy_with_logits(
    logits: Operand,
    target: Operand,
    weight: Operand | None = None,
    pos_weight: Operand | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross-entropy of sigmoid(logits), finite for every finite logit; at ±inf 0 or infinite
    (PyTorch: NaN)."""

def kl_div(
    log_probs: Operand,
    target: Operand,
    log_target: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Kullback-Leibler divergence of the distribution ``target`` from a predicted one."""

def cosine_similarity(x1: Operand, x2: Operand, axis: int = 1, eps: float = 1e-08) -> Tensor:
    """Cosine of the angle between vectors along ``axis``."""

def pairwise_distance(
    x1: Operand,
    x2: Operand,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdims: bool = False,
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last axis."""

def triplet_margin_loss(
    anchor: Operand,
    positive: Operand,
    negative: Operand,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the
    :func:`pairwise_distance`."""

def margin_ranking_loss(
    x1: Operand,
    x2: Operand,
    y: Operand,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (x1 - x2) + margin): x1 is to be the larger where y is 1, the smaller where -1."""

def hinge_embedding_loss(
    x: Operand,
    y: Operand,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """x where y is 1, and max(0, margin - x) where y is -1: a distance is to be small or large."""

def cosine_embedding_loss(
    x1: Operand,
    x2: Operand,
    y: Operand,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) where y is 1, and max(0, cos(x1, x2) - margin) where y is -1."""

def soft_margin_loss(prediction: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """ln(1 + exp(-target · prediction)): logistic regression with targets 1 and -1."""

def poisson_nll_loss(
    prediction: Operand,
    target: Operand,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-08,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution, less ln(target!)."""

def gaussian_nll_loss(
    prediction: Operand,
    target: Operand,
    var: Operand,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """½ (ln var + (prediction - target)² / var): the negative log-likelihood under a normal
    distribution whose variance is predicted too (Nix and Weigend 1994)."""

def ctc_loss(
    log_probs: Operand,
    targets: Operand,
    input_lengths: Operand,
    target_lengths: Operand,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al. 2006)."""
