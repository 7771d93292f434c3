"""What the graph keeps in memory for backward, and which op and module asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.backward import collect
from ..graph.node import Dropped
from ..shown import html
from ..shown.printing import bytes_of
from ..tensor.tensor import Tensor


@dataclass
class Share:
    """Arrays of one op or module: how many, and their bytes (each array counted once)."""

    arrays: int = 0
    bytes: int = 0


@dataclass(repr=False)
class MemoryReport:
    """Result of :func:`memory_report`; ``print`` it to read it.

    Attributes:
        total: bytes of all arrays kept for backward, shared ones counted once.
        leaves: how much of that are arrays of leaf tensors (parameters), alive anyway.
        nodes: how many ops were recorded.
        by_op, by_module: shares by op name, and by module path ("" is outside any module). An
            array that several keep is counted for the first that kept it.
    """

    total: int = 0
    leaves: int = 0
    nodes: int = 0
    by_op: dict[str, Share] = field(default_factory=dict)
    by_module: dict[str, Share] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [self._in_short()]
        for title, table in self._tables().items():
            width = max([len(title), *(len(name) for name, *_ in table)])
            lines.append(f"{title:<{width}}  {'arrays':>7}  {'memory':>10}  share")
            lines += [
                f"{name:<{width}}  {arrays:>7}  {memory:>10}  {share:>5}"
                for name, arrays, memory, share in table
            ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        columns = ("arrays", "memory", "share")
        tables = [html.table((title, *columns), t) for title, t in self._tables().items()]
        return html.framed("memory", self._in_short(), *tables)

    def _in_short(self) -> str:
        return (
            f"kept for backward: {bytes_of(self.total)} by {self.nodes} ops, of which "
            f"{bytes_of(self.leaves)} are parameters and other leaves"
        )

    def _tables(self) -> dict[str, list[tuple[str, str, str, str]]]:
        """Rows of name, arrays, memory and share, the largest first, by op and by module."""
        return {
            title: [
                (
                    name or "(none)",
                    str(share.arrays),
                    bytes_of(share.bytes),
                    f"{share.bytes / self.total if self.total else 0.0:.1%}",
                )
                for name, share in sorted(table.items(), key=lambda item: -item[1].bytes)
            ]
            for title, table in (("op", self.by_op), ("module", self.by_module))
        }


def memory_report(outputs: Tensor | Sequence[Tensor]) -> MemoryReport:
    """Bytes that the graph behind ``outputs`` keeps for backward, by op and by module.

    Call it between the forward pass and backward, which frees what it has used::

        loss = model(x, y)[1]
        print(tt.memory_report(loss))

    Args:
        outputs: a tensor or several, inside a graph.

    Raises:
        ValueError: none of them is part of a graph.
    """
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    roots = [o.node for o in outs if o.node is not None]
    if not roots:
        raise ValueError(
            "memory_report: outputs: expected tensors inside a graph, got leaves or detached ones"
        )
    leaves: dict[int, Tensor] = {}
    nodes = collect(roots, leaves)
    own = {id(_owner(leaf.data)) for leaf in leaves.values()}
    report = MemoryReport(nodes=sum(node.op.name != "output" for node in nodes))
    seen: set[int] = set()
    for node in nodes:
        if node.saved is None or isinstance(node.saved, Dropped):
            continue
        path = node.scope.path or node.scope.name if node.scope is not None else ""
        for array in node.saved:
            if not hasattr(array, "nbytes"):
                continue
            owner = _owner(array)
            if id(owner) in seen:
                continue
            seen.add(id(owner))
            size = int(owner.nbytes)
            report.total += size
            if id(owner) in own:
                report.leaves += size
            for table, key in ((report.by_op, node.op.name), (report.by_module, path)):
                share = table.setdefault(key, Share())
                share.arrays += 1
                share.bytes += size
    return report


def _owner(array: Any) -> Any:
    """The array whose memory this one looks at."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array
