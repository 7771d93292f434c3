"""Neural-network modules: layers, attention, recurrent networks, losses, initialisers.

Names, arguments and parameter layout follow ``torch.nn``, so that PyTorch state dicts load.
"""

from . import init
from .attention import MultiHeadAttention, attention_weights, merge_heads, split_heads
from .containers import ModuleDict, ModuleList, Sequential
from .layers import (
    GELU,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
from .losses import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    binary_cross_entropy_with_logits,
    huber_loss,
    l1_loss,
    mse_loss,
    nll_loss,
)
from .module import Module, Parameter, evaluating
from .positions import LearnedPositions, SinusoidalPositions, sinusoids
from .recurrent import LSTM, RNN
from .state import LoadResult
from .transformer import FeedForward, TransformerBlock

__all__ = [
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "FeedForward",
    "GELU",
    "HuberLoss",
    "Identity",
    "L1Loss",
    "LSTM",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "LoadResult",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiHeadAttention",
    "NLLLoss",
    "Parameter",
    "RNN",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositions",
    "Softmax",
    "Tanh",
    "TransformerBlock",
    "attention_weights",
    "binary_cross_entropy_with_logits",
    "evaluating",
    "huber_loss",
    "init",
    "l1_loss",
    "merge_heads",
    "mse_loss",
    "nll_loss",
    "sinusoids",
    "split_heads",
]
