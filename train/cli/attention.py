"""``tinytensor attention``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ..checkpoint import latest
from ..config import ConfigError
from ..given.words import cause, shortened
from ..results.attention import maps, picture
from ..results.attention_page import write_page
from ..results.restore import restore
from ..system.terminal import one_line
from ..tasks import Task, TextTask
from ..tasks.writing import finite
from .parsing import path

#: the names of what is written
NAME = "attention"


def attention(
    checkpoint: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            callback=path,
            help="Checkpoint, or the folder of its run (default: the latest run)",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            help="What the model reads: a text, or an input to answer (default: an example input)",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=path,
            help="Folder of attention.html and attention.png (default: that of the run)",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show where a model looks: a page to explore, and a picture of all layers and heads."""
    found = restore(latest() if checkpoint is None else checkpoint)
    if text is None:
        text = _example(found.task)
    with finite():
        shown = maps(found.model, found.task, text)
    answer = next((f" \N{RIGHTWARDS ARROW} {one.answer}" for one in shown if one.answer), "")
    run = found.file.resolve().parent.name
    about = f"{found.config.model}, task {found.task.name}, step {found.step:,} of run {run}"
    title = f"Where {type(found.model).__name__} looks: {one_line(shortened(text + answer))}"
    folder = found.file.parent if out is None else Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = write_page(folder / f"{NAME}.html", shown, title, one_line(about))
        image = picture(folder / f"{NAME}.png", shown, title)
    except OSError as error:
        raise ConfigError(f"out: cannot write into {folder}: {cause(error)}") from None
    print(f"page     {one_line(page)}")
    print(f"picture  {one_line(image)}")


def _example(task: Task) -> str:
    if not isinstance(task, TextTask):  # where there is no attention, the maps say so
        return getattr(task, "asked", "")
    raise ConfigError("text: expected one, which the model is to read, behind the run")
