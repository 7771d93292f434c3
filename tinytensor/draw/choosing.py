"""What is drawn, and at which zoom."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..tensor.tensor import Tensor
from .dot import direction_of, to_dot
from .drawing import LIMIT, Drawing
from .fold import fold, merge_repeats
from .opened import check_names, look_inside, warn_unopened
from .picture import CONSTANT, Picture
from .trace import Tracer
from .zooms.flags import flag
from .zooms.inside import find, inside
from .zooms.run import NumbersOfRun, Run, run
from .zooms.scalars import NODES, scalars
from .zooms.statistics import Numbers

MODULES, OPS, SCALARS = "modules", "ops", "scalars"
ZOOMS = (MODULES, OPS, SCALARS)

NOT_KNOWN = "not known: the graph does not have these numbers (any more); tt.draw(f, x) runs f"
NO_BACKWARD = "no gradients: draw after backward, or draw the function"
NO_LOSS = "no gradients: they come where the function returns one number"


def draw(
    tensor: Tensor | Sequence[Tensor] | Callable[..., Any],
    *inputs: Any,
    zoom: str | None = None,
    module: str | None = None,
    depth: int | None = None,
    open: str | Collection[str] | bool = (),
    merge: bool | None = None,
    direction: str | None = None,
    limit: int | None = LIMIT,
    values: bool | None = None,
) -> Drawing:
    """Draw how a tensor was computed, or what a function or a module does.

    ``tt.draw(loss)`` draws the graph behind a tensor. ``tt.draw(model, x)`` and ``tt.draw(f, x)``
    call a module or a function, and draw what it did with these inputs; if one number comes back, a
    loss, gradients are computed too. No ``.grad`` is touched, and generators and buffers are as
    before afterwards (of the modules that a function reaches by its names); hooks are called.

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
        tensor: one tensor, or several that share a graph, such as (loss, logits); or a module or
            function, which is called with ``inputs``.
        inputs: for a function: fractions among them get gradients, and the names of its parameters.
        zoom: "modules" folds modules to boxes, as far as the picture can be read. "ops" draws every
            op, with a box for every tensor: its numbers or, of more than 16, mean ± standard
            deviation and range, of its gradient too, or that they are not known (a graph keeps few;
            of a function all are known). Dead units, vanishing and exploding gradients and numbers
            that are not finite are red, and said in words. "scalars" draws every number, with the
            local derivative ∂ on each arrow, up to 200 boxes and circles. None: "modules" for a
            graph with modules and more than about 25 boxes; else every op.
        module: the path of a module ("h.0.attn"): draw its inside alone, at "ops" unless ``zoom``
            says otherwise.
        depth: how many levels of modules to open: 0 draws the whole model as one box, 1 its parts
            as boxes, and so on. None opens as many as can still be read, at "ops" all.
        open: a fused op ("softmax"), several, or True for all: draw the reference inside it.
        merge: draw equal modules that follow each other, or stand side by side, as one with a
            count. None does so except where statistics are shown, which differ.
        direction: "LR" or "TB"; None runs expressions and scalars from left to right, models
            downwards.
        limit: the number of boxes above which no picture is made (the text always is); for
            "scalars" 200 unless given. None also lets Graphviz take more than 5 s.
        values: show numbers in boxes; None shows those of expressions, not those of models.

    Returns:
        A :class:`Drawing`: ``.save("x.svg")``, ``.source``, and a picture in notebooks;
        ``.save("x.html")`` is a page in which folded modules open.

    Raises:
        TypeError: ``tensor`` is neither a Tensor, nor a non-empty sequence of them, nor can be
            called; or an argument is of another type.
        ValueError: ``depth`` is negative, ``open`` names an op that has no reference, ``zoom`` is
            none of the three, there is no such ``module``, or scalars are too many or not known.
    """
    check(zoom, module, depth, merge, limit, values)
    zoom = OPS if zoom is None and module is not None else zoom
    names: Collection[str] | bool = [open] if isinstance(open, str) else open
    check_names(names)
    chosen = _Choice(zoom, module, depth, names, merge, direction, limit, values)
    if callable(tensor) and not isinstance(tensor, Tensor):
        with run(tensor, inputs) as found:
            return chosen.drawing(found.outputs, found)
    tensors: list[Any] = list(tensor) if isinstance(tensor, (list, tuple)) else [tensor]
    if not tensors or not all(isinstance(t, Tensor) for t in tensors):
        kinds = ", ".join(type(t).__name__ for t in tensors) or "an empty sequence"
        raise TypeError(
            f"tensor: expected a Tensor, several in a list, a module or a function, got {kinds}"
        )
    if inputs:
        advice = f"; to fold modules, write depth={inputs[0]}" if type(inputs[0]) is int else ""
        raise TypeError(
            "inputs: expected none, as a tensor is drawn, and not a function to be called with them"
            + advice
        )
    return chosen.drawing(tensors, None)


def check(
    zoom: object, module: object, depth: object, merge: object, limit: object, values: object
) -> None:
    """Refuse settings that mean nothing."""
    if zoom is not None and zoom not in ZOOMS:
        expected = "'modules', 'ops', 'scalars' or None"
        raise ValueError(f"zoom: expected {expected}, got {zoom!r}")
    if module is not None and not isinstance(module, str):
        raise TypeError(f"module: expected the path of a module or None, got {module!r}")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ValueError(f"depth: expected None or an integer from 0, got {depth!r}")
    if depth is not None and zoom == SCALARS:
        raise ValueError("depth: expected None with zoom='scalars', where nothing is folded")
    for name, value in (("merge", merge), ("values", values)):
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name}: expected None, True or False, got {value!r}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"limit: expected None or an integer, got {limit!r}")


@dataclass(frozen=True)
class _Choice:
    """How to draw; see :func:`draw` for all but ``names``, the fused ops to open."""

    zoom: str | None
    module: str | None
    depth: int | None
    names: Collection[str] | bool
    merge: bool | None
    direction: str | None
    limit: int | None
    values: bool | None

    def drawing(self, tensors: list[Tensor], found: Run | None) -> Drawing:
        """The drawing. Many small objects are made and few go: to look for rubbish among them
        would take half of the time."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self.draw(tensors, found)
        finally:
            if collecting:
                gc.enable()

    def draw(self, tensors: list[Tensor], found: Run | None) -> Drawing:
        measure: Callable[[list[Any]], Numbers] | None = None
        if found is not None:
            measure = lambda nodes: NumbersOfRun(nodes, found)  # noqa: E731
        elif self.zoom in (OPS, SCALARS):
            measure = Numbers
        tracer = Tracer(tensors, self.names, look_inside, measure=measure)
        picture = tracer.picture
        group, calls = (None, 1) if self.module is None else find(picture, self.module)
        if self.zoom == SCALARS:
            picture = scalars(tracer, group, NODES if self.limit == LIMIT else self.limit)
        if measure is not None and self.zoom != SCALARS:
            flag(picture)
        notes = self.box(picture, found) if self.zoom == OPS else []
        if group is not None:
            picture = inside(picture, group, calls)
        whole = self.merged(picture)
        whole.notes = notes
        picture = self.folded(whole)
        picture.notes = notes
        warn_unopened(self.names, picture)
        wanted = "LR" if self.zoom == SCALARS and self.direction is None else self.direction
        direction = direction_of(picture, wanted)
        source = to_dot(picture, direction)
        return Drawing(picture, source, self.limit, direction, whole)

    def box(self, picture: Picture, found: Run | None) -> list[str]:
        """A box for every tensor, with statistics; returns what is to be said below."""
        values = [value for value in picture.values() if value.role != CONSTANT]
        graded = any(v.grad is not None or v.grad_looked is not None for v in values)
        for value in values:
            value.boxed, value.graded = True, graded
        notes = []
        if any(v.data is None and v.looked is None for v in values) or (
            graded
            and any(v.needs_grad and v.grad is None and v.grad_looked is None for v in values)
        ):
            notes.append(NOT_KNOWN)
        if not graded:
            notes.append(NO_BACKWARD if found is None else NO_LOSS)
        return notes

    def merged(self, picture: Picture) -> Picture:
        """The picture without the numbers that are not wanted, equal neighbours as one."""
        if self.zoom == SCALARS:
            return picture
        shown = self.values
        if shown is None:
            shown = self.zoom == OPS or not (self.zoom == MODULES or picture.has_modules())
        if not shown:
            picture.forget_numbers()
        merge = self.zoom != OPS if self.merge is None else self.merge
        return merge_repeats(picture) if merge else picture

    def folded(self, picture: Picture) -> Picture:
        """The picture with modules folded to boxes."""
        if self.zoom == SCALARS:
            return picture
        depth = self.depth
        if depth is None and self.zoom == OPS:
            depth = 1 + max((g.level for g in picture.groups()), default=0)
        return fold(picture, depth)
