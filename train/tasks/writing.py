"""Text from a trained language model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import Generator
from ...models import LanguageModel, stream
from ...models.ids import NotFinite
from ..checkpoint import CheckpointError
from ..data import CharTokenizer


def stream_text(
    model: LanguageModel[Any],
    tokenizer: CharTokenizer,
    prompt: str = "",
    length: int = 300,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: Generator | None = None,
    unknown: str | None = None,
) -> Iterator[str]:
    """The characters that follow ``prompt``, one by one as they are drawn.

    Args:
        model, tokenizer: from :func:`load_model` or a trainer.
        prompt: what comes before; empty starts as after a newline.
        length: how many characters.
        temperature, top_k, top_p: see :func:`tinytensor.models.generate`.
        rng: source of randomness, the generator named "sample" if None.
        unknown: for characters of the prompt that the model does not know, see
            :meth:`CharTokenizer.encode`.

    Raises:
        DataError: an unknown character. ValueError: a setting out of range.
        CheckpointError: the model's numbers are not finite, as after training has diverged; this
            comes with the first character.
    """
    ids = tokenizer.encode(prompt, unknown)[None]
    steps = stream(model, ids, length, temperature, top_k, top_p, rng)
    return map(tokenizer.decode, _finite(steps))


@contextmanager
def finite() -> Iterator[None]:
    """Ask a model without NumPy's warnings, and with one clear error where it has no answer.

    Raises:
        CheckpointError: the model's numbers are not finite, as after training has diverged.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except NotFinite as error:
        raise CheckpointError(
            f"checkpoint: the model gives no probabilities ({error}): its weights are not "
            "finite, or too large, as after training has diverged"
        ) from None


def _finite(steps: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The same, under :func:`finite`."""
    while True:
        with finite():
            new = next(steps, None)
        if new is None:
            return
        yield new


def sample_text(
    model: LanguageModel[Any],
    tokenizer: CharTokenizer,
    prompt: str = "",
    length: int = 300,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: Generator | None = None,
    unknown: str | None = None,
) -> str:
    """What :func:`stream_text` yields, as one string, without the prompt."""
    parts = stream_text(model, tokenizer, prompt, length, temperature, top_k, top_p, rng, unknown)
    return "".join(parts)
