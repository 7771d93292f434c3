"""Steps, paths, time and memory of a body, and the exponents with which they grow."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

import tinytensor as tt
from tinytensor.graph.backward import collect
from tinytensor.graph.node import Node

from .bodies import Kind, sequence

# ---- steps and paths, read off the graph ---------------------------------------------------------


def longest_chain(outputs: Iterable[tt.Tensor]) -> int:
    """Ops on the longest chain of the graph behind some results: each has to wait for the one
    before, however many processors there are. A fused op counts as what its reference is made of.
    """
    roots = [out.node for out in outputs if out.node is not None]
    length: dict[int, int] = {}
    for node in sorted(collect(roots, {}), key=lambda node: node.seq):
        before = [length.get(id(parent), 0) for parent in node.parents if isinstance(parent, Node)]
        length[id(node)] = max(before, default=0) + _inside(node)
    return max((length[id(root)] for root in roots), default=0)


def _inside(node: Node) -> int:
    """What a node adds to a chain."""
    if node.op.name == "output":  # one result of several
        return 0
    reference = node.op.reference
    if reference is None:
        return 1
    operands = []
    for meta, needed in zip(node.in_meta, node.needs):
        zeros = None if meta is None else tt.zeros(meta[0], dtype=meta[1])
        operands.append(zeros if zeros is None or not needed else zeros.requires_grad_())
    results = reference(*operands, **node.params)
    return longest_chain(results if isinstance(results, tuple) else [results])


def steps(kind: Kind, length: int) -> int:
    """The longest chain of a body on a sequence of this length."""
    body, rng = kind.body(), np.random.default_rng(0)
    return longest_chain([body(sequence(rng, 1, length, kind.width))])


def reaches(kind: Kind, layers: int, distance: int) -> bool:
    """Whether the output ``distance`` after the first input depends on it: whether there is a
    gradient (in float64, where vanished ones are not zero yet)."""
    body = kind.body(layers=layers).to("float64")
    rng = np.random.default_rng(0)
    x = tt.tensor(rng.standard_normal((1, distance + 1, kind.width)), requires_grad=True)
    last = body(x)[:, -1]
    last.backward(tt.tensor(rng.standard_normal(last.shape)))
    assert x.grad is not None
    return bool(np.abs(x.grad.numpy()[:, 0]).max() > 0)


def hops(kind: Kind, distance: int) -> int:
    """Steps from the first input to the output ``distance`` later, by trial: the fewest layers that
    reach so far, times the steps that a signal takes within one of them."""
    layers = next(n for n in range(1, distance + 2) if reaches(kind, n, distance))
    return layers * (_steps_within(kind, distance) if kind.recurrent else 1)


def _steps_within(kind: Kind, distance: int) -> int:
    """How often a longer sequence adds one step's ops to the chain of one layer."""
    rng, width = np.random.default_rng(0), kind.width
    body = kind.body(layers=1)
    chains = [longest_chain([body(sequence(rng, 1, n, width))]) for n in (1, 2, distance + 1)]
    return (chains[2] - chains[0]) // (chains[1] - chains[0])


# ---- time and memory -----------------------------------------------------------------------------


@dataclass
class Growth:
    """What a quantity costs at growing sizes.

    Attributes:
        sizes: lengths or widths. costs: seconds or bytes at each.
        work: the multiplications that theory counts at each, for the exponent beside.
    """

    sizes: list[int]
    costs: list[float]
    work: list[float]

    @property
    def exponent(self) -> float:
        """e of cost ~ size^e, fitted to the three largest sizes: what is fixed weighs least."""
        return self._fit(self.costs)

    @property
    def counted(self) -> float:
        """The same of the multiplications."""
        return self._fit(self.work)

    def _fit(self, costs: Sequence[float]) -> float:
        late = slice(-3, None)
        slope, _ = np.polyfit(np.log(self.sizes[late]), np.log(costs[late]), 1)
        return float(slope)


def prepared(kind: Kind, scale: int, length: int, batch: int) -> Callable[[], None]:
    """A training step without its update: forward and backward with a random cotangent."""
    rng, width = np.random.default_rng(0), kind.width * scale
    body = kind.body(scale)
    x = sequence(rng, batch, length, width)
    cotangent = tt.tensor(rng.standard_normal((batch, length, width)).astype(np.float32))

    def step() -> None:
        body.zero_grad()
        x.grad = None
        body(x).backward(cotangent)

    return step


def times(
    kinds: Sequence[Kind], scales: Sequence[int], lengths: Sequence[int], batch: int, seconds: float
) -> dict[str, list[float]]:
    """Seconds of processor time per step at each size, the least of several: all kinds take turns,
    so that a machine that is busy for a while slows all of them.

    Args:
        scales, lengths: how wide and how long each size is.
        seconds: about how long each kind is measured at each size.
    """
    found: dict[str, list[float]] = {kind.key: [] for kind in kinds}
    for scale, length in zip(scales, lengths):
        steps = {kind.key: prepared(kind, scale, length, batch) for kind in kinds}
        taken: dict[str, list[float]] = {key: [] for key in steps}
        for step in steps.values():
            step()  # warms up
        for turn in range(_MOST):
            for key, step in steps.items():
                if turn < _LEAST * (seconds > 0) or sum(taken[key]) <= seconds:
                    taken[key].append(_clocked(step))
        for key in steps:
            found[key].append(min(taken[key]))
    return found


#: how often a step is timed at least, and at most
_LEAST, _MOST = 4, 100


def _clocked(step: Callable[[], None]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def peak(kind: Kind, length: int, batch: int) -> int:
    """Bytes of the most memory that a step holds at once, beyond parameters and input."""
    step = prepared(kind, 1, length, batch)
    step()  # gradients of parameters are there from now on
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        step()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
