"""Data parallelism: several processes share each batch, and the update that follows.

Every process runs the model on a part of the batch, its matrix products on one thread. NumPy's
elementwise work, which would use a single core, so goes on on all of them; threads in one process
would wait for Python's interpreter lock half of the time. The processes are forked, so they start
with the model as it is; parameters, gradients and the optimiser's state lie in memory that they
share, and each updates a part of the parameters (as in ZeRO: Rajbhandari et al. 2019,
arXiv:1910.02054).
"""

from __future__ import annotations

import contextlib
import math
import mmap
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import random, tensor
from ..models import LanguageModel
from ..tensor import Tensor, make
from .optim import Optimizer, shares

#: seconds that a process waits for the others awake, which saves it the time to wake up
_AWAKE = 0.002
_IGNORED = -100  # a target that does not count in the loss


class WorkerError(RuntimeError):
    """A worker process has died."""


def why_not() -> str | None:
    """Why several processes cannot share the work on this system, or None if they can."""
    if sys.platform != "linux":
        return f"needs Linux, where processes can be forked safely; this is {sys.platform}"
    return None


def cores() -> int:
    """How many processor cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Arrays:
    """Arrays like the given ones, zeros, in memory that forked processes share."""

    def __init__(self, like: Sequence[Any], copies: int):
        sizes = [-(-a.nbytes // 64) * 64 for a in like]  # each begins at a cache line
        self.memory = mmap.mmap(-1, max(1, copies * sum(sizes)))
        starts = np.cumsum([0, *sizes * copies])
        arrays = [
            np.frombuffer(self.memory, a.dtype, a.size, int(start)).reshape(a.shape)
            for a, start in zip([*like] * copies, starts)
        ]
        self.copies = [arrays[i * len(like) : (i + 1) * len(like)] for i in range(copies)]


class _Share:
    """What one process does; its ``rank`` is 0 in the process that forked the others.

    The methods are called in every process, in the same order.
    """

    def __init__(self, model: LanguageModel[Any], optimizer: Optimizer, workers: int):
        self.model, self.optimizer, self.workers, self.rank = model, optimizer, workers, 0
        self.params = list(optimizer.parameters())
        like = [p.data for p in self.params]
        self.values = _Arrays(like, 1).copies[0]
        self.grads = _Arrays(like, workers).copies
        self.has_grad = np.frombuffer(mmap.mmap(-1, workers * len(like)), np.uint8)
        self.has_grad = self.has_grad.reshape(workers, len(like))
        self.adopt()
        groups = [g for g in optimizer.groups for _ in g["params"]]
        names = [optimizer.slots_of(group) for group in groups]
        slots = [
            (p, name) for p, own in zip(self.params, names, strict=True) for name in own
        ]
        states = _Arrays([p.data for p, _ in slots], 1).copies[0]
        for (p, name), array in zip(slots, states, strict=True):
            state = optimizer.state.setdefault(id(p), {"step": 0})
            if name in state:
                array[...] = state[name]
            state[name] = array

    def adopt(self) -> None:
        """Move parameters that are not in the shared memory there (at first all of them)."""
        for p, value in zip(self.params, self.values, strict=True):
            if p.data is not value:
                value[...] = p.data
                p.data = value

    def backward(self, ids: Any, targets: Any, weight: float, seed: int | None) -> float:
        """Add the gradients of ``weight`` times the loss to those of this process."""
        if not len(ids):
            return 0.0
        if seed is not None:
            random.generator("dropout").manual_seed(seed)
        loss = self.model(ids, targets)[1]
        loss.backward(tensor(weight, dtype=loss.dtype))
        return float(loss.item()) * weight

    def publish(self) -> None:
        """Let the others see the gradients of this process."""
        for i, (p, array) in enumerate(zip(self.params, self.grads[self.rank], strict=True)):
            grad = p._grad
            self.has_grad[self.rank, i] = grad is not None
            array[...] = 0 if grad is None else grad.data

    def add_up(self) -> float:
        """Add up this process's share of all gradients; returns the sum of their squares."""
        total = 0.0
        parts = shares([p.size for p in self.params], self.rank, self.workers)
        given = self.has_grad.any(axis=0)
        for i, (p, part) in enumerate(zip(self.params, parts, strict=True)):
            mine, *others = (of_rank[i].reshape(-1)[part] for of_rank in self.grads)
            for other in others:
                mine += other
            total += float(np.dot(mine, mine))
            p._grad = make(self.grads[0][i]) if given[i] else None
        return total

    def update(self, scale: float, settings: list[dict[str, Any]]) -> None:
        """Update this process's share of the parameters with ``scale`` times the gradients."""
        for group, values in zip(self.optimizer.groups, settings, strict=True):
            group.update(values)
        if scale != 1.0:
            parts = shares([p.size for p in self.params], self.rank, self.workers)
            for grad, part in zip(self.grads[0], parts, strict=True):
                grad.reshape(-1)[part] *= scale
        self.optimizer.step((self.rank, self.workers))
        self.optimizer.zero_grad()


