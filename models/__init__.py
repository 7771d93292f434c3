"""Models with one face, a file each: from the RNN to the GPT.

``build("gpt", vocab_size=65)`` makes one by name; :mod:`tinytensor.models.base` says what all of
them can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..hints import finding as hints
from .bahdanau import Bahdanau, BahdanauConfig
from .base import LanguageModel, Model, ModelConfig, TextConfig
from .classifier import Classifier
from .cnn import CNN, CNNConfig, ImageCNN, ImageCNNConfig
from .encoder_decoder import EncoderDecoder, teacher_forcing
from .generate import generate, probabilities, sample, stream
from .gpt import GPT, GPTConfig
from .recurrent import GRULM, LSTMLM, RNNLM, GRUConfig, LSTMConfig, RNNConfig
from .search import beam_search
from .transformer import Transformer, TransformerConfig
from .word2vec import Word2Vec, Word2VecConfig

#: name -> (model class, config class)
MODELS: dict[str, tuple[type[Any], type[Any]]] = {
    "gpt": (GPT, GPTConfig),
    "rnn": (RNNLM, RNNConfig),
    "lstm": (LSTMLM, LSTMConfig),
    "gru": (GRULM, GRUConfig),
    "cnn": (CNN, CNNConfig),
    "image_cnn": (ImageCNN, ImageCNNConfig),
    "word2vec": (Word2Vec, Word2VecConfig),
    "bahdanau": (Bahdanau, BahdanauConfig),
    "transformer": (Transformer, TransformerConfig),
}


def build(name: str, **config: Any) -> Any:
    """A new model.

    Args:
        name: a key of :data:`MODELS`.
        config: fields of its config class; those without a default, such as ``vocab_size``, are
            required.

    Raises:
        ValueError: an unknown name or field, or a field out of range.
    """
    if name not in MODELS:
        raise ValueError(f"name: expected one of {sorted(MODELS)}, got {name!r}")
    model_class, config_class = MODELS[name]
    return model_class(config_class.from_dict(config))


__all__ = [
    "Bahdanau",
    "BahdanauConfig",
    "CNN",
    "CNNConfig",
    "Classifier",
    "EncoderDecoder",
    "GPT",
    "GPTConfig",
    "GRUConfig",
    "GRULM",
    "ImageCNN",
    "ImageCNNConfig",
    "LSTMConfig",
    "LSTMLM",
    "LanguageModel",
    "MODELS",
    "Model",
    "ModelConfig",
    "RNNConfig",
    "RNNLM",
    "TextConfig",
    "Transformer",
    "TransformerConfig",
    "Word2Vec",
    "Word2VecConfig",
    "beam_search",
    "build",
    "generate",
    "probabilities",
    "sample",
    "stream",
    "teacher_forcing",
]

#: names of other libraries -> what they are called here
OF_MODELS = {
    "GRU": "GRULM, or tt.nn.GRU for the layer",
    "LSTM": "LSTMLM, or tt.nn.LSTM for the layer",
    "RNN": "RNNLM, or tt.nn.RNN for the layer",
    "GPT2": "GPT",
    "GPT2LMHeadModel": "GPT",
    "load": "tt.train.load_model(path)",
}
if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = hints.missing(__name__, OF_MODELS, __all__)
