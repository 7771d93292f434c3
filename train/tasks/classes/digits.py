"""Handwritten digits: the 1,797 images of 8 x 8 pixels that come with scikit-learn."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ....arrays.random import generator
from ...data import DataError
from ..task import Batch, Settings
from .classification import Classification
from .confusion import draw_confusion

#: height and width of the images, and how dark a pixel can be
SIDE, DARKEST = 8, 16
#: the shares of the images that are for testing and for validation
TEST, VAL = 0.2, 0.1
#: by how many pixels the images of a batch are shifted, at most, in each direction
SHIFT = 0.5
#: shades of a digit drawn as text, from light to dark
SHADES = " .:-=+*#%@"


class DigitsTask(Classification):
    """Images of handwritten digits, each to be told which it is; see :class:`Task`.

    Alpaydin and Kaynak, "Optical recognition of handwritten digits", 1998. Numbers are 0 (white) to
    1 (black); a batch holds images (batch, 8, 8) float32 and digits (batch,). The images of the
    training part are shifted by up to half a pixel up or down and left or right, each time anew;
    those of the other parts are as they are.

    An image's part follows from a hash of its pixels, so that equal ones lie in one part.

    Raises:
        DataError: scikit-learn is not installed.
    """

    name = "digits"
    about = "handwritten digits of 8 x 8 pixels"
    models = ("image_cnn",)
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "image_cnn": {"batch_size": 64, "steps": 1500, "lr": 2e-3, "dropout": 0.3},
    }
    least: ClassVar[Mapping[str, Any]] = {"n_classes": 10, "height": SIDE, "width": SIDE}
    usual_sizes: ClassVar[Mapping[str, Any]] = least
    unit = "pixels"
    shown = "digits of the test part"
    example: ClassVar[tuple[str, ...]] = ("--input", "17")
    things = "digits"
    classes = tuple("0123456789")
    length = SIDE * SIDE

    def __init__(self, settings: Settings, vocabulary: Any = None, text: str | None = None):
        if text is not None:
            raise DataError("text: task digits has images of its own, and reads none")
        if vocabulary not in (None, self.vocabulary):
            raise ValueError(f"vocabulary: expected {self.vocabulary}, got {vocabulary!r:.80}")

    @property
    def vocabulary(self) -> list[str]:
        """See :class:`Task`: the digits."""
        return list(self.classes)

    def sizes(self) -> dict[str, Any]:
        """See :class:`Task`."""
        return dict(self.least)

    # ---- the images -----------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> dict[str, Batch]:
        images, targets = load()
        marks = [hashlib.sha256(image.tobytes()).digest() for image in images]
        order = sorted(range(len(marks)), key=marks.__getitem__)
        test, val = (_between(order, marks, share) for share in (TEST, TEST + VAL))
        cuts = {"test": order[:test], "val": order[test:val], "train": order[val:]}
        scaled = (images / DARKEST).astype(np.float32)
        return {part: (scaled[index], targets[index]) for part, index in cuts.items()}

    @property
    def train(self) -> Batch:
        """All images to learn from, and their digits."""
        return self._parts["train"]

    @property
    def val(self) -> Batch:
        """See :class:`Classification`."""
        return self._parts["val"]

    @property
    def test(self) -> Batch:
        """See :class:`Classification`."""
        return self._parts["test"]

    @property
    def learnt(self) -> np.ndarray:
        """See :class:`Classification`."""
        return self.train[1]

    @cached_property
    def fingerprint(self) -> str:
        """See :class:`Task`."""
        mark = hashlib.sha256()
        for part in self.train:
            mark.update(np.ascontiguousarray(part).tobytes())
        return mark.hexdigest()[:16]

    def batch(self, size: int) -> Batch:
        """See :class:`Task`."""
        rng = generator("data")
        drawn = rng.integers(0, len(self.train[1]), (size,))
        by = SHIFT * (2 * rng.random((2, size), dtype=np.float32) - 1)
        return shifted(self.train[0][drawn], by), self.train[1][drawn]

    def describe(self) -> str:
        """See :class:`Task`."""
        counts = [len(self._parts[part][1]) for part in ("train", "val", "test")]
        return (
            "scikit-learn's digits of {} x {} pixels, {:,} for training, {:,} for validation and "
            "{:,} for testing"
        ).format(SIDE, SIDE, *counts)

    def describe_batch(self, size: int) -> str:
        """See :class:`Task`."""
        return f"{size} images"

    # ---- what came of it ------------------------------------------------------------------------

    def shown_as(self, example: np.ndarray) -> str:
        """See :class:`Classification`: the image in characters, two for each pixel."""
        levels = np.clip(np.round(example * (len(SHADES) - 1)), 0, len(SHADES) - 1).astype(int)
        return "\n".join("".join(SHADES[level] * 2 for level in row).rstrip() for row in levels)

    def shown_beside(self, examples: np.ndarray, said: list[str]) -> str:
        """See :class:`Classification`; one beside the other."""
        width = max(2 * SIDE, *map(len, said)) + 3
        columns = [
            [*self.shown_as(example).split("\n"), words]
            for example, words in zip(examples, said, strict=True)
        ]
        rows = zip(*columns, strict=True)
        return "\n".join("".join(f"{part:{width}}" for part in row).rstrip() for row in rows)

    def draw(self, model: Any, path: Path) -> Path | None:
        """See :class:`Task`: which digits are taken for which, and the images told wrong."""
        found = model.probabilities(self.test[0])
        return draw_confusion(self.classes, found, self.test[1], self.test[0], path)

    def answer(self, model: Any, text: str, beam: int = 1) -> str:
        """See :class:`Task`.

        Args:
            text: the number of an image of the test part, from 0; or the name of a file with 8
                lines of 8 numbers, 0 (white) to 16 (black).
        """
        text, target = text.strip(), ""
        if text.isdecimal():
            images, targets = self.test
            if len(text) > 20 or int(text) >= len(images):
                raise DataError(
                    f"input: the test part has images 0 to {len(images) - 1}, got {text:.20}"
                )
            image = images[int(text)]
            target = f"\nit is {targets[int(text)]}"
        else:
            image = read_image(text)
        found = model.probabilities(image[None])[0]
        return f"{self.shown_as(image)}\n{self.ranked(found)}{target}"


def load() -> tuple[np.ndarray, np.ndarray]:
    """The images (n, 8, 8), uint8 from 0 to 16, and their digits (n,), int64.

    Raises:
        DataError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise DataError(
            "task: the digits come with scikit-learn, which is not installed; "
            "pip install 'tinytensor[digits]'"
        ) from None
    found = load_digits()
    return found.images.astype(np.uint8), found.target.astype(np.int64)


