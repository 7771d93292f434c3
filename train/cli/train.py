"""``tinytensor train``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ..config import ConfigError, TrainConfig, load_toml
from .flags import with_settings
from .messages import command
from .output import as_shown, one_line


@with_settings
def train(
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="TOML file with any of these settings; flags win", show_default=False),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, or with the latest one")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew in a folder that has a checkpoint")
    ] = False,
    **settings: Any,
) -> int:
    """Train a model on a text; ends with validation loss, a sample, checkpoint and loss curve."""
    from ..checkpoint import latest
    from ..progress import make_report
    from ..signals import Stop
    from ..trainer import PICTURE, Trainer

    given = load_toml(config) if config is not None else {}
    given |= {name: value for name, value in settings.items() if value is not None}
    with Stop() as stop:
        with stop.at_once():  # reading and building take time, and have nothing to save
            if resume:
                out = given.pop("out", None)
                file = Path(out) if out is not None else latest()
                trainer = Trainer.resume(file, given)
                if not trainer.same_text:
                    print("note: the text is not the one of the checkpoint", file=sys.stderr)
                if trainer.step >= trainer.config.steps:
                    print(f"all {trainer.config.steps} steps are done; --steps N goes on")
            else:
                chosen = TrainConfig.from_dict(given, where="train")
                trainer = Trainer(chosen, folder=run_folder(chosen, overwrite))
        trainer.report = make_report(trainer.config.log_every)
        complete = trainer.run(stop)
    folder = trainer.folder
    assert folder is not None
    if not complete:
        print(
            f"\nstopped at step {trainer.step} of {trainer.config.steps}, all is saved; "
            "go on with\n"
            f"  {command('train', '--resume', '--out', folder)}",
            flush=True,
        )
        return 128 + int(stop.signal or 0)
    print(f"\nsample:\n{as_shown(trainer.sample())}\n")
    print(f"validation loss  {trainer.history.val[-1][1]:.4f}")
    print(f"checkpoint       {one_line(folder / 'checkpoint.safetensors')}")
    print(f"loss curve       {one_line(folder / PICTURE)}")
    print(f"more text        {command('sample', folder)}")
    return 0


def run_folder(config: TrainConfig, overwrite: bool) -> Path:
    """The folder of a new run: the one asked for, or the first that is free in runs/.

    Raises:
        ConfigError: the one asked for is no folder, or has a checkpoint.
    """
    from ..checkpoint import NAME

    if config.out is not None:
        folder = Path(config.out)
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"out: {folder} is not a folder")
        if (folder / NAME).exists() and not overwrite:
            raise ConfigError(
                f"out: {folder} has a checkpoint; --resume goes on with it, --overwrite replaces it"
            )
        return folder
    folder, number = Path("runs") / config.model, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{config.model}-{number}"
    return folder
