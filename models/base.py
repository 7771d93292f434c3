"""What models share: configs that know their size, the loss of a batch, and the face of those that
predict each next symbol of a text.

Every model learns from batches: arrays that share their first axis, one entry for each example. The
last one holds the targets, of which those that are -100 do not count::

    model.loss(*batch)    -> the mean loss of the targets that count

A language model is one whose batches are ids and the ids that follow them::

    model(ids)            -> logits (batch, time, vocab)
    model(ids, targets)   -> (logits, loss)
    model.generate(ids, max_new_tokens, ...) -> ids with max_new_tokens more

A subclass brings ``hidden`` (a whole sequence at once, for training) and ``decode`` (some more
symbols after those already read, for generation); both end in the same ``lm_head``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from .. import Generator, operations
from ..nn import Linear, Module
from ..nn.layers import as_ids, check_number, check_probability, check_size
from ..tensor.tensor import Tensor
from .generate import generate
from .ids import check_ids
from .shapes import Shapes

C = TypeVar("C", bound="ModelConfig")
L = TypeVar("L", bound="TextConfig")
#: the largest number that a config takes: no model of such a size could be built
LARGEST = 2**31 - 1
#: fields that are probabilities
PROBABILITIES = ("dropout", "label_smoothing")


@dataclass(frozen=True)
class ModelConfig:
    """What all models' configs can do; each model adds its fields, ``n_layer`` if it has layers.

    A config tells how large its model is without building it, in no time however large that is.
    """

    def __post_init__(self) -> None:
        """Check each field by its type; NumPy's numbers become Python's, fit for JSON.

        Raises:
            ValueError: the message names the field, what came and what was expected.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int":
                object.__setattr__(self, field.name, _size(field.name, value))
            elif field.type == "tuple[int, ...]":
                if not isinstance(value, (tuple, list)) or not value:
                    raise ValueError(f"{field.name}: expected some integers, got {value!r}")
                sizes = tuple(_size(field.name, one) for one in value)
                object.__setattr__(self, field.name, sizes)
            elif field.type == "bool" and not isinstance(value, bool):
                raise ValueError(f"{field.name}: expected True or False, got {value!r}")
            elif field.type == "str" and not isinstance(value, str):
                raise ValueError(f"{field.name}: expected a string, got {value!r}")
            elif field.name in PROBABILITIES:
                object.__setattr__(self, field.name, check_probability(field.name, value))
            elif field.type == "float":
                number = float(check_number(field.name, value, "a finite number", _is_float32))
                object.__setattr__(self, field.name, number)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict of plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """A config from what :meth:`to_dict` returned; fields that it lacks have their defaults.

        Raises:
            ValueError: an unknown field, none for one without a default, or one out of range.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(str(name) for name in set(values) - set(known))
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: {cls.__name__} has only {known}")
        for field in fields(cls):
            if field.name not in values and field.default is field.default_factory is MISSING:
                known_as = {"vocab_size": ", the number of symbols"}.get(field.name, "")
                raise ValueError(f"{field.name}: required{known_as}")
        return cls(**values)

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """The parameters that come before all layers, and those that come after them."""
        raise TypeError(f"{type(self).__name__} defines no shapes_outside(self)")

    def shapes_of_layer(self, layer: int) -> Shapes:
        """The parameters of one layer; all layers but the first have the same shapes."""
        raise TypeError(f"{type(self).__name__} defines no shapes_of_layer(self, layer)")

    def kept_per_symbol(self) -> int:
        """How many numbers a training step surely keeps for each symbol of its batch until the
        backward pass: a lower bound. (Of images: for each pixel.)"""
        raise TypeError(f"{type(self).__name__} defines no kept_per_symbol(self)")

    def parameter_shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of each parameter, as in the model's state dict and in its order, one by
        one: a config from elsewhere may ask for more of them than memory holds."""
        before, after = self.shapes_outside()
        yield from before.items()
        for layer in range(self._layers):
            yield from self.shapes_of_layer(layer).items()
        yield from after.items()

    def parameter_count(self) -> int:
        """How many numbers the model's parameters have: its ``num_parameters()``."""
        return self._sum(lambda shapes: sum(map(math.prod, shapes.values())))

    def array_count(self) -> int:
        """How many parameters the model has."""
        return self._sum(len)

    def _sum(self, of: Callable[[Shapes], int]) -> int:
        others = of(self.shapes_of_layer(1)) * (self._layers - 1)
        return sum(map(of, self.shapes_outside())) + of(self.shapes_of_layer(0)) + others

    @property
    def _layers(self) -> int:
        return int(getattr(self, "n_layer", 0))


