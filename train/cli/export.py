"""``tinytensor export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer


def export(
    checkpoint: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(
            help="Checkpoint, or the folder of its run (default: the latest run)",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="nanogpt or hf of a gpt, torch of an lstm or rnn (default: nanogpt, torch)",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder (default: FORMAT beside the checkpoint)", show_default=False),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there")
    ] = False,
) -> None:
    """Write a trained model for nanoGPT, Hugging Face's transformers or PyTorch."""
    from ..checkpoint import latest
    from ..export import export as write

    files = write(latest() if checkpoint is None else checkpoint, format, out, overwrite)
    folder = files[0].parent
    print(f"weights     {files[0]}")
    print(f"settings    {files[1]}")
    print(f"vocabulary  {files[2]}")
    print(f"loader      {files[3]}")
    print(f"\nin Python, from {folder}:")
    print("  from load import load")
    print("  model = load()")
    print(f"or, for a text: python {files[3]}")
