"""What statistics tell: dead units, gradients that vanish or explode, numbers that are none."""

from __future__ import annotations

from ...shown.statistics import Stats
from ..picture import COMPUTED, Picture, Value

DEAD, VANISHING = "dead", "vanishing"
EXPLODING, BAD = "exploding", "not finite"

#: ops that give exactly 0, and no gradient, over a whole range of what they read
RECTIFIERS = {"relu", "clip", "maximum", "hard_sigmoid", "hard_swish"}

#: a gradient is remarkable if it is this much smaller or larger than where backward began
RATIO = 1e4


def flag(picture: Picture) -> None:
    """Set ``flags`` of every value of a traced picture that has statistics.

    Gradients are compared, by their root mean square, with that of the last result of more than one
    number: the one from which they went on to all the others.
    """
    end = at_the_end(picture)
    for value in picture.values():
        found: dict[str, str] = {}
        for word, stats in (("data", value.stats), ("grad", value.grad_stats)):
            if stats is not None and stats.bad:
                said = f"{stats.bad:,} of {stats.size:,} not finite"
                found[BAD] = f"{found[BAD]}, {word}: {said}" if BAD in found else f"{word}: {said}"
        dead = dead_units(value)
        if dead:
            found[DEAD] = dead
        if value.grad_stats is not None and value.needs_grad:
            found |= strange_gradient(value.grad_stats, end)
        value.flags = found


def at_the_end(picture: Picture) -> float | None:
    """Size of the gradient where backward began; None where it is not known."""
    results = [value for step in picture.steps for value in step.outputs]
    known = [value.grad_stats for value in results if value.grad_stats is not None]
    several = [stats for stats in known if stats.size > 1 and stats.rms > 0]
    one = [stats for stats in known if stats.rms > 0]
    return (several or one)[-1].rms if one else None


def dead_units(value: Value) -> str:
    """ "3 of 8 units 0 in all 32 rows" for what came out of a rectifier."""
    stats = value.stats
    if value.role != COMPUTED or value.step is None or stats is None or stats.still is None:
        return ""
    dead, units, rows = stats.still
    if not dead or value.step.title not in RECTIFIERS:
        return ""
    return f"{dead:,} of {units:,} units 0 in all {rows:,} rows"


def strange_gradient(stats: Stats, end: float | None) -> dict[str, str]:
    """A gradient that is much smaller or larger than where backward began."""
    if stats.bad == stats.size or end is None or not end > 0:
        return {}
    if stats.rms == 0:
        return {VANISHING: "gradient all 0"} if stats.size > 1 else {}
    ratio = stats.rms / end
    if ratio < 1 / RATIO:
        return {VANISHING: f"gradient {ratio:.0e} of that at the end"}
    if ratio > RATIO:
        return {EXPLODING: f"gradient {ratio:.0e} times that at the end"}
    return {}
