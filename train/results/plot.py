"""Loss curves as pictures: of one run, and of several to compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..system.pictures import COLOURS, canvas, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: the lines of the runs after the seventh, the fourteenth, ...
LINES = ("-", "--", "-.", ":")
#: a range of losses beyond this factor is drawn with a logarithmic axis
WIDE = 50.0


class Curve(NamedTuple):
    """A run to draw: its name, the losses of its steps 1, 2, ... and (step, validation loss)."""

    name: str
    train: Any
    val: Any = ()


def plot_losses(
    path: str | Path,
    train: Any,
    val: Any = (),
    title: str = "",
    baseline: float | None = None,
) -> Path:
    """Draw a training run: each step's loss, their running mean, and the validation losses.

    Losses that are not finite leave gaps; a run that has diverged gets a logarithmic axis.

    Args:
        path: the file, ``.png`` (or any ending matplotlib knows).
        train: losses of steps 1, 2, ...
        val: pairs (step, loss).
        title: above the picture.
        baseline: a loss to draw as a line, such as log(vocabulary), what pure guessing costs.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
    """
    figure, axes = _canvas(title)
    losses, points = _losses(train), _points(val)
    steps = np.arange(1, len(losses) + 1)
    if np.isfinite(losses).any():
        dots: dict[str, Any] = {"marker": ".", "markersize": 4} if len(losses) <= 50 else {}
        axes.plot(
            steps, losses, color="#9ecae1", linewidth=0.8, label="training, each step", **dots
        )
        width = max(1, len(losses) // 50)
        if width > 1:
            axes.plot(
                steps,
                running_mean(losses, width),
                color="#08519c",
                linewidth=1.8,
                label=f"training, mean of {width} steps",
            )
    points = points[np.isfinite(points[:, 1])]
    if len(points):
        colour = "#d94801"
        axes.plot(
            points[:, 0],
            points[:, 1],
            color=colour,
            linewidth=1.8,
            marker="o",
            markersize=5,
            label="validation",
            zorder=3,
        )
        step, last = points[-1]
        axes.annotate(
            f"{last:.3f}" if 0.1 <= last < 1000 else f"{last:.3g}",
            (step, last),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontweight="bold",
        )
    if baseline is not None:
        axes.axhline(
            baseline,
            color="#969696",
            linewidth=1,
            linestyle="--",
            label=f"guessing at random: {baseline:.2f}",
        )
    return _finish(figure, axes, path, len(losses), [losses, points[:, 1]], columns=4)


def plot_runs(path: str | Path, runs: Sequence[Curve], title: str = "") -> Path:
    """Draw several runs: of each its validation losses and, thin, the mean of its training losses.

    Args:
        path: as for :func:`plot_losses`.
        runs: what to draw, each in a colour of its own.
        title: above the picture.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
    """
    figure, axes = _canvas(title, extra=math.ceil(len(runs) / 2))
    values, longest = [], 0
    for i, run in enumerate(runs):
        losses, points = _losses(run.train), _points(run.val)
        points = points[np.isfinite(points[:, 1])]
        longest = max(longest, len(losses))
        colour = COLOURS[i % len(COLOURS)]
        line = LINES[i // len(COLOURS) % len(LINES)]
        smooth = running_mean(losses, max(1, len(losses) // 50))
        # A name that begins with _ would be left out of the legend.
        axes.plot(
            points[:, 0],
            points[:, 1],
            color=colour,
            linestyle=line,
            linewidth=2,
            marker="o",
            markersize=5,
            zorder=3,
            label=f" {_short(run.name)}",
        )
        axes.plot(
            np.arange(1, len(smooth) + 1),
            smooth,
            color=colour,
            linestyle=line,
            linewidth=0.9,
            alpha=0.6,
        )
        values += [smooth, points[:, 1]]
    axes.plot([], [], color="#636363", linewidth=2, marker="o", markersize=5, label="validation")
    axes.plot([], [], color="#636363", linewidth=0.9, alpha=0.6, label="training, running mean")
    return _finish(figure, axes, path, longest, values, columns=2)


def running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Mean of ``width`` values around each place: of fewer at both ends, and of those only that are
    finite (NaN where none is)."""
    finite = np.isfinite(values)
    known = np.stack([np.where(finite, values, 0.0), finite])
    # A difference of two sums of all so far would lose small losses after one of 1e30. A window
    # is the end of one block and the beginning of the next (van Herk, 1992).
    count = known.shape[1]
    blocks = count // width + 2
    padded = np.zeros((2, blocks * width))
    padded[:, width // 2 : width // 2 + count] = known
    padded = padded.reshape(2, blocks, width)
    heads = np.cumsum(padded, axis=2).reshape(2, -1)
    tails = np.cumsum(padded[:, :, ::-1], axis=2)[:, :, ::-1].reshape(2, -1)
    places = np.arange(count)
    inside = np.where(places % width == 0, 0.0, tails[:, places])
    sums, counts = inside + heads[:, places + width - 1]
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _canvas(title: str, extra: int = 0) -> tuple[Figure, Axes]:
    """A figure and its axes; ``extra`` lines of a legend make it higher."""
    figure = canvas(8, 4.5 + 0.2 * extra, dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats)")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        axes.set_title(title, loc="left", parse_math=False)
    return figure, axes


def _finish(
    figure: Figure,
    axes: Axes,
    path: str | Path,
    steps: int,
    values: Sequence[np.ndarray],
    columns: int,
) -> Path:
    """Set the axes for what was drawn, put the legend below them, where it covers nothing, and
    save."""
    axes.set_xlim(0, max(steps, 1) * 1.08)  # room for the number at the end
    known = np.concatenate([*values, []])
    known = known[np.isfinite(known)]
    if len(known) and known.min() > 0 and known.max() / known.min() > WIDE:
        axes.set_yscale("log")
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        legend = figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=9,
            columnspacing=1.4,
            handlelength=1.8,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return save(figure, path)


def _losses(train: Any) -> np.ndarray:
    return np.asarray(train, dtype=np.float64).reshape(-1)


def _points(val: Any) -> np.ndarray:
    return np.asarray(val, dtype=np.float64).reshape(-1, 2)


def _short(name: str, most: int = 44) -> str:
    """A name of at most ``most`` characters, whose end tells more than its beginning."""
    return name if len(name) <= most else f"...{name[3 - most :]}"