def _between(order: list[int], marks: list[bytes], share: float) -> int:
    """Where to cut a share off the order: not between two images with the same mark."""
    cut = round(share * len(order))
    while 0 < cut < len(order) and marks[order[cut - 1]] == marks[order[cut]]:
        cut += 1
    return cut


def shifted(images: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Images (n, height, width) moved by fractions of a pixel; white comes in at the edges.

    Args:
        by: (2, n) pixels down and to the right, less than one. Between pixels numbers are
            interpolated.
    """
    _, height, width = images.shape
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    down, right = by[:, :, None, None].astype(images.dtype)
    return _mixed(_mixed(padded, down, 1, height), right, 2, width)


def _mixed(padded: np.ndarray, by: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Each pixel with its share of the one before it (``by`` > 0) or after it along ``axis``."""
    before, here, after = (padded.take(range(i, i + length), axis=axis) for i in range(3))
    share = np.abs(by)
    return np.asarray((1 - share) * here + share * np.where(by > 0, before, after))


def read_image(name: str) -> np.ndarray:
    """An image (8, 8) float32, 0 to 1, out of a file of 64 numbers from 0 to 16.

    Raises:
        DataError: the file cannot be read, or does not hold that.
    """
    wanted = f"{SIDE} lines of {SIDE} numbers from 0 to {DARKEST}"
    try:
        if not name:
            raise OSError("got nothing")
        words = Path(name).read_text(encoding="utf-8").replace(",", " ").split()
    except (OSError, ValueError) as error:
        given = f"{name:.80}: " if name else ""
        raise DataError(
            f"input: expected the number of an image of the test part, or a file of {wanted}; "
            f"{given}{getattr(error, 'strerror', None) or error}"
        ) from None
    try:
        numbers = np.array([float(word) for word in words[: SIDE * SIDE + 1]], dtype=np.float32)
    except ValueError as error:
        raise DataError(f"input: {name}: expected {wanted}: {error}") from None
    if numbers.size != SIDE * SIDE or not ((numbers >= 0) & (numbers <= DARKEST)).all():
        raise DataError(f"input: {name}: expected {wanted}")
    return numbers.reshape(SIDE, SIDE) / DARKEST
