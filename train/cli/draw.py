"""``tinytensor draw``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ..config import ConfigError
from .output import one_line


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
    from ... import draw as draw_graph
    from ... import random
    from ...draw import NoRenderer
    from ...models import build

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
    print(one_line(path))
