"""``tinytensor export``."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from ..checkpoint import latest
from ..results.export import export as write
from ..system.terminal import one_line
from .parsing import path


def export(
    checkpoint: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            callback=path,
            help="Checkpoint, or the folder of its run (default: the latest run)",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="nanogpt or hf of a gpt, torch of an rnn, gru or lstm (default: nanogpt, torch)",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=path, help="Folder (default: FORMAT beside the checkpoint)", show_default=False
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there")
    ] = False,
) -> None:
    """Write a trained model for nanoGPT, Hugging Face's transformers or PyTorch."""
    files = write(latest() if checkpoint is None else checkpoint, format, out, overwrite)
    folder = files[0].parent
    print(f"weights     {one_line(files[0])}")
    print(f"settings    {one_line(files[1])}")
    print(f"vocabulary  {one_line(files[2])}")
    print(f"loader      {one_line(files[3])}")
    print(f"\nin Python, from {one_line(folder)}:")
    print("  from load import load")
    print("  model = load()")
    print(f"or, for a text: python {one_line(files[3])}")
