"""The task that language models are made for: each next symbol of a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from ... import Generator
from ..data import Corpus, DataError, TokenStream, corpus_of
from ..data.difference import vocabulary_difference
from ..data.tokenizer import CharTokenizer
from .task import Batch, Settings, Task
from .writing import sample_text


class TextTask(Task):
    """The next symbol of a text; see :class:`Task`.

    Attributes:
        corpus: the text.
        tokenizer: of its characters, or those of the vocabulary given.
        data: its blocks.
    """

    name = "text"
    about = "the next character of a text, yours or that of Python's help topics"
    models = ("gpt", "gru", "lstm", "rnn")
    reads: ClassVar[tuple[str, ...]] = ("data",)
    usual_sizes: ClassVar[Mapping[str, Any]] = {"vocab_size": 103}
    shown = "a sample"
    more = "more text"

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        self._settings, self._text = settings, text
        self._tokenizer: CharTokenizer | None = None
        if vocabulary is None:
            return
        if not isinstance(vocabulary, str):
            raise ValueError(f"symbols: expected a string, got a {type(vocabulary).__name__}")
        self._tokenizer = CharTokenizer(vocabulary)
        if self._tokenizer.symbols != vocabulary:
            raise ValueError("symbols: expected each character once, in order")

    @cached_property
    def corpus(self) -> Corpus:
        """The text: a string, the files that the settings name, or the default."""
        return corpus_of(self._text, self._settings.data, self._settings.encoding)

    @property
    def tokenizer(self) -> CharTokenizer:
        """Characters as ids."""
        return self.corpus.tokenizer if self._tokenizer is None else self._tokenizer

    @cached_property
    def data(self) -> TokenStream:
        """The text as blocks of ids."""
        return TokenStream(self.corpus.ids(), self.block_size)

    @property
    def block_size(self) -> int:
        """Symbols in a block."""
        return int(self._settings.block_size or 0)

    @property
    def vocabulary(self) -> str:
        """See :class:`Task`."""
        return self.tokenizer.symbols

    @property
    def fingerprint(self) -> str:
        """See :class:`Task`."""
        return self.corpus.fingerprint

    @property
    def origin(self) -> str:  # type: ignore[override]
        """See :class:`Task`."""
        return self.corpus.origin

    def refuse_other(self, saved: Task, note: str) -> None:
        """See :class:`Task`; the characters that differ are named."""
        assert isinstance(saved, TextTask)
        if self.tokenizer != saved.tokenizer:
            difference = vocabulary_difference(self.tokenizer, saved.tokenizer)
            raise DataError(f"data: {difference}{note and f'; {note}'}")

    def batch(self, size: int) -> Batch:
        """See :class:`Task`."""
        return self.data.batch(size)

    def batches(self, size: int) -> int:
        """See :class:`Task`."""
        return self.data.batches("val", size)

    def blocks(self, size: int, limit: int | None = None) -> Iterator[Batch]:
        """See :class:`Task`."""
        return self.data.blocks("val", size, limit)

    @property
    def length(self) -> int:
        """See :class:`Task`."""
        return self.block_size

    def describe(self) -> str:
        """See :class:`Task`."""
        return (
            f"{self.corpus.describe()}, {len(self.tokenizer)} symbols, "
            f"{len(self.data.train):,} for training and {len(self.data.val):,} for validation"
        )

    def describe_batch(self, size: int) -> str:
        """See :class:`Task`."""
        return f"{size} blocks of {self.block_size} symbols"

    @property
    def baseline(self) -> float:
        """See :class:`Task`."""
        return math.log(len(self.tokenizer))

    def prepare(self, model: Any) -> None:
        """See :class:`Task`: a text starts as after a newline."""
        model.start_id = self.tokenizer.start_id

    def write(self, model: Any, prompt: str, length: int, seed: int) -> str:
        """A text of the model's that goes on from a prompt."""
        rng = Generator(seed)
        return sample_text(model, self.tokenizer, prompt, length, rng=rng)

    def show(self, model: Any, seed: int) -> str:
        """See :class:`Task`."""
        return self.write(model, "", 300, seed)
