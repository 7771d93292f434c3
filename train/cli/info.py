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
from ...draw.render import renderer
from ..config import text_name
from ..given.words import readable, shortened
from ..results.history import RECENT
from ..results.restore import restore
from ..system.terminal import one_line
from .parsing import path

#: characters of a vocabulary that are shown
MOST = 2000


def info(
    checkpoint: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            callback=path, help="Checkpoint, or the folder of its run", show_default=False
        ),
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
    found = restore(path)
    model, task, config, history = found.model, found.task, found.config, found.history
    weights = model.state_dict()
    broken = [name for name, array in weights.items() if not np.isfinite(array).all()]
    facts = {
        "file": f"{found.file} ({readable(found.file.stat().st_size)})",
        "model": f"{type(model).__name__}, {model.num_parameters():,} parameters",
        **{f"  {name}": str(value) for name, value in model.config.to_dict().items()},
        "task": f"{task.name}: {task.about}",
        **({"data": text_name(config.data)} if "data" in task.reads else {}),
        "symbols": shortened(f"{len(task.vocabulary)}: {task.vocabulary!r}", MOST),
        "step": f"{found.step} of {config.steps}",
    }
    if broken:
        facts["weights"] = f"not finite in {len(broken)} of {len(weights)} arrays: {broken[0]}"
    if history.train:
        count = min(RECENT, len(history.train))
        facts["training loss"] = f"{history.recent:.4f} (mean of the last {count} steps)"
    if history.val:
        step, loss = history.val[-1]
        facts["validation loss"] = f"{loss:.4f} at step {step}"
    for name in (
        "optimizer", "lr", "min_lr", "schedule", "batch_size", "accumulate", "weight_decay", "seed",
    ):  # fmt: skip
        facts[name] = str(getattr(config, name))
    return facts
