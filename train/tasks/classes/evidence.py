"""By which windows a CNN tells the class of a text, in words and as a picture.

Each detector of a :class:`~tinytensor.models.CNN` keeps one window of the text, that where it
answered most. Its answer times the head's weight for a class is its part of that class's logit: an
exact account, of which the parts that speak *for the class rather than for the others* are shown.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....models import CNN
from ...system.pictures import COLOURS, canvas, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .topics import TopicsTask

#: panels, windows in each, passages that are shown whole, and characters in a line of those
CLASSES, WINDOWS, WHOLE, LINE = 16, 6, 2, 100
#: the colour of what speaks for a class, and how a space is shown
FOR, SPACE = COLOURS[0], "\N{OPEN BOX}"


def speaks_for(model: CNN, found: np.ndarray, target: int) -> np.ndarray:
    """Each detector's part in the logit of a class, less its mean part in all classes.

    Args:
        found: (batch, detectors), see :class:`~tinytensor.models.cnn.Evidence`.
    """
    weight = model.head.weight.detach().numpy()
    return np.asarray(found * (weight[target] - weight.mean(axis=0)))


def by_window(model: CNN, task: TopicsTask, x: np.ndarray, target: int) -> dict[str, float]:
    """Windows of texts x (batch, time) that speak for a class, those that say most first, and how
    much on the mean over the texts, in nats; of windows that are much alike the first only."""
    evidence = model.evidence(x)
    parts = speaks_for(model, evidence.found, target)
    total: dict[str, float] = defaultdict(float)
    for ids, row, starts in zip(x, parts, evidence.starts, strict=True):
        text = task.decode(ids)
        for detector in np.flatnonzero(row > 0):
            start = starts[detector]
            total[text[start : start + evidence.widths[detector]]] += row[detector] / len(x)
    chosen: dict[str, float] = {}
    for window in sorted(total, key=lambda window: (-total[window], window)):
        if not any(_alike(window, other) for other in chosen):
            chosen[window] = float(total[window])
    return chosen


def _alike(one: str, other: str) -> bool:
    """Whether two windows have three characters in a row in common, or one lies in the other."""
    if one in other or other in one:
        return True
    return any(one[i : i + 3] in other for i in range(len(one) - 2))


def by_character(model: CNN, ids: np.ndarray, target: int) -> np.ndarray:
    """How much each symbol of a text (time,) speaks for a class, in nats: a window's part is shared
    among its symbols."""
    evidence = model.evidence(ids[None])
    parts = speaks_for(model, evidence.found, target)[0]
    shades = np.zeros(len(ids) + int(evidence.widths.max()))
    for part, start, width in zip(parts, evidence.starts[0], evidence.widths, strict=True):
        shades[start : start + width] += part / width
    return shades[: len(ids)]


def draw_evidence(model: CNN, task: TopicsTask, path: Path) -> Path:
    """Draw the windows by which a model tells the classes of a task's test part, and some of its
    passages whole, with a shade where they speak for what they are."""
    x, targets = task.test
    said = model.predict(x)
    common = np.argsort(-np.bincount(targets, minlength=len(task.classes)), kind="stable")
    shown = sorted(int(i) for i in common[:CLASSES] if (targets == i).any())
    rows = -(-len(shown) // 4)
    figure = canvas(11, 1.75 * rows + 0.95 * WHOLE + 0.6, dpi=130, layout="constrained")
    figure.suptitle(
        "Windows of text that speak for each class, in nats per passage of the test part",
        fontsize=11, parse_math=False,
    )  # fmt: skip
    grid = figure.add_gridspec(rows + WHOLE, 4, height_ratios=[1.9] * rows + [1] * WHOLE)
    for at, target in enumerate(shown):
        axes = figure.add_subplot(grid[at // 4, at % 4])
        own = targets == target
        title = f"{task.classes[target]}: {(said[own] == target).sum()} of {own.sum()} right"
        _panel(axes, by_window(model, task, x[own], target), title)
    for row in range(WHOLE):
        _passage(figure.add_subplot(grid[rows + row, :]), model, task, _clear(targets, said, row))
    return save(figure, path)


def _clear(targets: np.ndarray, said: np.ndarray, number: int) -> int:
    """A test example that is told right, where there is one; each of another class."""
    right = np.flatnonzero(said == targets)
    first = right[np.unique(targets[right], return_index=True)[1]]
    return int(first[number * len(first) // WHOLE]) if len(first) else number


def _panel(axes: Axes, windows: dict[str, float], title: str) -> None:
    most = dict(list(windows.items())[:WINDOWS])
    axes.barh(range(len(most)), list(most.values()), color=FOR, height=0.7)
    axes.set_yticks(range(len(most)), [window.replace(" ", SPACE) for window in most])
    for label in axes.get_yticklabels():
        label.set(family="monospace", fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.tick_params(axis="x", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=8.5, parse_math=False)


def _passage(axes: Axes, model: CNN, task: TopicsTask, number: int) -> None:
    """One passage in lines, each character on its shade."""
    x, targets = task.test
    ids, target = x[number], int(targets[number])
    text, shades = task.decode(ids), by_character(model, ids, target)
    lines = -(-len(text) // LINE)
    field = np.zeros(lines * LINE)
    field[: len(text)] = np.maximum(shades[: len(text)], 0)
    axes.pcolormesh(field.reshape(lines, LINE), cmap="Blues", vmin=0, vmax=1.6 * field.max() or 1)
    for i, character in enumerate(text):
        axes.text(
            i % LINE + 0.5, i // LINE + 0.5, character, family="monospace", fontsize=8, ha="center",
            va="center", parse_math=False,
        )  # fmt: skip
    axes.set_ylim(lines, 0)
    axes.axis("off")
    best = int(model.predict(ids[None])[0])
    said = "told right" if best == target else f"taken for {task.classes[best]}"
    title = f"a passage of {task.classes[target]}, {said}: darker speaks for {task.classes[target]}"
    axes.set_title(title, loc="left", fontsize=8.5, parse_math=False)


def reasons(model: Any, task: TopicsTask, x: np.ndarray, target: int, most: int = 5) -> list[str]:
    """The windows of texts that speak most for a class; none where the model is no CNN."""
    return list(by_window(model, task, x, target))[:most] if isinstance(model, CNN) else []
