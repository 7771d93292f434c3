"""Which text does a passage come from? By default: which of Python's help topics."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....arrays.random import generator
from ....models import CNN
from ....models.ids import PAD
from ...data import CharTokenizer, DataError, TextFiles, help_topics
from ...data.files import find_files
from ...data.text import Fingerprint, help_texts, load_text
from ..task import Batch, Settings
from .classification import Classification
from .evidence import draw_evidence, reasons
from .passages import Parts, copied, parts, passages, plain, starts

#: how many of the help topics: the longest; the others are too short to learn from
LONGEST = 12


class _Training(NamedTuple):
    """All stretches to learn from in a row: their ids, where a passage may begin, and the class of
    each beginning."""

    ids: np.ndarray
    starts: np.ndarray
    targets: np.ndarray


class TopicsTask(Classification):
    """Passages of texts, each to be told from which text it is; see :class:`Task`.

    Texts are cut by :mod:`.passages`: no character of a passage that is validated or tested on is
    ever learnt from, and none of these has 60 characters in a row that are. Symbols are characters,
    with single spaces in place of line breaks; a batch holds ids (batch, ``length``), and classes
    (batch,).

    A passage to learn from begins at any word of the training part, each as often.
    """

    name = "topics"
    about = "which of Python's help topics, or which of your texts, a passage comes from"
    models = ("cnn",)
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cnn": {
            "block_size": 200, "batch_size": 16, "steps": 3000, "lr": 3e-3, "dropout": 0.5,
            "n_embd": 16,
        },
    }  # fmt: skip
    reads: ClassVar[tuple[str, ...]] = ("data",)
    least: ClassVar[Mapping[str, Any]] = {"vocab_size": 2, "n_classes": 2}
    usual_sizes: ClassVar[Mapping[str, Any]] = {"vocab_size": 102, "n_classes": LONGEST}
    shown = "passages of the test part"
    example: ClassVar[tuple[str, ...]] = ("--input", "set a breakpoint and step into the function")
    things = "passages"

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        if text is not None:
            raise DataError("text: task topics tells several texts apart; name their files as data")
        self._settings = settings
        if vocabulary is not None:
            self.classes, self.tokenizer = _checked(vocabulary)

    # ---- the texts ------------------------------------------------------------------------------

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Name -> text: of the files that the settings name, or of the help topics."""
        if self._settings.data is None:
            return help_texts()
        files, _ = find_files(self._settings.data)
        if len(files) < 2:
            raise DataError(f"data: expected two files or more to tell apart, got {len(files)}")
        names = [path.name for path in files]
        if len(set(names)) < len(names):
            names = [str(path) for path in files]
        encoding = self._settings.encoding
        return {name: load_text(path, encoding) for name, path in zip(names, files, strict=True)}

    @cached_property
    def parts(self) -> dict[str, Parts]:
        """The stretches of each class."""
        most = LONGEST if self._settings.data is None else None
        found = parts(self._texts, self.length, most)
        if most is not None and len(found) < 2:
            raise DataError(
                f"block_size: expected so few that two help topics are long enough, got "
                f"{self.length}"
            )
        if self._settings.data is not None and len(found) < len(self._texts):
            short = next(name for name in self._texts if name not in found)
            raise DataError(
                f"data: {short} is too short, or all in the other files: three stretches of at "
                f"least 1,000 characters and of four passages (block_size {self.length}) are needed"
            )
        return found

    @property
    def vocabulary(self) -> dict[str, Any]:
        """See :class:`Task`: the names of the classes, and the characters."""
        return {"classes": list(self.classes), "symbols": self.tokenizer.symbols}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """See :class:`Classification`: the names of the texts."""
        return tuple(self.parts)

    @cached_property
    def tokenizer(self) -> CharTokenizer:
        """The characters of what is learnt from."""
        text = "".join(stretch for part in self.parts.values() for stretch in part.train)
        return CharTokenizer.from_text(text)

    @cached_property
    def fingerprint(self) -> str:
        """See :class:`Task`; of all that is learnt from."""
        mark = Fingerprint()
        for name, part in self.parts.items():
            mark.update("\n".join((name, *part.train, "")))
        return mark.value

    @property
    def origin(self) -> str:  # type: ignore[override]
        """See :class:`Task`."""
        return help_topics().origin if self._settings.data is None else TextFiles.origin

    def sizes(self) -> dict[str, Any]:
        """See :class:`Task`."""
        return {"vocab_size": 1 + len(self.tokenizer), "n_classes": len(self.classes)}

    @property
    def length(self) -> int:
        """See :class:`Task`."""
        return int(self._settings.block_size or 200)

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text, :func:`~.passages.plain`, int64; characters that training never saw
        are left out."""
        return 1 + self.tokenizer.encode(plain(text), unknown="").astype(np.int64)

    def decode(self, ids: np.ndarray) -> str:
        """The text of ids (time,), without its padding."""
        return self.tokenizer.decode(ids[ids != PAD] - 1)

    # ---- examples -------------------------------------------------------------------------------

    @cached_property
    def _training(self) -> _Training:
        ids, begins, targets, at = [], [], [], 0
        for target, name in enumerate(self.classes):
            for stretch in self.parts[name].train:
                found = np.array(starts(stretch, self.length), dtype=np.int64)
                ids.append(self.encode(stretch))
                begins.append(at + found)
                targets.append(np.full(len(found), target))
                at += len(stretch)
        return _Training(np.concatenate(ids), np.concatenate(begins), np.concatenate(targets))

    def batch(self, size: int) -> Batch:
        """See :class:`Task`."""
        part = self._training
        drawn = generator("data").integers(0, len(part.starts), (size,))
        places = part.starts[drawn][:, None] + np.arange(self.length)
        return part.ids[places], part.targets[drawn]

    @property
    def learnt(self) -> np.ndarray:
        """See :class:`Classification`."""
        return self._training.targets

    @cached_property
    def val(self) -> Batch:
        """See :class:`Classification`."""
        return self._encoded("val")

    @cached_property
    def test(self) -> Batch:
        """See :class:`Classification`."""
        return self._encoded("test")

    def _encoded(self, part: str) -> Batch:
        found = [
            (passage, target)
            for target, name in enumerate(self.classes)
            for stretch in getattr(self.parts[name], part)
            for passage in passages(stretch, self.length)
        ]
        learnt = (stretch for parts in self.parts.values() for stretch in parts.train)
        known = copied((passage for passage, _ in found), learnt)
        kept = [(self.encode(passage), target) for passage, target in found if passage not in known]
        x = np.full((len(kept), self.length), PAD, dtype=np.int64)
        for row, (ids, _) in zip(x, kept, strict=True):
            row[: len(ids)] = ids
        return x, np.array([target for _, target in kept], dtype=np.int64)

    def describe(self) -> str:
        """See :class:`Task`."""
        whose = "texts" if self._settings.data else "of Python's help topics"
        return (
            f"{len(self.classes)} {whose}, {len(self._training.ids):,} characters for training, "
            f"{len(self.val[1]):,} passages for validation and {len(self.test[1]):,} for testing"
        )

    def describe_batch(self, size: int) -> str:
        """See :class:`Task`."""
        return f"{size} passages of {self.length} characters"

    # ---- what came of it ------------------------------------------------------------------------

    def shown_as(self, example: np.ndarray) -> str:
        """See :class:`Classification`: how the passage begins."""
        return self.decode(example)[:72] + " ..."

    def draw(self, model: Any, path: Path) -> Path | None:
        """See :class:`Task`: the windows of text by which the model tells each class."""
        return draw_evidence(model, self, path) if isinstance(model, CNN) else None

    def answer(self, model: Any, text: str, beam: int = 1) -> str:
        """See :class:`Task`: the likeliest classes, and the windows that speak for the first."""
        ids = self.encode(text)
        if not len(ids):
            raise DataError("input: expected a text with characters that the model knows")
        found = model.probabilities(ids[None])[0]
        because = reasons(model, self, ids[None], int(found.argmax()))
        by = because and f"\nby {', '.join(map(repr, because))}"
        return f"{self.ranked(found)}{by or ''}"


def _checked(vocabulary: Any) -> tuple[tuple[str, ...], CharTokenizer]:
    """Classes and characters out of what a checkpoint holds."""
    given = vocabulary if isinstance(vocabulary, dict) else {}
    classes, symbols = given.get("classes"), given.get("symbols")
    named = isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if not named or not classes or len(set(classes)) < len(classes):
        raise ValueError("vocabulary: expected classes, a list of different names")
    if not isinstance(symbols, str) or not symbols or symbols != "".join(sorted(set(symbols))):
        raise ValueError("vocabulary: expected symbols, each character once, in order")
    return tuple(classes), CharTokenizer(symbols)
