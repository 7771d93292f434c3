"""What models read: ids of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nn.layers import as_ids
from ..tensor.tensor import Tensor

#: what fills up short sequences of a batch, what a decoder reads first, and what it writes last; a
#: vocabulary that needs them has them as its first ids
PAD, START, END = 0, 1, 2
#: targets of this value do not count
IGNORED = -100


class NotFinite(ValueError):
    """What a model says is no number, or too large a one: as after training has diverged."""


def check_ids(ids: Any, vocab_size: int, like: Tensor, name: str = "ids") -> Tensor:
    """``ids`` as an integer Tensor (batch, time) on the device of ``like``, all in the vocabulary.

    Raises:
        TypeError: they are not integers.
        ValueError: they are not (batch, time), or one of the two is 0.
        IndexError: an id is outside 0 .. vocab_size - 1; the message says which and where.
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


def check_length(length: int, block_size: int, name: str = "ids") -> None:
    """Raise ValueError where a text has more symbols than a model can read."""
    if length > block_size:
        raise ValueError(f"{name}: {length} symbols are longer than block_size = {block_size}")
