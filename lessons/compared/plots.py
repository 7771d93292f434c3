"""The three plots: time, memory, and how far a symbol is copied."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tinytensor.train.system.pictures import COLOURS, canvas

from .bodies import KINDS, LAYERS
from .copying import CHANCE
from .measure import Growth
from .sentences import Measured, weights_of_pairs

MARKS = ("o", "s", "D", "^", "v", "X")
#: the same file from the same numbers
_SETTINGS = {"svg.hashsalt": "tinytensor", "font.size": 9.5}


def draw(m: Measured, folder: Path) -> list[Path]:
    """Write the three as SVG; returns their paths."""
    plots: dict[str, Callable[[Measured], Figure]]
    plots = {"time": times, "memory": memory, "copy": copying}
    paths = []
    for name, plot in plots.items():
        with matplotlib.rc_context(_SETTINGS):
            figure = plot(m)
            about = [m.facts[key] for key in ("cpu", "versions", "day")]
            figure.supxlabel(" · ".join(about), fontsize=7, color="#6b6b6b")
            content = BytesIO()
            figure.savefig(content, format="svg", metadata={"Date": None})
        paths.append(folder / f"comparison-{name}.svg")
        text = "\n".join(line.rstrip() for line in content.getvalue().decode().splitlines())
        paths[-1].write_text(text + "\n", encoding="utf-8")
    return paths


def _lines(axes: Any, growths: dict[str, Growth], scale: float, sizes: list[int]) -> None:
    """A line for each kind on logarithmic axes, with the sizes as ticks."""
    for kind, colour, mark in zip(KINDS, COLOURS, MARKS):
        costs = np.array(growths[kind.key].costs) * scale
        axes.plot(sizes, costs, color=colour, marker=mark, markersize=4.5, label=kind.name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _guide(axes: Any, sizes: list[int], start: float, power: int, text: str) -> None:
    """A grey line that shows a slope."""
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    axes.plot(ends, start * (ends / ends[0]) ** power, color="#9a9a9a", linestyle=":", zorder=0)
    axes.annotate(
        text, (ends[1], start * (ends[1] / ends[0]) ** power), xytext=(-3, 3),
        textcoords="offset points", ha="right", va="bottom", color="#6b6b6b", fontsize=8,
    )  # fmt: skip


def _legend(figure: Figure, axes: Any, columns: int, **settings: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    place = "outside upper center"
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, **settings)


def times(m: Measured) -> Figure:
    """Time of a step, by length and by width."""
    figure = canvas(9, 4.4, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    first = m.by_length["attention"]
    _lines(left, m.by_length, 1e3, first.sizes)
    least = 1e3 * min(growth.costs[0] for growth in m.by_length.values())
    _guide(left, first.sizes, 0.6 * least, 1, "n")
    _guide(left, first.sizes, 0.6 * least, 2, "n²")
    left.set_xlabel("length n")
    left.set_ylabel("time of a step, forward and back (ms)")
    widths = [size // m.by_width["attention"].sizes[0] for size in m.by_width["attention"].sizes]
    _lines(right, m.by_width, 1e3, widths)
    least = 1e3 * min(growth.costs[0] for growth in m.by_width.values())
    _guide(right, widths, 0.6 * least, 2, "d²")
    right.set_xlabel("width, in multiples of each kind's own d")
    _legend(figure, left, len(KINDS), columnspacing=1.2, handlelength=1.6)
    return figure


def memory(m: Measured) -> Figure:
    """Peak memory of a step, by length."""
    figure = canvas(7.2, 4.2, layout="constrained")
    axes = figure.subplots()
    sizes = m.memory["attention"].sizes
    _lines(axes, m.memory, 1e-6, sizes)
    pairs = [weights_of_pairs(m.batch, size) * 1e-6 for size in sizes]
    axes.plot(sizes, pairs, color="#9a9a9a", linestyle=":", zorder=0)
    axes.annotate(
        "a weight for each pair", (sizes[-1], pairs[-1]), xytext=(-6, 0), color="#6b6b6b",
        textcoords="offset points", ha="right", va="center", fontsize=8,
    )  # fmt: skip
    axes.set_xlabel("length n")
    axes.set_ylabel("most memory in a step (MB)")
    _legend(figure, axes, 3)
    return figure


def copying(m: Measured) -> Figure:
    """A table of colours: kinds by distances, with the share of right answers."""
    distances = m.budget.distances
    shares = np.array([[result.accuracy for result in m.copies[kind.key]] for kind in KINDS])
    figure = canvas(1.9 + 0.85 * len(distances), 3.6, layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        colour = "black" if share > 0.55 else "white"
        axes.text(column, row, f"{share:.0%}", ha="center", va="center", color=colour)
    for row, kind in enumerate(KINDS):
        if kind.reach is not None:  # the wall that no training gets over
            wall = sum(distance <= LAYERS * kind.reach for distance in distances) - 0.5
            axes.plot([wall, wall], [row - 0.47, row + 0.47], color=COLOURS[1], linewidth=3)
    axes.set_xticks(range(len(distances)), [str(distance) for distance in distances])
    axes.set_yticks(range(len(KINDS)), [kind.name for kind in KINDS])
    axes.set_xlabel("distance of the symbol to be copied (orange: as far as the layers reach)")
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_ticks([CHANCE, 0.5, 1], labels=["guessing", "50%", "100%"])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure
