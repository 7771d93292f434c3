"""The same values elsewhere: in the graph, in memory, in another dtype."""

from __future__ import annotations

from typing import Any

from ...arrays.device import device
from ...define.application import share_version
from ...define.op import op
from ...define.samples import Sample, any_values


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
    "*xs",
    name="tie",
    outputs=None,
    formula="xs",
    gradient="dxᵢ = gᵢ",
    samples=lambda r: [Sample([r(2, 3), r(4)]), Sample([r()]), Sample([r(0, 2), r(2)])],
)
def _tie(xp, *xs):
    """Several tensors through one node."""
    return xs


_tie.vjp(lambda xp, g, k: g)


def tie(xs: Any) -> tuple[Any, ...]:
    """The tensors of a list as they are, but as the outputs of one graph node: backward comes to it
    once, when the gradients of all of them are complete."""
    tied: tuple[Any, ...] = _tie(xs)
    for out, x in zip(tied, xs, strict=True):
        share_version(out, x)
    return tied


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
