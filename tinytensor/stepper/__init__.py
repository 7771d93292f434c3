"""Backprop one can see: ``tt.step_through(loss).save("step.html")``.

    story.py    the whole way there and back, with every number, and the inside of fused ops
    encode.py   a story as the data of a page of steps
    modules.py  a drawn graph as the data of a page in which modules open
    values.py   in both: a tensor's names, numbers and statistics
    boxes.py    how large boxes are and where they stand
    words.py    the user's lines, and the op's formula, rules and source

docs/pages.md describes the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..draw.drawing import PATIENCE
from ..draw.walk import reachable
from ..graph.backward import cotangent
from ..pages.page import page
from ..tensor.tensor import Tensor
from .encode import steps_data
from .story import Story

__all__ = ["Steps", "step_through"]

Text = str | Mapping[str, str]

LIMIT = 400  # ops; a page of more is neither small nor followed by anybody


class Steps:
    """The way from the leaves to a result and back, as a page. Made by :func:`step_through`.

    Attributes:
        title, about: its heading, and what stands below it: texts, or texts by language.
    """

    def __init__(
        self,
        story: Story,
        title: Text,
        about: Text = "",
        direction: str | None = None,
        seconds: float | None = PATIENCE,
    ) -> None:
        """``seconds``: how long Graphviz may take to lay out a view; None for any time."""
        self.title, self.about = title, about
        self._story: Story | None = story  # until its data are made: it holds the graph
        self._direction, self._seconds = direction, seconds
        self._data: dict[str, Any] | None = None
        there, back = len(story.views[0].told), sum(t.view == 0 for t in story.backward)
        self._counts = f"{there} forward, {back} backward"

    @property
    def _heading(self) -> str:
        """The title in English, or in whatever language there is."""
        if isinstance(self.title, str):
            return self.title
        return self.title.get("en") or next(iter(self.title.values()))

    def data(self) -> dict[str, Any]:
        """All that the page shows: values, steps, views, as JSON has them.

        Raises:
            NoRenderer: there is no Graphviz to lay out the graph with.
            TooSlow: Graphviz took more than 5 s, where there is a ``limit``.
        """
        if self._data is None:
            assert self._story is not None
            self._data = steps_data(
                self._story, self.title, self.about, self._direction, self._seconds
            )
            self._story = None
        return {**self._data, "title": self.title, "about": self.about}

    def html(self) -> str:
        """The page's text: one file that asks nobody for anything. Errors as :meth:`data`."""
        return page("graph", self._heading, self.data())

    def save(self, path: str | Path) -> Path:
        """Write the page; returns the path.

        Raises:
            ValueError: the name does not end in ``.html``.
            NoRenderer: there is no Graphviz to lay out the graph with.
            OSError: the file could not be written.
        """
        if not isinstance(path, (str, Path)):
            raise TypeError(f"path: expected the name of a file, got {type(path).__name__}")
        path = Path(path)
        if path.suffix.lower() != ".html":
            raise ValueError(f"path: expected a file name that ends in .html, got {str(path)!r}")
        path.write_text(self.html(), encoding="ascii")
        return path

    def _repr_html_(self) -> str:
        """In a notebook: the page in a frame of its own."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" title="{escape(self._heading)}" '
            'sandbox="allow-scripts" style="width:100%;height:720px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Steps of {self._heading!r}: {self._counts}; .save('step.html')>"


def step_through(
    tensor: Tensor,
    *inputs: Any,
    gradient: Any = None,
    title: Text | None = None,
    about: Text = "",
    direction: str | None = None,
    limit: int | None = LIMIT,
) -> Steps:
    """Step through how a tensor was computed, and through its backward, op by op.

    ``tt.step_through(loss).save("step.html")`` writes a page that works offline: forward plays op
    by op, then backward, where each step shows the gradient that arrives, the local derivative, and
    their product, which joins the sums of those below. Fused ops open into what they are composed
    of; numbers can be changed. In a notebook the page is shown as the cell's result.

    The backward is one of its own: no ``.grad`` changes, no hook is called. Call this before
    ``loss.backward()``, or with ``retain_graph=True`` there: what was freed, and can't be computed
    again from what is still known, is shown by its shape alone. Writes into the array itself
    (``b.data[...] = 5``) go unseen, and what was not kept for backward is then shown as it is now.

    Args:
        tensor: what to go back from; it must have a graph.
        inputs: none: a model is called first, ``tt.step_through(model(x).sum())``.
        gradient: what backward starts from, of the tensor's shape; 1 for a scalar.
        title: the page's heading; by default the tensor's name or op. A text, or several by
            language: ``{"en": "A neuron", "zh": "一个神经元"}``.
        about: a paragraph below it, likewise.
        direction: "LR" or "TB"; None runs expressions from left to right, models downwards.
        limit: the number of ops above which no page is made; None for any number, and for any
            time that Graphviz may take.

    Returns:
        :class:`Steps`: ``.save("step.html")``, ``.html()``, and a page in notebooks.

    Raises:
        TypeError: ``tensor`` is not a Tensor.
        RuntimeError: it has no graph, or is no scalar and ``gradient`` is not given.
        ValueError: ``gradient`` has another shape; there are more ops than ``limit``; ``direction``
            is neither.
    """
    if inputs or not isinstance(tensor, Tensor):
        kind = type(tensor).__name__
        advice = "; pass what it returns: tt.step_through(model(x).sum())"
        raise TypeError(
            f"step_through: tensor: expected one Tensor, got {kind}"
            + (f" and {len(inputs)} more" if inputs else "")
            + (advice if callable(tensor) else "")
        )
    if direction not in (None, "LR", "TB"):
        raise ValueError(f"step_through: direction: expected LR, TB or None, got {direction!r}")
    _check_text("title", "" if title is None else title)
    _check_text("about", about)
    try:
        start = cotangent(tensor, gradient, "gradient", False)
    except RuntimeError as error:
        raise RuntimeError(str(error).replace("backward:", "step_through:", 1)) from None
    if limit is not None and (count := len(reachable([tensor.node]))) > limit:
        raise ValueError(
            f"step_through: the graph has {count:,} ops, the limit is {limit:,}: step through a "
            "smaller model, a shorter input or a part of it, tt.draw(tensor) folds modules, or "
            "allow it with limit=None and be patient"
        )
    story = Story(tensor, start)
    heading = title or f"Step through {story.views[0].title}"
    return Steps(story, heading, about, direction, None if limit is None else PATIENCE)


def _check_text(name: str, text: Any) -> None:
    """Refuse what is neither a text nor texts by language."""
    texts = [text]
    if isinstance(text, Mapping) and text:
        texts = [part for pair in text.items() for part in pair]
    if not all(isinstance(part, str) for part in texts):
        raise TypeError(
            f"step_through: {name}: expected a text, or texts by language such as "
            f'{{"en": "A neuron"}}, got {type(text).__name__}'
        )
