"""A profile as text and as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..shown import html
from ..shown.printing import bytes_of

if TYPE_CHECKING:
    from .costs import Cost, Costs, Entry

Row = tuple[str, ...]

#: what stands above the columns of :func:`rows`
COLUMNS = ("calls", "forward", "backward", "share", "output", "GFLOP/s", "floor")

#: what stands in the place of a floor that makes no sense, and what it means
BUSY = "busy"
BUSY_MEANS = (
    "busy: other programs kept the cores busy. The products took longer alone than in here, or on "
    "average\ntwice as long here as at best; measure again."
)


def rows(profile: Costs, entries: Mapping[str, Entry], steps: int = 1) -> list[Row]:
    """A line per entry: its name, and :data:`COLUMNS`, times in ms and all per step.

    ``share`` is that of the wall time. ``floor`` is the time that ``xp.matmul`` alone takes for the
    matrix products of the entry, as a share of the time it took: near 100% nothing is to be gained.
    ``busy`` stands there for what makes no sense, see :meth:`Costs.busy`.
    """
    lines: list[Row] = []
    for name, entry in entries.items():
        cost = entry.total
        lines.append(
            (
                name or "(none)",
                number((entry.forward.calls or entry.backward.calls) / steps),
                milliseconds(entry.forward.ns / steps),
                milliseconds(entry.backward.ns / steps),
                percent(cost.ns, profile.wall_ns),
                bytes_of(round(cost.bytes / steps)),
                *speed(profile, cost, cost.ns),
            )
        )
    return lines


def speed(profile: Costs, cost: Cost, ns: int) -> tuple[str, str]:
    """GFLOP/s of the matrix products in a time, and the share of it that their floor is."""
    if not cost.products or not ns:
        return "", ""
    busy = profile.busy(cost, ns)
    return f"{cost.flops / ns:,.1f}", BUSY if busy else percent(profile.alone(cost) * 1e9, ns)


def milliseconds(ns: float) -> str:
    """A time as ``12.345``, ``0.012`` or, for none at all, nothing."""
    return f"{ns / 1e6:,.3f}" if ns else ""


def percent(part: float, whole: float) -> str:
    """``12.3%``"""
    return f"{part / whole:.1%}" if whole else ""


def number(count: float) -> str:
    """``12``, or ``0.5`` for what is not in every step."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,.1f}"


def aligned(title: str, columns: Row, lines: Sequence[Row], words: Sequence[int] = ()) -> str:
    """A table as text: the first column to the left and the others to the right, but for those of
    ``words`` (0 is the second)."""
    table = [(title, *columns), *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns) + 1)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 or i - 1 in words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def summary(profile: Costs) -> list[str]:
    """The time in a line, and the matrix products in another if there were any."""
    total, wall = profile.total.total, profile.wall_ns
    lines = [
        f"wall time {wall / 1e6:,.3f} ms: ops {percent(total.ns, wall) or '0%'}, elsewhere "
        f"{percent(profile.elsewhere_ns, wall)}, measuring {percent(profile.own_ns, wall)}"
    ]
    if total.products:
        busy = profile.busy(total)  # first: it may measure once more
        floor = profile.alone(total)
        alone = (
            "their floor cannot be told, the machine was busy"
            if busy
            else f"alone they take {floor * 1e3:,.3f} ms ({total.flops / floor / 1e9:,.1f} "
            f"GFLOP/s), {percent(floor * 1e9, wall)} of the wall time"
        )
        lines.append(f"matrix products {total.flops / 1e9:,.3f} GFLOP: {alone}")
    return lines


def meaning(tables: Iterable[Sequence[Row]]) -> str:
    """The line that explains ``busy``, where it stands in a table; else nothing."""
    found = any(BUSY in line[1:] for lines in tables for line in lines)
    return BUSY_MEANS if found else ""


def as_text(profile: Costs) -> str:
    """What ``print(profile)`` shows: times in ms, in all."""
    if not profile.wall_ns:
        return "profile: nothing measured yet; with tt.profile() as p: ... and then print(p)"
    ops, modules = rows(profile, profile.by_op), rows(profile, profile.modules(merge=True))
    parts = ["\n".join(summary(profile)), aligned("op", COLUMNS, ops)]
    parts += [aligned("module", COLUMNS, modules), meaning([ops, modules])]
    return "\n\n".join(filter(None, parts))


def as_html(profile: Costs) -> str:
    """What a notebook shows: the same tables as :func:`as_text`."""
    if not profile.wall_ns:
        return html.framed("profile", "nothing measured yet")
    ops, modules = rows(profile, profile.by_op), rows(profile, profile.modules(merge=True))
    first, *rest = summary(profile)
    parts = [html.line(html.text(line)) for line in rest]
    parts.append(html.table(("op", *COLUMNS), ops))
    parts.append(html.folded("by module", html.table(("module", *COLUMNS), modules)))
    parts.append(html.line(html.faint(html.text(meaning([ops, modules])))))
    return html.framed("profile", first, *parts)


def as_dict(profile: Costs) -> dict[str, Any]:
    """See :meth:`Costs.to_dict`."""
    total = profile.total.total

    def floor(c: Cost) -> dict[str, Any]:
        busy = profile.busy(c)
        return {"floor_seconds": None if busy else profile.alone(c), "busy": busy}

    def cost(c: Cost) -> dict[str, Any]:
        return {
            "calls": c.calls,
            "seconds": c.seconds,
            "bytes": c.bytes,
            "flops": c.flops,
            **floor(c),
        }

    def table(entries: Mapping[str, Entry]) -> dict[str, Any]:
        return {
            name: {"forward": cost(e.forward), "backward": cost(e.backward)}
            for name, e in entries.items()
        }

    phases = profile.by_phase
    return {
        "wall_seconds": profile.wall_ns * 1e-9,
        "op_seconds": total.seconds,
        "elsewhere_seconds": profile.elsewhere_ns * 1e-9,
        "measuring_seconds": profile.own_ns * 1e-9,
        "flops": total.flops,
        **floor(total),
        "phases": {
            name: {
                "seconds": ns * 1e-9,
                "op_seconds": phases[name].total.seconds if name in phases else 0.0,
            }
            for name, ns in profile.phase_ns.items()
        },
        "ops": table(profile.by_op),
        "modules": table(profile.by_module),
        "products": [
            {
                "product": str(product),
                "dtype": product.dtype,
                "device": product.device,
                "times": times,
                "flops": product.flops,
                "seconds_alone": profile.alone_each(product),
            }
            for product, times in total.products.items()
        ],
    }
