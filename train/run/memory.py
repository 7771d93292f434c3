"""Whether a run fits into this machine's memory, told before anything is built.

What is counted is only what a run surely needs: a lower bound, so that nothing that would fit is
refused. It takes no memory itself, however large the numbers are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...models import MODELS, ModelConfig
from ..config import ConfigError, TrainConfig

#: bytes of a number: weights, gradients and states are float32
_FLOAT = 4
#: bytes of an id
_ID = 8
#: bytes that Python's objects for a parameter take at least: 525 in an RNN, 800 in a GPT (measured)
_OBJECTS = 500
#: where Linux says how much a group of processes may take: version 2 of control groups, then 1
_GROUPS = "/sys/fs/cgroup"


def check_run(config: TrainConfig, vocab_size: int) -> None:
    """Refuse a run that surely needs more memory than this machine has; see :func:`check_memory`.

    Args:
        config: its settings. vocab_size: how many symbols its text has.
    """
    model = MODELS[config.model][1](vocab_size=vocab_size, **config.model_settings())
    if config.device != "cpu":  # the model is built here, and trained where there is other memory
        check_memory(model, 0, numbers=1)
        return
    states = 2 if config.optimizer == "adamw" else int(config.beta1 > 0)
    check_memory(model, config.batch_size, 2 + states)


def check_memory(model: ModelConfig, batch_size: int, numbers: int = 2) -> None:
    """Refuse a model and a batch that surely need more memory than this machine has.

    Args:
        model: the numbers of the model.
        batch_size: blocks of ``model.block_size`` symbols in a step.
        numbers: how many there are for each parameter: itself, its gradient, and what the
            optimiser keeps: 2 for AdamW, 1 for SGD with momentum.

    Raises:
        ConfigError: with what is needed, what there is, and which settings to lower.
    """
    there = machine_memory()
    parameters = model.parameter_count()
    fixed = parameters * _FLOAT * numbers + model.array_count() * _OBJECTS
    symbols = batch_size * model.block_size
    kept = model.kept_per_symbol() + model.vocab_size
    moving = symbols * (kept * _FLOAT + 2 * _ID)
    if fixed + moving <= there:
        return
    sizes = [name for name in ("n_layer", "n_embd", "n_hidden") if hasattr(model, name)]
    advice = []
    if fixed >= there // 2:
        advice.append(f"{', '.join(sizes[:-1])} or {sizes[-1]}")
    if moving >= there // 2:
        advice.append("batch_size or block_size")
    raise ConfigError(
        f"memory: {parameters:,} parameters need at least {readable(fixed)}, batches of "
        f"{batch_size:,} x {model.block_size:,} symbols {readable(moving)}; this machine has "
        f"{readable(there)}; lower {' and '.join(advice)}"
    )


def machine_memory() -> int:
    """Bytes of memory that this process may have at most: the machine's, or what its group of
    processes or its own limit leaves of it. Where nothing can be found out: 2^63."""
    return min([*_physical(), *_of_group(), *_of_process()], default=1 << 63)


def readable(size: int) -> str:
    """Bytes in words: "1.5 GB"."""
    amount = float(min(size, 10**300))
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.0f} PB" if amount < 1e9 else f"{amount:.0e} PB"


def _physical() -> list[int]:
    if sys.platform == "win32":
        return _physical_of_windows()
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return []
    return [size] if size > 0 else []


def _physical_of_windows() -> list[int]:
    import ctypes

    size = ctypes.c_ulonglong(0)
    try:
        found = ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(  # type: ignore[attr-defined]
            ctypes.byref(size)
        )
    except (AttributeError, OSError):
        return []
    return [size.value * 1024] if found else []


def _of_group(root: str = _GROUPS, membership: str = "/proc/self/cgroup") -> list[int]:
    """The limits of this process's control groups and of those above them."""
    try:
        lines = Path(membership).read_text().splitlines()
    except (OSError, ValueError):
        return []
    limits = []
    for line in lines:
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        base = Path(root) / "memory" if controllers else Path(root)
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        folder = base / group.strip("/")
        for here in (folder, *folder.parents):
            try:
                limits.append(int((here / name).read_text()))
            except (OSError, ValueError):  # not there, or "max"
                pass
            if here == base:
                break
    return [limit for limit in limits if limit > 0]


def _of_process() -> list[int]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [soft] if soft not in (resource.RLIM_INFINITY, -1) and soft > 0 else []
