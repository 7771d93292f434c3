"""What the mixins of Tensor know of it."""

from __future__ import annotations

from typing import Any


class Fields:
    """The attributes and properties of a Tensor, for type checkers."""

    __slots__ = ()

    data: Any
    shape: Any
    ndim: Any
    size: Any
    dtype: Any
    device: Any
    requires_grad: Any
    tracked: bool
    node: Any
    hooks: Any
    version: Any
    _data: Any
    _grad: Any
    _name: str | None
