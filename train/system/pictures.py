"""Pictures: matplotlib without global state or a window, safe in any thread."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: colours that people who see red and green alike can tell apart (Okabe and Ito, 2008)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def canvas(width: float, height: float, **settings: Any) -> Figure:
    """An empty figure, ``width`` by ``height`` inches.

    Args:
        settings: of matplotlib's Figure, such as ``dpi`` and ``layout``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), **settings)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure into a file whose ending says of which kind it is, PNG without one; a
    character that no font has is drawn as a box.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
        ValueError: there is no such kind.
    """
    kind = Path(path).suffix[1:] or "png"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        return write_atomically(path, lambda file: figure.savefig(file, format=kind))
