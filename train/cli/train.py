"""``tinytensor train``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ..checkpoint import SaveError, latest, locate
from ..config import ConfigError, TrainConfig, check_value
from ..config.toml_file import load_toml
from ..given.words import cause
from ..run.folder import RunFolder
from ..run.report import Reports
from ..run.trainer import Trainer
from ..system.signals import Stop
from ..system.terminal import as_shown, command, note, one_line, warn
from .flags import with_settings
from .parsing import path
from .progress import make_report, part_read
from .waiting import Waiting
from .watch import watcher_of


@with_settings
def train(
    config: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=path,
            help="TOML file with any of these settings; flags win",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, or with the latest one")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew in a folder that has a checkpoint")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Serve a page on this machine that shows the run as it learns"
        ),
    ] = False,
    watch_every: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=1,
            help="Steps between two looks of --watch (default: so that they cost little)",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0, max=65535, help="Of --watch (default: one that is free)", show_default=False
        ),
    ] = None,
    **settings: Any,
) -> int:
    """Train a model on a text or a task; ends with figures, a sample, checkpoint and pictures."""
    given = load_toml(config) if config is not None else {}
    given |= {name: value for name, value in settings.items() if value not in (None, [])}
    if overwrite and resume:
        raise ConfigError("overwrite: --resume goes on with what is there; give one of them")
    if overwrite and given.get("out") is None:
        raise ConfigError("overwrite: expected --out, the folder to start anew in")
    if not watch and (watch_every is not None or port is not None):
        raise ConfigError(f"{'port' if watch_every is None else 'watch-every'}: it needs --watch")
    with Stop() as stop, ExitStack() as ends:
        with stop.at_once():  # reading and building take time, and have nothing to save
            if resume:
                out = given.pop("out", None)
                file = locate(latest() if out is None else check_value("out", out))
                place = ends.enter_context(RunFolder(file.parent).held())
                with Waiting("reading the checkpoint and the data", sys.stdout):
                    trainer = Trainer.resume(file, given, folder=place)
            else:
                chosen = TrainConfig.from_dict(given, where="train")
                place = ends.enter_context(run_folder(chosen, overwrite))
                with Waiting("reading the data and building the model", sys.stdout):
                    trainer = Trainer(chosen, folder=place)
        if resume:
            say_what_differs(trainer)
        trainer.report = make_report(trainer.config.log_every)
        if watch:
            watcher = watcher_of(place.path, watch_every, port)
            trainer.report = Reports(watcher, trainer.report)
            ends.callback(watcher.end, stop)
        try:
            complete = trainer.run(stop)
        except SaveError:
            show_results(trainer, stop)
            raise
        if complete:
            show_results(trainer, stop)
            print(f"checkpoint       {one_line(place.checkpoint)}")
            if place.picture.is_file():  # a warning has said why it is not
                print(f"loss curve       {one_line(place.picture)}")
            picture = draw(trainer)
            if picture is not None:
                print(f"picture          {one_line(picture)}")
            if watch:
                print(f"{'watch it again':<16} {command('watch', place.path)}")
            more = ["sample", place.path, *trainer.task.example]
            print(f"{trainer.task.more:<16} {command(*more)}")
            return 0
    print(
        f"\nstopped at step {trainer.step} of {trainer.config.steps}, all is saved; "
        "go on with\n"
        f"  {command('train', '--resume', '--out', place.path)}",
        flush=True,
    )
    return 128 + int(stop.signal or 0)


def say_what_differs(trainer: Trainer) -> None:
    """Notes on what is not as it was when the checkpoint was saved."""
    if not trainer.same_text:
        reason = trainer.text_note and f"; {trainer.text_note}"
        a_text = "data" in trainer.task.reads
        what = "the text is not the one" if a_text else "the data are not those"
        note(f"{what} of the checkpoint{reason}")
    if trainer.workers_note:
        note(trainer.workers_note)
    if trainer.step >= trainer.config.steps:
        print(f"all {trainer.config.steps} steps are done; --steps N goes on")


def show_results(trainer: Trainer, stop: object = None) -> None:
    """What the model makes of some examples as it is now, its figure and its validation loss."""
    task = trainer.task
    with Waiting(f"writing {task.shown}", sys.stdout):
        text = trainer.sample()
    print(f"\n{task.shown.removeprefix('a ')}:\n{as_shown(text)}\n")
    if trainer.history.val:
        print(f"validation loss  {trainer.history.val[-1][1]:.4f}{part_read(trainer)}")
    with Waiting("testing on what the run never saw", sys.stdout):
        score = trainer.score(stop)
    if score is None and stop:
        note("stopped before the test was done: there is no figure; all else is saved")
    if score is not None:
        print(f"{score.name:<17}{score}")


def draw(trainer: Trainer) -> Path | None:
    """The task's picture; a warning where it could not be drawn."""
    try:
        return trainer.draw()
    except Exception as error:  # whatever it is, the run is done and saved
        warn(f"the picture of task {trainer.task.name} could not be drawn: {error}")
        return None


@contextmanager
def run_folder(config: TrainConfig, overwrite: bool) -> Iterator[RunFolder]:
    """The folder of a new run, held: the one asked for, or the first that is free in runs/.

    Raises:
        ConfigError: the one asked for is no folder, is in use, or has a checkpoint.
    """
    if config.out is None:
        place = RunFolder.choose(config.model)
    else:
        place = RunFolder(config.out)
        try:
            there, is_folder = place.path.exists(), place.path.is_dir()
        except OSError as error:  # a name that is too long, a folder that may not be entered
            raise ConfigError(f"out: cannot use {place.path}: {cause(error)}") from None
        if there and not is_folder:
            raise ConfigError(f"out: {place.path} is not a folder")
        place.claim()
    try:
        if place.checkpoint.exists() and not overwrite:
            raise ConfigError(
                f"out: {place.path} has a checkpoint; --resume goes on with it, --overwrite "
                "replaces it"
            )
        yield place
    finally:
        place.release()
