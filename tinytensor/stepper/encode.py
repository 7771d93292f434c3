"""A story as JSON: numbers, words and places, for the page that shows it.

The page's own words for all this are in ``pages/src/graph``; its data are described in
``docs/pages.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..draw.dot import SYMBOLS
from ..draw.layout import Box, Edge, Frame, layout
from ..draw.picture import COMPUTED, CONSTANT, Value
from ..draw.words import words_for
from ..draw.zooms.statistics import measured
from ..pages.page import as_json
from .story import Story, Told, View
from .words import Lines, about, plain_settings

SHOWN = 16  # a tensor of up to this many elements shows them in its box
COLUMNS = 8  # at most so many of them side by side
#: how many elements of one tensor a page carries, tried from the largest
SIZES = (4096, 1024, 256, 64, SHOWN)
BUDGET = 340_000  # characters; with the page itself, of 150 KB, it stays under 500 KB

# pixels
COLUMN, ROW, HEADER, MARGIN, PADDING = 56, 18, 18, 14, 10


def encode(
    story: Story,
    title: Any,
    about: Any = "",
    direction: str | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """The page's data, with as many numbers as fit into it.

    ``seconds``: how long Graphviz may take for a view.
    """
    made = _Encoder(story, direction, seconds)
    for size in SIZES:
        found = made.data(size)
        data = {"format": 1, "kind": "steps", "title": title, "about": about, **found}
        if size == SHOWN or len(as_json(data)) <= BUDGET:
            return data
    raise AssertionError("one of the sizes was returned")


class _Encoder:
    """Numbers values and steps, and writes them down."""

    def __init__(self, story: Story, direction: str | None, seconds: float | None) -> None:
        self.story, self.seconds = story, seconds
        self.values: list[Value] = []
        self.number: dict[int, int] = {}  # by id of a value
        for view in story.views:
            for value in view.values():
                self.number.setdefault(id(value), len(self.values))
                if self.number[id(value)] == len(self.values):
                    self.values.append(value)
        self.step = {id(told): i for i, told in enumerate(story.told)}
        points = {id(t): t.node.where for t in story.told if story.views[t.view].kind == "top"}
        self.lines = Lines(points.values())
        self.point = points
        self.views = [self.view(view, direction) for view in story.views]

    def data(self, size: int) -> dict[str, Any]:
        """Values, steps and views, with the numbers of tensors of up to ``size`` elements."""
        ops = {told.node.op.name: told.node.op for told in self.story.told}
        return {
            "values": [self.value(value, size) for value in self.values],
            "steps": [self.told(told, size) for told in self.story.told],
            "backward": [self.step[id(told)] for told in self.story.backward],
            "ops": {name: about(op) for name, op in sorted(ops.items())},
            "sources": self.lines.pieces,
            "views": self.views,
        }

    # ---- values ----------------------------------------------------------------------------------

    def value(self, value: Value, size: int) -> dict[str, Any]:
        array, grad = self.story.arrays.get(id(value)), self.story.grads.get(id(value))
        if value.role == CONSTANT:
            array = np.asarray(value.data)
        leaf = value.step is None and value.role != COMPUTED
        return {
            "name": value.name,
            "called": value.hint,
            "role": value.role,
            "shape": list(value.shape or ()),
            "dtype": value.dtype,
            "data": numbers(array, size, exact=leaf),
            "grad": numbers(grad, size),
            "needs_grad": value.needs_grad and value.role != CONSTANT,
            "output": value.output,
            "stats": statistics(array),
            "grad_stats": statistics(grad),
            "flags": [],
        }

    # ---- steps -----------------------------------------------------------------------------------

    def told(self, told: Told, size: int) -> dict[str, Any]:
        op = told.node.op
        return {
            "op": op.name,
            "symbol": SYMBOLS.get(op.name, op.name),
            "settings": told.step.settings,
            "params": plain_settings(told.node.params),
            "inputs": [None if v is None else self.number[id(v)] for v in told.operands],
            "names": told.names,
            "outputs": [self.number[id(value)] for _, value in sorted(told.results.items())],
            "results": sorted(told.results),
            "view": told.view,
            "opens": told.opens,
            "line": self.lines.line(self.point.get(id(told))),
            "times": 1,
            "note": "",
            "local": [_local(local, size) for local in told.locals],
            "terms": [numbers(term, size) for term in told.terms],
        }

    # ---- views -----------------------------------------------------------------------------------

    def view(self, view: View, direction: str | None) -> dict[str, Any]:
        values = view.values()
        frames = view.frames()
        place = {id(group): i for i, group in enumerate(frames)}

        def frame_of(group: Any) -> int | None:
            return None if group is None else place.get(id(group))

        boxes = [
            Box(f"s{self.step[id(told)]}", *step_size(told), frame_of(told.step.group), round=True)
            for told in view.told
        ]
        makers = {id(v): told for told in view.told for v in told.results.values()}
        boxes += [
            Box(f"v{self.number[id(value)]}", *value_size(value), self.frame(value, makers, place))
            for value in values
        ]
        edges: list[Edge] = []
        for told in view.told:
            step = f"s{self.step[id(told)]}"
            read = [v for v in told.operands if v is not None]
            words = words_for(told.node, told.operands, told.step.fused)
            labels = [w for v, w in zip(told.operands, words, strict=True) if v is not None]
            for value, label in zip(read, labels, strict=True):
                number = self.number[id(value)]
                edges.append(Edge(f"v{number}", step, number, label))
            several = len(told.step.outputs) > 1 or told.step.outputs[0].index is not None
            for place_of, value in told.results.items():
                number = self.number[id(value)]
                label = f"[{place_of}]" if several else ""
                edges.append(Edge(step, f"v{number}", number, label))
        drawn = [
            Frame(g.title, g.kind, frame_of(g.parent), g.level, g.count) for g in frames
        ]
        upright = direction or ("TB" if frames else "LR")
        return {
            "title": view.title,
            "kind": view.kind,
            "parent": view.parent,
            "step": None if view.step is None else self.step[id(view.step)],
            "steps": [self.step[id(told)] for told in view.told],
            "values": [self.number[id(value)] for value in values],
            "entering": [self.number[id(value)] for value in view.entering],
            "leaving": [self.number[id(value)] for value in view.leaving],
            "layout": layout(boxes, edges, drawn, upright, self.seconds),
        }

    def frame(self, value: Value, makers: dict[int, Told], place: dict[int, int]) -> int | None:
        """The frame a value stands in: that of its maker. Leaves stand outside."""
        maker = makers.get(id(value))
        group = None if maker is None else maker.step.group
        return None if group is None else place.get(id(group))


def step_size(told: Told) -> tuple[float, float]:
    """Width and height of an op, in pixels."""
    op, settings = told.step.title, told.step.settings
    if op in SYMBOLS and not settings:
        return 40, 40
    return 24 + max(8.5 * len(op), 6.5 * len(settings)), 48 if settings else 36


def value_size(value: Value) -> tuple[float, float]:
    """Width and height of a tensor's box, in pixels."""
    shape = value.shape or ()
    elements = int(np.prod(shape, dtype=int))
    name = 8 * len(value.name or value.hint)
    if value.role == CONSTANT:
        return COLUMN + MARGIN, ROW + PADDING
    if not 0 < elements <= SHOWN:
        return max(96, min(name, 240)) + MARGIN, HEADER + ROW + PADDING
    columns = min(shape[-1] if shape else 1, COLUMNS)
    rows = -(-elements // columns)
    if value.needs_grad:
        rows *= 2
    return max(COLUMN * columns, min(name, 240)) + MARGIN, HEADER + ROW * rows + PADDING


# ---- numbers -------------------------------------------------------------------------------------


def numbers(array: Any, size: int, exact: bool = False) -> list[Any] | None:
    """The elements in C order, or None for more than ``size`` of them, or none known.

    ``exact``: as many digits as tell the number apart; else seven.
    """
    if array is None or np.size(array) > size:
        return None
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return list(array.reshape(-1).tolist())
    if exact:
        return [float(str(x)) for x in array.reshape(-1)]
    return [float(f"{x:.7g}") for x in array.reshape(-1).tolist()]


def statistics(array: Any) -> dict[str, Any] | None:
    """Mean, standard deviation, extremes, share of zeros, and how many are NaN or infinite; None
    where all the numbers are shown."""
    if array is None or np.asarray(array).dtype.kind != "f" or np.size(array) <= SHOWN:
        return None
    found = measured(np.asarray(array))
    assert found is not None
    measures = {"mean": found.mean, "std": found.std, "min": found.low, "max": found.high}
    finite = found.bad < found.size
    return {
        **{k: float(f"{x:.5g}") if finite else None for k, x in measures.items()},
        "zero": float(f"{found.zero:.4g}"),
        "bad": found.bad,
    }


def _local(found: Any, size: int) -> dict[str, Any] | None:
    if found is None:
        return None
    if found.diagonal is not None:
        data = numbers(found.diagonal, size)
        return None if data is None else {"kind": "diagonal", "data": data}
    rows, columns = found.matrix.shape
    data = numbers(found.matrix, max(size, 256))
    return {"kind": "matrix", "rows": rows, "columns": columns, "data": data}
