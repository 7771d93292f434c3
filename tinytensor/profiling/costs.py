"""What a profile has counted, and how it is grouped: by op, by module, by phase."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .floor import Product, seconds_alone
from .report import as_dict, as_html, as_text

#: products that alone took longer than this part of the time they took here were not measured well
_BUSY = 1.05
#: calls that took so many times as long as the fastest ones were disturbed
_SLOWED = 2.0
#: how often a product is measured until that is believed
_TRIES = 4


@dataclass
class Cost:
    """What a number of applications, or steps of the walk back, took.

    Attributes:
        calls: how many. ns: their own time, in nanoseconds.
        bytes: size of the results (outputs, or operands' gradients), without views of operands.
        products: the matrix products among it, and how many times each was computed.
        products_ns: the time of those calls that had products; best_ns: what they would have
            taken, had each been as fast as the fastest of its kind.
    """

    calls: int = 0
    ns: int = 0
    bytes: int = 0
    products: dict[Product, int] = field(default_factory=dict)
    products_ns: int = 0
    best_ns: int = 0
    #: calls and the shortest time, for each kind of call: those with the same products
    _kinds: dict[tuple[Any, ...], tuple[int, int]] = field(default_factory=dict, repr=False)

    def count(self, ns: int, size: int, products: dict[Product, int]) -> None:
        """Count a call."""
        self.add(ns, size, products)
        if products:
            kind = tuple(products.items())
            calls, least = self._kinds.get(kind, (0, ns))
            self._kinds[kind] = calls + 1, min(least, ns)
            self.products_ns += ns
            self.best_ns += (calls + 1) * min(least, ns) - calls * least

    def add(self, ns: int, size: int, products: dict[Product, int], calls: int = 1) -> None:
        """Count ``calls`` more."""
        self.calls += calls
        self.ns += ns
        self.bytes += size
        for product, times in products.items():
            self.products[product] = self.products.get(product, 0) + times

    @property
    def seconds(self) -> float:
        """Their own time."""
        return self.ns * 1e-9

    @property
    def flops(self) -> int:
        """Floating-point operations of the matrix products."""
        return sum(product.flops * times for product, times in self.products.items())

    def __add__(self, other: Cost) -> Cost:
        total = Cost()
        for cost in (self, other):
            total.add(cost.ns, cost.bytes, cost.products, cost.calls)
            total.products_ns += cost.products_ns
            total.best_ns += cost.best_ns
        return total


@dataclass
class Entry:
    """The forward and the backward cost of an op, a module or a phase."""

    forward: Cost = field(default_factory=Cost)
    backward: Cost = field(default_factory=Cost)

    @property
    def total(self) -> Cost:
        """Both together."""
        return self.forward + self.backward


class Costs:
    """What was counted, and the report of it.

    Attributes:
        entries: by (phase, op name, module path). The phase is "" outside of any; the path is that
            of ``nn.Module.get_submodule``, for the outermost module its class name, and "" outside
            of any module.
        wall_ns: time from entering the profile to leaving it; further uses of it add to this.
        phase_ns: time spent in each phase.
        own_ns: time that the measuring itself took, between the ops.
    """

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], Entry] = {}
        self.wall_ns = 0
        self.phase_ns: dict[str, int] = {}
        self.own_ns = 0
        self._alone: dict[Product, float] = {}
        self._tries: dict[Product, int] = {}
        self._halved: set[Product] = set()  # of ops that may compute no more than half of them

    def _grouped(self, name: Callable[[str, str, str], str]) -> dict[str, Entry]:
        groups: dict[str, Entry] = {}
        for key, entry in self.entries.items():
            group = groups.setdefault(name(*key), Entry())
            group.forward += entry.forward
            group.backward += entry.backward
        return dict(sorted(groups.items(), key=lambda item: -item[1].total.ns))

    @property
    def by_op(self) -> dict[str, Entry]:
        """Costs by op name, the most expensive first."""
        return self._grouped(lambda phase, op, module: op)

    @property
    def by_phase(self) -> dict[str, Entry]:
        """Costs of the ops by phase, the most expensive first."""
        return self._grouped(lambda phase, op, module: phase)

    @property
    def by_module(self) -> dict[str, Entry]:
        """Costs by path of the module whose ``forward`` applied the op, without those below it."""
        return self._grouped(lambda phase, op, module: module)

    def modules(self, depth: int | None = None, merge: bool = False) -> dict[str, Entry]:
        """Costs by module path, in fewer lines than :attr:`by_module`.

        Args:
            depth: levels to show; what is below counts for the level above. A number is no level
                of its own: ``h.0.attn.c_proj`` counts for ``h.0.attn`` at depth 2.
            merge: modules that differ in a number are one: ``h.*.attn`` is that of every layer.
        """
        return self._grouped(lambda phase, op, module: _folded(module, depth, merge))

    @property
    def total(self) -> Entry:
        """The cost of all ops."""
        return self._grouped(lambda phase, op, module: "").get("", Entry())

    @property
    def elsewhere_ns(self) -> int:
        """Time inside the profile that neither ops nor the measuring took."""
        return self.wall_ns - self.own_ns - self.total.total.ns

    def alone(self, cost: Cost) -> float:
        """Seconds that ``xp.matmul`` alone takes for the matrix products of ``cost``: its floor.

        Each product is measured when it is first asked for, once, and remembered.
        """
        return sum(self.alone_each(p) * times for p, times in cost.products.items())

    def alone_each(self, product: Product) -> float:
        """Seconds that one of these products takes alone; see :meth:`alone`."""
        if product not in self._alone:
            self._measure([product])
        return self._alone[product]

    def measure_alone(self, budget: float = 0.01) -> None:
        """Measure all products so far once more; of all times the shortest counts.

        To be called between two uses of a profile: what slows the machine down for a while then
        slows both, and does not make a floor that is higher than what stands on it.

        Args:
            budget: about how many seconds to spend on each.
        """
        self._measure(self.total.total.products, budget)

    def _measure(self, products: Iterable[Product], *budget: float) -> None:
        for product in products:
            taken = seconds_alone(product, *budget)
            self._alone[product] = min(taken, self._alone.get(product, math.inf))
            self._tries[product] = self._tries.get(product, 0) + 1

    def busy(self, cost: Cost, ns: float | None = None) -> bool:
        """Whether the floor of ``cost`` makes no sense, as other programs kept the cores busy.

        Either while the op ran: it took twice as long as if each call had been the fastest of its
        kind. Or while the products were measured: alone they took longer than in the op. Before
        that is believed they are measured a few times more.

        Args:
            ns: the time to compare with, in nanoseconds; None for that of ``cost``.
        """
        if cost.products_ns > _SLOWED * cost.best_ns:
            return True
        limit = (cost.ns if ns is None else ns) * 1e-9 * _BUSY
        while self._needed(cost) > limit:
            again = [p for p in cost.products if self._tries.get(p, 0) < _TRIES]
            if not again:
                return True
            self._measure(again)
        return False

    def _needed(self, cost: Cost) -> float:
        """The floor of what no program can leave out, in seconds."""
        return sum(
            self.alone_each(p) * times * (0.5 if p in self._halved else 1.0)
            for p, times in cost.products.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, fit for JSON; times in seconds.

        ``floor_seconds`` is None where ``busy`` is true, see :meth:`busy`.
        """
        return as_dict(self)

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(self)


def _folded(path: str, depth: int | None, merge: bool) -> str:
    levels: list[str] = []
    for part in path.split("."):
        if part.isdigit() and levels:
            levels[-1] += ".*" if merge else f".{part}"
        else:
            levels.append(part)
    return ".".join(levels if depth is None else levels[: max(1, depth)])
