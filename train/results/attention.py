"""Where a model looks: the maps of its attention for a text, and a picture of them all.

A map belongs to one layer: for each of its heads, which share of its attention each symbol that
asks (a row) gives to each symbol that it may look at (a column). Rows sum to 1.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import no_grad
from ...models import GPT, MODELS
from ...models.encoder_decoder import EncoderDecoder, padded
from ...models.ids import START
from ...nn.attention import by_layer, recording
from ...nn.evaluating import evaluating
from ..checkpoint import CheckpointError
from ..config import ConfigError
from ..data import DataError
from ..system.pictures import canvas, save
from ..tasks import Task
from ..tasks.pairs.alignment import looks_back
from ..tasks.pairs.pairs import Pairs
from ..tasks.text import TextTask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: kinds of attention, as a reader calls them
TEXT, ENCODER = "text to itself", "input to itself"
DECODER, CROSS = "answer to itself", "answer to input"
#: numbers in all maps together, beyond which a page is too large to open
MOST = 48_000_000
#: what the names of the first two symbols of an answer's rows are
BEGIN, END = "begin", "end"
#: characters that cannot be seen, as they are shown
_SIGNS = {" ": "\N{OPEN BOX}", "\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\\t"}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


@dataclass(frozen=True)
class Map:
    """The attention of one layer.

    Attributes:
        kind: what looks at what; one of the constants above.
        layer: its number among those of this kind, from 1.
        queries, keys: names of the rows and of the columns, fit to be shown.
        weights: (heads, len(queries), len(keys)), float32.
    """

    kind: str
    layer: int
    queries: list[str]
    keys: list[str]
    weights: np.ndarray

    @property
    def title(self) -> str:
        """Such as ``text to itself, layer 2``."""
        return f"{self.kind}, layer {self.layer}"

    @property
    def answer(self) -> str:
        """What the rows write, where they write an answer."""
        return "".join(self.queries[:-1]) if self.kind == CROSS else ""


def shown(symbol: str) -> str:
    """A symbol as a label: one that has no look of its own as a sign or an escape."""
    if symbol in _SIGNS:
        return _SIGNS[symbol]
    return "".join(map(_visible, symbol))


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in _UNSEEN:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return f"\N{DOTTED CIRCLE}{character}" if kind.startswith("M") else character


# ---- maps ----------------------------------------------------------------------------------------


def maps(model: Any, task: Task, text: str) -> list[Map]:
    """What a model attends to, for a text: a GPT's prompt, or an input that is to be answered.

    Args:
        model, task: of a checkpoint; the model is on the CPU.
        text: what to read. A GPT reads at most ``block_size`` symbols.

    Returns:
        A map for each layer of each kind. Nothing is drawn from a generator.

    Raises:
        ConfigError: the model has no attention. DataError: the text is not fit for it.
        CheckpointError: the weights of attention are not finite.
    """
    check_attends(model, task)
    if isinstance(task, TextTask):
        found = _of_text(model, task, text)
    else:
        assert isinstance(task, Pairs)
        found = _of_pairs(model, task, text)
    if not all(np.isfinite(one.weights).all() for one in found):
        raise CheckpointError(
            "checkpoint: the weights of attention are not finite, as after training has diverged"
        )
    return found


def check_attends(model: Any, task: Task) -> None:
    """Raise ConfigError where the model has no attention."""
    kinds = ((GPT, TextTask), (EncoderDecoder, Pairs))
    if not any(isinstance(model, one) and isinstance(task, other) for one, other in kinds):
        raise ConfigError(f"model: {_name(model)} has no attention; {_having()} have")


def _name(model: Any) -> str:
    return next((name for name, (kind, _) in MODELS.items() if type(model) is kind), "it")


def _having() -> str:
    """The names of the models with attention."""
    *some, last = (
        name for name, (kind, _) in MODELS.items() if issubclass(kind, (GPT, EncoderDecoder))
    )
    return f"{', '.join(some)} and {last}"


def _of_text(model: GPT, task: TextTask, text: str) -> list[Map]:
    most = model.config.block_size
    if not 0 < len(text) <= most:
        raise DataError(
            f"text: expected 1 to {most} characters, as many as this model reads at once, got "
            f"{len(text)}"
        )
    layers = len(model.h)
    _check_size(layers * model.config.n_head * len(text) ** 2)
    ids = task.tokenizer.encode(text)[None]
    symbols = list(map(shown, text))
    return [
        Map(TEXT, i, symbols, symbols, weights)
        for i, (_, weights) in enumerate(_recorded(model, ids), 1)
    ]


def _of_pairs(model: EncoderDecoder[Any], task: Pairs, text: str) -> list[Map]:
    text = task.read(text)
    answer = task.answer(model, text)
    answer = answer[: model.config.block_size - 1]  # of one that never ends, its end fits too
    source, given = task.encode(text), [START, *task.encode(answer)]
    read = list(map(shown, text))
    before, after = [BEGIN, *map(shown, answer)], [*map(shown, answer), END]
    labels = {ENCODER: (read, read), DECODER: (before, before), CROSS: (after, read)}
    names = {id(layer): name for name, layer in model.named_modules()}
    found: dict[str, list[np.ndarray]] = {ENCODER: [], DECODER: [], CROSS: []}
    for layer, weights in _recorded(model, padded([source]), padded([given])):
        name = names[id(layer)]
        kind = CROSS if looks_back(name, layer) else DECODER
        found[ENCODER if name.startswith("encoder") else kind].append(weights)
    if not any(found.values()):
        raise ConfigError(f"model: {_name(model)} has no attention; {_having()} have")
    return [
        Map(kind, i, *labels[kind], weights)
        for kind, layers in found.items()
        for i, weights in enumerate(layers, 1)
    ]


def _recorded(model: Any, *inputs: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Each layer that attends, and its weights (heads, queries, keys)."""
    quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with no_grad(), evaluating(model), quiet, recording() as calls:
        model(*inputs)
    for layer, weights in by_layer(calls):
        yield layer, weights[0].astype(np.float32)


