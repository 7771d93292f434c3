"""The loss curve as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .files import write_atomically


def plot_losses(
    path: str | Path,
    train: Any,
    val: Any = (),
    title: str = "",
    baseline: float | None = None,
) -> Path:
    """Draw a training run: each step's loss, their running mean, and the validation losses.

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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A Figure of its own: no global state, no window, safe in any thread.
    figure = Figure(figsize=(8, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    losses = np.asarray(train, dtype=np.float64).reshape(-1)
    steps = np.arange(1, len(losses) + 1)
    if len(losses):
        axes.plot(steps, losses, color="#9ecae1", linewidth=0.8, label="training, each step")
        width = max(1, len(losses) // 50)
        if width > 1:
            axes.plot(
                steps,
                running_mean(losses, width),
                color="#08519c",
                linewidth=1.8,
                label=f"training, mean of {width} steps",
            )
    points = np.asarray(val, dtype=np.float64).reshape(-1, 2)
    if len(points):
        axes.plot(
            points[:, 0],
            points[:, 1],
            color="#d94801",
            linewidth=1.8,
            marker="o",
            markersize=5,
            label="validation",
            zorder=3,
        )
        step, last = points[-1]
        axes.annotate(
            f"{last:.3f}",
            (step, last),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color="#d94801",
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
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats per character)")
    axes.set_xlim(0, max(len(losses), 1) * 1.08)  # room for the number at the end
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=True, framealpha=1.0, edgecolor="none", loc="upper right")
    if title:
        axes.set_title(title, loc="left")
    path = Path(path)
    return write_atomically(
        path, lambda file: figure.savefig(file, format=path.suffix[1:] or "png")
    )


def running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Mean of ``width`` values around each place (of fewer at both ends)."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    places = np.arange(len(values))
    starts = np.maximum(places - width // 2, 0)
    ends = np.minimum(places - width // 2 + width, len(values))
    return (sums[ends] - sums[starts]) / (ends - starts)
