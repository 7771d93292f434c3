"""Parameters: the tensors that a module learns."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .parts import Part


class Parameter(Tensor, Part):
    """A Tensor that a Module learns: ``requires_grad`` is True and modules find it.

    Args:
        data: anything ``tt.tensor`` takes, of a floating dtype; copied, without its graph.
        requires_grad: False freezes it; it is still saved and moved with its module.
    """

    __slots__ = ()

    _printed_as = "Parameter"

    def __init__(self, data: Any, requires_grad: bool = True):
        where = data.device if isinstance(data, Tensor) else None
        super().__init__(data, requires_grad=requires_grad, device=where)
