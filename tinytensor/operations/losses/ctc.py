"""Connectionist temporal classification: the probability of a text under all its alignments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...define.naming import anywhere, named
from ...define.op import op
from ...define.samples import Sample
from ...tensor.tensor import Tensor, make, tensor
from ..elementwise.choosing import maximum, where
from ..indexing.indices import check_range
from ..indexing.reading import getitem, take_along_axis
from ..reductions.statistics import logsumexp
from ..shapes.reshaping import broadcast_to, concat, expand_dims, reshape, stack
from .reduction import check_reduction, share, total

#: stands for the logarithm of 0: finite, so that the difference of two of them is not NaN, and so
#: large that adding a log-probability does not change it
NEVER = -1e30


def _states(xp: Any, targets: Any, blank: int, target_lengths: Any) -> tuple[Any, Any, Any]:
    """The states that an alignment walks through: the labels with blanks between and around them.

    Returns:
        The label of each state (N, 2 S + 1); whether it may be entered from two states before,
        leaving out a blank; and whether an alignment may end in it.
    """
    n, longest = targets.shape
    lengths = xp.asarray(target_lengths)[:, None]
    labels = xp.full((n, 2 * longest + 1), blank, dtype=np.int64)
    labels[:, 1::2] = xp.where(xp.arange(longest)[None, :] < lengths, targets, blank)
    skips = xp.zeros(labels.shape, dtype=bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    state = xp.arange(2 * longest + 1)[None, :]
    return labels, skips, (state == 2 * lengths) | (state == 2 * lengths - 1)


def _start(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Before the first frame: in the first state for certain."""
    a = xp.full(shape, NEVER, dtype=dtype)
    a[:, 0] = 0
    return a


def _log_probs_of(xp: Any, log_probs: Any, labels: Any) -> Any:
    """(T, N, C) at the labels (N, L) of the states: (T, N, L), NEVER at least."""
    picked = log_probs[:, xp.arange(len(labels))[:, None], labels]
    return xp.maximum(picked, NEVER, out=picked)


def _log_sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """ln(eᵃ + eᵇ + eᶜ) of finite numbers, so that one of the shifted exponentials is 1."""
    m = xp.maximum(xp.maximum(a, b), c)
    whole = xp.exp(a - m)
    whole += xp.exp(b - m)
    whole += xp.exp(c - m)
    xp.log(whole, out=whole)
    whole += m
    return whole


def _shift(xp: Any, a: Any, by: int) -> Any:
    """Each state's number moved on by ``by`` states; NEVER where none comes from."""
    out = xp.full(a.shape, NEVER, dtype=a.dtype)
    if by > 0:
        out[:, by:] = a[:, :-by]
    else:
        out[:, :by] = a[:, -by:]
    return out


