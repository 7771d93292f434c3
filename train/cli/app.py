"""The command line: ``tinytensor train | sample | models | tasks | compare | export | draw | ...``.

The flags of ``train`` are the fields of :class:`TrainConfig`. What a user can get wrong ends in
one line on standard error and exit code 2; a failing run ends in 1, Ctrl-C in 130, SIGTERM in 143
and a terminal that hangs up in 129.
"""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ... import __version__, early_interrupt
from ..checkpoint import CheckpointError, SaveError
from ..config import ConfigError
from ..data import DataError
from ..parallel import WorkerError
from ..run.step import TrainingError
from ..system.signals import Interrupted
from ..system.terminal import tell
from .attention import attention
from .compare import compare
from .draw import draw
from .export import export
from .info import info
from .listing import models, tasks
from .output import LEFT, PATIENCE, guarded, hold_descriptors
from .parsing import Command
from .profile import profile
from .sample import sample
from .train import train
from .watch import watch

VERBS: dict[str, Callable[..., Any]] = {
    "train": train,
    "sample": sample,
    "attention": attention,
    "watch": watch,
    "models": models,
    "tasks": tasks,
    "compare": compare,
    "export": export,
    "draw": draw,
    "info": info,
    "profile": profile,
}


class Commands(TyperGroup):
    """The commands. Some versions of typer end silently at KeyboardInterrupt, none at ours."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted(signal.SIGINT) from None


app = typer.Typer(
    name="tinytensor",
    cls=Commands,
    help="An autograd framework by hand: train, ask and draw models from the RNN to the GPT.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: the entry point of ``tinytensor``."""
    hold_descriptors()
    args = sys.argv[1:] if args is None else args
    code = run(args or ["--help"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: Python's end has nothing to tell
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run the command line; returns the exit code.

    A training run does not depend on who reads its output; where another command's could not all
    be written the exit code says so, unless its reader left on purpose (``| head``).
    """
    trains = args[:1] == ["train"] and "--help" not in args
    with guarded(PATIENCE if trains else None) as out:
        code = run_guarded(args)
        out.flush()
        if out.lost is None or out.lost.errno in LEFT:
            return code
        reason = f"standard output: {out.lost.strerror}"
        if not trains:
            return fail(reason, code or 1)
        if not out.over or out.lost.errno not in (errno.EIO, errno.EBADF):
            fail(f"note: some lines could not be written to {reason}")
        return code


def run_guarded(args: list[str]) -> int:
    """The same, once the standard streams are guarded."""
    try:
        early_interrupt.end()
        return app(args=args, prog_name="tinytensor", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort, Interrupted) as stop:
        number = signal.Signals(getattr(stop, "signal", signal.SIGINT))
        what = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
        return fail(what, code=128 + number)
    except (TrainingError, WorkerError, SaveError) as error:
        return fail(str(error), code=1)
    except (ConfigError, DataError, CheckpointError) as error:
        return fail(str(error))
    except MemoryError:
        return fail("there is not enough memory for this; smaller sizes need less", code=1)
    except Exception as error:
        if not hasattr(error, "format_message"):  # a fault of ours: the traceback is of use
            raise
        verb = f" {args[0]}" if args[0] in VERBS else ""
        return fail(f"{error.format_message()} (tinytensor{verb} --help lists the flags)")


def fail(message: str, code: int = 2) -> int:
    """Print one line to standard error; returns the exit code."""
    tell(f"tinytensor: {message}")
    return code


def version(value: bool) -> None:
    """Print the version and leave, for ``--version``."""
    if value:
        print(f"tinytensor {__version__}")
        raise typer.Exit()


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An autograd framework by hand: train, ask and draw models from the RNN to the GPT."""


for _verb in VERBS.values():
    app.command(cls=Command)(_verb)