class DataParallel:
    """Training steps that several processes share; the gradients are those of the whole batch.

    ::

        with DataParallel(model, optimizer, workers=2) as parallel:
            loss = parallel.backward(ids, targets)
            norm = parallel.reduce()                 # now every p.grad is that of the whole batch
            parallel.update(max_norm=1.0)            # clipping, optimiser, zero_grad

    Until ``close`` the parameters and the state of the optimiser lie in shared memory: write to
    them in place, and only between steps; load a state dict of the optimiser before. Sums are
    formed in another order than in one process, so results differ by rounding; dropout in the other
    processes draws from streams that are seeded from the generator "dropout".

    Args:
        model: a language model on the CPU.
        optimizer: of its parameters.
        workers: number of processes, this one included: at most the number of cores is sensible.

    Raises:
        ValueError: ``workers`` is below 1, or the parameters are not on the CPU.
        OSError: the system can't do it, see :func:`why_not`.
    """

    def __init__(self, model: LanguageModel[Any], optimizer: Optimizer, workers: int):
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers: expected an integer >= 1, got {workers!r}")
        if workers > 1 and why_not() is not None:
            raise OSError(f"workers: {workers} processes: {why_not()}")
        if any(p.device.name != "cpu" for p in optimizer.parameters()):
            raise ValueError("workers: parameters on a GPU cannot be shared among processes")
        self.workers = workers
        self._share = _Share(model, optimizer, workers)
        self._awake = _AWAKE if workers <= cores() else 0.0
        self._limits = threadpool_limits(max(1, cores() // workers), user_api="blas")
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        context = multiprocessing.get_context("fork")
        for rank in range(1, workers):
            ours, theirs = context.Pipe()
            arguments = (self._share, rank, theirs, [*self._pipes, ours], self._awake)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            with warnings.catch_warnings():
                # Python warns of threads that hold a lock; BLAS libraries look after theirs
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def backward(self, ids: Any, targets: Any, scale: float = 1.0) -> float:
        """Forward and backward of a batch; gradients add up in each process until ``reduce``.

        Args:
            ids, targets: as :meth:`LanguageModel.forward` takes them, NumPy arrays or Tensors.
            scale: what the loss is multiplied by.

        Returns:
            The mean loss of the batch, not scaled.
        """
        x, y = (a.numpy() if isinstance(a, Tensor) else np.asarray(a) for a in (ids, targets))
        parts = list(zip(np.array_split(x, self.workers), np.array_split(y, self.workers)))
        counts = [int((part != _IGNORED).sum()) for _, part in parts]
        weights = [scale * count / max(1, sum(counts)) for count in counts]
        drawn = random.generator("dropout").integers(0, 2**62, self.workers - 1)
        seeds = [None, *(int(seed) for seed in drawn)]
        arguments = [(*part, w, seed) for part, w, seed in zip(parts, weights, seeds, strict=True)]
        losses = self._everywhere("backward", arguments)
        return math.fsum(losses) / scale if sum(counts) else math.nan

    def reduce(self) -> float:
        """Add up the gradients of all processes; returns their joint norm."""
        self._everywhere("publish")
        return math.sqrt(math.fsum(self._everywhere("add_up")))

    def update(self, max_norm: float = math.inf, norm: float = 0.0) -> None:
        """Scale the gradients so that their joint norm, ``norm``, is at most ``max_norm``; let the
        optimiser update the parameters; forget the gradients."""
        settings = [
            {key: value for key, value in group.items() if key != "params"}
            for group in self._share.optimizer.groups
        ]
        scale = min(1.0, max_norm / (norm + 1e-6))
        self._everywhere("update", [(scale, settings)] * self.workers)

    def _everywhere(self, name: str, arguments: Sequence[tuple[Any, ...]] | None = None) -> Any:
        """Call a method of :class:`_Share` in every process; returns what they return."""
        if arguments is None:
            arguments = [()] * self.workers
        self._share.adopt()
        try:
            for rank, pipe in enumerate(self._pipes, 1):
                self._talk(rank, pipe.send, (name, arguments[rank]))
            failed: Exception | None = None
            results = []
            try:
                results.append(getattr(self._share, name)(*arguments[0]))
            except Exception as error:
                failed = error
            for rank, pipe in enumerate(self._pipes, 1):
                result = self._talk(rank, _receive, pipe, self._awake)
                if isinstance(result, Exception):
                    failed = failed or result
                results.append(result)
        except BaseException:  # interrupted in the middle: nobody knows who waits for what
            self.close()
            raise
        if failed is not None:
            raise failed
        return results

    def _talk(self, rank: int, do: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return do(*arguments)
        except (EOFError, OSError):
            process = self._processes[rank - 1]
            process.join(1.0)
            raise WorkerError(
                f"worker {rank} of {self.workers} has died (exit code {process.exitcode}"
                f"{', killed' if process.exitcode == -signal.SIGKILL else ''}); "
                "if memory is short, use fewer workers or a smaller batch"
            ) from None

    def close(self) -> None:
        """End the other processes; the model and the optimiser stay as they are."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()
        self._pipes, self._processes = [], []
        self._limits.restore_original_limits()

    def __enter__(self) -> DataParallel:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _receive(pipe: Connection, awake: float) -> Any:
    """The next message; for ``awake`` seconds without going to sleep."""
    end = time.perf_counter() + awake
    while time.perf_counter() < end:
        if pipe.poll():
            break
    return pipe.recv()


def _serve(
    share: _Share, rank: int, pipe: Connection, inherited: list[Connection], awake: float
) -> None:
    """The other processes' work: do what the first one asks, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first one decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    share.rank = rank
    threadpool_limits(max(1, cores() // share.workers), user_api="blas")
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, arguments = _receive(pipe, awake)
            try:
                result = getattr(share, name)(*arguments)
            except Exception as error:
                result = error
            pipe.send(result)
