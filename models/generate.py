"""Sampling text from a language model: temperature, top-k, nucleus, and the loop.

Probabilities are computed on the host in float64, and the random numbers come from their own
generator (named "sample"), so sampling never changes what training draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import Generator, no_grad, random
from ..nn.evaluating import evaluating
from ..tensor.tensor import Tensor
from .ids import NotFinite

if TYPE_CHECKING:
    from .base import LanguageModel


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse settings that mean nothing.

    Raises:
        ValueError: temperature < 0 or not finite, top_k < 1, or top_p outside (0, 1].
    """
    if not (np.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature: expected a number >= 0 (0 is greedy), got {temperature!r}")
    if top_k is not None and (isinstance(top_k, bool) or int(top_k) != top_k or top_k < 1):
        raise ValueError(f"top_k: expected an integer >= 1, or None for all symbols, got {top_k!r}")
    if top_p is not None and not 0.0 < top_p <= 1.0:
        raise ValueError(f"top_p: expected a number in (0, 1], or None for off, got {top_p!r}")


def probabilities(
    logits: Any,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> np.ndarray:
    """What :func:`sample` draws from.

    Args:
        logits: (..., vocab), a Tensor or array; -inf excludes a symbol.
        temperature: divides the logits; 0 puts everything on the largest one.
        top_k: keep only the k most probable symbols; more than there are keeps all, and so does
            None (0 is an error).
        top_p: keep the fewest most probable symbols that together reach this probability
            (nucleus sampling: Holtzman et al., 2019), after top_k.

    Returns:
        float64 (..., vocab), each row sums to 1. Equal logits rank in order of their ids.

    Raises:
        ValueError: a setting is out of range, or the logits hold NaN, +inf or only -inf.
    """
    check_sampling(temperature, top_k, top_p)
    host = logits.detach().numpy() if isinstance(logits, Tensor) else logits
    scores = np.asarray(host, dtype=np.float64)
    top = scores.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():
        raise NotFinite(f"logits: the largest of a row is {top[~np.isfinite(top)][0]}, not finite")
    if temperature == 0:
        top_k, temperature = 1, 1.0
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the largest to -inf
        probs = np.exp((scores - top) / temperature)
    probs /= probs.sum(axis=-1, keepdims=True)
    keep_all = (top_k is None or top_k >= probs.shape[-1]) and (top_p is None or top_p == 1.0)
    if not keep_all:
        order = np.argsort(-scores, axis=-1, kind="stable")
        ranked = np.take_along_axis(probs, order, axis=-1)
        if top_k is not None:
            ranked[..., top_k:] = 0.0
        if top_p is not None:
            ranked /= ranked.sum(axis=-1, keepdims=True)
            before = np.cumsum(ranked, axis=-1) - ranked  # what the symbols above already reach
            ranked[before >= top_p] = 0.0
        np.put_along_axis(probs, order, ranked, axis=-1)
        probs /= probs.sum(axis=-1, keepdims=True)
    return probs


def sample(
    logits: Any,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
) -> np.ndarray:
    """Draw one symbol for each row of logits.

    Args:
        logits: (..., vocab).
        temperature, top_k, top_p: see :func:`probabilities`.
        generator: source of randomness, the one named "sample" if None.

    Returns:
        int64 ids (...).
    """
    probs = probabilities(logits, temperature, top_k, top_p)
    if temperature == 0 or top_k == 1:
        return probs.argmax(axis=-1)  # no draw, so no randomness is used up
    return random.source(generator, "sample").categorical(probs, 1)[..., 0]


def stream(
    model: LanguageModel[Any],
    ids: Any,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
    start_id: int | None = None,
) -> Iterator[np.ndarray]:
    """:func:`generate` one symbol at a time: yields int64 ids (batch,), one for each text.

    Between two symbols the model's mode and gradient recording are the caller's own.
    """
    check_sampling(temperature, top_k, top_p)
    if (
        isinstance(max_new_tokens, bool)
        or int(max_new_tokens) != max_new_tokens
        or max_new_tokens < 0
    ):
        raise ValueError(f"max_new_tokens: expected an integer >= 0, got {max_new_tokens!r}")
    prompt, _ = _prompt(ids)
    if prompt.shape[1] == 0:
        first = model.start_id if start_id is None else start_id
        prompt = np.full((prompt.shape[0], 1), first, dtype=np.int64)
    model.check_ids(prompt)

    def draw() -> Iterator[np.ndarray]:
        new, state = prompt, None
        for _ in range(max_new_tokens):
            with no_grad(), evaluating(model):
                logits, state = model.decode(new, state)
            chosen = sample(logits, temperature, top_k, top_p, generator)
            yield chosen
            new = chosen[:, None]

    return draw()


def generate(
    model: LanguageModel[Any],
    ids: Any,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
    start_id: int | None = None,
) -> np.ndarray:
    """Continue texts by sampling one symbol after the other.

    The model runs in evaluation mode without recording gradients, and gets its own mode back.

    Args:
        model: a language model.
        ids: the prompt: (batch, time) or (time,) integers, as a Tensor, an array or lists. A GPT
            sees the last ``block_size`` symbols. Empty (or None): generation starts as if
            ``start_id`` had come before.
        max_new_tokens: how many symbols to add.
        temperature: below 1 sharpens, above 1 flattens, 0 always takes the most probable.
        top_k: draw from the k most probable only; more than the vocabulary is the same as None.
        top_p: draw from the most probable that together reach this probability only.
        generator: source of randomness, the one named "sample" if None.
        start_id: for an empty prompt; ``model.start_id`` if None. It is not part of the result.

    Returns:
        int64 array: the prompt, then ``max_new_tokens`` new ids; 1-D if the prompt was.

    Raises:
        ValueError: a setting is out of range.
        IndexError: a prompt id is not in the vocabulary.
    """
    steps = stream(model, ids, max_new_tokens, temperature, top_k, top_p, generator, start_id)
    prompt, flat = _prompt(ids)
    out = np.concatenate([prompt, *(new[:, None] for new in steps)], axis=1)
    return out[0] if flat else out


def _prompt(ids: Any) -> tuple[np.ndarray, bool]:
    """The prompt as int64 (batch, time), and whether it came without a batch axis."""
    if ids is None:
        ids = []
    host = ids.detach().numpy() if isinstance(ids, Tensor) else np.asarray(ids)
    if host.size and host.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got dtype {host.dtype}")
    if host.ndim not in (1, 2) or host.shape[0] == 0 and host.ndim == 2:
        raise ValueError(f"ids: expected shape (batch, time) or (time,), got {host.shape}")
    host = host.astype(np.int64)
    return (host[None], True) if host.ndim == 1 else (host, False)
