"""What each of several processes does in a training step that they share; see ``data_parallel.py``.

Parameters, gradients and the optimiser's state lie in memory that the processes share, and each
adds up, scales and updates a part of them. The first process, which forked the others, moves what
it finds elsewhere into that memory: so between the calls its model and optimiser are used as ever.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import no_grad, random
from ...models import Model
from ...nn import evaluating
from ...tensor.tensor import make
from ..optim.clip import joint_norm, multiply
from ..optim.optimizer import Optimizer
from ..optim.parts import shares


def _shared(like: Sequence[Any]) -> list[Any]:
    """Arrays like the given ones, zeros, in memory that forked processes share."""
    import mmap

    sizes = [-(-a.nbytes // 64) * 64 for a in like]  # each begins at a cache line
    memory = mmap.mmap(-1, max(1, sum(sizes)))  # lives as long as an array that looks into it
    starts = itertools.accumulate(sizes, initial=0)
    return [np.ndarray(a.shape, a.dtype, memory, start) for a, start in zip(like, starts)]


class Share:
    """What one process does; its ``rank`` is 0 in the process that forked the others."""

    def __init__(self, model: Model[Any], optimizer: Optimizer, workers: int):
        self.model, self.optimizer, self.workers, self.rank = model, optimizer, workers, 0
        self.params = list(optimizer.parameters())
        own = set(self.params)
        self.all = [*self.params, *(p for p in model.parameters() if p not in own)]
        self.values = _shared([p.data for p in self.all])
        like = self.values[: len(self.params)]
        self.grads = [_shared(like) for _ in range(workers)]  # rank 0's become the sums
        states = [a.astype(optimizer.state_dtype(p)) for p, a in zip(self.params, like)]
        # Memory that nobody writes to, as that of roots mostly is, takes no room.
        names = (*optimizer.slots, *optimizer.roots.values())
        self.slots = {name: _shared(states) for name in names}
        (self.has_grad,) = _shared([np.zeros((workers, len(like)), bool)])
        self.adopt()

    # ---- in the first process, between the calls of the others' ---------------------------------

    def adopt(self) -> None:
        """Take over what was done meanwhile to parameters and gradients (at first: all)."""
        for p, value in zip(self.all, self.values, strict=True):
            if p.data is not value:
                np.copyto(value, p.data, casting="equiv")
                p._data = value
        for i, p in enumerate(self.params):
            if p._grad is None and self.has_grad[0, i]:
                self.has_grad[:, i] = False  # forgotten: that holds for all processes
        self.collect()

    def reduced(self) -> None:
        """After ``add_up``: the gradients of the first process are those of all."""
        self.has_grad[0] = self.has_grad.any(axis=0)
        self.has_grad[1:] = False
        self.show(0)

    def forget(self) -> None:
        """Drop the gradients of all processes."""
        self.has_grad[...] = False
        self.optimizer.zero_grad()

    def release(self) -> None:
        """Give the parameters and the optimiser memory of their own, which no later fork shares."""
        if self.has_grad[1:].any():
            self.forget()  # a part of a gradient is of no use
        for p, value in zip(self.all, self.values, strict=True):
            if p.data is value:
                p._data = value.copy()
        for p in self.params:
            if p._grad is not None:
                p._grad = make(p._grad.data.copy())
            state = self.optimizer.state.get(p, {})
            state.update({name: state[name].copy() for name in self.slots if name in state})

    # ---- in every process ----------------------------------------------------------------------

    def show(self, rank: int) -> None:
        """Let every ``p.grad`` be the gradient of ``rank``, in the shared memory."""
        for p, array, has in zip(self.params, self.grads[rank], self.has_grad[rank], strict=True):
            p._grad = make(array) if has else None

    def collect(self) -> None:
        """Move gradients that are not in the shared memory there."""
        for i, (p, array) in enumerate(zip(self.params, self.grads[self.rank], strict=True)):
            if p._grad is not None and p._grad.data is not array:
                np.copyto(array, p._grad.data)
                p._grad = make(array)
            self.has_grad[self.rank, i] = p._grad is not None

    def widen(self, largest: float, scale: float) -> None:
        """Let the optimiser keep roots where squares would overflow, which one process can't decide
        for all. No gradient is larger than ``largest``; all are about to be multiplied by
        ``scale``, if it is below 1."""
        if not self.optimizer.roots:
            return
        scale = min(scale, 1.0)
        for p, grad, has in zip(self.params, self.grads[0], self.has_grad[0], strict=True):
            most = 0.9 * math.sqrt(np.finfo(self.optimizer.state_dtype(p)).max)
            known = self.optimizer.state.get(p, {}).keys() & set(self.optimizer.roots.values())
            if not has or known or largest * scale < most:
                continue
            if most <= float(np.abs(grad).max(initial=0.0)) * scale < math.inf:
                self.optimizer.widen(p)

    def states(
        self, known: Sequence[tuple[int, tuple[str, ...]]] | None = None
    ) -> list[tuple[int, tuple[str, ...]]]:
        """Move the optimiser's state, of parameters with a gradient, into the shared memory.

        Args:
            known: what this returned in the first process, whose state counts; None there.

        Returns:
            For each parameter how many steps it has made, and the names of its arrays.
        """
        owners = [group for group in self.optimizer.param_groups for _ in group["params"]]
        found = []
        for i, (p, group) in enumerate(zip(self.params, owners, strict=True)):
            state = self.optimizer.state.get(p, {"step": 0})
            names = self.optimizer.slots_now(group, state) if known is None else known[i][1]
            if self.has_grad[0, i]:
                if known is not None:
                    state = {"step": known[i][0]}
                self.optimizer.state[p] = state
                for name in names:
                    array = self.slots[name][i]
                    if known is None and state.get(name) is not array:
                        np.copyto(array, state.get(name, 0))
                    state[name] = array
            found.append((state["step"], names))
        return found

    # These are what ``DataParallel`` calls, everywhere at the same time.

    def backward(
        self, batch: Sequence[Any], weight: float, scale: float, seed: int, training: bool
    ) -> float:
        """Add the gradients of this part's loss; ``weight`` is its part of what counts."""
        if self.rank:
            if not len(batch[0]):  # fewer examples than processes
                return 0.0
            random.generator("dropout").manual_seed(seed)
            if self.model.training != training:
                self.model.train(training)
            self.show(self.rank)
        loss = self.model.loss(*batch)
        (loss * (weight * scale)).backward()
        self.collect()
        return float(loss.item()) * weight if weight else 0.0

    def loss(self, *batch: Any) -> float:
        """The mean loss of a batch, nothing being learnt from it; of none (more processes than
        batches) NaN."""
        if not batch:
            return math.nan
        with no_grad(), evaluating(self.model):
            return float(self.model.loss(*batch).item())

    def add_up(self) -> float:
        """Add up this process's share of all gradients; returns the norm of that share."""
        norms = []
        parts = shares([p.size for p in self.params], self.rank, self.workers)
        for i, part in enumerate(parts):
            mine, *others = (grads[i].reshape(-1)[part] for grads in self.grads)
            has, *have = self.has_grad[:, i]
            if not has:
                mine[...] = 0
            for other in itertools.compress(others, have):
                mine += other
            norms.append(joint_norm(np, [mine]))
        return math.hypot(*norms)

    def update(self, scale: float, settings: list[dict[str, Any]], states: list[Any]) -> None:
        """Update this process's share of the parameters with ``scale`` times the gradients."""
        if self.rank:
            for group, values in zip(self.optimizer.param_groups, settings, strict=True):
                group.update(values)
            self.states(states)
            self.show(0)
        if not scale >= 1.0:
            given = list(itertools.compress(self.grads[0], self.has_grad[0]))  # as step divides it
            for grad, part in zip(given, shares([a.size for a in given], self.rank, self.workers)):
                piece = grad.reshape(-1)[part]
                multiply(np, piece, scale, piece)
        self.optimizer.step((self.rank, self.workers))
        self.optimizer.zero_grad()
