"""How many processes share each batch: chosen by the work of a step, or asked for and checked.

The choice depends on the settings and on the number of cores, never on the clock, so that the same
command gives the same run. The limits below are measured: ``python benchmarks/workers.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...models import Model
from ..config import ConfigError, TrainConfig
from ..given.words import cause
from ..optim import Optimizer
from ..system.cores import cores
from .data_parallel import DataParallel, most, why_not

#: the work (see :func:`work`) of a batch, and the symbols in it, that each process must have to be
#: worth starting: what they save must be more than what it takes to talk and to add gradients up
WORK, SYMBOLS = 100_000_000, 128


def work(parameters: int, batch_size: int, length: int) -> int:
    """How much a batch asks for: parameters times symbols, a sixth of its FLOP."""
    return parameters * batch_size * length


def best(parameters: int, batch_size: int, length: int) -> int:
    """How many processes are best: all cores, fewer where a batch is small, 1 where it is tiny.

    Args:
        length: how many symbols an example has.
    """
    by_work = work(parameters, batch_size, length) // WORK
    by_symbols = batch_size * length // SYMBOLS
    return max(1, min(cores(), batch_size, by_work, by_symbols))


def choose(config: TrainConfig, parameters: int, length: int) -> int:
    """The number that a run has: the one asked for, or else the best one here."""
    if config.workers is not None:
        return config.workers
    if config.device != "cpu" or why_not() is not None:
        return 1
    return best(parameters, config.batch_size, length)


def check(config: TrainConfig) -> None:
    """Refuse a number that was asked for and is of no use.

    Raises:
        ConfigError: there can be only one process here; or there are more than cores, or than
            examples in a batch, and ``oversubscribe`` is false.
    """
    asked = config.workers
    if asked is None or asked == 1:
        return
    if why_not() is not None:
        raise ConfigError(f"workers: expected 1 here, got {asked}; {why_not()}")
    limit = min(cores(), config.batch_size)
    if asked > limit and not config.oversubscribe:
        what = "the number of cores here" if limit == cores() else "batch_size"
        raise ConfigError(
            f"workers: expected at most {limit}, {what}, got {asked}; more cost memory and gain no "
            "time, oversubscribe starts them all the same"
        )


def start(model: Model[Any], optimizer: Optimizer, workers: int) -> DataParallel:
    """The processes of a run, whose number has been checked.

    Raises:
        ConfigError: the system can't start them.
    """
    try:
        return DataParallel(model, optimizer, workers, oversubscribe=True)
    except OSError as error:
        raise ConfigError(f"workers: cannot start {workers} processes: {cause(error)}") from None


def resumed(was: int | None, changes: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """What a resumed run does about the number of its checkpoint, where it is given no other.

    Args:
        was: the number in the checkpoint. changes: the settings that are given.

    Returns:
        The changes with what must change besides, and a note on it for the user.

    Raises:
        ConfigError: the checkpoint asks for so many that somebody has to say so again.
    """
    if was is None or was == 1 or "workers" in changes:
        return dict(changes), None
    why = (
        "processes share the cores of a CPU" if changes.get("device", "cpu") != "cpu" else why_not()
    )
    if why is not None:
        note = f"one process instead of the checkpoint's {was}; losses differ by rounding ({why})"
        return {**changes, "workers": 1}, note
    if was > most() and not changes.get("oversubscribe"):
        raise ConfigError(
            f"workers: the checkpoint has {was}, expected at most {most()}; give another number, "
            "or oversubscribe once more"
        )
    if was > cores():
        return dict(changes), (
            f"{was} processes as before, on {cores()} cores; with --workers {cores()} losses "
            "differ by rounding"
        )
    return dict(changes), None
