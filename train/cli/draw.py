"""``tinytensor draw``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ... import draw as draw_graph
from ... import random, step_through
from ...draw import NoRenderer
from ...models import MODELS, EncoderDecoder, LanguageModel, build
from ..config import LARGEST, ConfigError, TrainConfig
from ..given.words import cause
from ..run.memory import check_memory
from ..system.terminal import one_line
from ..tasks import TASKS, Batch
from .parsing import path

#: more can't be read, and takes its time to draw
LAYERS = 100
#: symbols that an encoder and a decoder read
STEPS = 3
#: numbers in all tensors: below a gigabyte
LARGEST_DRAWING = 200_000_000


def draw(
    model: Annotated[str, typer.Argument(help=", ".join(MODELS))],
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=path,
            help="Picture: .svg, .png, .pdf, .html for a page in which modules open, or text: .gv, "
            ".mmd (Mermaid), .d2 (default: MODEL.svg, MODEL-MODULE.svg, or MODEL-step.html)",
        ),
    ] = None,
    depth: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            help="Levels of modules to open (default: what can still be read)", min=0, max=LARGEST
        ),
    ] = None,
    zoom: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="modules (default), ops (with statistics), or scalars (every number)"),
    ] = None,
    module: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Draw the inside of this module alone, such as h.0.attn"),
    ] = None,
    step: Annotated[
        bool,
        typer.Option("--step", help="A page that steps through forward and backward"),
    ] = False,
    n_layer: Annotated[int, typer.Option(help="Layers", min=1, max=LAYERS)] = 2,
    n_head: Annotated[int, typer.Option(help="Attention heads", min=1, max=LARGEST)] = 2,
    n_embd: Annotated[int, typer.Option(help="Width", min=1, max=LARGEST)] = 16,
    n_hidden: Annotated[
        int, typer.Option(help="State of an rnn, gru or lstm", min=1, max=LARGEST)
    ] = 16,
    block_size: Annotated[
        int, typer.Option(help="Symbols in a block of a language model", min=1, max=LARGEST)
    ] = 8,
    vocab_size: Annotated[
        int, typer.Option(help="Symbols there are for a language model", min=1, max=LARGEST)
    ] = 65,
    batch_size: Annotated[int, typer.Option(help="Blocks", min=1, max=LARGEST)] = 2,
    dropout: Annotated[float, typer.Option(help="Dropout probability", min=0, max=1)] = 0.0,
    values: Annotated[bool, typer.Option(help="Show the numbers in small tensors")] = False,
) -> None:
    """Draw the computation graph of a small model's loss."""
    if model not in MODELS:
        *others, last = MODELS
        raise ConfigError(f"model: expected {', '.join(others)} or {last}, got {model!r}")
    width = n_embd if model == "gpt" else max(n_embd, n_hidden)
    needed = size(n_layer, n_head, width, block_size, vocab_size, batch_size)
    if needed > LARGEST_DRAWING:
        raise ConfigError(
            "sizes: expected a small model, whose picture is the same; the tensors of this one "
            f"have about {needed:.0e} numbers, more than {LARGEST_DRAWING:.0e}"
        )
    refused = {"zoom": zoom, "module": module, "depth": depth, "values": values or None}
    if step and (given_too := [name for name, value in refused.items() if value is not None]):
        raise ConfigError(f"{given_too[0]}: --step shows every op with its numbers; leave it out")
    usual = f"{model}-step.html" if step else f"{model}-{module}.svg" if module else f"{model}.svg"
    file = Path(usual if out is None else out)
    try:
        given = {
            "n_layer": n_layer, "n_head": n_head, "n_embd": n_embd, "n_hidden": n_hidden,
            "vocab_size": vocab_size, "block_size": block_size, "dropout": dropout,
        }  # fmt: skip
        batch, settled = example(model, batch_size, block_size, vocab_size)
        known = {f.name for f in fields(MODELS[model][1])}
        own = {name: value for name, value in given.items() if name in known}
        sizes = MODELS[model][1](**{**own, **settled})
        check_memory(sizes, batch_size, block_size)
        built = build(model, **sizes.to_dict())
        if step:
            step_through(built.loss(*batch), title=f"A step of training: {model}").save(file)
        else:
            draw_graph(
                lambda: built.loss(*batch),
                zoom=zoom,
                module=module,
                depth=depth,
                values=True if values else None,
            ).save(file)
    except (ValueError, NoRenderer) as error:
        reason = str(error)
        raise ConfigError(f"out: {reason[6:]}" if reason.startswith("path: ") else reason) from None
    except OSError as error:
        raise ConfigError(f"out: cannot write {file}: {cause(error)}") from None
    print(one_line(file))


def example(
    model: str, batch_size: int, block_size: int, vocab_size: int
) -> tuple[Batch, dict[str, Any]]:
    """A batch that the model can learn from, and the sizes that its data settle: random symbols for
    a language model, for the others some examples of their task (of an encoder and a decoder the
    first symbols, as a decoder of recurrent steps has its ops once for each)."""
    if issubclass(MODELS[model][0], LanguageModel):
        ids = random.generator("data").integers(0, vocab_size, (batch_size, block_size + 1))
        return (ids[:, :-1], ids[:, 1:]), {}
    config = TrainConfig(model=model)
    task = TASKS[config.task](config)
    batch = task.batch(batch_size)
    if issubclass(MODELS[model][0], EncoderDecoder):
        batch = tuple(ids[:, :STEPS] for ids in batch)
    return batch, task.sizes()


def size(
    n_layer: int, n_head: int, width: int, block_size: int, vocab_size: int, batch_size: int
) -> int:
    """About how many numbers the tensors of a model hold together, in a step of training."""
    symbols = batch_size * block_size
    layer = 12 * width**2 + symbols * (20 * width + n_head * block_size)
    return n_layer * layer + (symbols + 2 * width) * vocab_size
