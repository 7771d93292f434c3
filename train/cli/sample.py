"""``tinytensor sample``."""

from __future__ import annotations

import shlex
import sys
from itertools import chain
from typing import Annotated, Optional

import typer

from ... import Generator
from ... import device as find
from ..checkpoint import latest
from ..config import LARGEST, SEEDS, ConfigError
from ..data import DataError
from ..results.restore import restore
from ..system.terminal import as_shown
from ..tasks import TextTask
from ..tasks.pairs.pairs import Pairs
from ..tasks.writing import finite, stream_text
from .parsing import path


def sample(
    checkpoint: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            callback=path, help="Checkpoint, or the folder of its run (default: the latest run)"
        ),
    ] = None,
    input: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What to answer, in the terms of the task", show_default=False),
    ] = None,
    beam: Annotated[
        int, typer.Option(help="Hypotheses kept in the search for an answer", min=1, max=1000)
    ] = 1,
    prompt: Annotated[str, typer.Option(help="What the text starts with")] = "",
    length: Annotated[int, typer.Option(help="Characters to add", min=0, max=LARGEST)] = 300,
    temperature: Annotated[float, typer.Option(help="0 takes the most probable, 1 draws")] = 0.8,
    top_k: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Draw from the k most probable only (default: off)", max=LARGEST),
    ] = None,
    top_p: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Draw from those that reach this probability (default: off)"),
    ] = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="For the same text each time (default: none)", min=0, max=SEEDS),
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
    """Write text with a trained model, or let it answer an --input in its task's own terms.

    A terminal gets control characters as visible escapes, a file or a pipe the text as it is.
    """
    check_device(device)
    found = restore(latest() if checkpoint is None else checkpoint)
    model, task = found.model, found.task
    model.to(device)
    if beam > 1 and not isinstance(task, Pairs):
        raise ConfigError(f"beam: task {task.name} does not search for answers, got {beam}")
    if input is not None:
        usual = {"prompt": "", "length": 300, "temperature": 0.8, "top_k": None, "top_p": None,
                 "seed": None, "unknown": None}  # fmt: skip
        given = (prompt, length, temperature, top_k, top_p, seed, unknown)
        for name, value in zip(usual, given, strict=True):
            if value != usual[name]:
                raise ConfigError(f"{name}: expected none with --input, nothing is drawn for it")
        with finite():
            answer = task.answer(model, input, beam)
        print(as_shown(answer))
        return
    if not isinstance(task, TextTask):
        how = f": expected one, such as {shlex.join(task.example)}" if task.example else ""
        raise ConfigError(f"input: task {task.name} answers an --input{how}")
    tokenizer = task.tokenizer
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
    for part in chain([prompt], parts, ["\n"]):
        print(as_shown(part), end="", flush=True)
        if getattr(sys.stdout, "over", False):  # tinytensor sample | head: the reader has enough
            break


def check_device(device: str) -> None:
    """Refuse a device that is not there, in a ConfigError."""
    try:
        find(device)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(str(error)) from None
