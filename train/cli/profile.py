"""``tinytensor profile``: where the time of a training step goes."""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Any, Optional

import numpy as np
import typer

from ... import __version__
from ...models import MODELS
from ...profiling import Cost, Entry, Profile
from ...profiling import profile as new_profile
from ...profiling.report import COLUMNS, meaning, milliseconds, percent, rows, speed, summary
from ..config import LARGEST, ConfigError, TrainConfig
from ..optim.clip import clip_grad_norm
from ..run.trainer import Trainer
from .flags import with_settings
from .info import blas
from .tables import Table, show
from .waiting import Waiting

PHASES = ("batch", "forward", "backward", "clip", "optimiser")
#: the settings of a run that change what a step costs
SETTINGS = (
    "data", "encoding", "n_layer", "n_head", "n_embd", "n_hidden", "block_size", "dropout", "bias",
    "tie_weights", "batch_size", "optimizer", "clip", "seed", "device",
)  # fmt: skip
#: the steps with the profile come in so many parts, between which the products alone are measured
PARTS = 5
#: steps before the measuring, in which memory is claimed and threads are started
WARM_UP = 3
#: each is kept; a median needs no more
MOST_STEPS = 1_000_000


@dataclass
class StepProfile:
    """Training steps that were measured.

    Attributes:
        config: what was trained. parameters: how many numbers the model has.
        batch: what a step reads, in words.
        plain: seconds of each step that ran without the profile.
        steps: how many ran with it. profile: what it found in all of them.
    """

    config: TrainConfig
    parameters: int
    batch: str
    plain: list[float]
    steps: int
    profile: Profile

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, fit for JSON; the profile's are of all steps together."""
        config = self.config.to_dict()
        return {
            "tinytensor": __version__,
            "numpy": np.__version__,
            "blas": blas(),
            "config": {name: config[name] for name in ("model", *SETTINGS)},
            "parameters": self.parameters,
            "steps": self.steps,
            "plain_step_seconds": self.plain,
            "profile": self.profile.to_dict(),
        }


def measure(config: TrainConfig, steps: int = 20, text: str | None = None) -> StepProfile:
    """Train for a few steps: some to get warm, ``steps`` with a profile, and half as many without
    it before and after, whose time is that of a step in earnest.

    Args:
        config: as for a run; nothing is written. steps: at least 1.
        text: what to train on; see :class:`Trainer`.

    Raises:
        DataError, ConfigError: as for a run.
    """
    if steps < 1:
        raise ConfigError(f"steps: expected at least 1, got {steps}")
    trainer = Trainer(config.merged({"out": None, "workers": 1}), text)
    plain: list[float] = []

    def unwatched(count: int) -> None:
        for _ in range(count):
            started = time.perf_counter()
            run_step(trainer)
            plain.append(time.perf_counter() - started)

    for _ in range(WARM_UP):
        run_step(trainer)
    unwatched((steps + 1) // 2)
    profile = new_profile()
    for part in range(PARTS):
        here = steps * (part + 1) // PARTS - steps * part // PARTS
        if here:
            with profile:
                for _ in range(here):
                    run_step(trainer, profile)
            profile.measure_alone()
    unwatched(steps // 2)
    batch = trainer.task.describe_batch(config.batch_size)
    return StepProfile(config, trainer.model.num_parameters(), batch, plain, steps, profile)


def run_step(trainer: Trainer, profile: Profile | None = None) -> None:
    """The work of ``Trainer.train_step``, without log and history, in phases for a profile."""

    def phase(name: str) -> AbstractContextManager[None]:
        return nullcontext() if profile is None else profile.phase(name)

    config, optimizer = trainer.config, trainer.optimizer
    with phase("batch"):
        batch = trainer.task.batch(config.batch_size)
    with phase("forward"):
        loss = trainer.model.loss(*batch)
        loss.item()
    with phase("backward"):
        loss.backward()
        del loss  # and with it the graph
    with phase("clip"):
        clip_grad_norm(optimizer.parameters(), config.clip or math.inf)
    with phase("optimiser"):
        optimizer.lr = trainer.schedule(trainer.step)
        optimizer.step()
        optimizer.zero_grad()
    trainer.step += 1


def tables(found: StepProfile, depth: int | None = None, each_layer: bool = False) -> list[Table]:
    """Phases, ops and modules, all times per step."""
    profile, steps = found.profile, found.steps
    by_phase = profile.by_phase
    phases: list[tuple[str, ...]] = []
    for name in PHASES:
        cost: Cost = by_phase.get(name, Entry()).total
        ns = profile.phase_ns[name]
        line = (name, milliseconds(ns / steps), percent(ns, profile.wall_ns))
        phases.append((*line, milliseconds(cost.ns / steps), *speed(profile, cost, ns)))
    modules = profile.modules(depth, merge=not each_layer)
    return [
        Table("phase", ("time", "share", "in ops", "GFLOP/s", "floor"), phases),
        Table("op", COLUMNS, rows(profile, profile.by_op, steps)),
        Table("module", COLUMNS, rows(profile, modules, steps)),
    ]


def heading(found: StepProfile) -> list[str]:
    """What was measured, and the time of a step."""
    config, plain = found.config, sorted(found.plain)
    profiled = found.profile.wall_ns / found.steps / 1e6
    return [
        f"{config.model}: {found.parameters:,} parameters on {config.device}, "
        f"{found.batch} in a step, in one process",
        f"a step takes {median(plain) * 1e3:,.3f} ms (median of {len(plain)}, {plain[0] * 1e3:,.3f}"
        f" to {plain[-1] * 1e3:,.3f}); with the profile {profiled:,.3f} ms (mean of "
        f"{found.steps})",
        f"of {'this 1 step' if found.steps == 1 else f'these {found.steps} steps'}: "
        + summary(found.profile)[0],
        *summary(found.profile)[1:],
    ]


LEGEND = (
    "Times are in ms per step. floor: the time that matmul alone takes for the matrix products, "
    "as a share of the time they took here."
)


def legend(shown: list[Table]) -> list[str]:
    """What the words in the tables mean."""
    busy = meaning(table.rows for table in shown)
    return [LEGEND, busy.replace("\n", " ")] if busy else [LEGEND]


def profile(
    model: Annotated[str, typer.Argument(help=", ".join(MODELS))] = "gpt",
    steps: Annotated[int, typer.Option(help="Steps to measure", min=1, max=MOST_STEPS)] = 20,
    depth: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Levels of modules to tell apart (default: all)", min=1, max=LARGEST),
    ] = None,
    each_layer: Annotated[
        bool, typer.Option("--each-layer", help="Each layer's modules by themselves")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables")] = False,
    **settings: Any,
) -> None:
    """Show where the time of a training step goes: by phase, op and module."""
    given = {name: value for name, value in settings.items() if value not in (None, [])}
    config = TrainConfig.from_dict({"model": model, **given}, where="profile")
    with Waiting("measuring", sys.stderr):
        found = measure(config, steps)
    if as_json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        shown = tables(found, depth, each_layer)
        show(heading(found), shown, legend(shown))


with_settings(profile, SETTINGS)
