"""tinytensor with a process for each core, which share every batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytensor.train import DataParallel
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.system.cores import cores

from .. import machine
from .. import workloads as w
from . import Absent, ours


def blas() -> str:
    """What each process uses, and how many there are."""
    return f"{machine.blas()}, {cores()} processes"


def language_model(s: w.GPT | w.Recurrent) -> Callable[[], float]:
    """Forward, backward, clipping, AdamW."""
    if cores() < 2:
        raise Absent("needs two cores")
    if why_not() is not None:
        raise Absent(str(why_not()))
    model: Any = ours.gpt_model(s) if isinstance(s, w.GPT) else ours.recurrent_model(s)
    parallel = DataParallel(model, ours.adamw(model), cores())
    draw = w.batches(s)

    def step() -> float:
        loss = parallel.backward(*draw())
        norm = parallel.reduce()
        parallel.update(w.MAX_NORM, norm)
        return loss

    return step


BUILDERS = {w.GPT: language_model, w.Recurrent: language_model}
