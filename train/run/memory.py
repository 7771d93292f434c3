"""Whether a run fits into this machine's memory, told before anything is built.

What is counted is only what a run surely needs: a lower bound, so that nothing that would fit is
refused. It takes no memory itself, however large the numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...models import MODELS, ModelConfig
from ..config import ConfigError, TrainConfig
from ..given.words import readable
from ..system.memory import machine_memory

#: bytes of a number: weights, gradients and states are float32
_FLOAT = 4
#: bytes of an id
_ID = 8
#: bytes that Python's objects for a parameter take at least: 525 in an RNN, 800 in a GPT (measured)
_OBJECTS = 500


def check_run(config: TrainConfig, sizes: Mapping[str, Any], length: int) -> None:
    """Refuse a run that surely needs more memory than there is; see :func:`check_memory`.

    Args:
        sizes: what the data settle of the model's config.
        length: symbols in an example.
    """
    model = MODELS[config.model][1](**{**config.model_settings(), **sizes})
    if config.device != "cpu":  # the model is built here, and trained where there is other memory
        check_memory(model, 0, length, numbers=1)
        return
    states = {"adamw": 2, "adagrad": 1}.get(config.optimizer, int(config.beta1 > 0))
    check_memory(model, config.batch_size, length, 2 + states)


def check_memory(model: ModelConfig, batch_size: int, length: int, numbers: int = 2) -> None:
    """Refuse a model and a batch that surely need more memory than this machine has.

    Args:
        model: the numbers of the model.
        batch_size: examples in a step. length: symbols in each.
        numbers: how many there are for each parameter: itself, its gradient, and what the
            optimiser keeps: 2 for AdamW, 1 for Adagrad or SGD with momentum.

    Raises:
        ConfigError: with what is needed, what there is, and which settings to lower.
    """
    there = machine_memory()
    parameters = model.parameter_count()
    fixed = parameters * _FLOAT * numbers + model.array_count() * _OBJECTS
    symbols = batch_size * length
    kept = model.kept_per_symbol()
    moving = symbols * (kept * _FLOAT + 2 * _ID)
    if fixed + moving <= there:
        return
    sizes = [name for name in ("n_layer", "n_embd", "n_hidden") if hasattr(model, name)]
    advice = []
    if fixed >= there // 2:
        advice.append(" or ".join(filter(None, (", ".join(sizes[:-1]), sizes[-1]))))
    if moving >= there // 2:
        advice.append("batch_size or block_size" if hasattr(model, "block_size") else "batch_size")
    raise ConfigError(
        f"memory: {parameters:,} parameters need at least {readable(fixed)}, batches of "
        f"{batch_size:,} x {length:,} symbols {readable(moving)}; this machine has "
        f"{readable(there)}; lower {' and '.join(advice)}"
    )
