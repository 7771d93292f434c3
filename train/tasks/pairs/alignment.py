"""Where a model looks in its input for each symbol that it writes: as numbers, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import no_grad
from ....models.encoder_decoder import padded
from ....models.ids import START
from ....nn import AdditiveAttention
from ....nn.attention import by_layer, recording
from ....nn.evaluating import evaluating
from ...system.pictures import canvas, save

if TYPE_CHECKING:
    from .pairs import Pairs

#: inches of a square, of what is around a map, and between maps
SQUARE, LEFT, RIGHT, TOP, BOTTOM, BETWEEN = 0.24, 0.62, 0.25, 1.35, 0.25, 0.85


def looks_back(name: str, layer: Any) -> bool:
    """Whether a layer of a model attends from what is written to what was read."""
    return isinstance(layer, AdditiveAttention) or name.split(".")[-1] == "cross_attn"


def alignment(model: Any, source: Sequence[int], answer: Sequence[int]) -> np.ndarray:
    """How much each symbol of ``answer``, and its end, looks at each of ``source``.

    Args:
        model: an encoder and decoder with attention.
        source, answer: ids, without START and END; ``answer`` is shorter than ``block_size``.

    Returns:
        (len(answer) + 1, len(source)): each row is >= 0 and sums to 1; the mean over all heads, and
        over all layers if there are several.
    """
    given = padded([[START, *answer]])
    with no_grad(), evaluating(model), recording() as maps:
        model(padded([source]), given)
    back = {id(layer) for name, layer in model.named_modules() if looks_back(name, layer)}
    found = by_layer([one for one in maps if id(one[0]) in back])
    return np.mean([weights[0].mean(axis=0) for _, weights in found], axis=0)


def plot_alignments(path: str | Path, task: Pairs, model: Any, texts: Sequence[str]) -> Path:
    """Draw the :func:`alignment` of some inputs and what the model answers: a map for each, its
    columns the input's characters, its rows those of the answer, the darker the more attention.

    Args:
        path: the file, ``.png`` (or any ending matplotlib knows).
        texts: the inputs.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
    """
    most = model.config.block_size - 1  # an answer that never ends is cut, so that its end fits
    answers = [task.answer(model, text)[:most] for text in texts]
    maps = [
        alignment(model, task.encode(text), task.encode(answer))
        for text, answer in zip(texts, answers, strict=True)
    ]
    width = max(8.0, LEFT + max(weights.shape[1] for weights in maps) * SQUARE + RIGHT)
    rows_of_all = sum(map(len, maps))
    height = TOP + rows_of_all * SQUARE + (len(maps) - 1) * BETWEEN + BOTTOM
    figure = canvas(width, height, dpi=100)
    title = f"Where {type(model).__name__} looks in its input"
    legend = "A row for each character that it writes: the darker, the more attention"
    place: dict[str, Any] = {"x": 0.2 / width, "va": "center", "parse_math": False}
    figure.text(y=1 - 0.3 / height, s=title, fontsize=12, fontweight="bold", **place)
    figure.text(y=1 - 0.58 / height, s=legend, fontsize=10, **place)
    top = height - TOP
    for text, answer, weights in zip(texts, answers, maps, strict=True):
        rows, columns = weights.shape
        top -= rows * SQUARE
        box = (LEFT / width, top / height, columns * SQUARE / width, rows * SQUARE / height)
        axes = figure.add_axes(box)
        axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axes.set_title(f"{text}  →  {answer}", loc="left", fontsize=10, pad=22, parse_math=False)
        axes.xaxis.tick_top()
        _label(axes, "x", text)
        _label(axes, "y", [*answer, "end"])
        axes.set_xticks(np.arange(0.5, columns), minor=True)
        axes.set_yticks(np.arange(0.5, rows), minor=True)
        axes.grid(which="minor", color="#dddddd", linewidth=0.5)
        axes.tick_params(which="both", length=0)
        top -= BETWEEN
    return save(figure, path)


def _label(axes: Any, axis: str, symbols: Sequence[str]) -> None:
    """Write a symbol at each column or row; a space is shown as one."""
    shown = ["\N{OPEN BOX}" if symbol == " " else symbol for symbol in symbols]
    getattr(axes, f"set_{axis}ticks")(np.arange(len(shown)), shown, fontsize=10, parse_math=False)
