"""What ``tinytensor info`` shows."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import typer
from threadpoolctl import threadpool_info

from ... import __version__, cuda
from ..checkpoint import load, locate
from ..sample import restore_model
from .output import one_line


def info(
    checkpoint: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="Checkpoint, or the folder of its run", show_default=False),
    ] = None,
) -> None:
    """Show versions and devices, and what is in a checkpoint."""
    facts = environment_facts() if checkpoint is None else checkpoint_facts(checkpoint)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{one_line(name):<{width}}  {one_line(value)}")


def environment_facts() -> dict[str, str]:
    """Versions, BLAS, GPU and renderer of this machine, in the order to show them."""

    def of(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    facts = {"tinytensor": __version__, "Python": platform.python_version()}
    facts["system"] = platform.platform()
    facts["NumPy"] = np.__version__
    facts["BLAS"] = blas()
    for name in ("scipy", "safetensors", "rich", "typer", "matplotlib", "graphviz"):
        facts[name] = of(name)
    facts["CUDA"] = cuda.why_not() or "available"
    from ...draw.render import renderer

    facts["pictures"] = str(renderer() or "no Graphviz: .gv text only")
    return facts


def blas() -> str:
    """The matrix library of NumPy and, where threadpoolctl can tell, its kernel and threads."""
    for pool in threadpool_info():
        if pool.get("user_api") == "blas":
            kernel = pool.get("architecture", "unknown kernel")
            return (
                f"{pool.get('internal_api')} {pool.get('version')}, {kernel}, "
                f"{pool.get('num_threads')} threads"
            )
    try:
        config: Any = np.show_config(mode="dicts")
        library = config["Build Dependencies"]["blas"]
        return f"{library['name']} {library['version']}"
    except (TypeError, KeyError):
        return "unknown"


def checkpoint_facts(path: str | Path) -> dict[str, str]:
    """What a checkpoint holds, in the order to show it.

    Raises:
        CheckpointError: it cannot be read, or does not fit together.
    """
    file = locate(path)
    saved = load(file)
    model, tokenizer = restore_model(saved, file)
    config = saved.meta.get("config")
    config = config if isinstance(config, dict) else {}
    train, val = saved.history.get("train"), saved.history.get("val")
    facts = {
        "file": f"{file} ({file.stat().st_size / 1e6:.1f} MB)",
        "model": f"{type(model).__name__}, {model.num_parameters():,} parameters",
        **{f"  {name}": str(value) for name, value in model.config.to_dict().items()},
        "data": str(config.get("data") or "the help topics of Python"),
        "symbols": f"{len(tokenizer)}: {tokenizer.symbols!r}",
        "step": f"{saved.meta.get('step')} of {config.get('steps')}",
    }
    if train is not None and train.size:
        recent = train[-50:]
        facts["training loss"] = f"{recent.mean():.4f} (mean of the last {recent.size} steps)"
    if val is not None and val.size:
        facts["validation loss"] = f"{val[-1, 1]:.4f} at step {int(val[-1, 0])}"
    for name in (
        "optimizer", "lr", "min_lr", "schedule", "batch_size", "accumulate", "weight_decay", "seed",
    ):  # fmt: skip
        if name in config:
            facts[name] = str(config[name])
    return facts
