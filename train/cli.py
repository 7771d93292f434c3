"""The command line: ``tinytensor train | sample | draw | info | profile``.

The flags of ``train`` are the fields of :class:`TrainConfig`. What a user can get wrong ends in
one line on standard error and exit code 2; a failing run ends in 1, Ctrl-C in 130.
"""

from __future__ import annotations

import os
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from .config import ConfigError, TrainConfig, load_toml
from .flags import with_settings
from .profiling import profile

VERBS = ("train", "sample", "draw", "info", "profile")
app = typer.Typer(
    name="tinytensor",
    help="An autograd framework by hand: train, sample and draw GPT, LSTM and RNN models.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def command() -> str:
    """How to start this program again: the Python that runs it may be one of an environment."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return f"{python} -m tinytensor"


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: the entry point of ``tinytensor``."""
    args = sys.argv[1:] if args is None else args
    sys.exit(run(args or ["--help"]))


def run(args: list[str]) -> int:
    """Run the command line; returns the exit code."""
    from .checkpoint import CheckpointError
    from .data import DataError
    from .parallel import WorkerError
    from .trainer import TrainingError

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


def fail(message: str, code: int = 2) -> int:
    """Print one line to standard error; returns the exit code."""
    print(f"tinytensor: {' '.join(message.split())}", file=sys.stderr, flush=True)
    return code


def version(value: bool) -> None:
    """Print the version and leave, for ``--version``."""
    if value:
        from .. import __version__

        print(f"tinytensor {__version__}")
        raise typer.Exit()


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An autograd framework by hand: train, sample and draw GPT, LSTM and RNN models."""


@app.command()
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
    from .checkpoint import latest
    from .progress import make_report
    from .signals import Stop
    from .trainer import PICTURE, Trainer

    given = load_toml(config) if config is not None else {}
    given |= {name: value for name, value in settings.items() if value is not None}
    with Stop() as stop:
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
            f"  {command()} train --resume --out {folder}",
            flush=True,
        )
        return 128 + int(stop.signal or 0)
    print(f"\nsample:\n{trainer.sample()}\n")
    print(f"validation loss  {trainer.history.val[-1][1]:.4f}")
    print(f"checkpoint       {folder / 'checkpoint.safetensors'}")
    print(f"loss curve       {folder / PICTURE}")
    print(f"more text        {command()} sample {folder}")
    return 0


def run_folder(config: TrainConfig, overwrite: bool) -> Path:
    """The folder of a new run: the one asked for, or the first that is free in runs/.

    Raises:
        ConfigError: the one asked for is no folder, or has a checkpoint.
    """
    from .checkpoint import NAME

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


@app.command()
def sample(
    checkpoint: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="Checkpoint, or the folder of its run (default: the latest run)"),
    ] = None,
    prompt: Annotated[str, typer.Option(help="What the text starts with")] = "",
    length: Annotated[int, typer.Option(help="Characters to add", min=0)] = 300,
    temperature: Annotated[float, typer.Option(help="0 takes the most probable, 1 draws")] = 0.8,
    top_k: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Draw from the k most probable only (default: off)"),
    ] = None,
    top_p: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Draw from those that reach this probability (default: off)"),
    ] = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="For the same text each time (default: none)", min=0),
    ] = None,
    unknown: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Put this for prompt characters the model does not know, '' drops them "
            "(default: they are an error)"
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
) -> None:
    """Write text with a trained model."""
    from .. import Generator
    from .checkpoint import latest
    from .data import DataError
    from .sample import load_model, stream_text

    check_device(device)
    model, tokenizer = load_model(latest() if checkpoint is None else checkpoint)
    model.to(device)
    try:
        parts = stream_text(
            model, tokenizer, prompt, length, temperature, top_k, top_p, Generator(seed), unknown
        )
    except DataError as error:
        reason = str(error)
        if reason.startswith("text: "):  # here it is the prompt
            reason = (
                f"prompt: {reason[6:]}; --unknown '' leaves them out, --unknown X writes X instead"
            )
        raise ConfigError(reason) from None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a narrow terminal
    try:
        for part in chain([prompt], parts, ["\n"]):
            sys.stdout.write(part)
            sys.stdout.flush()
    except BrokenPipeError:  # tinytensor sample | head: the reader has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_device(device: str) -> None:
    """Refuse a device that is not there, in a ConfigError."""
    from .. import device as find

    try:
        find(device)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(str(error)) from None


@app.command()
def draw(
    model: Annotated[str, typer.Argument(help="gpt, lstm or rnn")],
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Picture: .svg, .png, .pdf, or .gv for the text (default: MODEL.svg)"),
    ] = None,
    depth: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Levels of modules to open (default: what can still be read)", min=0),
    ] = None,
    n_layer: Annotated[int, typer.Option(help="Layers", min=1)] = 2,
    n_head: Annotated[int, typer.Option(help="Heads of a gpt", min=1)] = 2,
    n_embd: Annotated[int, typer.Option(help="Width", min=1)] = 16,
    n_hidden: Annotated[int, typer.Option(help="State of an lstm or rnn", min=1)] = 16,
    block_size: Annotated[int, typer.Option(help="Symbols in a block", min=1)] = 8,
    vocab_size: Annotated[int, typer.Option(help="Symbols there are", min=1)] = 65,
    batch_size: Annotated[int, typer.Option(help="Blocks", min=1)] = 2,
    dropout: Annotated[float, typer.Option(help="Dropout probability", min=0, max=1)] = 0.0,
    values: Annotated[bool, typer.Option(help="Show the numbers in small tensors")] = False,
) -> None:
    """Draw the computation graph of a small model's loss."""
    from .. import draw as draw_graph
    from .. import random
    from ..draw import NoRenderer
    from ..models import build

    if model not in ("gpt", "lstm", "rnn"):
        raise ConfigError(f"model: expected gpt, lstm or rnn, got {model!r}")
    own = {"n_head": n_head} if model == "gpt" else {"n_hidden": n_hidden}
    path = Path(f"{model}.svg") if out is None else out
    try:
        net = build(
            model, vocab_size=vocab_size, block_size=block_size, n_layer=n_layer, n_embd=n_embd,
            dropout=dropout, **own,
        )  # fmt: skip
        rng = random.generator("data")
        ids = rng.integers(0, vocab_size, (batch_size, block_size + 1))
        loss = net(ids[:, :-1], ids[:, 1:])[1]
        loss.backward()
        draw_graph(loss, depth=depth, values=values).save(path)
    except (ValueError, NoRenderer) as error:
        raise ConfigError(str(error)) from None
    except OSError as error:
        raise ConfigError(f"out: cannot write {path}: {error.strerror or error}") from None
    print(path)


@app.command()
def info(
    checkpoint: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="Checkpoint, or the folder of its run", show_default=False),
    ] = None,
) -> None:
    """Show versions and devices, and what is in a checkpoint."""
    from .info import checkpoint_facts, environment_facts

    facts = environment_facts() if checkpoint is None else checkpoint_facts(checkpoint)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")


app.command()(profile)


if __name__ == "__main__":
    main()