def _check_size(count: int) -> None:
    if count > MOST:
        raise DataError(
            f"text: its maps have {count:,} weights, more than {MOST:,}; a shorter one has fewer"
        )


# ---- the picture ---------------------------------------------------------------------------------

#: inches: of a symbol with its name, of a panel at least and at most, around all panels
SYMBOL, SMALLEST, LARGEST, HEAD, EDGE = 0.15, 1.3, 3.6, 0.75, 0.25
#: how fast colours deepen: small shares a little deeper, so that they can be seen
DEPTH = 0.7
#: more pixels than this in a picture are too many
PIXELS = 40_000_000


def picture(path: str | Path, found: Sequence[Map], title: str) -> Path:
    """Draw all maps: a row of panels for each layer, a panel for each head.

    Args:
        path: the file, ``.png`` (or any ending matplotlib knows).
        title: above the picture.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
    """
    heights = [_inches(len(one.queries)) for one in found]
    width_of = [_inches(len(one.keys)) for one in found]
    label = [0.12 + 0.075 * max(map(len, one.queries)) if _named(one) else 0.12 for one in found]
    above = [0.1 + 0.075 * max(map(len, one.keys)) if _named(one) else 0.1 for one in found]
    heads = [len(one.weights) for one in found]
    gap = 0.22
    widths = [
        left + count * (panel + gap) for left, panel, count in zip(label, width_of, heads)
    ]
    width = max(7.5, 2 * EDGE + max(widths))
    tall = [high + 0.72 + names for high, names in zip(heights, above)]
    height = HEAD + sum(tall) + EDGE
    dpi = min(120.0, math.sqrt(PIXELS / (width * height)), 60_000 / max(width, height))
    figure = canvas(width, height, dpi=dpi)
    figure.text(
        EDGE / width, 1 - 0.28 / height, _cut(title, int(width * 9)), fontsize=12,
        fontweight="bold", va="center", parse_math=False,
    )  # fmt: skip
    note = "Rows look, columns are looked at; below each map, the share that is darkest in it."
    figure.text(EDGE / width, 1 - 0.53 / height, note, fontsize=8.5, va="center", color="#555555")
    down = height - HEAD
    for one, panel, left, whole, wide in zip(found, heights, label, tall, width_of):
        figure.text(
            EDGE / width, (down - 0.2) / height, one.title, fontsize=10, va="center",
            color="#08519c",
        )  # fmt: skip
        bottom = down - whole + 0.17
        for head, weights in enumerate(one.weights):
            x = EDGE + left + head * (wide + gap)
            axes = figure.add_axes((x / width, bottom / height, wide / width, panel / height))
            full = full_colour(weights)
            _draw_map(axes, one, weights, full, first=head == 0)
            share = f"{full:.0%}" if full >= 0.1 else f"{full:.1%}"
            what = f"head {head + 1}: {share}" if len(one.weights) > 1 else share
            figure.text(
                (x + wide / 2) / width, (bottom - 0.1) / height, what, fontsize=7.5, ha="center",
                va="center", color="#555555",
            )  # fmt: skip
        down -= whole
    return save(figure, path)


def _inches(symbols: int) -> float:
    return min(LARGEST, max(SMALLEST, symbols * SYMBOL))


def _named(one: Map) -> bool:
    """Whether there is room for the names of rows and columns."""
    return max(len(one.queries), len(one.keys)) * SYMBOL <= LARGEST


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def full_colour(weights: np.ndarray) -> float:
    """The share (rows, columns) that gets the full colour: of nine rows in ten none is larger. A
    few may be, such as the first symbol of a text, which sees itself only."""
    return max(float(np.quantile(weights.max(axis=1), 0.9, method="lower")), 1e-30)


def _draw_map(axes: Axes, one: Map, weights: np.ndarray, full: float, first: bool) -> None:
    rows, columns = weights.shape
    axes.imshow(
        np.minimum(weights / full, 1) ** DEPTH, cmap="Blues", vmin=0, vmax=1, aspect="auto",
        interpolation="nearest" if _named(one) else "antialiased",
    )  # fmt: skip
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_color("#bbbbbb")
    axes.xaxis.tick_top()
    axes.set_xticks([])
    axes.set_yticks([])
    if _named(one):
        font: dict[str, Any] = {"fontsize": 7.5, "family": "DejaVu Sans Mono", "parse_math": False}
        turned = 90 if max(map(len, one.keys)) > 1 else 0
        axes.set_xticks(range(columns), one.keys, rotation=turned, **font)
        if first:
            axes.set_yticks(range(rows), one.queries, **font)
