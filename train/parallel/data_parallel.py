"""Data parallelism: several processes share each batch, and the update that follows.

Every process runs the model on a part of the batch, its matrix products on its share of the cores.
NumPy's elementwise work, which would use a single core, so goes on on all of them. (Threads of one
process wait for each other at Python's interpreter lock: two of them took 21 ms where two processes
took 17.) The processes are forked, so they start with the model as it is; parameters, gradients and
the optimiser's state lie in memory that they share, and each updates a part of the parameters (as
in ZeRO: Rajbhandari et al. 2019, arXiv:1910.02054). Here are the processes; what each of them does
is in ``share.py``.
"""

from __future__ import annotations

import math
import pickle
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import random
from ...models import Model
from ...models.ids import IGNORED
from ...tensor.tensor import Tensor
from ..given.values import number, positive
from ..optim.clip import factor
from ..optim.optimizer import Optimizer
from ..system.cores import cores
from ..system.signals import SIGNALS
from .share import Share

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: so many processes may share fewer cores without the word ``oversubscribe``
_MOST = 64
#: seconds that a process waits for the others awake, which saves it the time to wake up
_AWAKE = 0.002


class WorkerError(RuntimeError):
    """A worker process has died."""


def why_not() -> str | None:
    """Why several processes cannot share the work here, or None if they can."""
    if sys.platform != "linux":
        return f"needs Linux, where processes can be forked safely; this is {sys.platform}"
    import multiprocessing  # a browser's Python lacks parts of it

    if multiprocessing.current_process().daemon:
        return "this is a daemonic process, which multiprocessing allows no processes of its own"
    return None


def most() -> int:
    """How many processes are started without the word ``oversubscribe``."""
    return max(_MOST, 4 * cores())


