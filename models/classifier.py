"""What models that tell classes apart share: a head on features, the loss, and predictions.

::

    model(x)            -> logits (batch, n_classes)
    model(x, targets)   -> (logits, loss)
    model.predict(x)    -> classes (batch,)

A subclass brings ``features``, one vector for each example: of a text, an image, or whatever else.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .. import no_grad
from ..nn import Dropout, Linear, evaluating
from ..tensor.tensor import Tensor
from .base import Model, ModelConfig, mean_loss
from .generate import probabilities

C = TypeVar("C", bound=ModelConfig)


class Classifier(Model[C]):
    """Base of models whose targets are one class for each example.

    A subclass calls ``make_head`` at the end of its ``__init__``.

    Attributes:
        dropout: acts on the features.
        head: Linear from the features to one logit for each class.
    """

    dropout: Dropout
    head: Linear

    def make_head(self, width: int, n_classes: int, dropout: float) -> None:
        """Dropout and head for features (batch, ``width``)."""
        self.dropout = Dropout(dropout)
        self.head = Linear(width, n_classes)

    def features(self, x: Any) -> Tensor:
        """x (batch, ...) -> features (batch, width) that the head reads.

        Raises:
            ValueError, TypeError, IndexError: x cannot be read by the model; the message says why.
        """
        raise TypeError(f"{type(self).__name__} defines no features(self, x)")

    def forward(self, x: Any, targets: Any = None) -> Any:
        """Tell the class of each example.

        Args:
            x: (batch, ...) examples, as ``features`` takes them.
            targets: (batch,) the right classes, 0 to ``n_classes`` - 1; -100 where there is none.

        Returns:
            logits (batch, n_classes), or with targets (logits, loss), where the loss is the mean
            cross-entropy in nats of the targets that count.

        Raises:
            ValueError: targets of another shape, or a class that there is not.
        """
        logits = self.head(self.dropout(self.features(x)))
        if targets is None:
            return logits
        return logits, mean_loss(logits, targets, "one for each example")

    def probabilities(self, x: Any) -> np.ndarray:
        """How likely each class is, without dropout: (batch, n_classes) in float64."""
        with no_grad(), evaluating(self):
            return probabilities(self(x))

    def predict(self, x: Any) -> np.ndarray:
        """The most likely class of each example, without dropout: (batch,) integers."""
        with no_grad(), evaluating(self):
            logits: Tensor = self(x)
        return logits.numpy().argmax(axis=-1)
