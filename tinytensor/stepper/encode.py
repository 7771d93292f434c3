"""A story as JSON: numbers, words and places, for the page that shows it.

The page's own words for all this are in ``pages/src/graph``; its data are described in
``docs/pages.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..draw.picture import COMPUTED, CONSTANT, Value
from ..draw.words import SYMBOLS, words_for
from ..pages.page import as_json
from ..shown.statistics import Stats, measured
from .boxes import SHOWN, Drawn, op_size, place, value_size
from .story import Story, Told, View
from .values import entry, numbers
from .words import Lines, about, plain_settings

#: how many elements of one tensor a page carries, tried from the largest
SIZES = (4096, 1024, 256, 64, SHOWN)
BUDGET = 340_000  # characters; with the page itself, of 150 KB, it stays under 500 KB


def steps_data(
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
        self.values = list({id(v): v for view in story.views for v in view.values()}.values())
        self.number = {id(value): i for i, value in enumerate(self.values)}
        self.step = {id(told): i for i, told in enumerate(story.told)}
        self.point = {id(t): t.node.where for t in story.told if story.views[t.view].kind == "top"}
        self.lines = Lines(self.point.values())
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
        data, gradient = numbers(array, size, exact=leaf), numbers(grad, size)
        why = None if data is not None else "large"
        why = self.story.unknown.get(id(value), why) if array is None else why
        return entry(value, data, gradient, _measured(array), _measured(grad), why)

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
        groups = view.groups()
        boxes = [(self.number[id(value)], value, value_size(value)) for value in values]
        drawn = [self.drawn(told) for told in view.told]
        upright = direction or ("TB" if groups else "LR")
        return {
            "title": view.title,
            "kind": view.kind,
            "parent": view.parent,
            "step": None if view.step is None else self.step[id(view.step)],
            "steps": [self.step[id(told)] for told in view.told],
            "values": [self.number[id(value)] for value in values],
            "entering": [self.number[id(value)] for value in view.entering],
            "leaving": [self.number[id(value)] for value in view.leaving],
            "layout": place(drawn, boxes, groups, upright, self.seconds),
        }

    def drawn(self, told: Told) -> Drawn:
        """A step with its arrows."""
        words = words_for(told.node, told.operands, told.step.fused)
        reads = [(v, w) for v, w in zip(told.operands, words, strict=True) if v is not None]
        several = len(told.step.outputs) > 1 or told.step.outputs[0].index is not None
        makes = [(value, f"[{i}]" if several else "") for i, value in told.results.items()]
        return Drawn(self.step[id(told)], op_size(told.step), told.step.group, reads, makes)


def _measured(array: Any) -> Stats | None:
    """Statistics of fractions; None where all the numbers are shown."""
    if array is None or np.asarray(array).dtype.kind != "f" or np.size(array) <= SHOWN:
        return None
    return measured(np.asarray(array))


def _local(found: Any, size: int) -> dict[str, Any] | None:
    if found is None:
        return None
    if found.diagonal is not None:
        data = numbers(found.diagonal, size)
        return None if data is None else {"kind": "diagonal", "data": data}
    rows, columns = found.matrix.shape
    data = numbers(found.matrix, max(size, 256))
    return {"kind": "matrix", "rows": rows, "columns": columns, "data": data}
