"""Word vectors by negative sampling: skip-gram and CBOW (Mikolov et al., 2013).

A word is known by the words around it. Each word has two vectors, one for what it is and one for
where it occurs. Of a word and its surroundings the model says whether they were found together in
the text, or the word was drawn at random. Skip-gram asks it of one word and each word around it;
CBOW of the mean of the words around a place and the word that stands there. Both are one model,
which reads one word or several: they differ in the batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import operations, tensor
from ..nn import Embedding, init
from ..nn.layers import as_ids, check_size
from ..tensor.tensor import Tensor
from .base import Model, ModelConfig
from .ids import IGNORED, NotFinite
from .shapes import Shapes

#: ways to make examples of a text
MODES = ("skipgram", "cbow")


@dataclass(frozen=True)
class Word2VecConfig(ModelConfig):
    """Settings of :class:`Word2Vec`.

    Attributes:
        vocab_size: number of words; ids are 0 .. vocab_size - 1.
        n_embd: length of a vector.
        mode: "skipgram" or "cbow": what its batches are made of. The model itself is the same.
    """

    vocab_size: int
    n_embd: int = 128
    mode: str = "skipgram"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in MODES:
            raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {self.mode!r}")

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`."""
        shape = (self.vocab_size, self.n_embd)
        return {"words.weight": shape, "contexts.weight": shape}, {}

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`: there are none."""
        return {}

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: of a pair of words both vectors."""
        return 2 * self.n_embd


class Word2Vec(Model[Word2VecConfig]):
    """Two tables of word vectors, trained to tell words of the text from others.

    The gradients of both are sparse: only the words of a batch are read and written, so that a step
    takes no longer with a larger vocabulary. Use an optimiser without decay; SGD and Adagrad give
    other words no step in any case, Adam's moments of other words wait.

    Attributes:
        words: (vocab_size, n_embd), the vectors of words as what they are, from U(-1/2, 1/2) /
            n_embd: those to use.
        contexts: (vocab_size, n_embd), those of words as what occurs there, zeros at first.
    """

    about = "word vectors, by telling the words of a text from random ones"
    paper = "Mikolov et al., 2013"

    def __init__(self, config: Word2VecConfig):
        self.config = config
        size, width = config.vocab_size, config.n_embd
        self.words = Embedding(size, width, sparse=True)
        self.contexts = Embedding(size, width, sparse=True)
        init.uniform_(self.words.weight, -0.5 / width, 0.5 / width)
        init.zeros_(self.contexts.weight)

    def forward(self, words: Any, samples: Any) -> Tensor:
        """How likely each sample belongs to the words.

        Args:
            words: (batch,) ids, or (batch, n): several words, of which the mean counts; at least
                one in each row, and after them -1 where there are fewer.
            samples: (batch, k) ids.

        Returns:
            Logits (batch, k): inner products.

        Raises:
            ValueError: other shapes, or a row without words. IndexError: an id is not in the
                vocabulary.
        """
        words = as_ids(words, self.words.weight, "words")
        samples = as_ids(samples, self.words.weight, "samples")
        if words.ndim not in (1, 2) or samples.ndim != 2 or words.shape[0] != samples.shape[0]:
            raise ValueError(
                "words, samples: expected shapes (batch,) or (batch, n), and (batch, k), got "
                f"{words.shape} and {samples.shape}"
            )
        hidden = self.words(words) if words.ndim == 1 else self._mean(words)
        return operations.einsum("bd,bkd->bk", hidden, self.contexts(samples))

    def _mean(self, words: Tensor) -> Tensor:
        """The mean vector of each row of words, (batch, n) -> (batch, width)."""
        there = words.data >= 0
        if not bool(there[:, :1].all()):
            raise ValueError("words: expected at least one word in each row, before any -1")
        # The first word stands in for those that are not there, and counts 0: so no other row of
        # the table has a gradient.
        ids = tensor(words.device.xp.where(there, words.data, words.data[:, :1]))
        share = (there / there.sum(axis=1, keepdims=True)).astype(self.words.weight.dtype)
        return operations.einsum("bnd,bn->bd", self.words(ids), tensor(share))

    def loss(self, words: Any, samples: Any, labels: Any) -> Tensor:
        """The mean cross-entropy of "found together?" over the samples that count.

        The papers add up the loss of a pair and its k negative samples, and make a step for each
        pair: a step of SGD with this mean is as long for batch (k + 1) times their learning rate.

        Args:
            words, samples: see :meth:`forward`.
            labels: (batch, k): 1 for a sample from the text, 0 for a random one, -100 for one that
                does not count.

        Returns:
            The loss in nats, a scalar; 0 where none counts.

        Raises:
            ValueError: other labels, or another shape than that of ``samples``.
        """
        logits = self(words, samples)
        labels = as_ids(labels, logits, "labels")
        if labels.shape != logits.shape:
            raise ValueError(f"labels: expected shape {logits.shape}, got {labels.shape}")
        xp, given = logits.device.xp, labels.data
        counts = given != IGNORED
        target = xp.where(counts, given, 0).astype(logits.dtype)
        if bool(((target != 0) & (target != 1)).any()):
            raise ValueError(f"labels: expected 1, 0 or {IGNORED}, got others")
        weight = counts.astype(logits.dtype) / max(1, int(counts.sum()))
        return operations.binary_cross_entropy_with_logits(
            logits, tensor(target), tensor(weight.astype(logits.dtype)), reduction="sum"
        )

    # ---- what the vectors say --------------------------------------------------------------------

    def vectors(self) -> np.ndarray:
        """The words' vectors at length 1, float32 (vocab_size, n_embd) on the CPU."""
        table = self.words.weight.detach().cpu().numpy().astype(np.float32)
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        return np.asarray(table / np.maximum(lengths, np.finfo(np.float32).tiny))

    def most_similar(
        self, positive: int | Sequence[int], negative: int | Sequence[int] = (), n: int = 10
    ) -> list[tuple[int, float]]:
        """The words nearest to a sum of words, none of which is among them.

        Args:
            positive, negative: ids; unit vectors of the first are added, of the second subtracted.
            n: how many at most.

        Returns:
            (id, cosine) of each, nearest first.

        Raises:
            ValueError: no ids, the same ones on both sides, a bad ``n``, or vectors that are not
                finite. TypeError: ids are not integers. IndexError: one is not in the vocabulary.
        """
        plus, minus = (_ids(*each) for each in (("positive", positive), ("negative", negative)))
        n = check_size("n", n)
        given = np.concatenate([plus, minus])
        if not plus.size:
            raise ValueError("positive: expected at least one id, got none")
        if np.array_equal(np.sort(plus), np.sort(minus)):
            raise ValueError("positive, negative: the same words, which leave nothing")
        size = self.config.vocab_size
        if given.min() < 0 or given.max() >= size:
            raise IndexError(f"ids: expected 0 to {size - 1}, got {given.tolist()}")
        table = self.vectors()
        target = table[plus].sum(axis=0) - table[minus].sum(axis=0)
        cosines = table @ (target / max(float(np.linalg.norm(target)), np.finfo(np.float32).tiny))
        if not np.isfinite(cosines).all():
            raise NotFinite("words: the vectors are not finite")
        cosines[given] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, size - len(set(given.tolist())))]
        return [(int(i), float(cosines[i])) for i in best]

    def analogy(self, a: int, b: int, c: int, n: int = 1) -> list[tuple[int, float]]:
        """What is to c as b is to a: the words nearest to b - a + c (Mikolov et al., 2013c)."""
        return self.most_similar((b, c), a, n)


def _ids(name: str, given: int | Sequence[int]) -> np.ndarray:
    ids = np.atleast_1d(np.asarray(given))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TypeError(f"{name}: expected an id or some, integers, got {given!r:.80}")
    return ids.astype(np.int64)
