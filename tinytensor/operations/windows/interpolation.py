"""Signals and images in another size: the nearest element, or straight lines between neighbours.

Output i of m looks at the position of its centre among the n inputs, (i + ½) n / m - ½, or with
``align_corners`` at i (n - 1) / (m - 1), so that the ends stay where they are. All of it is linear
in the input, so the gradient is the transpose: what an output took, it gives back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...define.op import op
from ...define.samples import Draw, Sample
from ...tensor.axes import as_tensor, at, wholes

#: modes, and the number of spatial axes that each is for
_MODES = {"nearest": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,)}


class _Taps(NamedTuple):
    """What the outputs along one axis are made of: input ``low`` with the share 1 - ``share``, and
    input ``high`` with ``share``; None for the nearest element, which is all of it. NumPy arrays,
    one element per output; ``low`` and ``high`` never decrease."""

    low: np.ndarray
    high: np.ndarray | None
    share: np.ndarray | None


def _taps(n: int, m: int, step: float, nearest: bool, corners: bool, dtype: Any) -> _Taps | None:
    """The taps of m outputs over n inputs, which are ``step`` inputs apart; None: those inputs."""
    if n == m:
        return None
    if nearest:
        # in the precision in which PyTorch does it, so that both choose the same where it rounds
        wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        places = np.arange(m).astype(wide) * np.asarray(step, wide)
        return _Taps(np.minimum(places.astype(np.float32).astype(np.int64), n - 1), None, None)
    if corners:
        position = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    else:
        position = np.maximum((np.arange(m) + 0.5) * step - 0.5, 0.0)
    position = np.minimum(position, n - 1)
    low = position.astype(np.int64)
    return _Taps(low, np.minimum(low + 1, n - 1), position - low)


def _resized(xp: Any, x: Any, axis: int, taps: _Taps) -> Any:
    low = xp.take(x, xp.asarray(taps.low), axis=axis)
    if taps.high is None or taps.share is None:
        return low
    high = xp.take(x, xp.asarray(taps.high), axis=axis)
    low, high = _shared(xp, low, high, axis, taps.share)
    return low + high


def _shared(xp: Any, low: Any, high: Any, axis: int, share: np.ndarray) -> tuple[Any, Any]:
    """``low`` times 1 - share and ``high`` times share; a share of 0 is 0, of infinity too."""
    shape = (1,) * axis + share.shape + (1,) * (low.ndim - axis - 1)
    dtype = low.dtype if low.dtype.kind == "f" else np.float64
    part = xp.asarray(share.astype(dtype)).reshape(shape)
    low, high = low * (1 - part), high * part
    return (low, high) if share.all() else (low, xp.where(part == 0, 0.0, high))


def _given_back(xp: Any, g: Any, axis: int, taps: _Taps, n: int) -> Any:
    """The transpose of :func:`_resized` for n inputs."""
    out = xp.zeros((*g.shape[:axis], n, *g.shape[axis + 1 :]), dtype=g.dtype)
    if taps.high is None or taps.share is None:
        parts = [(taps.low, g)]
    else:
        low, high = _shared(xp, g, g, axis, taps.share)
        parts = [(taps.low, low), (taps.high, high)]
    for tap, part in parts:
        # the outputs that one input went into stand side by side
        ends = np.searchsorted(tap, np.arange(n + 1))
        for i in np.unique(tap):
            piece = part[at(axis, slice(int(ends[i]), int(ends[i + 1])))]
            out[at(axis, slice(int(i), int(i) + 1))] += xp.sum(piece, axis=axis, keepdims=True)
    return out


def _images(r: Draw) -> list[Sample]:
    linear = {"nearest": False}
    return [
        Sample(r(2, 2, 3), (7,), (3 / 7,)),
        Sample(r(1, 2, 7), (3,), (7 / 3,)),
        Sample(r(1, 2, 3), (7,), (3 / 7,), **linear),
        Sample(r(1, 2, 7), (3,), (7 / 3,), **linear),
        Sample(r(1, 2, 4), (1,), (4.0,), **linear, corners=True),
        Sample(r(1, 1, 3, 2), (4, 5), (0.75, 0.4)),
        Sample(r(1, 2, 3, 2), (4, 5), (0.75, 0.4), **linear),
        Sample(r(1, 1, 4, 3), (2, 6), (2.0, 0.5), **linear, corners=True),
        Sample(r(1, 2, 3, 4), (3, 4), (1.0, 1.0), **linear),
        Sample(r(1, 1, 2, 3, 2), (3, 2, 4), (2 / 3, 1.5, 0.5), **linear),
        Sample(r(0, 2, 3), (6,), (0.5,), **linear),
    ]


def _transposed_images(r: Draw) -> list[Sample]:
    made = []
    for sample in _images(r):
        (x, size, step), settings = sample.args, sample.kwargs
        made.append(Sample(r(*x.shape[:2], *size), x.shape[2:], step, **settings))
    return made


@op(
    "x",
    name="interpolate",
    formula="each output from the nearest, or the two neighbouring x along each axis",
    gradient="dx = each g, given back to the x it was made of",
    wide=True,
    samples=_images,
)
def _interpolate(xp, x, size, step, nearest=True, corners=False):
    """x (N, C, ...) in another ``size``; an output is ``step`` inputs from the next, per axis."""
    out = x
    for axis, (m, s) in enumerate(zip(size, step, strict=True), 2):
        taps = _taps(x.shape[axis], m, s, nearest, corners, x.dtype)
        out = out if taps is None else _resized(xp, out, axis, taps)
    return out.copy() if out is x else out


@op(
    "g",
    name="interpolate_grad",
    formula="each g, given back to what it was made of",
    gradient="dg = interpolate of the gradient",
    wide=True,
    samples=_transposed_images,
)
def _interpolate_grad(xp, g, size, step, nearest=True, corners=False):
    """The transpose of interpolate for an x with the spatial axes ``size``."""
    out = g
    for axis, (n, s) in enumerate(zip(size, step, strict=True), 2):
        taps = _taps(n, g.shape[axis], s, nearest, corners, g.dtype)
        out = out if taps is None else _given_back(xp, out, axis, taps, n)
    return out.copy() if out is g else out


def _same(k: Any) -> dict[str, Any]:
    return {"step": k.step, "nearest": k.nearest, "corners": k.corners}


_interpolate.vjp(x=lambda xp, g, k: k.run(_interpolate_grad, g, size=k.shape_of()[2:], **_same(k)))
_interpolate_grad.vjp(g=lambda xp, g, k: k.run(_interpolate, g, size=k.shape_of()[2:], **_same(k)))


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    recompute_scale_factor: bool = False,
) -> Any:
    """``x`` in another size: ``torch.nn.functional.interpolate``.

    Args:
        x: (N, C, length), (N, C, height, width) or (N, C, depth, height, width).
        size: the spatial axes of the result: an integer for all, or one per axis.
        scale_factor: instead of ``size``, how many times as long as those of x: a number or one
            per axis; lengths are rounded down.
        mode: ``"nearest"``, or straight lines between the neighbours: ``"linear"`` along one axis,
            ``"bilinear"`` along two, ``"trilinear"`` along three.
        align_corners: the outer elements stay at the ends (their centres do; not for "nearest").
        recompute_scale_factor: outputs are as far apart as the lengths, which were rounded, say;
            if not, as ``scale_factor`` says.

    Returns:
        (N, C, *size).

    Raises:
        ValueError: not one of size and scale_factor, no element, or a mode for other axes.
    """
    x = as_tensor(x)
    dims = x.ndim - 2
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode: expected one of {', '.join(_MODES)}, got {mode!r}")
    if dims not in _MODES[mode]:
        expected = " or ".join(f"{d + 2} axes" for d in _MODES[mode])
        raise ValueError(
            f"interpolate: x: expected {expected}, (N, C, ...), for mode={mode!r}, got shape "
            f"{x.shape}"
        )
    if align_corners and mode == "nearest":
        raise ValueError("interpolate: align_corners: expected False for mode='nearest', got True")
    if (size is None) == (scale_factor is None):
        given = "neither" if size is None else "both"
        raise ValueError(f"interpolate: expected either size or scale_factor, got {given}")
    spatial = x.shape[2:]
    if scale_factor is None:
        if isinstance(size, float):
            raise TypeError(
                f"interpolate: size: expected an integer or one per axis, got {size}; how many "
                f"times as long is scale_factor={size}"
            )
        lengths = wholes("interpolate: size", size)
        lengths = lengths if isinstance(size, (tuple, list)) or len(lengths) > 1 else lengths * dims
        steps = _steps(spatial, lengths)
    else:
        factors = _factors(scale_factor)
        factors = factors if isinstance(scale_factor, (tuple, list)) else factors * dims
        lengths = tuple(math.floor(n * f) for n, f in zip(spatial, factors))
        exact = tuple(1 / f for f in factors)
        steps = _steps(spatial, lengths) if recompute_scale_factor else exact
    if len(steps) != dims or len(lengths) != dims:
        name, value = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
        raise ValueError(
            f"interpolate: {name}: expected one number, or {dims} for x of shape {x.shape}, got "
            f"{value!r}"
        )
    if min(lengths) < 1 or min(spatial) < 1:
        raise ValueError(
            f"interpolate: expected at least one element along each axis, got {spatial} in x and "
            f"{lengths} in the result"
        )
    return _interpolate(
        x, size=lengths, step=steps, nearest=mode == "nearest", corners=align_corners
    )


def _steps(spatial: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[float, ...]:
    return tuple(n / m if m else 1.0 for n, m in zip(spatial, lengths))


def _factors(scale_factor: Any) -> tuple[float, ...]:
    """The factors, as numbers above 0."""
    values = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,)
    try:
        factors = tuple(float(f) for f in values if not isinstance(f, str))
    except (TypeError, ValueError):
        factors = ()
    if len(factors) != len(values) or not factors or not all(0 < f < math.inf for f in factors):
        raise ValueError(
            f"interpolate: scale_factor: expected a number above 0 or one per axis, got "
            f"{scale_factor!r}"
        )
    return factors