class DataParallel:
    """Training steps that several processes share; the gradients are those of the whole batch.

    ::

        with DataParallel(model, optimizer, workers=2) as parallel:
            loss = parallel.backward(ids, targets)
            norm = parallel.reduce()                 # now every p.grad is that of the whole batch
            parallel.update(max_norm=1.0)            # clipping, optimiser, zero_grad

    Sums are formed in another order than in one process, so results differ by rounding; dropout in
    the other processes draws from streams that are seeded from the generator "dropout". Between the
    calls the model, its gradients and the optimiser are used as ever: evaluated, saved, loaded.
    What else changes in the model (hooks, which parameters are frozen) the other processes don't
    see; make a new one then. They end with ``close``, with this object and with this process.

    A :class:`tinytensor.RowGrad` becomes the gradient of its whole table here, of which most rows
    are 0. SGD and Adagrad without momentum and decay take the same steps with it; other optimisers
    also change the rows that no process has read.

    Args:
        model: on the CPU; its loss is the mean over the targets that are not -100.
        optimizer: of its parameters; gradients of others are not added up.
        workers: number of processes, this one included: at most the number of cores is sensible.
        oversubscribe: start them also where they are more than 64 and more than 4 for each core.

    Raises:
        TypeError: the model has no ``loss``.
        ValueError: ``workers`` is below 1 or too large, or the parameters are not on the CPU.
        OSError: the system can't do it, see :func:`why_not`.
    """

    def __init__(
        self,
        model: Model[Any],
        optimizer: Optimizer,
        workers: int,
        oversubscribe: bool = False,
    ):
        if not callable(getattr(model, "loss", None)):
            raise TypeError(
                f"model: expected one with loss(*batch), got {type(model).__name__} without"
            )
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers: expected an integer >= 1, got {workers!r}")
        if workers > most() and not oversubscribe:
            raise ValueError(
                f"workers: expected at most {most()} where there are {cores()} cores, got "
                f"{workers}; oversubscribe=True starts them all the same"
            )
        if workers > 1 and why_not() is not None:
            raise OSError(f"workers: {workers} processes: {why_not()}")
        if any(p.device.name != "cpu" for p in [*optimizer.parameters(), *model.parameters()]):
            raise ValueError("workers: parameters on a GPU cannot be shared among processes")
        self.workers = workers
        self._norm = 0.0
        self._share = Share(model, optimizer, workers)
        self._awake = _AWAKE if workers <= cores() else 0.0
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        from multiprocessing.util import Finalize

        from threadpoolctl import ThreadpoolController

        blas = ThreadpoolController().select(user_api="blas")
        own = [library.num_threads for library in blas.lib_controllers]
        threads = min([max(1, cores() // workers), *own])
        # runs once: called by close, when this object is dropped, or when Python ends
        parts = (self._pipes, self._processes, blas.limit(limits=threads))
        self._end = Finalize(self, _end, parts, exitpriority=0)
        try:
            for rank in range(1, workers):
                self._start(rank, threads)
        except BaseException:
            self.close()
            raise

    def _start(self, rank: int, threads: int) -> None:
        import multiprocessing

        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        # A copy of our end in another process would keep the pipe open when this one is killed.
        inherited = [*self._pipes, ours]
        self._pipes.append(ours)
        arguments = (self._share, rank, theirs, inherited, self._awake, threads)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        # Ctrl-C and a hang-up reach all processes, but the first one decides: the others are born
        # deaf to them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            with theirs, warnings.catch_warnings():
                # Python warns of threads that hold a lock; BLAS libraries look after theirs
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            self._processes.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    @property
    def closed(self) -> bool:
        """Whether the other processes are gone: after ``close``, an interrupt or a WorkerError."""
        return not self._end.still_active()

    def backward(self, *batch: Any, scale: float = 1.0) -> float:
        """Forward and backward of a batch; gradients add up in each process until ``reduce``.

        Where it raises what the model raised, in whichever process, all gradients are forgotten.

        Args:
            batch: what the model's ``loss`` takes, NumPy arrays or Tensors that share their first
                axis, the targets last: ids and targets for a language model.
            scale: what the loss is multiplied by.

        Returns:
            The mean loss of the batch, not scaled.

        Raises:
            WorkerError: a process has died (so do the other methods). RuntimeError: it is closed.
        """
        arrays = [a.numpy() if isinstance(a, Tensor) else np.asarray(a) for a in batch]
        if len({a.shape[:1] for a in arrays} - {()}) != 1 or any(not a.ndim for a in arrays):
            shapes = [a.shape for a in arrays]
            raise ValueError(f"batch: expected arrays of the same first axis, got shapes {shapes}")
        parts = list(zip(*(np.array_split(a, self.workers) for a in arrays), strict=True))
        counts = [int((targets != IGNORED).sum()) for *_, targets in parts]
        total = sum(counts)
        drawn = random.generator("dropout").integers(0, 2**62, self.workers - 1)
        seeds = [0, *drawn.tolist()]  # the first process goes on with its own stream
        training = self._share.model.training
        arguments = [
            (part, count / max(1, total), scale, seed, training)
            for part, count, seed in zip(parts, counts, seeds, strict=True)
        ]
        losses = self._everywhere("backward", arguments)
        return math.fsum(losses) if total else math.nan

    def losses(self, batches: Sequence[tuple[Any, ...]]) -> list[float]:
        """The mean losses of batches, in evaluation mode and without gradients.

        Each process takes whole batches, so that a loss is the one that a single process finds.

        Args:
            batches: tuples of NumPy arrays, as for :meth:`backward`; at most one for each process.
        """
        if len(batches) > self.workers:
            raise ValueError(f"losses: expected at most {self.workers} batches, got {len(batches)}")
        idle: list[tuple[Any, ...]] = [()] * (self.workers - len(batches))
        found: list[float] = self._everywhere("loss", [*batches, *idle])
        return found[: len(batches)]

    def reduce(self) -> float:
        """Add up the gradients of all processes; returns their joint norm."""
        self._norm = math.hypot(*self._everywhere("add_up", [()] * self.workers))
        self._share.reduced()
        return self._norm

    def update(self, max_norm: float = math.inf, norm: float | None = None) -> None:
        """Clip the gradients, let the optimiser update the parameters, forget the gradients.

        Args:
            max_norm: > 0; the gradients are scaled so that their joint norm is at most this.
            norm: their joint norm now; None takes what ``reduce`` returned.
        """
        limit = number("max_norm", max_norm, "a number > 0", positive)
        self._ready("update")
        if self._share.has_grad[1:].any():
            raise RuntimeError("update: call reduce() first, it adds up the gradients")
        size = self._norm if norm is None else norm
        scale = factor(limit, size)
        settings = [
            {key: value for key, value in group.items() if key != "params"}
            for group in self._share.optimizer.param_groups
        ]
        self._share.widen(size, scale)
        states = self._share.states()
        self._everywhere("update", [(scale, settings, states)] * self.workers)

    def _ready(self, name: str) -> None:
        if self.closed:
            raise RuntimeError(f"{name}: the processes have ended; make a new DataParallel")
        self._share.adopt()

    def _everywhere(self, name: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of :class:`Share` in every process; returns what they return."""
        self._ready(name)
        try:
            for rank, pipe in enumerate(self._pipes, 1):
                self._talk(rank, pipe.send, (name, arguments[rank]))
            results = [_attempt(self._share, name, arguments[0])]
            for rank, pipe in enumerate(self._pipes, 1):
                results.append(self._talk(rank, _receive, pipe, self._awake))
        except BaseException:  # interrupted in the middle: nobody knows who waits for what
            self.close()
            raise
        for result in results:
            if isinstance(result, Exception):
                self._share.forget()
                raise result
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
        if not self.closed:
            self._end()
            self._share.release()

    def __enter__(self) -> DataParallel:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _attempt(share: Share, name: str, arguments: tuple[Any, ...]) -> Any:
    """What a method returns, or the exception that it raises."""
    try:
        return getattr(share, name)(*arguments)
    except Exception as error:
        return error


def _receive(pipe: Connection, awake: float) -> Any:
    """The next message; for ``awake`` seconds without going to sleep."""
    end = time.perf_counter() + awake
    while time.perf_counter() < end:
        if pipe.poll():
            break
    return pipe.recv()


def _portable(error: Exception, rank: int) -> Exception:
    """The exception with a note where it came from; another one if it can't go through a pipe."""
    note = "".join(["in worker ", str(rank), ":\n", *traceback.format_exception(error)])
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(note)
    return error


def _serve(
    share: Share,
    rank: int,
    pipe: Connection,
    inherited: list[Connection],
    awake: float,
    threads: int,
) -> None:
    """The other processes' work: do what the first one asks, until it is gone."""
    for other in inherited:
        other.close()
    share.rank = rank
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads, user_api="blas")
    try:
        while True:
            result = _attempt(share, *_receive(pipe, awake))
            pipe.send(_portable(result, rank) if isinstance(result, Exception) else result)
    except (EOFError, OSError):
        pass  # the first process has closed the pipe, or has ended


def _end(pipes: list[Connection], processes: list[Any], limits: Any) -> None:
    """Close the pipes, at which the processes end by themselves; kill those that take too long."""
    for pipe in pipes:
        pipe.close()
    limits.restore_original_limits()
    for process in processes:
        process.join(1.0)
        if process.is_alive():
            process.kill()
            process.join()
