"""Convolutional networks that classify: texts (Kim, 2014) and images (LeCun et al., 1998).

Both learn small detectors, look with each of them everywhere, and keep where it answers most: over
the whole text, or over each small square of the image, layer by layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import no_grad, operations, tensor
from ..nn import Conv1d, Conv2d, Embedding, Linear, MaxPool2d, ModuleList, evaluating
from ..tensor.tensor import Tensor
from .base import ModelConfig, TextConfig
from .classifier import Classifier
from .ids import PAD, check_ids
from .shapes import Shapes, weight_and_bias

# ---- texts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CNNConfig(TextConfig):
    """The numbers that make a CNN.

    Attributes:
        n_classes: how many classes there are.
        n_embd: width of the symbol embedding.
        windows: how many symbols the detectors see: as many kinds as there are numbers.
        n_filters: detectors of each kind.
        dropout: probability, before the head.
    """

    n_classes: int = 2
    n_embd: int = 64
    windows: tuple[int, ...] = (3, 4, 5)
    n_filters: int = 100
    dropout: float = 0.5

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`."""
        before: Shapes = {"wte.weight": (self.vocab_size, self.n_embd)}
        for i, window in enumerate(self.windows):
            before |= weight_and_bias(f"convs.{i}", self.n_filters, self.n_embd, window)
        return before, weight_and_bias("head", self.n_classes, self.n_filters * len(self.windows))

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`; all that it has stands beside each other."""
        return {}

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`: the embedded text."""
        return self.n_embd


class Evidence(NamedTuple):
    """What a CNN's detectors found in texts: for each text and detector the one window that counts.

    Attributes:
        found: (batch, detectors), how strongly each answered; what the head reads.
        starts: (batch, detectors), the first symbol of the window where it answered most.
        widths: (detectors,), how many symbols each detector sees.
    """

    found: np.ndarray
    starts: np.ndarray
    widths: np.ndarray


class CNN(Classifier[CNNConfig]):
    """Tells the class of a text by the few symbols that say most: Kim, "Convolutional Neural
    Networks for Sentence Classification", 2014.

    Detectors of windows of several widths slide along the embedded text; each keeps its largest
    answer, wherever that was, and the head weighs them.

    Texts of different lengths go into one batch with the id 0 (``PAD``) at the end of the shorter
    ones. It leaves no trace: windows that reach into it do not count, and its embedding stays as it
    is. (A text that is shorter than a window is seen by one that starts where it starts.)

    Args:
        config: see :class:`CNNConfig`.

    Attributes:
        wte: symbol embedding (vocab_size, n_embd); that of ``PAD`` is zeros.
        convs: a Conv1d for each width of window.
    """

    about = "detectors of a few symbols, the largest answer of each over the text"
    paper = "Kim, 2014"

    def __init__(self, config: CNNConfig):
        self.config = config
        self.wte = Embedding(config.vocab_size, config.n_embd, padding_idx=PAD)
        self.convs = ModuleList(
            Conv1d(config.n_embd, config.n_filters, window) for window in config.windows
        )
        self.make_head(config.n_filters * len(config.windows), config.n_classes, config.dropout)

    def features(self, x: Any) -> Tensor:
        """ids (batch, time) -> each detector's largest answer (batch, n_filters · windows)."""
        largest = [answers.max(axis=2) for answers in self._answers(x)]
        return operations.relu(operations.concat(largest, axis=1))

    def _answers(self, ids: Any) -> list[Tensor]:
        """For each width the answers (batch, n_filters, places), -inf where a window reaches beyond
        its text."""
        ids = check_ids(ids, self.config.vocab_size, self.wte.weight)
        host = ids.numpy()
        # up to the last symbol that is no PAD
        lengths = ((host != PAD) * np.arange(1, host.shape[1] + 1)).max(axis=1)
        least = max(self.config.windows)
        width = max(least, int(lengths.max()))
        if width != host.shape[1]:  # what is PAD in all texts has no place in the products
            cut = host[:, :width]
            host = np.pad(cut, ((0, 0), (0, width - cut.shape[1])), constant_values=PAD)
            ids = tensor(host, device=ids.device)
        embedded = self.wte(ids).swapaxes(1, 2)
        found = []
        for window, conv in zip(self.config.windows, self.convs, strict=True):
            answers = conv(embedded)
            starts = np.arange(answers.shape[2])
            beyond = (starts + window > lengths[:, None]) & (starts > 0)
            if beyond.any():
                mask = tensor(beyond[:, None], device=ids.device)
                answers = operations.masked_fill(answers, mask, -np.inf)
            found.append(answers)
        return found

    def evidence(self, ids: Any) -> Evidence:
        """What the detectors find in texts, ids (batch, time), without dropout.

        Logits are ``found @ head.weight.T + head.bias``: so each detector's part in a class is
        that of one window of the text.
        """
        with no_grad(), evaluating(self):
            answers = [part.numpy() for part in self._answers(ids)]
        found = np.concatenate([np.maximum(part.max(axis=2), 0) for part in answers], axis=1)
        starts = np.concatenate([part.argmax(axis=2) for part in answers], axis=1)
        widths = np.repeat(self.config.windows, self.config.n_filters)
        return Evidence(found, starts, widths)


