"""The loss curve: a picture comes out, whatever there is to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinytensor.train.plot import plot_losses, running_mean


@pytest.mark.parametrize(
    ("train", "val"),
    [
        ([], []),
        ([3.0], []),
        ([3.0, 2.0], [(2, 2.5)]),
        (np.linspace(4, 2, 500), [(250, 3), (500, 2)]),
    ],
)
def test_a_picture_comes_out(tmp_path: Path, train: Any, val: Any) -> None:
    from matplotlib.image import imread

    path = plot_losses(tmp_path / "loss.png", train, val, title="a $run", baseline=4.2)
    pixels = imread(path)
    assert pixels.shape[:2] == (675, 1200)
    assert pixels[..., :3].std() > 0.01, "it is not blank"


def test_the_running_mean_is_of_what_there_is() -> None:
    values = np.array([1.0, 2.0, 6.0, 4.0])
    np.testing.assert_allclose(running_mean(values, 2), [1, 1.5, 4, 5])
    np.testing.assert_allclose(running_mean(values, 3), [1.5, 3, 4, 5])
