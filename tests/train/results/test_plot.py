"""The loss curves: a picture comes out, whatever there is to draw, and nothing is covered."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from tinytensor.train.results.plot import COLOURS, Curve, plot_losses, plot_runs, running_mean

FALLING = np.linspace(4, 2, 500)
DIVERGED = np.concatenate([FALLING, 2 * np.exp(np.arange(80)), [np.inf, np.nan]])


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved, as they are then."""
    found: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: Any, **settings: Any) -> None:
        found.append(figure)
        save(figure, *args, **settings)

    monkeypatch.setattr(Figure, "savefig", keep)
    return found


@pytest.mark.parametrize(
    ("train", "val"),
    [
        ([], []),
        ([3.0], []),
        ([3.0, 2.0], [(2, 2.5)]),
        (FALLING, [(250, 3), (500, 2)]),
        (DIVERGED, [(250, 3), (500, np.nan), (550, 1e20), (580, np.inf)]),
        ([np.nan] * 100, [(100, np.nan)]),
        ([1e300, -1e300, 0.0], [(3, -2.0)]),
    ],
)
def test_a_picture_comes_out_and_the_legend_covers_nothing(
    tmp_path: Path, train: Any, val: Any, figures: list[Figure]
) -> None:
    from matplotlib.image import imread

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = plot_losses(tmp_path / "loss.png", train, val, title="a $run $_$", baseline=4.2)
    pixels = imread(path)
    assert pixels.shape[:2] == (675, 1200)
    assert pixels[..., :3].std() > 0.01, "it is not blank"
    figure = figures[0]
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert box.y1 <= figure.axes[0].get_tightbbox().y0, "below the axes and their labels"
    assert box.x0 >= 0 and box.x1 <= whole.x1 and box.y0 >= 0, "and inside the picture"
    assert "guessing at random: 4.20" in [text.get_text() for text in legend.get_texts()]


def test_a_diverged_run_has_a_logarithmic_axis(tmp_path: Path, figures: list[Figure]) -> None:
    plot_losses(tmp_path / "a.png", FALLING)
    plot_losses(tmp_path / "b.png", DIVERGED)
    assert [f.axes[0].get_yscale() for f in figures] == ["linear", "log"]


def test_several_runs_have_colours_and_names_of_their_own(
    tmp_path: Path, figures: list[Figure]
) -> None:
    names = ["gpt", "_lstm", "$a_b$ $", "runs/" + "x" * 80 + "/end", "\u540d"]
    names += [f"gpt-{i}" for i in range(2, 8)]
    runs = [Curve(name, FALLING, [(500, 2 + i)]) for i, name in enumerate(names)]
    runs.append(Curve("short", [4.0], []))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_runs(tmp_path / "c.png", runs, title="all")
    (figure,) = figures
    (legend,) = figure.legends
    shown = [text.get_text().strip() for text in legend.get_texts()]
    assert shown[:3] == names[:3] and shown[4:12] == [*names[4:], "short"]
    assert shown[3].startswith("...xxx") and shown[3].endswith("/end") and len(shown[3]) == 44
    assert shown[12:] == ["validation", "training, running mean"]
    lines = figure.axes[0].get_lines()[: 2 * len(runs)]
    looks = [(line.get_color(), line.get_linestyle()) for line in lines[::2]]
    assert len(set(looks)) == len(runs) > len(COLOURS)
    assert looks == [(line.get_color(), line.get_linestyle()) for line in lines[1::2]]
    box = legend.get_window_extent()
    assert box.y1 <= figure.axes[0].get_tightbbox().y0 and box.y0 >= 0


def test_the_running_mean_is_of_what_there_is() -> None:
    values = np.array([1.0, 2.0, 6.0, 4.0])
    np.testing.assert_allclose(running_mean(values, 2), [1, 1.5, 4, 5])
    np.testing.assert_allclose(running_mean(values, 3), [1.5, 3, 4, 5])
    assert running_mean(np.array([]), 5).shape == (0,)


def test_the_running_mean_leaves_out_what_is_not_finite_and_forgets_what_was_huge() -> None:
    values = np.array([1e30, 1.0, np.nan, 3.0, np.inf, np.nan, np.nan, 5.0])
    expected = [1e30, 5e29, 1.0, 3.0, 3.0, np.nan, np.nan, 5.0]
    np.testing.assert_allclose(running_mean(values, 2), expected, rtol=1e-12)
    rng = np.random.default_rng(0)
    for count, width in [(1, 7), (50, 6), (301, 60)]:
        values = rng.normal(size=count)
        windows = [
            values[max(0, i - width // 2) : i - width // 2 + width].mean() for i in range(count)
        ]
        np.testing.assert_allclose(running_mean(values, width), windows, atol=1e-12)
