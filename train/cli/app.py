"""The command line: ``tinytensor train | sample | draw | info | profile``.

The flags of ``train`` are the fields of :class:`TrainConfig`. What a user can get wrong ends in
one line on standard error and exit code 2; a failing run ends in 1, Ctrl-C in 130.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..config import ConfigError
from .draw import draw
from .info import info
from .messages import fail
from .profile import profile
from .sample import sample
from .train import train

VERBS: dict[str, Callable[..., Any]] = {
    "train": train,
    "sample": sample,
    "draw": draw,
    "info": info,
    "profile": profile,
}
app = typer.Typer(
    name="tinytensor",
    help="An autograd framework by hand: train, sample and draw GPT, LSTM and RNN models.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: the entry point of ``tinytensor``."""
    args = sys.argv[1:] if args is None else args
    sys.exit(run(args or ["--help"]))


def run(args: list[str]) -> int:
    """Run the command line; returns the exit code."""
    from ..checkpoint import CheckpointError
    from ..data import DataError
    from ..parallel import WorkerError
    from ..trainer import TrainingError

    try:
        return app(args=args, prog_name="tinytensor", standalone_mode=False) or 0
    except (ConfigError, DataError, CheckpointError) as error:
        return fail(str(error))
    except (TrainingError, WorkerError) as error:
        return fail(str(error), code=1)
    except (KeyboardInterrupt, typer.Abort):
        return fail("interrupted", code=130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # a fault of ours: the traceback is of use
            raise
        verb = f" {args[0]}" if args[0] in VERBS else ""
        return fail(f"{error.format_message()} (tinytensor{verb} --help lists the flags)")


def version(value: bool) -> None:
    """Print the version and leave, for ``--version``."""
    if value:
        from ... import __version__

        print(f"tinytensor {__version__}")
        raise typer.Exit()


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An autograd framework by hand: train, sample and draw GPT, LSTM and RNN models."""


for _verb in VERBS.values():
    app.command()(_verb)
