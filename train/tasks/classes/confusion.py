"""Which classes of images a model takes for which, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...system.pictures import COLOURS, canvas, save

#: images that are shown: those told wrong, then those of which the model is least sure
IMAGES = 12
ORANGE = COLOURS[1]


def confusion(said: np.ndarray, targets: np.ndarray, classes: int) -> np.ndarray:
    """How often each class (row) was told to be each class (column): (classes, classes)."""
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (targets, said), 1)
    return counts


def draw_confusion(
    classes: Sequence[str], found: np.ndarray, targets: np.ndarray, images: np.ndarray, path: Path
) -> Path:
    """Draw the confusion matrix, and the images that were told wrong or with least confidence.

    Args:
        classes: their names.
        found: probabilities (n, n_classes).
        targets: the right classes (n,).
        images: (n, height, width), 0 white to 1 black.
        path: of the picture; its ending says of which kind.
    """
    said = found.argmax(axis=1)
    counts = confusion(said, targets, len(classes))
    figure = canvas(11, 5, dpi=130, layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.1], squeeze=False).flat
    axes = left.subplots()
    axes.imshow(np.log1p(counts), cmap="Blues")
    middle = np.log1p(counts.max()) / 2
    for (row, column), count in np.ndenumerate(counts):
        if count:
            colour = "white" if np.log1p(count) > middle else ORANGE
            axes.text(column, row, str(count), ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(classes)), classes)
    axes.set_yticks(range(len(classes)), classes)
    axes.set_xlabel("told to be")
    axes.set_ylabel("is")
    hits = int((said == targets).sum())
    axes.set_title(f"{hits} of {len(targets)} right ({hits / len(targets):.2%})", fontsize=10)

    sure = found[np.arange(len(said)), said]
    order = np.lexsort((sure, said == targets))[:IMAGES]
    wrong = int((said != targets).sum())
    grid = right.subplots(3, 4, squeeze=False)
    right.suptitle(f"the {wrong} told wrong (orange), then the least sure", fontsize=10)
    for axes in grid.flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, order):
        axes.imshow(images[i], cmap="gray_r", vmin=0, vmax=1)
        miss = said[i] != targets[i]
        note = f"{classes[said[i]]} ({sure[i]:.0%})"
        note += f", is {classes[targets[i]]}" if miss else ""
        axes.set_title(note, fontsize=8.5, color=ORANGE if miss else "black")
    return save(figure, path)
