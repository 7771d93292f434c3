"""Whether a gradient that was sent back agrees with finite differences, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..derivatives.grad import grad
from ..derivatives.gradcheck import either_side
from ..hints.finding import kind_of
from ..tensor.tensor import Tensor, tensor

#: elements that are moved, and how far, in float64
MOST, STEP = 60, 1e-6
#: how far slopes may differ, as a share of the largest
_SHARE = 1e-4

Call = Callable[[dict[str, Any]], Any]


def compare(call: Call, operands: Mapping[str, Tensor], seeds: Sequence[np.ndarray]) -> list[str]:
    """A line for each floating-point operand: how far the rule is from the slopes measured.

    Args:
        call: computes the result from operands by label. operands: all of them; those of a
            floating dtype are checked, as float64. seeds: gradients of the outputs that have one.
    """
    wide = {
        label: tensor(x.device.to_host(x.data).astype(np.float64), requires_grad=True)
        if x.dtype.kind == "f" and x.requires_grad
        else x
        for label, x in operands.items()
    }
    moved = {label: x for label, x in wide.items() if x.requires_grad}

    def outputs() -> list[Tensor]:
        out = call(dict(wide))
        return [o for o in (out if isinstance(out, tuple) else [out]) if o.requires_grad]

    def weighted() -> float:
        return sum(
            float(np.sum(o.device.to_host(o.data) * w))
            for o, w in zip(outputs(), seeds, strict=True)
        )

    first = outputs()
    value = weighted()
    if not np.isfinite(value):
        return ["not compared with finite differences: the result is not finite everywhere"]
    if weighted() != value:
        return ["not compared with finite differences: the result is another one each time"]
    cotangents = [tensor(w, dtype=o.dtype) for o, w in zip(first, seeds, strict=True)]
    found = grad(first, list(moved.values()), cotangents, allow_unused=True)
    lines = []
    for (label, x), g in zip(moved.items(), found, strict=True):
        rule = np.zeros(x.shape) if g is None else np.asarray(g.device.to_host(g.data))
        lines.append(_of_one(label, x, rule, weighted))
    return lines


def _of_one(label: str, x: Tensor, rule: np.ndarray, value: Callable[[], float]) -> str:
    places = np.arange(x.size)
    if x.size > MOST:
        places = np.sort(np.random.default_rng(0).permutation(x.size)[:MOST])
    middle = value()
    left, right = np.array([_slopes(x, int(i), value, middle) for i in places]).reshape(-1, 2).T
    both, given = (left + right) / 2, rule.reshape(-1)[places]
    fine = np.isfinite(both) & np.isfinite(given)
    if not fine.all():
        i = int(np.argmin(fine))
        return (
            f"d{label}: not compared with finite differences: at {_place(label, x, places[i])} the "
            f"rule says {given[i]:.4g}, measured {both[i]:.4g}"
        )
    scale = max(1e-3, float(np.max(np.abs(np.concatenate([both, given])), initial=0.0)))
    off = np.abs(both - given)
    some = f"{len(places)} of {x.size:,} elements" if x.size > len(places) else "all elements"
    # the two sides of a smooth function differ by its curvature times the step
    kinks = (np.abs(left - right) > 100 * _SHARE * scale) & (off > _SHARE * scale)
    wrong = (off > _SHARE * scale) & ~kinks
    if wrong.any():
        i = int(np.argmax(np.where(wrong, off, -1)))
        return (
            f"d{label}: DIFFERS from finite differences at {_place(label, x, places[i])}: "
            f"{given[i]:.6g}, measured {both[i]:.6g}"
        )
    smooth = off[~kinks]
    text = f"d{label}: agrees with finite differences in float64, {some}"
    text += f", to {float(smooth.max(initial=0.0)):.1g}" if smooth.size else ""
    if kinks.any():
        i = int(np.argmax(kinks))
        text += (
            f"; {_place(label, x, places[i])} is at a kink, with slope {left[i]:.4g} on the left "
            f"and {right[i]:.4g} on the right: the rule says {given[i]:.4g}"
        )
    return text


def _slopes(x: Tensor, i: int, value: Callable[[], float], middle: float) -> tuple[float, float]:
    """How the result changes to the left and to the right of an element."""
    low, high = either_side(value, x, i, STEP)
    return (middle - low) / STEP, (high - middle) / STEP


def _place(label: str, x: Tensor, i: int) -> str:
    index = ", ".join(str(int(p)) for p in np.unravel_index(int(i), x.shape))
    return f"{label}[{index}]" if index else label


def seeds_for(outs: Sequence[Tensor], given: Any) -> list[np.ndarray]:
    """The gradients to send back: those given, checked, or some drawn at random.

    Raises:
        ValueError: not one for each output, or another shape. TypeError: no array.
    """
    if given is None:
        rng = np.random.default_rng(3)
        return [np.round(rng.normal(size=out.shape), 1) for out in outs]
    several = list(given) if len(outs) > 1 and isinstance(given, (list, tuple)) else [given]
    if len(several) != len(outs):
        raise ValueError(
            f"explain: g: expected {len(outs)} gradients, one for each output that has one, got "
            f"{len(several)}"
        )
    seeds = []
    for out, g in zip(outs, several, strict=True):
        try:
            array = g.device.to_host(g.data) if isinstance(g, Tensor) else np.asarray(g)
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"explain: g: expected a tensor or an array, got {kind_of(g)}"
            ) from None
        if array.shape != out.shape:
            raise ValueError(
                f"explain: g: expected the shape of the result, {out.shape}, got {array.shape}"
            )
        seeds.append(array)
    return seeds
