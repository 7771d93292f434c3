"""Neural-network modules: layers, attention, recurrent networks, losses, initialisers.

Names, arguments and parameter layout follow ``torch.nn``, so that PyTorch state dicts load.
"""

from typing import TYPE_CHECKING

from .. import hints
from . import init
from .attention import MultiHeadAttention, attention_weights, merge_heads, split_heads
from .containers import ModuleDict, ModuleList, Sequential
from .convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Flatten,
)
from .embedding_losses import (
    CosineEmbeddingLoss,
    CTCLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    TripletMarginLoss,
)
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
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from .module import Module, Parameter, evaluating
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    RMSNorm,
)
from .other_names import OF_NN
from .pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from .positions import LearnedPositions, SinusoidalPositions, sinusoids
from .recurrent import LSTM, RNN
from .state import LoadResult
from .transformer import FeedForward, TransformerBlock

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "CTCLoss",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "FeedForward",
    "Flatten",
    "GELU",
    "GroupNorm",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "KLDivLoss",
    "L1Loss",
    "LSTM",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "LoadResult",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiHeadAttention",
    "NLLLoss",
    "Parameter",
    "RMSNorm",
    "RNN",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositions",
    "SmoothL1Loss",
    "Softmax",
    "Tanh",
    "TransformerBlock",
    "TripletMarginLoss",
    "attention_weights",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "evaluating",
    "huber_loss",
    "init",
    "kl_div",
    "l1_loss",
    "merge_heads",
    "mse_loss",
    "nll_loss",
    "sinusoids",
    "smooth_l1_loss",
    "split_heads",
]

hints.explain_arguments((name for name in __all__ if name != "init"), globals())
hints.explain_classes(__all__, globals(), Module)
if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = hints.missing(__name__, OF_NN, __all__)
