"""Optimisers, and limits for their gradients: as in ``torch.optim``."""

from .algorithms import SGD, Adagrad, Adam, AdamW
from .groups import param_groups
from .optimizer import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "param_groups"]
