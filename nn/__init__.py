"""Neural-network modules: layers, attention, recurrent networks, losses, initialisers.

Names, arguments and parameter layout follow ``torch.nn``, so that PyTorch state dicts load.
"""

from typing import TYPE_CHECKING

from ..hints import finding as hints
from . import init
from .activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .additive_attention import AdditiveAttention
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
from .evaluating import evaluating
from .key_values import KeyValues
from .layers import Dropout, Embedding, Identity, LayerNorm, Linear
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
from .module import Module
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    RMSNorm,
)
from .other_names import OF_NN
from .parameter import Parameter
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
from .recurrent import GRU, LSTM, RNN
from .resizing import Upsample
from .state import LoadResult
from .transformer import FeedForward, TransformerBlock
from .weights import load_weights, save_weights
from .windowed_attention import WindowedAttention

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AdditiveAttention",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "CELU",
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
    "ELU",
    "Embedding",
    "FeedForward",
    "Flatten",
    "GELU",
    "GLU",
    "GRU",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "KLDivLoss",
    "KeyValues",
    "L1Loss",
    "LSTM",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPositions",
    "Linear",
    "LoadResult",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiHeadAttention",
    "NLLLoss",
    "PReLU",
    "Parameter",
    "RMSNorm",
    "RNN",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositions",
    "SmoothL1Loss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TransformerBlock",
    "TripletMarginLoss",
    "Upsample",
    "WindowedAttention",
    "attention_weights",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "evaluating",
    "huber_loss",
    "init",
    "kl_div",
    "l1_loss",
    "load_weights",
    "merge_heads",
    "mse_loss",
    "nll_loss",
    "save_weights",
    "sinusoids",
    "smooth_l1_loss",
    "split_heads",
]

hints.explain_arguments((name for name in __all__ if name != "init"), globals())
hints.explain_classes(__all__, globals(), Module)
if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = hints.missing(__name__, OF_NN, __all__)
