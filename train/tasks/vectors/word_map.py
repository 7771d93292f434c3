"""A picture of word vectors in two dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...system.pictures import COLOURS, canvas, save


class Group(NamedTuple):
    """Words of one colour: their common name, and their vectors (n, width)."""

    name: str
    words: Sequence[str]
    vectors: np.ndarray


def plane(vectors: np.ndarray) -> np.ndarray:
    """The two principal components of vectors, (n, width) -> (n, 2): the view from which they are
    spread out most. Each points so that its largest coordinate is positive."""
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.concatenate([axes[:2], np.zeros((2, centred.shape[1]))])[:2]
    found = centred @ axes.T
    largest = found[np.abs(found).argmax(axis=0), [0, 1]]
    return np.asarray(found * np.where(largest < 0, -1.0, 1.0))


def draw_words(
    path: Path, panels: Sequence[tuple[str, Sequence[Group]]], title: str = ""
) -> Path:
    """Draw words where their vectors lie, each panel from a view of its own.

    Args:
        path: the file, ``.png`` or any ending matplotlib knows.
        panels: title and groups of each. Where a panel has two groups, an arrow leads from each
            word of the first to the word at its place in the second.
        title: above all.

    Returns:
        The path.

    Raises:
        OSError: it could not be written.
    """
    columns = math.ceil(math.sqrt(len(panels)))
    rows = math.ceil(len(panels) / columns)
    side = 7.0 if len(panels) > 1 else 10.0
    figure = canvas(columns * side, rows * side, dpi=110, layout="constrained")
    for axes, (name, groups) in zip(
        figure.subplots(rows, columns, squeeze=False).flat, panels, strict=False
    ):
        _panel(axes, name, groups)
    if title:
        figure.suptitle(title)
    return save(figure, path)


def _panel(axes: Any, name: str, groups: Sequence[Group]) -> None:
    places = plane(np.concatenate([group.vectors for group in groups]))
    parts = np.split(places, np.cumsum([len(group.words) for group in groups])[:-1])
    if len(parts) == 2:
        for tail, head in zip(*parts, strict=True):
            style = {"arrowstyle": "->", "color": "#bbbbbb", "shrinkA": 4, "shrinkB": 4}
            axes.annotate("", xy=head, xytext=tail, arrowprops=style, zorder=1)
    for group, part, colour in zip(groups, parts, COLOURS, strict=False):
        axes.scatter(*part.T, s=14, color=colour, label=group.name or None, zorder=2)
        for word, place in zip(group.words, part, strict=True):
            axes.annotate(
                word, place, xytext=(3, 3), textcoords="offset points", fontsize=8, color=colour,
                parse_math=False,
            )  # fmt: skip
    axes.set_title(name, loc="left")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
    axes.spines[["top", "right"]].set_visible(False)
    if any(group.name for group in groups):
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(groups))