@dataclass(frozen=True)
class TextConfig(ModelConfig):
    """What configs of models that read symbols have.

    Attributes:
        vocab_size: number of symbols; ids are 0 .. vocab_size - 1.
        block_size: how many symbols a training block has, and for a transformer the longest text
            that it can read.
    """

    vocab_size: int
    block_size: int = 64


def check_heads(n_embd: int, n_head: int) -> None:
    """Raise ValueError where the heads of attention cannot share a width evenly."""
    if n_embd % n_head:
        raise ValueError(f"n_embd: expected a multiple of n_head = {n_head}, got {n_embd}")


def mean_loss(logits: Tensor, targets: Any, wanted: str, smoothing: float = 0.0) -> Tensor:
    """The mean cross-entropy in nats of the targets that count.

    Args:
        logits: (..., classes).
        targets: (...) integers; -100 where there is none.
        wanted: what their shape is that of, for the error's message.
        smoothing: see :func:`tinytensor.cross_entropy`.

    Raises:
        TypeError: targets are not integers. ValueError: they are of another shape.
    """
    targets = as_ids(targets, logits, "targets")
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"targets: expected {wanted} {logits.shape[:-1]}, got {targets.shape}")
    loss: Tensor = operations.cross_entropy(logits, targets, label_smoothing=smoothing)
    return loss


def _size(name: str, value: Any) -> int:
    size = check_size(name, value)
    if size > LARGEST:
        raise ValueError(f"{name}: expected at most {LARGEST}, got {size}")
    return size


def _is_float32(number: float) -> bool:
    return abs(number) <= float(np.finfo(np.float32).max)


class Model(Module, Generic[C]):
    """Base of all models.

    Attributes:
        about: the model in a line.
        paper: where it was first described.
        config: the numbers that it was made from.
    """

    about: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    config: C

    def loss(self, *batch: Any) -> Tensor:
        """The mean loss of a batch over the targets that count: the second of what ``forward``
        returns with targets.

        Args:
            batch: what ``forward`` takes: arrays or Tensors that share their first axis, the
                targets last; a target of -100 does not count.
        """
        loss: Tensor = self(*batch)[1]
        return loss

    def extra_repr(self) -> str:
        """The config, for ``repr``."""
        return ", ".join(f"{key}={value}" for key, value in self.config.to_dict().items())


class LanguageModel(Model[L]):
    """Base of GPT, RNNLM, GRULM and LSTMLM.

    Attributes:
        config: the numbers that the model was made from.
        start_id: what generation reads first when the prompt is empty (0, or what its trainer
            sets: the id of a newline). Not part of the config or the state dict.
        lm_head: Linear from the last hidden features to one logit per symbol.
    """

    lm_head: Linear
    start_id: int = 0

    def hidden(self, ids: Tensor) -> Tensor:
        """ids (batch, time) -> features (batch, time, width) that ``lm_head`` reads."""
        raise TypeError(f"{type(self).__name__} defines no hidden(self, ids)")

    def decode(self, ids: Any, state: Any = None) -> tuple[Tensor, Any]:
        """Read some more symbols and predict the next one.

        Args:
            ids: (batch, time) integers that follow those read before.
            state: None at the start of a text, else what the last call returned.

        Returns:
            The logits (batch, vocab) of the symbol after the last of ``ids``, and the new state.
        """
        raise TypeError(f"{type(self).__name__} defines no decode(self, ids, state)")

    def forward(self, ids: Any, targets: Any = None) -> Any:
        """Predict every next symbol of a batch of texts.

        Args:
            ids: (batch, time) integers: a Tensor, an array or nested lists.
            targets: (batch, time) the right next symbols; -100 where there is none.

        Returns:
            logits (batch, time, vocab), or with targets (logits, loss), where the loss is the
            mean cross-entropy in nats.

        Raises:
            ValueError: ids are not (batch, time), or too long for the model.
            IndexError: an id is not in the vocabulary.
        """
        ids = self.check_ids(ids)
        logits = self.lm_head(self.hidden(ids))
        if targets is None:
            return logits
        return logits, mean_loss(logits, targets, "the shape of ids")

    def check_ids(self, ids: Any, name: str = "ids") -> Tensor:
        """``ids`` as an integer Tensor (batch, time) on the model's device, all in the vocabulary.

        Raises:
            TypeError, ValueError, IndexError: as :meth:`forward` says.
        """
        return check_ids(ids, self.config.vocab_size, self.lm_head.weight, name)

    def generate(
        self,
        ids: Any,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: Generator | None = None,
        start_id: int | None = None,
    ) -> np.ndarray:
        """Continue a text; see :func:`tinytensor.models.generate.generate`."""
        return generate(self, ids, max_new_tokens, temperature, top_k, top_p, generator, start_id)
