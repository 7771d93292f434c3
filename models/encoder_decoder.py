"""What every model that reads one sequence and writes another shares.

Such a model reads a source with its encoder, and its decoder then writes the target symbol by
symbol, each given the source and the symbols before it::

    model(source, given)            -> logits (batch, time, vocab)
    model(source, given, targets)   -> (logits, loss)
    model.translate(source, beam)   -> the ids of the best target found for each source

A subclass brings ``hidden`` (whole targets at once, for training: *teacher forcing*), and for
writing ``encode`` (once for each source), ``decode`` (some more symbols after those already read)
and ``reorder`` (which beam search needs); both ways end in the same ``lm_head``.

Source and target have one vocabulary, whose first three ids are :data:`PAD`, :data:`START` and
:data:`END`. What is shorter than others of its batch has PAD at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..nn import Linear
from ..tensor.tensor import Tensor
from .base import Model, TextConfig, mean_loss
from .ids import END, IGNORED, PAD, START, check_ids, check_length
from .search import beam_search

__all__ = [
    "END",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "IGNORED",
    "PAD",
    "START",
    "padded",
    "teacher_forcing",
]


@dataclass(frozen=True)
class EncoderDecoderConfig(TextConfig):
    """What the configs of all these models have.

    Attributes:
        vocab_size: number of symbols of source and target together; the first three are PAD,
            START and END.
        block_size: the longest source and the longest target, its END counted.
        dropout: probability for all dropouts.
        label_smoothing: how much of each target is spread evenly over the vocabulary in training
            (Szegedy et al., 2016). The loss in evaluation mode is without, so that it says how
            well the model predicts, and stays comparable whatever the setting.
    """

    dropout: float = 0.0
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        if self.vocab_size <= END + 1:
            raise ValueError(
                f"vocab_size: expected at least {END + 2}, of which PAD, START and END are the "
                f"first, got {self.vocab_size}"
            )


C = TypeVar("C", bound=EncoderDecoderConfig)


def padded(rows: Sequence[Sequence[int]], value: int = PAD) -> np.ndarray:
    """Sequences of any lengths as one int64 array (batch, longest), short ones filled up.

    Raises:
        ValueError: there are none. TypeError: one is no sequence of integers.
    """
    if not len(rows):
        raise ValueError("rows: expected at least one sequence, got none")
    arrays = [np.asarray(row) for row in rows]
    for row in arrays:
        if row.ndim != 1 or (row.size and row.dtype.kind not in "iu"):
            raise TypeError(
                f"rows: expected sequences of integers, got one of {row.dtype} of shape {row.shape}"
            )
    out = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for i, row in enumerate(arrays):
        out[i, : len(row)] = row
    return out


def teacher_forcing(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training batch from pairs of id sequences.

    Args:
        sources: the ids of each source.
        targets: the ids of each target, without START and END.

    Returns:
        source (batch, S), with PAD at the end; given (batch, T), which is START and the target;
        targets (batch, T), which is the target and END, and -100 where there is none.
    """
    if len(sources) != len(targets):
        raise ValueError(
            f"targets: expected {len(sources)}, as many as sources, got {len(targets)}"
        )
    given = padded([[START, *target] for target in targets])
    return padded(sources), given, padded([[*target, END] for target in targets], IGNORED)


