"""Ids of symbols, checked before a model reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nn.layers import as_ids
from ..tensor.tensor import Tensor


def checked_ids(ids: Any, vocab_size: int, like: Tensor, name: str = "ids") -> Tensor:
    """``ids`` as an integer Tensor (batch, time) on the device of ``like``.

    Args:
        ids: (batch, time) integers from 0 to ``vocab_size`` - 1: a Tensor, an array or nested lists.
        name: of the argument, for messages.

    Raises:
        TypeError: no integers.
        ValueError: not (batch, time), or one of them is 0.
        IndexError: an id outside the vocabulary; the message says which and where.
    """
    ids = as_ids(ids, like, name)
    if ids.ndim != 2 or ids.size == 0:
        raise ValueError(
            f"{name}: expected shape (batch, time), neither of them 0, got {ids.shape}"
        )
    if int(ids.max().item()) >= vocab_size or int(ids.min().item()) < 0:
        host = ids.numpy()
        at = tuple(int(i) for i in np.argwhere((host < 0) | (host >= vocab_size))[0])
        raise IndexError(
            f"{name}: {host[at]} at {at} is outside the vocabulary of {vocab_size} symbols "
            f"(0 to {vocab_size - 1})"
        )
    return ids
