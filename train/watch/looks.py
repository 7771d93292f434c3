"""What is looked at in a run: gradients, activations, attention, a sample.

Nothing that training reads is changed: no number is drawn from a generator, modes and hooks are put
back, and gradients are read only.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import no_grad
from ...nn.evaluating import evaluating
from ...nn.module import Module
from ...tensor.row_grad import stored
from ...tensor.tensor import Tensor
from ..config import ConfigError
from ..optim.clip import joint_norm
from ..results.attention import check_attends, maps
from ..results.watch_file import number
from ..tasks import TextTask

if TYPE_CHECKING:
    from ..run.trainer import Trainer

#: examples of the fixed batch
EXAMPLES = 8
#: numbers of a layer that its spread is computed from; the first of all that is too many to keep
NUMBERS = 8192
#: symbols of the fixed sentence, and of a sample: beyond its context a GPT writes much more slowly
SENTENCE, SAMPLE = 24, 160
PERCENTILES = (0, 5, 25, 50, 75, 95, 100)


def gradients(trainer: Trainer, norm: float) -> list[list[Any]]:
    """The norm of each layer's gradient, before clipping.

    Args:
        norm: of all gradients together before clipping; they may have been scaled since.

    Returns:
        ``[layer, norm]`` of each module that has parameters of its own, in the model's order.
    """
    of_layer: dict[str, dict[Any, list[Any]]] = {}
    for path, p in trainer.model.named_parameters():
        layer = path.rpartition(".")[0] or path
        if p.grad is not None:
            alike = of_layer.setdefault(layer, {})
            alike.setdefault((p.grad.device, p.grad.dtype), []).append(stored(p.grad))
    found = {
        layer: math.hypot(*(joint_norm(place.xp, a) for (place, _), a in alike.items()))
        for layer, alike in of_layer.items()
    }
    now = math.hypot(*found.values())
    scale = norm / now if now and math.isfinite(now) and math.isfinite(norm) else 1.0
    return [[layer, number(value * scale)] for layer, value in found.items()]


class Activations:
    """How the numbers spread that each layer gives for a fixed batch: the first of the validation
    part, at most :data:`EXAMPLES` of it, in evaluation mode."""

    def __init__(self, trainer: Trainer):
        size = min(EXAMPLES, trainer.config.batch_size)
        self._batch = next(iter(trainer.task.blocks(size, 1)))

    def __call__(self, trainer: Trainer) -> list[list[Any]]:
        """``[layer, class, *SPREAD]`` of each layer, in the order of the first calls."""
        model = trainer.model
        seen: dict[str, tuple[str, list[np.ndarray]]] = {}
        handles = []

        def keeping(name: str, kind: str) -> Callable[..., None]:
            def keep(module: Module, args: Any, result: Any) -> None:
                first = result[0] if isinstance(result, tuple) and result else result
                if isinstance(first, Tensor) and first.dtype.kind == "f" and first.size:
                    seen.setdefault(name, (kind, []))[1].append(_some(first))

            return keep

        with_hooks = [
            (name, module)
            for name, module in model.named_modules()
            if name and type(module).__name__ not in ("Dropout", "Identity")
        ]
        own = {name: module.__dict__.get("_hooks") for name, module in with_hooks}
        try:
            for name, module in with_hooks:
                hook = keeping(name, type(module).__name__)
                handles.append(module.register_forward_hook(hook))
            with no_grad(), evaluating(model):
                model.loss(*self._batch)
        finally:
            for handle in handles:
                handle.remove()
            for name, module in with_hooks:
                if own[name] is None:  # as before: calls take the short way again
                    module.__dict__.pop("_hooks", None)
        return [
            [name, kind, *spread(np.concatenate(parts))] for name, (kind, parts) in seen.items()
        ]


def _some(x: Tensor) -> np.ndarray:
    """At most :data:`NUMBERS` of a tensor's numbers, evenly spread, on the host."""
    flat = x.detach().data.reshape(-1)
    every = -(-flat.size // NUMBERS)
    if every > 1 and every % 2 == 0:
        every += 1  # an even stride would see every other column of most layers only
    return np.array(Tensor(flat[::every]).numpy(), dtype=np.float64)


def spread(values: np.ndarray) -> list[Any]:
    """What :data:`SPREAD` names of some numbers, at least one; 0 where none is finite."""
    every = max(1, -(-values.size // NUMBERS))
    values = values[::every]
    finite = values[np.isfinite(values)]
    bad = int(values.size - finite.size)
    if not finite.size:
        return [0.0] * 10 + [bad]
    low, *between, high = np.percentile(finite, PERCENTILES).tolist()
    zero = float((finite == 0).mean())
    about = [finite.mean(), finite.std(), low, *between, high, zero]
    return [*map(number, about), bad]


class Attention:
    """Where the model looks in a fixed sentence: for a text the first symbols of the validation
    part, for a task on pairs its usual example.

    Raises:
        ConfigError: the model has no attention.
    """

    def __init__(self, trainer: Trainer):
        task = trainer.task
        check_attends(trainer.model, task)
        if isinstance(task, TextTask):
            ids = next(iter(task.blocks(1, 1)))[0][0]
            text = task.tokenizer.decode(ids)
            last = max(0, len(text) - SENTENCE)  # a line or a word from its beginning, if possible
            begin = text.find("\n", 0, last) + 1 or text.find(" ", 0, last) + 1
            self.text = text[begin : begin + SENTENCE]
        else:
            self.text = task.asked  # type: ignore[attr-defined]
        if not maps(trainer.model, task, self.text):
            raise ConfigError("model: it has no attention")

    def __call__(self, trainer: Trainer) -> list[dict[str, Any]]:
        """All maps; each share as a byte, 255 for all of it."""
        return [
            {
                "kind": one.kind,
                "layer": one.layer,
                "queries": one.queries,
                "keys": one.keys,
                "heads": len(one.weights),
                "weights": base64.b64encode(
                    np.rint(one.weights.clip(0, 1) * 255).astype(np.uint8).tobytes()
                ).decode(),
            }
            for one in maps(trainer.model, trainer.task, self.text)
        ]


def sample(trainer: Trainer) -> str:
    """What the model writes now, or answers to examples of the test part: always to the same."""
    config = trainer.config
    length = min(SAMPLE, config.sample_length, max(40, config.block_size or 0))
    return trainer.sample(length=length)[:4000]