class EncoderDecoder(Model[C]):
    """Base of Bahdanau's translator and the Transformer.

    Attributes:
        config: the numbers the model was made from.
        lm_head: Linear from the decoder's last features to one logit per symbol.
    """

    lm_head: Linear

    def hidden(self, source: Tensor, given: Tensor) -> Tensor:
        """source (batch, S), given (batch, T) -> features (batch, T, width), which ``lm_head``
        reads: those of each step follow from the source and from ``given`` up to that step."""
        raise TypeError(f"{type(self).__name__} defines no hidden(self, source, given)")

    def encode(self, source: Any) -> Any:
        """Read the sources, once.

        Args:
            source: (batch, S) integers, PAD at the end of short ones.

        Returns:
            The state from which :meth:`decode` starts.
        """
        raise TypeError(f"{type(self).__name__} defines no encode(self, source)")

    def decode(self, ids: Any, state: Any) -> tuple[Tensor, Any]:
        """Read some more target symbols and predict the next one.

        Args:
            ids: (batch, time) integers that follow those read before; the first is START.
            state: what :meth:`encode` or the last call returned. It is used up by the call.

        Returns:
            The logits (batch, vocab) of the symbol after the last of ``ids``, and the new state.
        """
        raise TypeError(f"{type(self).__name__} defines no decode(self, ids, state)")

    def reorder(self, state: Any, rows: np.ndarray) -> Any:
        """The state of other rows of its batch: ``rows`` (any number,) says which, in which order;
        a row may come twice or not at all. The state given is used up by the call."""
        raise TypeError(f"{type(self).__name__} defines no reorder(self, state, rows)")

    def forward(self, source: Any, given: Any, targets: Any = None) -> Any:
        """Predict every symbol of the targets, each from those before it.

        Args:
            source: (batch, S) integers, PAD at the end of short ones.
            given: (batch, T) integers: START, and the target but its last symbol.
            targets: (batch, T), the right symbols; -100 where there is none.
                :func:`teacher_forcing` makes all three.

        Returns:
            logits (batch, T, vocab), or with targets (logits, loss), where the loss is the mean
            cross-entropy in nats over the targets that count; smoothed in training mode.

        Raises:
            ValueError: shapes do not fit, a sequence is too long or empty, or PAD comes before
                other symbols of a source.
            IndexError: an id is not in the vocabulary.
        """
        source, given = self.check_source(source), self.check_ids(given, "given")
        if len(given) != len(source):
            raise ValueError(f"given: expected {len(source)} rows as in source, got {len(given)}")
        logits = self.lm_head(self.hidden(source, given))
        if targets is None:
            return logits
        smoothing = self.config.label_smoothing if self.training else 0.0
        return logits, mean_loss(logits, targets, "the shape of given", smoothing)

    def translate(
        self,
        source: Any,
        beam: int = 1,
        length_penalty: float = 0.6,
        max_new_tokens: int | None = None,
    ) -> list[list[int]]:
        """The best target found for each source, in evaluation mode.

        Args:
            source: (batch, S) integers with PAD at the end of short ones, or a list of lists of
                any lengths.
            beam: how many candidates are followed for each source; 1 is greedy.
            length_penalty: see :func:`tinytensor.models.search.beam_search`.
            max_new_tokens: the most symbols of a target, its END counted; ``block_size`` if None.

        Returns:
            For each source its target's ids, without START and END.
        """
        if isinstance(source, (list, tuple)):
            source = padded(source)
        found = beam_search(self, source, beam, length_penalty, max_new_tokens)
        return [hypothesis.ids for hypothesis in found]

    def check_ids(self, ids: Any, name: str = "ids") -> Tensor:
        """``ids`` as an integer Tensor (batch, time) on the model's device, all in the vocabulary,
        none longer than ``block_size``.

        Raises:
            TypeError, ValueError, IndexError: as :meth:`forward` says.
        """
        ids = check_ids(ids, self.config.vocab_size, self.lm_head.weight, name)
        check_length(ids.shape[1], self.config.block_size, name)
        return ids

    def check_source(self, source: Any) -> Tensor:
        """As :meth:`check_ids`; each row also has a symbol, and PAD only at its end."""
        source = self.check_ids(source, "source")
        real = source.numpy() != PAD
        if not real[:, 0].all():
            row = int(np.flatnonzero(~real[:, 0])[0])
            raise ValueError(f"source: row {row} starts with PAD (id {PAD}), so it has no symbols")
        if (real[:, 1:] & ~real[:, :-1]).any():
            row = int(np.flatnonzero((real[:, 1:] & ~real[:, :-1]).any(1))[0])
            raise ValueError(f"source: row {row} has PAD (id {PAD}) before other symbols")
        return source