# ---- images ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageCNNConfig(ModelConfig):
    """The numbers that make an ImageCNN.

    Attributes:
        n_classes: how many classes there are.
        height, width: of the images, in pixels.
        in_channels: numbers of each pixel: 1 for gray, 3 for colours.
        channels: detectors of each layer; its images are half as high and wide as those before.
        kernel_size: height and width of what a detector sees.
        n_hidden: width of the features that the head reads.
        dropout: probability, before the head.
    """

    n_classes: int = 10
    height: int = 8
    width: int = 8
    in_channels: int = 1
    channels: tuple[int, ...] = (32, 64)
    kernel_size: int = 3
    n_hidden: int = 128
    dropout: float = 0.5

    def __post_init__(self) -> None:
        """Check the fields; see :class:`ModelConfig`."""
        super().__post_init__()
        if not self.kernel_size % 2:
            raise ValueError(f"kernel_size: expected an odd number, got {self.kernel_size}")
        layers = len(self.channels)
        if min(self.height, self.width) < 2**layers:
            raise ValueError(
                f"channels: {layers} layers halve an image {layers} times, and {self.height} x "
                f"{self.width} pixels can't be"
            )

    @property
    def pixels_left(self) -> int:
        """How many pixels the last layer's images have."""
        layers = len(self.channels)
        return (self.height >> layers) * (self.width >> layers)

    def shapes_outside(self) -> tuple[Shapes, Shapes]:
        """See :class:`ModelConfig`."""
        before: Shapes = {}
        given, k = self.in_channels, self.kernel_size
        for i, channels in enumerate(self.channels):
            before |= weight_and_bias(f"convs.{i}", channels, given, k, k)
            given = channels
        before |= weight_and_bias("hidden", self.n_hidden, given * self.pixels_left)
        return before, weight_and_bias("head", self.n_classes, self.n_hidden)

    def shapes_of_layer(self, layer: int) -> Shapes:
        """See :class:`ModelConfig`; no two layers are alike."""
        return {}

    def kept_per_symbol(self) -> int:
        """See :class:`ModelConfig`, for each pixel: the image, and of the first layer's largest
        answers where they were, an int64 for each of a quarter of the pixels."""
        places = self.channels[0] * (self.height // 2) * (self.width // 2)
        return self.in_channels + 2 * places // (self.height * self.width)


class ImageCNN(Classifier[ImageCNNConfig]):
    """Tells the class of a small image, as LeNet does: LeCun, Bottou, Bengio and Haffner,
    "Gradient-based learning applied to document recognition", 1998.

    Each layer looks with all its detectors at every place, and keeps the largest answer of each
    square of 2 x 2; two linear layers weigh what is left. (LeNet had tanh where ReLU is here, and
    means where maxima are.)

    Args:
        config: see :class:`ImageCNNConfig`.

    Attributes:
        convs: a Conv2d for each layer.
        hidden: Linear from the last layer's answers to the features.
    """

    about = "detectors of a few pixels, the largest answers of small squares, layer by layer"
    paper = "LeCun et al., 1998"

    def __init__(self, config: ImageCNNConfig):
        self.config = config
        given = (config.in_channels, *config.channels)
        self.convs = ModuleList(
            Conv2d(a, b, config.kernel_size, padding="same") for a, b in zip(given, given[1:])
        )
        self.pool = MaxPool2d(2)
        self.hidden = Linear(given[-1] * config.pixels_left, config.n_hidden)
        self.make_head(config.n_hidden, config.n_classes, config.dropout)

    def features(self, x: Any) -> Tensor:
        """Images (batch, in_channels, height, width), or (batch, height, width) of one channel, of
        any number type -> (batch, n_hidden)."""
        x = self._checked(x)
        for conv in self.convs:
            x = operations.relu(self.pool(conv(x)))  # in this order fewer numbers
        return operations.relu(self.hidden(operations.flatten(x, 1)))

    def _checked(self, images: Any) -> Tensor:
        weight, config = self.hidden.weight, self.config
        x = images if isinstance(images, Tensor) else tensor(images, device=weight.device)
        if x.device is not weight.device:
            x = x.to(weight.device)
        if x.dtype != weight.dtype:
            x = x.astype(weight.dtype)
        if x.ndim == 3 and config.in_channels == 1:
            x = x.expand_dims(1)
        if x.ndim != 4 or x.shape[1:] != (config.in_channels, config.height, config.width):
            wanted = f"(batch, {config.in_channels}, {config.height}, {config.width})"
            raise ValueError(f"x: expected images of shape {wanted}, got {x.shape}")
        return x
