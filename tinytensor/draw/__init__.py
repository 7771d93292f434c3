"""Pictures of computation graphs: ``tt.draw(loss).save("loss.svg")``, or just ``tt.draw(loss)`` as
the last line of a notebook's cell.

    trace.py    walks back from a tensor: every op, tensor, name and number
    opened.py   runs a fused op's reference on what the op was given, to show what is inside
    words.py    an op's settings as text
    fold.py     merges equal neighbours, folds modules to boxes
    dot.py      writes DOT text
    render.py   turns that into SVG, PNG or PDF
    picture.py  the few classes the others hand on
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..hints.finding import attribute_missing
from ..hints.other_names import OF_DRAWINGS
from ..tensor.tensor import Tensor
from .dot import to_dot
from .fold import fold
from .opened import check_names, look_inside, warn_unopened
from .picture import Picture
from .render import NoRenderer, render, renderer, save
from .trace import trace

__all__ = ["Drawing", "NoRenderer", "draw"]

LIMIT = 1500  # boxes; Graphviz takes minutes beyond, and nobody can read the result


class Drawing:
    """A drawn graph.

    Attributes:
        source: the DOT text. It needs no Graphviz to exist.
        picture: the steps, values and groups that are shown.
        limit: with more boxes than this, nothing but the text is made.
    """

    def __init__(self, picture: Picture, source: str, limit: int | None = LIMIT) -> None:
        self.picture, self.source, self.limit = picture, source, limit

    def save(self, path: str | Path) -> Path:
        """Write ``.svg``, ``.png``, ``.pdf``, or the text as ``.gv``; returns the path.

        Raises:
            ValueError: another ending, or more boxes than ``limit``.
            NoRenderer: neither the ``dot`` program nor pygraphviz is there. The text is left
                beside the missing picture, with the ending ``.gv``.
        """
        if Path(path).suffix.lower() not in (".gv", ".dot"):
            self._check_size()
        return save(self.source, path)

    def svg(self) -> str:
        """The picture as SVG text; errors as :meth:`save`."""
        self._check_size()
        return render(self.source, "svg").decode("utf-8")

    def _check_size(self) -> None:
        boxes = self.picture.boxes()
        if self.limit is not None and boxes > self.limit:
            raise ValueError(
                f"this picture would have {boxes:,} boxes, the limit is {self.limit:,}: fold "
                "modules with draw(tensor, depth=1), draw an earlier tensor or a shorter input, "
                "or allow it with limit=None and be patient; .source and .save('graph.gv') work"
            )

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, and with it the plain text, where nothing can be drawn."""
        too_large = self.limit is not None and self.picture.boxes() > self.limit
        return None if too_large or renderer() is None else self.svg()

    if not TYPE_CHECKING:  # which then knows what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            return attribute_missing(self, name, OF_DRAWINGS)

    def __repr__(self) -> str:
        boxes, arrows = self.picture.boxes(), sum(1 for _ in self.picture.arrows())
        how = "" if renderer() else ", no Graphviz here: save('graph.gv') works"
        return f"<Drawing of {boxes} boxes and {arrows} arrows{how}>"


def draw(
    tensor: Tensor | Sequence[Tensor],
    depth: int | None = None,
    *,
    open: str | Collection[str] | bool = (),
    merge: bool = True,
    direction: str | None = None,
    limit: int | None = LIMIT,
    values: bool | None = None,
) -> Drawing:
    """Draw how a tensor was computed.

    Ops are blue circles and ellipses (two rims: a fused op, see ``open``), tensors are boxes:
    parameters and other leaves that require gradients yellow, inputs green-grey, results white or,
    if asked for, green. With ``values``, tensors of up to 16 elements show their numbers and, after
    ``backward``, their gradients; other results are written on the arrows. Dashed arrows carry no
    gradient. "1st" and "2nd" are the operands of an op for which the order matters. Frames are
    module calls.

    Numbers are those that the op saw. A tensor that was written to since (by an optimiser's step,
    say, or ``w.data = array``) is marked "changed since", and its numbers "now"; ops from before
    and after the write read two boxes. Only writes into the array itself (``w.data[...] = 5``, or
    ``a = w.data; a -= 1``) go unseen, and leaves then show what they are now.

    Gradients are those of the last backward, and left out where that did not come from the tensors
    drawn; in a leaf's, which adds up those of several, this is said. Inside an opened op there are
    numbers if those of all operands are known; if not, it is titled "shapes alone": open before
    ``backward``, or keep what it frees by ``backward(retain_graph=True)``.

    Args:
        tensor: one tensor, or several that share a graph, such as (loss, logits).
        depth: how many levels of modules to open: 0 draws the whole model as one box, 1 its parts
            as boxes, and so on. None opens as many as can still be read.
        open: a fused op ("softmax"), several, or True for all: draw the reference inside it.
        merge: draw equal modules that follow each other, or stand side by side, as one with a
            count. False draws each.
        direction: "LR" or "TB"; None runs expressions from left to right, models downwards.
        limit: the number of boxes above which no picture is made (the text always is).
        values: show numbers in boxes; None shows those of expressions, not those of models.

    Returns:
        A :class:`Drawing`: ``.save("x.svg")``, ``.source``, and a picture in notebooks.

    Raises:
        TypeError: ``tensor`` is not a Tensor or a non-empty sequence of them.
        ValueError: ``depth`` is negative, or ``open`` names an op that has no reference.
    """
    several = isinstance(tensor, (list, tuple))
    tensors: list[Tensor] = list(tensor) if several else [tensor]  # type: ignore[list-item]
    if not tensors or not all(isinstance(t, Tensor) for t in tensors):
        kinds = ", ".join(type(t).__name__ for t in tensors) or "an empty sequence"
        raise TypeError(f"tensor: expected a Tensor or several in a list, got {kinds}")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ValueError(f"depth: expected None or an integer from 0, got {depth!r}")
    for name, value in (("merge", merge), ("values", values)):
        if not isinstance(value, bool) and (name == "merge" or value is not None):
            expected = "True or False" if name == "merge" else "None, True or False"
            raise TypeError(f"{name}: expected {expected}, got {value!r}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"limit: expected None or an integer, got {limit!r}")
    names: Collection[str] | bool = [open] if isinstance(open, str) else open
    check_names(names)
    picture = trace(tensors, names, look_inside)
    if values is None:
        values = not picture.has_modules()
    if not values:
        picture.forget_numbers()
    picture = fold(picture, depth, merge)
    warn_unopened(names, picture)
    return Drawing(picture, to_dot(picture, direction), limit)
