"""Choosing between elements by a condition."""

from __future__ import annotations

from ..registry import op
from ..samples import Sample

__all__ = ["where", "masked_fill"]


@op(
    "condition x y",
    keeps="condition",
    formula="x where condition, else y",
    gradient="dx = g where condition else 0, dy the other way round",
    samples=lambda r: [
        Sample(r.bools(3, 4), r(3, 4), r(3, 4)),
        Sample(r.bools(4), r(3, 1), r()),
        Sample(r.bools(3, 1), r(1, 4), 0.5),
        Sample(r.bools(), r(2), r(2)),
        Sample(r.bools(0, 3), r(0, 3), r(3)),
    ],
)
def where(xp, condition, x, y):
    """Choose element by element.

    Only the chosen side gets a gradient, but what that side's own op makes of a zero gradient is
    its affair: ``where(x > 0, sqrt(x), 0)`` gives NaN at x = 0, because 0 · ∞ is NaN. Guard the
    inside too: ``where(x > 0, sqrt(where(x > 0, x, 1)), 0)``. PyTorch behaves the same.
    """
    return xp.where(condition, x, y)


where.vjp(
    x=lambda xp, g, k: xp.where(k.condition, g, 0.0),
    y=lambda xp, g, k: xp.where(k.condition, 0.0, g),
)


@op(
    "x mask",
    keeps="mask",
    formula="value where mask, else x",
    gradient="dx = 0 where mask, else g",
    samples=lambda r: [
        Sample(r(3, 4), r.bools(3, 4), -2.0),
        Sample(r(2, 3, 4), r.bools(4), 0.0),
        Sample(r(3, 1), r.bools(3, 4), 7.0),
        Sample(r(), r.bools(), 1.0),
        Sample(r(0, 2), r.bools(2), 1.0),
    ],
)
def masked_fill(xp, x, mask, value):
    """Replace elements where the boolean ``mask`` (broadcast) is True by the number ``value``."""
    if getattr(getattr(mask, "dtype", None), "kind", "") != "b":
        raise TypeError(
            f"mask: expected booleans, got {getattr(mask, 'dtype', type(mask).__name__)}"
        )
    return xp.where(mask, value, x)


masked_fill.vjp(x=lambda xp, g, k: xp.where(k.mask, 0.0, g))
