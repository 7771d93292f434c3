"""Evaluation mode for a while."""

from __future__ import annotations

from ..context.blocks import Block, Manager
from .module import Module


class evaluating(Manager):
    """``with evaluating(model):`` evaluation mode inside, each module's own mode again after."""

    def __init__(self, module: Module):
        self.module = module

    def _enter(self, block: Block) -> None:
        block.note = [(part, part.training) for part in self.module.modules()]
        self.module.eval()

    def _leave(self, block: Block) -> None:
        for part, mode in block.note or ():
            part.training = mode
