"""Elements in another order or repeated; and other words for reshape, transpose and broadcast_to.

Where NumPy and PyTorch use one word for two things, it means NumPy's here: ``repeat`` repeats each
element (PyTorch's repeat_interleave, which is another name for it here), and PyTorch's
``x.repeat`` is ``tile``.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...arrays.device import device_of
from ...define.op import op
from ...define.samples import Draw, Sample
from ...tensor.axes import as_tensor, at, axes_of, axis_of, unpacked, whole, wholes
from ..indexing.reading import getitem_grad
from .reshaping import _transpose, broadcast_to, reshape


# -- other words ----------------------------------------------------------------------------
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Put the axes ``source`` (an integer or several) at the positions ``destination``; the rest
    keep their order. A view.

    Raises:
        AxisError: there is no such axis. ValueError: not one destination per source, or one twice.
    """
    x = as_tensor(x)
    origin = axes_of("moveaxis: source", source, x.shape)
    target = axes_of("moveaxis: destination", destination, x.shape)
    if len(origin) != len(target):
        raise ValueError(
            f"moveaxis: source and destination: expected as many of each, got {source} and "
            f"{destination}"
        )
    order = [axis for axis in range(x.ndim) if axis not in origin]
    for to, axis in sorted(zip(target, origin, strict=True)):
        order.insert(to, axis)
    return _transpose(x, axes=tuple(order))


def flatten(x: Any, start: int = 0, end: int = -1) -> Any:
    """The axes from ``start`` to ``end`` (both included) joined into one; a 0-d tensor gets one.

    Raises:
        AxisError: there is no such axis. ValueError: ``start`` lies behind ``end``.
    """
    x = as_tensor(x)
    shape = x.shape or (1,)
    first, last = axis_of("flatten: start", start, shape), axis_of("flatten: end", end, shape)
    if first > last:
        raise ValueError(
            f"flatten: start and end: expected start not behind end, got axes {start} and {end} of "
            f"shape {x.shape}"
        )
    joined = math.prod(shape[first : last + 1])
    return reshape(x, (*shape[:first], joined, *shape[last + 1 :]))


def ravel(x: Any) -> Any:
    """All elements along one axis, in C order: ``reshape(x, -1)``."""
    return reshape(x, -1)


