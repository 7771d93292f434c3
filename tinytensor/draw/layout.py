"""Where things stand: Graphviz lays out boxes of given sizes, and says so in pixels.

For pages, which draw by themselves; still pictures are drawn by Graphviz whole (``dot.py``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .dot_labels import quote
from .render import render

POINTS = 0.75  # a pixel is 1/96 inch, a point 1/72


@dataclass(frozen=True)
class Box:
    """Something to be placed: its key, its size in pixels, and the frame that it stands in."""

    key: str
    width: float
    height: float
    frame: int | None = None
    round: bool = False


@dataclass(frozen=True)
class Edge:
    """An arrow from one key to another, which carries a value and may have a word on it."""

    start: str
    end: str
    value: int
    label: str = ""


@dataclass(frozen=True)
class Frame:
    """A frame around boxes. ``parent``: the place in the list of the frame around it."""

    title: str
    kind: str
    parent: int | None = None
    level: int = 0
    times: int = 1


def layout(
    boxes: Sequence[Box],
    edges: Sequence[Edge],
    frames: Sequence[Frame] = (),
    direction: str = "LR",
    seconds: float | None = None,
) -> dict[str, Any]:
    """Positions in pixels, y downwards.

    Args:
        frames: a frame stands behind the one that it is in.
        direction: "LR" or "TB".
        seconds: how long it may take.

    Returns:
        ``width``, ``height``; ``nodes``: by key [x, y, width, height] of its centre; ``edges`` in
        the order given, with ``path`` (an SVG path), ``head`` (where the arrow's tip is) and ``at``
        (the middle of the word); ``frames`` with ``box`` [left, top, width, height], the empty ones
        left out.

    Raises:
        NoRenderer: there is no Graphviz.
        TooSlow: it took longer than ``seconds``.
    """
    source = _dot(boxes, edges, frames, direction)
    found = json.loads(render(source, "json0", seconds))
    left, bottom, right, top = _numbers(found.get("bb") or "0,0,0,0")

    def place(x: float, y: float) -> list[float]:
        return [_px(x - left), _px(top - y)]

    nodes: dict[str, list[float]] = {}
    drawn: list[dict[str, Any]] = []
    for thing in found.get("objects", []):
        name = str(thing.get("name", ""))
        if name.startswith("cluster_") and "bb" in thing:
            a, b, c, d = _numbers(thing["bb"])
            frame = frames[int(name.removeprefix("cluster_"))]
            drawn.append(
                {
                    "title": frame.title,
                    "kind": frame.kind,
                    "level": frame.level,
                    "times": frame.times,
                    "box": [*place(a, d), _px(c - a), _px(d - b)],
                }
            )
        elif name.startswith("n"):
            box = boxes[int(name[1:])]
            nodes[box.key] = [*place(*_numbers(thing["pos"])), box.width, box.height]
    arrows: list[dict[str, Any] | None] = [None] * len(edges)
    for thing in found.get("edges", []):
        i = int(thing["id"])
        path, head = _path(thing["pos"], place)
        edge = edges[i]
        arrows[i] = {
            "from": edge.start, "to": edge.end, "value": edge.value, "label": edge.label,
            "path": path, "head": head,
        }  # fmt: skip
        if edge.label:
            arrows[i]["at"] = place(*_numbers(thing["lp"]))  # type: ignore[index]
    return {
        "width": _px(right - left),
        "height": _px(top - bottom),
        "nodes": nodes,
        "edges": [arrow for arrow in arrows if arrow is not None],
        "frames": sorted(drawn, key=lambda frame: int(frame["level"])),
    }


def _dot(
    boxes: Sequence[Box], edges: Sequence[Edge], frames: Sequence[Frame], direction: str
) -> str:
    """The text for Graphviz. Names never become part of it but for the lengths of their words."""
    lines = [
        "digraph g {",
        f"  rankdir={direction}; nodesep=0.25; ranksep=0.4; pad=0; fontsize=12;",
        '  node [label="", fixedsize=true, shape=box]; edge [fontsize=11, arrowsize=0.7];',
    ]
    inside: dict[int | None, list[str]] = {}
    number = {box.key: f"n{i}" for i, box in enumerate(boxes)}
    for i, box in enumerate(boxes):
        form = ", shape=ellipse" if box.round else ""
        size = f"width={_inches(box.width)}, height={_inches(box.height)}"
        inside.setdefault(box.frame, []).append(f"n{i} [{size}{form}];")

    def write(frame: int | None, indent: str) -> None:
        lines.extend(indent + line for line in inside.get(frame, []))
        for i, inner in enumerate(frames):
            if inner.parent == frame:
                label = "x" * min(40, len(f"{inner.title} {inner.kind} ×{inner.times}"))
                lines.append(f'{indent}subgraph cluster_{i} {{ label="{label}"; margin=12;')
                write(i, indent + "  ")
                lines.append(indent + "}")

    write(None, "  ")
    for i, edge in enumerate(edges):
        label = f", label={quote(edge.label)}" if edge.label else ""
        lines.append(f'  {number[edge.start]} -> {number[edge.end]} [id="{i}"{label}];')
    return "\n".join([*lines, "}"])


def _inches(pixels: float) -> str:
    return f"{pixels / 96:.3f}"


def _px(points: float) -> float:
    return round(points / POINTS, 1)


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _path(text: str, place: Any) -> tuple[str, list[float]]:
    """Graphviz' spline as an SVG path, and where its arrow ends."""
    points = text.split()
    tip: list[float] | None = None
    if points[0].startswith("e,"):
        tip = place(*_numbers(points[0][2:]))
        points = points[1:]
    placed = [place(*_numbers(point)) for point in points]
    words = [f"{x:.0f},{y:.0f}" for x, y in placed]
    return f"M{words[0]}C{' '.join(words[1:])}", tip or placed[-1]
