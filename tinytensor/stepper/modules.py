"""A picture as the data of a page in which modules open: a view for each, with its parts folded."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..draw.fold import add_flags, copies, home
from ..draw.labels import inside_words, name_of
from ..draw.picture import CONSTANT, PARAMETER, Group, Picture, Step, Value
from ..draw.words import SYMBOLS, flag_words
from ..draw.zooms.inside import path_of
from ..shown.statistics import Stats
from .boxes import SHOWN, Drawn, op_size, place, value_size
from .values import entry, numbers
from .words import Lines, about, plain_settings

VIEWS = 200  # modules that can be opened; those beyond stay folded
BOXES = 400  # in one view; a module with more is not opened
ARRAYS = 256  # elements of a tensor whose numbers are all in the page


def graph_data(
    picture: Picture, title: str, direction: str | None = None, seconds: float | None = None
) -> dict[str, Any]:
    """What the page shows of a picture with every module open, in which equal ones may be one.

    Args:
        seconds: how long Graphviz may take for a view.

    Raises:
        TooSlow: it took longer.
        NoRenderer: there is no Graphviz to lay out the views with.
        ValueError: more than ``BOXES`` boxes are in the first view.
    """
    return _Modules(picture, title, direction, seconds).data()


@dataclass(eq=False)
class _Shown:
    """A step as it is drawn in its view: an op, or a folded module."""

    step: Step
    view: int
    module: Group | None = None
    inputs: list[Value] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    ops: int = 0
    parameters: tuple[int, int] = (0, 0)
    flags: dict[str, int] = field(default_factory=dict)
    counted: set[int] = field(default_factory=set)  # ids of the parameters that are in the count
    opens: int | None = None


@dataclass(eq=False)
class _View:
    """A module, or the whole (``group`` None): the steps drawn in it."""

    group: Group | None
    title: str
    parent: int | None = None
    opener: _Shown | None = None
    shown: list[_Shown] = field(default_factory=list)

    def values(self) -> list[Value]:
        found = {id(v): v for shown in self.shown for v in (*shown.inputs, *shown.outputs)}
        return list(found.values())


class _Modules:
    def __init__(
        self, picture: Picture, title: str, direction: str | None, seconds: float | None
    ) -> None:
        self.picture, self.title = picture, title
        self.direction, self.seconds = direction, seconds
        self.readers = picture.readers()
        self.shown: list[_Shown] = []
        self.views: list[_View] = [_View(None, title)]
        waiting = deque([0])
        while waiting:
            number = waiting.popleft()
            view = self.views[number]
            self.fill(view, number)
            for shown in view.shown:
                if shown.module is None or len(self.views) >= VIEWS:
                    continue
                shown.opens = len(self.views)
                self.views.append(_View(shown.module, path_of(shown.module), number, shown))
                waiting.append(shown.opens)
        boxes = {i: len(v.shown) + len(v.values()) for i, v in enumerate(self.views)}
        if boxes[0] > BOXES:
            raise ValueError(
                f"this page would begin with {boxes[0]:,} boxes, the limit is {BOXES:,}: put parts "
                "into modules, which are folded, or draw one of them with module='path'"
            )
        self.keep([i for i in boxes if boxes[i] <= BOXES])
        self.values = list({id(v): v for view in self.views for v in view.values()}.values())
        self.number = {id(value): i for i, value in enumerate(self.values)}
        self.place = {id(shown): i for i, shown in enumerate(self.shown)}
        self.lines = Lines(shown.step.where for shown in self.shown if shown.module is None)

    def keep(self, wanted: list[int]) -> None:
        """Only these views, and those they can be reached from."""
        kept: dict[int, int] = {}
        for i, view in enumerate(self.views):
            if i in wanted and (view.parent is None or view.parent in kept):
                kept[i] = len(kept)
        self.views = [self.views[i] for i in kept]
        for view in self.views:
            view.parent = None if view.parent is None else kept[view.parent]
            for shown in view.shown:
                shown.view = kept[shown.view]
                shown.opens = None if shown.opens is None else kept.get(shown.opens)
        self.shown = [shown for view in self.views for shown in view.shown]

    # ---- what is drawn in which view -------------------------------------------------------------

    def fill(self, view: _View, number: int) -> None:
        """The steps of a view: ops directly in it, and a box for each module inside."""
        depth = 1 if view.group is None else view.group.level + 1
        into: dict[int, _Shown] = {}  # by id of a folded group
        whose: dict[int, _Shown] = {}  # by id of a step
        steps: list[Step] = []
        for step in self.picture.steps:
            chain = step.group.chain() if step.group is not None else []
            if view.group is not None and view.group not in chain:
                continue
            steps.append(step)
            hidden = next((group for group in chain if group.level >= depth), None)
            if hidden is None:
                shown = _Shown(step, number)
                view.shown.append(shown)
            elif id(hidden) in into:
                shown = into[id(hidden)]
            else:
                shown = into[id(hidden)] = _Shown(step, number, hidden)
                view.shown.append(shown)
            whose[id(step)] = shown
            if hidden is not None:
                shown.ops += copies(step.group, hidden)
        for step in steps:
            self.connect(step, whose[id(step)], whose)

    def connect(self, step: Step, shown: _Shown, whose: dict[int, _Shown]) -> None:
        """What a step reads and makes, if that is drawn: what stays in a box is not."""
        for value, label in zip(step.inputs, step.labels, strict=True):
            if shown.module is None:
                shown.inputs.append(value)
                shown.labels.append(label)
                continue
            alone = {id(whose.get(id(s))) for s in self.readers[id(value)]} == {id(shown)}
            if value.step is not None:
                crosses = whose.get(id(value.step)) is not shown
            else:
                crosses = (value.brought or not alone) and value.role != CONSTANT
            if crosses:
                if not any(other is value for other in shown.inputs):
                    shown.inputs.append(value)
                    shown.labels.append("")
            elif value.role == PARAMETER and id(value) not in shown.counted:
                shown.counted.add(id(value))
                tensors, size = shown.parameters
                times = copies(home(value, self.readers[id(value)]), shown.module)
                shown.parameters = tensors + times, size + times * value.size
                add_flags(shown.flags, value.flags)
        for value in step.outputs:
            leaves = value.output or any(
                whose.get(id(s)) is not shown for s in self.readers.get(id(value), [])
            )
            if shown.module is None or leaves:
                shown.outputs.append(value)
            else:
                add_flags(shown.flags, value.flags)

    # ---- as JSON ---------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        ops = {shown.step.op.name: shown.step.op for shown in self.shown if shown.module is None}
        return {
            "format": 1,
            "kind": "graph",
            "title": self.title,
            "about": "\n".join(self.picture.notes),
            "values": [self.value(value) for value in self.values],
            "steps": [self.step(shown) for shown in self.shown],
            "backward": [],
            "ops": {name: about(op) for name, op in sorted(ops.items())},
            "sources": self.lines.pieces,
            "views": [self.view(view) for view in self.views],
        }

    def value(self, value: Value) -> dict[str, Any]:
        data, grad = value.data, value.grad
        if value.changed:  # these are no longer what the op saw
            data = None
        if value.looked is not None and value.looked.array is not None:
            data = value.looked.array
        if value.grad_looked is not None and value.grad_looked.array is not None:
            grad = value.grad_looked.array
        found = entry(value, _flat(data), _flat(grad), _some(value.stats), _some(value.grad_stats))
        return found | {"said": list(value.flags.values())}

    def step(self, shown: _Shown) -> dict[str, Any]:
        step, module = shown.step, shown.module
        known = {
            "view": shown.view,
            "opens": shown.opens,
            "outputs": [self.number[id(value)] for value in shown.outputs],
            "results": [value.index or 0 for value in shown.outputs],
        }
        if module is not None:
            words = Step(module.title, module=module, ops=shown.ops, parameters=shown.parameters)
            note = ", ".join([inside_words(words), *flag_words(shown.flags)])
            return known | {
                "op": module.kind,
                "symbol": name_of(module),
                "settings": module.kind if module.kind != module.title else "",
                "params": None,
                "inputs": [self.number[id(value)] for value in shown.inputs],
                "names": [""] * len(shown.inputs),
                "line": None,
                "times": module.count,
                "note": note,
                "local": [None] * len(shown.inputs),
                "terms": [None] * len(shown.inputs),
            }
        names = () if step.op.variadic else step.op.inputs
        return known | {
            "op": step.op.name,
            "symbol": SYMBOLS.get(step.op.name, step.op.name),
            "settings": step.settings,
            "params": plain_settings(step.params),
            "inputs": [None if value is None else self.number[id(value)] for value in step.reads],
            "names": [names[i] if i < len(names) else "" for i in range(len(step.reads))],
            "line": self.lines.line(step.where),
            "times": 1,
            "note": "",
            "local": [None] * len(step.reads),
            "terms": [None] * len(step.reads),
        }

    def view(self, view: _View) -> dict[str, Any]:
        values = view.values()
        inner = {id(v) for shown in view.shown for v in shown.outputs}
        entering = [] if view.group is None else [v for v in values if self.enters(v, inner)]
        leaving = [v for shown in view.shown for v in shown.outputs if self.leaves(v, view)]
        return {
            "title": view.title,
            "kind": "top" if view.group is None else "module",
            "parent": view.parent,
            "step": None if view.opener is None else self.place[id(view.opener)],
            "steps": [self.place[id(shown)] for shown in view.shown],
            "values": [self.number[id(value)] for value in values],
            "entering": [self.number[id(value)] for value in entering],
            "leaving": [self.number[id(value)] for value in leaving],
            "layout": self.layout(view, values),
        }

    def enters(self, value: Value, inner: set[int]) -> bool:
        if value.step is not None:
            return id(value) not in inner
        return value.brought

    def leaves(self, value: Value, view: _View) -> bool:
        own = view.group
        readers = self.readers.get(id(value), [])
        return value.output or any(
            own is not None and (s.group is None or own not in s.group.chain()) for s in readers
        )

    def layout(self, view: _View, values: list[Value]) -> dict[str, Any]:
        frames: dict[int, Group] = {}
        start = 0 if view.group is None else view.group.level + 1
        for shown in view.shown:
            around = around_of(shown)
            for group in around.chain() if around is not None else ():
                if group.level >= start or (group.kind == "reference" and group is not view.group):
                    frames.setdefault(id(group), group)
        if view.group is not None:
            outer = {id(group) for group in view.group.chain()}
            frames = {i: group for i, group in frames.items() if i not in outer}
        drawn = [
            Drawn(
                self.place[id(shown)],
                self.size(shown),
                around_of(shown),
                list(zip(shown.inputs, shown.labels, strict=True)),
                [(v, "" if v.index is None else f"[{v.index}]") for v in shown.outputs],
                round=shown.module is None,
            )
            for shown in view.shown
        ]
        boxes = [(self.number[id(value)], value, box_size(value)) for value in values]
        groups = list(frames.values())
        return place(drawn, boxes, groups, self.direction or "TB", self.seconds)

    def size(self, shown: _Shown) -> tuple[float, float]:
        """Width and height of a step in pixels."""
        if shown.module is None:
            return op_size(shown.step)
        kind = shown.module.kind if shown.module.kind != shown.module.title else ""
        title = len(name_of(shown.module)) + (4 if shown.module.count > 1 else 0)
        note = len(self.step(shown)["note"])
        return 28 + max(9 * title, 6.2 * len(kind), 6.2 * note), 64 if kind else 50


def around_of(shown: _Shown) -> Group | None:
    """The frame that a step or a folded module stands in."""
    return shown.step.group if shown.module is None else shown.module.parent


def box_size(value: Value) -> tuple[float, float]:
    """Width and height of a tensor's box in pixels, with room for statistics and flags."""
    width, height = value_size(value)
    known = value.looked is not None and value.looked.array is not None
    if value.data is not None or known and value.size <= SHOWN:
        return width, height
    lines = 1 + (value.stats is not None) + (value.grad_stats is not None) + bool(value.flags)
    words = max((len(kind) for kind in (", ".join(value.flags),)), default=0)
    return max(width, 146 if lines > 1 else width, 24 + 7 * words), 24 + 16 * lines


def _flat(data: Any) -> list[Any] | None:
    return None if data is None else numbers(np.asarray(data), ARRAYS, exact=True)


def _some(stats: Stats | None) -> Stats | None:
    """Statistics of more than one number."""
    return None if stats is None or stats.size <= 1 else stats
