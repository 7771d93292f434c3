"""The same values elsewhere: in the graph, in memory, in another dtype."""

from __future__ import annotations

from typing import Any

from ..device import device
from ..registry import op
from ..samples import Sample, any_values

__all__ = ["alias", "copy", "astype", "to_device"]


@op("x", view=True, formula="x", gradient="dx = g", samples=any_values)
def alias(xp, x):
    """The same values (and memory) as a graph node of their own."""
    return x


alias.vjp(x=lambda xp, g, k: g)


@op("x", formula="x", gradient="dx = g", samples=any_values)
def copy(xp, x):
    """A copy in memory of its own."""
    return x.copy()


copy.vjp(x=lambda xp, g, k: g)


@op(
    "x",
    casts=True,
    formula="x in another dtype",
    gradient="dx = g in x's dtype",
    samples=lambda r: [
        Sample(r(3, 4), "float64"),
        Sample(r(), "float64"),
        Sample(r(0, 2), "float64"),
    ],
)
def astype(xp, x, dtype):
    """Convert to a NumPy dtype (or its name). Floating to floating keeps the graph."""
    return x.astype(dtype)


astype.vjp(x=lambda xp, g, k: g)


@op(
    "x",
    name="to_device",
    formula="x on another device",
    gradient="dx = g, moved back",
    samples=lambda r: [Sample(r(3, 4), "cpu", "cpu"), Sample(r(), "cpu", "cpu")],
)
def _to_device(xp, x, name, origin):
    """Copy from the device ``origin`` to the device ``name``."""
    return device(name).from_host(device(origin).to_host(x))


_to_device.vjp(x=lambda xp, g, k: k.run(_to_device, g, name=k.origin, origin=k.name))


def to_device(x: Any, name: str) -> Any:
    """A copy of ``x`` on the device called ``name``; gradients travel back."""
    return _to_device(x, name=name, origin=x.device.name)
