"""Finding the best target for a source: greedy and beam search.

A decoder says how probable each next symbol is, so the best target has the largest product of
probabilities. Trying all takes vocab^length steps. Beam search follows the ``beam`` best beginnings
only, and with ``beam=1``, which is greedy, always takes the most probable next symbol.

Scores are computed on the host in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import no_grad
from ..nn.evaluating import evaluating
from ..nn.layers import check_number, check_size
from .ids import END, PAD, START, NotFinite

if TYPE_CHECKING:
    from .encoder_decoder import EncoderDecoder


@dataclass(frozen=True)
class Hypothesis:
    """A target that was found.

    Attributes:
        ids: its symbols, without START and END.
        score: its log-probability in nats (END's included), divided by the length penalty.
        finished: whether it came to END; False where the longest length came first.
    """

    ids: list[int]
    score: float
    finished: bool


def penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha, by which log-probabilities are divided: Wu et al., 2016.

    Each symbol makes a target less probable; the larger alpha, the less that speaks against long
    ones.
    """
    return float(((5 + length) / 6) ** alpha)


def beam_search(
    model: EncoderDecoder[Any],
    source: Any,
    beam: int = 1,
    length_penalty: float = 0.6,
    max_new_tokens: int | None = None,
) -> list[Hypothesis]:
    """The best target that is found for each source.

    At each step all continuations of the beginnings followed, by one symbol, are ranked by their
    probability; of equal ones the better beginning comes first, then the smaller id. Those among
    the first ``beam`` that end are finished, and the first ``beam`` that do not are followed. PAD
    and START are never written. The search for a source ends when ``beam`` are finished, when no
    beginning can become better than the best finished one, or at ``max_new_tokens``; if none is
    finished then, the most probable beginning is the answer. A beam of one so takes the most
    probable symbol each time.

    Sources do not influence each other: a batch has the results that each would have alone.
    The model runs in evaluation mode without recording gradients, and gets its own mode back.

    Args:
        model: an encoder and decoder.
        source: (batch, S) integers, PAD at the end of short ones.
        beam: how many beginnings are followed for each source.
        length_penalty: alpha, 0 to 10, of :func:`penalty`; 0 compares plain probabilities, and 0.6
            is that of Vaswani et al., 2017. It makes no difference to a beam of one.
        max_new_tokens: the most symbols of a target, its END counted; ``config.block_size`` if
            None.

    Raises:
        ValueError: a setting is out of range, or the model's logits have no largest number.
    """
    beam = check_size("beam", beam)
    alpha = check_number(
        "length_penalty", length_penalty, "a number from 0 to 10", lambda a: 0.0 <= a <= 10.0
    )
    longest = model.config.block_size if max_new_tokens is None else max_new_tokens
    longest = check_size("max_new_tokens", longest)
    if longest > model.config.block_size:
        raise ValueError(
            f"max_new_tokens: expected at most {model.config.block_size}, the model's block_size, "
            f"got {longest}"
        )
    with no_grad(), evaluating(model):
        state = model.encode(source)
        beams = _Beams(len(source), beam, alpha, longest)
        for _ in range(longest):
            logits, state = model.decode(beams.last(), state)
            rows = beams.step(_log_probabilities(logits.numpy()))
            if not len(rows):
                break
            if not np.array_equal(rows, np.arange(logits.shape[0])):
                state = model.reorder(state, rows)
    return beams.answers()


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
    """log softmax over the last axis in float64, -inf for what is never written."""
    scores = np.asarray(logits, dtype=np.float64)
    top = scores.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():
        raise NotFinite(f"logits: the largest of a row is {top[~np.isfinite(top)][0]}, not finite")
    scores = scores - top
    scores -= np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    scores[:, [PAD, START]] = -np.inf
    return scores


class _Beams:
    """The beginnings followed for each source, best first. An empty place has the score -inf."""

    def __init__(self, sources: int, beam: int, alpha: float, longest: int):
        self.alpha = alpha
        self.longest = longest
        self.scores = np.full((sources, beam), -np.inf)  # log-probabilities
        self.scores[:, 0] = 0.0
        self.ids = np.full((sources, beam, 1), START)
        self.finished = np.zeros(sources, dtype=np.int64)
        self.best: list[Hypothesis | None] = [None] * sources

    def last(self) -> np.ndarray:
        """The last symbols (rows, 1), of all places that are not empty."""
        last: np.ndarray = self.ids[np.isfinite(self.scores)][:, -1:]
        return last

    def step(self, log_probs: np.ndarray) -> np.ndarray:
        """Go on by a symbol, given log-probabilities (rows, vocab) for the rows of :meth:`last`.

        Returns:
            Which of those rows the new rows continue.
        """
        sources, beam = self.scores.shape
        vocab = log_probs.shape[1]
        here = np.isfinite(self.scores)
        row = np.zeros(here.shape, dtype=np.int64)
        row[here] = np.arange(len(log_probs))
        totals = np.full((sources, beam, vocab), -np.inf)
        totals[here] = self.scores[here][:, None] + log_probs
        flat = totals.reshape(sources, -1)
        # each beginning ends in one way: among twice as many are enough that do not
        chosen = np.argsort(-flat, axis=1, kind="stable")[:, : 2 * beam]
        scores = np.take_along_axis(flat, chosen, axis=1)
        ends = chosen % vocab == END
        self._finish(chosen[:, :beam] // vocab, np.where(ends, scores, -np.inf)[:, :beam])
        follow = np.argsort(ends, axis=1, kind="stable")[:, :beam]
        chosen = np.take_along_axis(chosen, follow, axis=1)
        parent = chosen // vocab
        self.scores = np.take_along_axis(np.where(ends, -np.inf, scores), follow, axis=1)
        before = np.take_along_axis(self.ids, parent[..., None], axis=1)
        self.ids = np.concatenate([before, chosen[..., None] % vocab], axis=2)
        self._stop()
        rows: np.ndarray = np.take_along_axis(row, parent, axis=1)[np.isfinite(self.scores)]
        return rows

    def _finish(self, parent: np.ndarray, scores: np.ndarray) -> None:
        """Keep the best that ends now (score > -inf), unless an earlier one is as good."""
        divisor = penalty(self.ids.shape[2], self.alpha)
        for source, place in np.argwhere(np.isfinite(scores)):
            self.finished[source] += 1
            score, old = float(scores[source, place]) / divisor, self.best[source]
            if old is None or score > old.score:
                ids = self.ids[source, parent[source, place], 1:].tolist()
                self.best[source] = Hypothesis(ids, score, finished=True)

    def _stop(self) -> None:
        """Empty the beams that cannot lead to a better answer."""
        beam = self.scores.shape[1]
        # log-probabilities only fall, and no divisor is larger than that of the longest
        bound = self.scores.max(axis=1) / penalty(self.longest, self.alpha)
        for source, best in enumerate(self.best):
            if best and (bound[source] <= best.score or self.finished[source] >= beam):
                self.scores[source] = -np.inf

    def answers(self) -> list[Hypothesis]:
        """The best finished target of each source, or else its most probable beginning."""
        divisor = penalty(self.ids.shape[2] - 1, self.alpha)
        return [
            best or Hypothesis(ids[0, 1:].tolist(), float(scores[0]) / divisor, finished=False)
            for best, ids, scores in zip(self.best, self.ids, self.scores, strict=True)
        ]
