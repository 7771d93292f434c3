"""``tinytensor compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ..checkpoint import CheckpointError
from ..config import ConfigError
from ..given.words import cause
from ..results.compare import Run, facts, find, read, warnings
from ..results.plot import Curve, plot_runs
from ..system.terminal import note
from .parsing import path, paths
from .tables import Table, show

#: so many runs stand beside each other, more of them below each other
COLUMNS = 4


def compare(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(
            callback=paths,
            help="Runs, checkpoints, or folders with runs (default: all in runs/)",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(callback=path, help="Picture of the loss curves: .png, .svg or .pdf")
    ] = "compare.png",
) -> None:
    """Show runs side by side: losses, speed, the settings that differ, all curves in a plot."""
    files: dict[Path, bool] = {}  # whether it was named itself, and not found in a folder
    for place in map(Path, runs or ["runs"]):
        for file in find(place):
            files[file] = file in (place, place / file.name) or files.get(file, False)
    found: list[Run] = []
    for file, named in files.items():
        try:
            found.append(read(file))
        except CheckpointError as error:
            if named or len(files) == 1:
                raise
            note(f"left out: {error}")
    if not found:
        raise CheckpointError("run: all of them are damaged")
    about = facts(found)
    names = tuple(run.name for run in found)
    if len(found) <= COLUMNS:
        table = Table("run", names, [(fact, *values) for fact, values in about.items()])
    else:
        table = Table("run", tuple(about), list(zip(names, *about.values(), strict=True)))
    curves = [Curve(run.name, run.train, run.val) for run in found]
    try:
        plot_runs(out, curves)
    except OSError as error:
        raise ConfigError(f"out: cannot write {out}: {cause(error)}") from None
    except ValueError as error:  # an ending that matplotlib does not know
        raise ConfigError(f"out: {out}: {error}") from None
    show([], [table], [*warnings(found), f"loss curves: {out}"])