@op(
    "log_probs targets",
    name="ctc_loss",
    keeps="log_probs targets alphas score",
    formula="-ln Σ over alignments of Π over frames of p(label at that frame)",
    gradient="dlog_probs = -g (probability that a label is at a frame, given the targets)",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 3), np.array([[1, 2], [2, 0]]), (4, 3), (2, 1)),
        Sample(r(5, 2, 3), np.array([[1, 1], [2, 1]]), (5, 5), (2, 2), 0, "sum"),
        Sample(r(4, 2, 3), np.array([[0, 1], [1, 0]]), (4, 2), (2, 2), 2, "none"),
        Sample(r(3, 2, 2), np.array([[1, 1], [1, 0]]), (2, 3), (2, 1), 0, "mean", True),
        Sample(r(3, 2, 2), np.array([[1], [0]]), (3, 2), (1, 0), 0, "none"),
        Sample(r(1, 1, 2), np.array([[1]]), (1,), (1,)),
        Sample(r(2, 1, 2), np.zeros((1, 0), np.int64), (2,), (0,)),
    ],
)
def _ctc_loss(
    xp,
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """CTC on padded targets (N, S) and lengths as tuples of integers; see ``tt.ctc_loss``."""
    _check(xp, log_probs, targets, input_lengths, target_lengths, blank, reduction)
    labels, skips, final = _states(xp, targets, blank, target_lengths)
    logs = _log_probs_of(xp, log_probs, labels)
    active = xp.arange(len(logs))[:, None, None] < xp.asarray(input_lengths)[:, None]
    # alpha: ln of the sum over all ways to be in a state after a frame, less the largest of its
    # frame, since numbers near 0 are exact to more digits; score adds up what was taken away
    alphas = xp.empty_like(logs)
    score = xp.zeros(len(labels), dtype=np.float64)
    a = _start(xp, labels.shape, logs.dtype)
    for t in range(len(logs)):
        twice = xp.where(skips, _shift(xp, a, 2), NEVER)
        step = _log_sum(xp, a, _shift(xp, a, 1), twice)
        step += logs[t]
        m = xp.max(step, axis=1, keepdims=True)
        step -= m
        score += xp.where(active[t], m, 0)[:, 0]
        a = alphas[t] = xp.where(active[t], step, a)
    ends = xp.where(final, a, NEVER)
    m = xp.max(ends, axis=1, keepdims=True)
    score = (score + m[:, 0] + xp.log(xp.sum(xp.exp(ends - m), axis=1))).astype(logs.dtype)
    loss = xp.where(score < NEVER / 2, 0.0 if zero_infinity else math.inf, -score)
    return _reduced(xp, loss, target_lengths, reduction), alphas, score


def _scale(xp: Any, target_lengths: tuple[int, ...], like: Any) -> Any:
    """1 / length of each target, 1 for an empty one."""
    return 1 / xp.maximum(xp.asarray(target_lengths), 1).astype(like.dtype)


def _reduced(xp: Any, loss: Any, target_lengths: tuple[int, ...], reduction: str) -> Any:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return xp.sum(loss)
    return xp.sum(loss * _scale(xp, target_lengths, loss)) * share(loss.shape, "mean")


@_ctc_loss.vjp
def _ctc_loss_vjp(xp: Any, g: Any, k: Any) -> Any:
    labels, skips, final = _states(xp, k.targets, k.blank, k.target_lengths)
    logs = _log_probs_of(xp, k.log_probs, labels)
    steps, n, classes = k.log_probs.shape
    active = xp.arange(steps)[:, None, None] < xp.asarray(k.input_lengths)[:, None]
    # beta: ln of the sum over all ways to go on from a state to an end, up to a constant; alpha and
    # beta together give the share of the alignments that pass through a state
    b = xp.where(final, 0.0, NEVER).astype(logs.dtype)
    passing = xp.empty_like(logs)
    for t in range(steps - 1, -1, -1):
        through = k.alphas[t] + b
        through = xp.exp(through - xp.max(through, axis=1, keepdims=True))
        passing[t] = through / xp.sum(through, axis=1, keepdims=True)
        ahead = b + logs[t]
        twice = _shift(xp, xp.where(skips, ahead, NEVER), -2)
        step = _log_sum(xp, ahead, _shift(xp, ahead, -1), twice)
        step -= xp.max(step, axis=1, keepdims=True)
        b = xp.where(active[t], step, b)
    passing = xp.where(active, passing, 0.0)
    # the blanks are every second state; the labels between them may repeat
    frames = xp.arange(steps * n).reshape(steps, n, 1) * classes
    flat = (frames + labels[:, 1::2]).reshape(-1)
    d = xp.zeros(steps * n * classes, dtype=passing.dtype)
    if flat.size:
        d += xp.bincount(flat, passing[..., 1::2].reshape(-1), d.size).astype(d.dtype)
    d = d.reshape(steps, n, classes)
    d[..., k.blank] = xp.sum(passing[..., 0::2], axis=-1)
    scale = -g * xp.ones(n, dtype=g.dtype)
    if k.reduction == "mean":
        scale = scale * _scale(xp, k.target_lengths, g) * share((n,), "mean")
    d *= xp.where(k.score < NEVER / 2, 0.0 if k.zero_infinity else math.nan, scale)[:, None]
    return d, None


@_ctc_loss.reference_is
def _ctc_loss_reference(
    log_probs: Any,
    targets: Any,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    xp = log_probs.device.xp
    labels, skips, final = (make(a) for a in _states(xp, targets.data, blank, target_lengths))
    skips, final = named("blank may be left out", skips), named("may end here", final)
    at = broadcast_to(expand_dims(labels, 0), (len(log_probs), *labels.shape))
    logs = take_along_axis(log_probs, named("labels and blanks", at), -1)
    if anywhere(logs.detach() < NEVER):
        logs = maximum(logs, NEVER)
    a = named("start", make(_start(xp, labels.shape, log_probs.dtype)))
    never = make(xp.full((labels.shape[0], 2), NEVER, dtype=log_probs.dtype))
    never = named("never", never)
    for t in range(len(log_probs)):
        before = concat([never, a], 1)  # two states that are never reached, for the first ones
        once, twice = before[:, 1:-1], where(skips, before[:, :-2], NEVER)
        step = logsumexp(stack([a, once, twice]), 0) + getitem(logs, t)
        active = named("in the input", make(xp.asarray([t < n for n in input_lengths])[:, None]))
        a = where(active, step, a) if anywhere(~active) else step
    score = logsumexp(where(final, a, NEVER), 1)
    loss, impossible = -score, named("no alignment", score.detach() < NEVER / 2)
    if anywhere(impossible):
        loss = where(impossible, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        loss = loss * named("1 / length", make(_scale(xp, target_lengths, log_probs)))
    return total(loss, reduction)


def _check(
    xp: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    blank: int,
    reduction: str,
) -> None:
    """Refuse what does not fit together; see ``tt.ctc_loss``."""
    check_reduction(reduction)
    if log_probs.ndim != 3 or not log_probs.shape[2]:
        raise ValueError(f"log_probs: expected shape (time, batch, classes), got {log_probs.shape}")
    steps, n, classes = log_probs.shape
    if targets.dtype.kind not in "iu":
        raise TypeError(f"targets: expected integers (class indices), got {targets.dtype}")
    if targets.ndim != 2 or len(targets) != n:
        raise ValueError(
            f"targets: expected shape (batch, longest) = ({n}, ...), got {targets.shape}"
        )
    for name, lengths, most in (
        ("input_lengths", input_lengths, steps),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        if len(lengths) != n or any(not 0 <= length <= most for length in lengths):
            raise ValueError(f"{name}: expected {n} integers of 0 to {most}, got {lengths}")
    if not 0 <= blank < classes:
        raise ValueError(f"blank: expected a class of 0 to {classes - 1}, got {blank}")
    used = xp.arange(targets.shape[1])[None, :] < xp.asarray(target_lengths)[:, None]
    check_range("targets", targets[used], 0, classes, f"{classes} classes")
    if bool((targets[used] == blank).any()):
        raise ValueError(f"targets: expected labels other than the blank, {blank}, got one")


def _lengths(name: str, given: Any, n: int) -> tuple[int, ...]:
    """Lengths as a tuple of ``n`` integers, from a number, a sequence, an array or a tensor."""
    if isinstance(given, Tensor):
        given = given.device.to_host(given.data)
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"ctc_loss: {name}: expected integers, got {array.dtype}")
    if array.shape not in ((n,), ()) or (array.shape == () and n != 1):
        raise ValueError(
            f"ctc_loss: {name}: expected {n} integers, one per sequence, got shape {array.shape}"
        )
    return tuple(int(v) for v in array.reshape(-1))


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Connectionist temporal classification (Graves et al. 2006).

    The negative log-probability of a text, summed over all ways to align it with the frames: each
    frame shows a label or the blank, repeated labels are merged, then blanks left out.

    The gradient is that of the value, minus the probability that a label is at a frame. PyTorch
    returns this plus ``exp(log_probs)`` instead, which is right only where ``log_softmax`` made
    them; with ``log_softmax`` before it both give the same gradient of the logits.

    Args:
        log_probs: (time, batch, classes), or (time, classes) for a single sequence.
        targets: integers other than ``blank``: (batch, longest), padded with anything, or all
            texts one after the other, (sum of target_lengths,); (longest,) for a single sequence.
        input_lengths: how many frames of each sequence count.
        target_lengths: how many labels each text has.
        blank: the class that stands for no label.
        reduction: "mean" (each loss divided by the length of its text, then the mean over the
            batch), "sum" or "none" (a loss per sequence).
        zero_infinity: a text too long for its frames has infinite loss and gradients of NaN (as in
            PyTorch); True makes both 0.

    Raises:
        ValueError: shapes or lengths do not fit, or a label is the blank.
        IndexError: a label is no class. TypeError: targets or lengths are not integers.
    """
    log_probs = log_probs if isinstance(log_probs, Tensor) else tensor(log_probs)
    targets = targets if isinstance(targets, Tensor) else tensor(targets, device=log_probs.device)
    single = log_probs.ndim == 2
    if log_probs.ndim not in (2, 3):
        raise ValueError(
            "ctc_loss: log_probs: expected shape (time, batch, classes) or (time, classes), got "
            f"{log_probs.shape}"
        )
    if single:
        log_probs = expand_dims(log_probs, 1)
        targets = reshape(targets, 1, targets.size) if targets.ndim == 1 else targets
    n = log_probs.shape[1]
    inputs = _lengths("input_lengths", input_lengths, n)
    lengths = _lengths("target_lengths", target_lengths, n)
    if targets.ndim == 1:
        targets = _padded(targets, lengths)
    loss = _ctc_loss(
        log_probs,
        targets,
        input_lengths=inputs,
        target_lengths=lengths,
        blank=blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    )
    return reshape(loss, ()) if single else loss


def _padded(targets: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """Texts that come one after the other, as rows of equal length."""
    if targets.size != sum(lengths):
        raise ValueError(
            f"ctc_loss: targets: expected {sum(lengths)} labels, the sum of target_lengths, got "
            f"{targets.size}"
        )
    host = targets.device.to_host(targets.data)
    rows = np.zeros((len(lengths), max(lengths, default=0)), dtype=host.dtype)
    start = 0
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = host[start : start + length]
        start += length
    return tensor(rows, device=targets.device)