def unflatten(x: Any, axis: int, sizes: Any) -> Any:
    """One axis split into several of lengths ``sizes``, of which one may be -1 and is inferred.

    Raises:
        AxisError: there is no such axis. ValueError: the lengths do not multiply to the axis'.
    """
    x = as_tensor(x)
    axis = axis_of("unflatten: axis", axis, x.shape)
    new, n = wholes("unflatten: sizes", sizes), x.shape[axis]
    known = math.prod(size for size in new if size != -1)
    if -1 in new and known and n % known == 0:
        new = tuple(n // known if size == -1 else size for size in new)
    if not new or min(new) < 0 or math.prod(new) != n:
        raise ValueError(
            f"unflatten: sizes: expected lengths that multiply to {n}, the length of axis {axis} "
            f"of shape {x.shape} (one of them may be -1), got {sizes}"
        )
    return reshape(x, (*x.shape[:axis], *new, *x.shape[axis + 1 :]))


def expand(x: Any, *shape: Any) -> Any:
    """PyTorch's name for :func:`broadcast_to`; a length -1 keeps that of ``x``.

    Raises:
        ValueError: ``x`` does not broadcast to ``shape``, or -1 stands for an axis that x lacks.
    """
    x = as_tensor(x)
    sizes = unpacked("expand: shape", shape)
    new = len(sizes) - x.ndim
    if new < 0 or -1 in sizes[:new]:
        raise ValueError(
            f"expand: shape: expected the {x.ndim} lengths of x, shape {x.shape}, or -1 for them, "
            f"after those of new axes; got {sizes}"
        )
    kept = zip(sizes[new:], x.shape, strict=True)
    return broadcast_to(x, (*sizes[:new], *(old if size == -1 else size for size, old in kept)))


def broadcast_arrays(*xs: Any) -> tuple[Any, ...]:
    """All ``xs`` broadcast to the one shape that they have together; one that has it stays itself.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    tensors = [as_tensor(x) for x in xs]
    shapes = [x.shape for x in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            "broadcast_arrays: xs: expected shapes that broadcast, got "
            f"{', '.join(map(str, shapes))}"
        ) from None
    return tuple(x if x.shape == shape else broadcast_to(x, shape) for x in tensors)


broadcast_tensors = broadcast_arrays


def meshgrid(*xs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid: vectors in, one array of the whole grid's shape out for each.

    Args:
        xs: vectors (or numbers) of lengths n1, n2, n3, ...
        indexing: "xy", NumPy's default: shapes (n2, n1, n3, ...), so that the first vector runs
            along the rows of a picture; "ij", PyTorch's default: shapes (n1, n2, n3, ...).

    Raises:
        ValueError: ``indexing`` is neither, or one of ``xs`` has more than one axis.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing: expected 'xy' or 'ij', got {indexing!r}")
    vectors = [as_tensor(x) for x in xs]
    for i, x in enumerate(vectors):
        if x.ndim > 1:
            raise ValueError(f"meshgrid: xs[{i}]: expected a vector, got shape {x.shape}")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    grid = [0] * len(vectors)
    for place, x in zip(places, vectors, strict=True):
        grid[place] = x.size
    return tuple(
        broadcast_to(reshape(x, tuple(n if i == place else 1 for i, n in enumerate(grid))), grid)
        for place, x in zip(places, vectors, strict=True)
    )


# -- another order ----------------------------------------------------------------------------
@op(
    "x",
    view=True,
    formula="x backwards along axes",
    gradient="dx = g backwards along the axes",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(3, 4), 0),
        Sample(r(2, 3, 4), (0, -1)),
        Sample(r(2, 3), ()),
        Sample(r(5), -1),
        Sample(r()),
        Sample(r(0, 2), 1),
    ],
)
def flip(xp, x, axis=None):
    """Reverse the order along ``axis``: None (all), an integer or a tuple. A view."""
    return xp.flip(x, axis if axis is None else axes_of("axis", axis, x.shape))


flip.vjp(x=lambda xp, g, k: xp.flip(g, k.axis))


@op(
    "x",
    view=True,
    formula="x turned by k · 90° in the plane of two axes",
    gradient="dx = g turned back",
    samples=lambda r: [
        Sample(r(3, 4)),
        Sample(r(3, 4), 2),
        Sample(r(2, 3, 4), -1, (1, -1)),
        Sample(r(2, 3), 7, (1, 0)),
        Sample(r(2, 3), 0),
        Sample(r(0, 2)),
    ],
)
def rot90(xp, x, k=1, axes=(0, 1)):
    """Turn by 90 degrees ``k`` times, from the first of ``axes`` towards the second. A view."""
    plane = axes_of("axes", axes, x.shape)
    if len(plane) != 2:
        raise ValueError(f"axes: expected two, got {axes}")
    return xp.rot90(x, whole("k", k), plane)


rot90.vjp(x=lambda xp, g, k: xp.rot90(g, -k.k, k.axes))


@op(
    "x",
    name="roll",
    formula="outᵢ = xᵢ₋ₛ, cyclic",
    gradient="dx = g rolled back",
    samples=lambda r: [
        Sample(r(3, 4), (1,)),
        Sample(r(3, 4), (-6,), (1,)),
        Sample(r(2, 3, 4), (1, 2), (0, -1)),
        Sample(r(5), (1, 2), (0, 0)),
        Sample(r(5), (0,), (0,)),
        Sample(r(), (1,)),
        Sample(r(0, 2), (1,), (0,)),
    ],
)
def _roll(xp, x, shift, axis=None):
    """Move elements on by ``shift`` places; those that fall off come in again at the start."""
    return xp.roll(x, shift[0], None) if axis is None else xp.roll(x, shift, axis)


_roll.vjp(x=lambda xp, g, k: k.run(_roll, g, shift=tuple(-s for s in k.shift), axis=k.axis))


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements on by ``shift`` places; those that fall off come in again at the start.

    Args:
        shift: an integer, or several: one per axis. Negative ones move towards the start.
        axis: an integer or several; an axis that is named twice moves by both shifts. Without it
            the elements move in C order, past the ends of the rows.

    Raises:
        ValueError: not one shift per axis. AxisError: there is no such axis.
    """
    x = as_tensor(x)
    shifts = wholes("roll: shift", shift)
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(f"roll: shift: expected one integer without an axis, got {shift}")
        return _roll(x, shift=shifts)
    axes = tuple(axis_of("roll: axis", a, x.shape) for a in wholes("roll: axis", axis))
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise ValueError(
            f"roll: shift and axis: expected one shift per axis, got {shift} and {axis}"
        )
    return _roll(x, shift=shifts, axis=axes)


# -- repeated -----------------------------------------------------------------------------------
def _repeats(r: Draw) -> list[Sample]:
    return [
        Sample(r(3, 4), 2, 0),
        Sample(r(3, 4), 3, 1),
        Sample(r(3, 2), (2, 0, 1), 0),
        Sample(r(2, 3, 2), (1, 0, 3), 1),
        Sample(r(1), 4, 0),
        Sample(r(3), 0, 0),
        Sample(r(0, 2), 2, 0),
    ]


@op(
    "x",
    name="repeat",
    wide=True,
    formula="each element along an axis, several times",
    gradient="dx = g, summed over the repeats",
    samples=_repeats,
)
def _repeat(xp, x, repeats, axis):
    """Each element along ``axis`` (counted from the front) ``repeats`` times in a row."""
    return xp.repeat(x, repeats, axis)


def _repeat_dx(xp: Any, g: Any, k: Any) -> Any:
    shape, axis = k.shape_of(), k.axis
    if isinstance(k.repeats, int):
        if 0 < k.repeats <= 8:  # NumPy sums a short axis one element at a time
            return reduce(add, (g[at(axis, slice(j, None, k.repeats))] for j in range(k.repeats)))
        runs = xp.reshape(g, (*shape[: axis + 1], k.repeats, *shape[axis + 1 :]))
        return xp.sum(runs, axis=axis + 1)
    home = device_of(g.data if k.graph else g).xp
    origin = home.repeat(home.arange(shape[axis]), k.repeats, 0)
    return k.run(getitem_grad, g, index=at(axis, origin), shape=shape)


_repeat.vjp(x=_repeat_dx)


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element several times in a row: NumPy's ``repeat``, PyTorch's ``repeat_interleave``
    (another name for it here). PyTorch's ``x.repeat`` is :func:`tile`.

    Args:
        repeats: how many times: an integer >= 0, or one per element along the axis.
        axis: which axis; None reads ``x`` as one axis of all its elements.

    Raises:
        ValueError: a negative count, or not one count per element. AxisError: no such axis.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of("repeat: axis", axis, x.shape)
    counts = wholes("repeat: repeats", repeats)
    if min(counts, default=0) < 0:
        raise ValueError(f"repeat: repeats: expected counts >= 0, got {repeats}")
    if len(counts) == 1:
        return _repeat(x, repeats=counts[0], axis=axis)
    if len(counts) != x.shape[axis]:
        raise ValueError(
            f"repeat: repeats: expected {x.shape[axis]} counts, one per element along axis {axis} "
            f"of shape {x.shape}, got {len(counts)}; for PyTorch's repeat write tile(x, {counts})"
        )
    return _repeat(x, repeats=counts, axis=axis)


repeat_interleave = repeat


def _together(shape: tuple[int, ...], reps: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape and its repetitions with 1s in front, so that there is one count per axis."""
    counts = wholes("reps", reps)
    n = max(len(shape), len(counts))
    return (1,) * (n - len(shape)) + shape, (1,) * (n - len(counts)) + counts


@op(
    "x",
    wide=True,
    formula="x beside itself along each axis",
    gradient="dx = g, summed over the copies",
    samples=lambda r: [
        Sample(r(3), 2),
        Sample(r(2, 3), (2, 2)),
        Sample(r(2, 3), 3),
        Sample(r(2, 3), (2, 1, 1)),
        Sample(r(2, 1, 3), (1, 4, 1)),
        Sample(r(2, 3), (1, 1)),
        Sample(r(), (2, 2)),
        Sample(r(3), 0),
        Sample(r(0, 2), (2, 2)),
    ],
)
def tile(xp, x, reps):
    """The whole of ``x`` ``reps`` times along each axis: an integer (the last axis) or a tuple
    (the last axes; more counts than ``x`` has axes add new ones in front). PyTorch's ``x.repeat``.
    """
    counts = _together(x.shape, reps)[1]
    if min(counts, default=1) < 0:
        raise ValueError(f"reps: expected counts >= 0, got {reps}")
    return xp.tile(x, counts)


def _tile_dx(xp: Any, g: Any, k: Any) -> Any:
    shape, counts = _together(k.shape_of(), k.reps)
    pairs = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    copies = tuple(range(0, len(pairs), 2))
    return xp.reshape(xp.sum(xp.reshape(g, pairs), axis=copies), k.shape_of())


tile.vjp(x=_tile_dx)
