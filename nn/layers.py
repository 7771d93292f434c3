"""Layers without a notion of time: Linear, Embedding, LayerNorm, Dropout.

Parameter names, shapes and starting values are PyTorch's, so its state dicts load as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import empty, ones, operations, random, tensor, zeros
from ..tensor.tensor import Tensor
from . import init
from .module import Module
from .parameter import Parameter


def check_size(name: str, value: Any) -> int:
    """``value`` as a positive int, or a ValueError that names the argument."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}: expected an integer >= 1, got {value!r}")
    return int(value)


def check_number(
    name: str,
    value: Any,
    expected: str = "a number",
    fits: Callable[[float], bool] = lambda x: x == x,
) -> Any:
    """``value`` as a number of Python's, or a ValueError that names the argument.

    Args:
        name: of the argument.
        value: a number of Python's or NumPy's, or an array or tensor without axes; no bool.
        expected: what to say of the range.
        fits: whether a number is in the range; all but NaN are, if left out.
    """
    constant = not (isinstance(value, Tensor) and value.requires_grad)
    found = value.item() if constant and getattr(value, "shape", None) == () else value
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not fits(found):
        shown = f"shape {value.shape}" if getattr(value, "shape", ()) else repr(value)
        raise ValueError(f"{name}: expected {expected}, got {shown}")
    return found


def check_eps(value: Any) -> float:
    """``eps`` as a float >= 0, or a ValueError."""
    return float(check_number("eps", value, "a number >= 0", lambda x: 0.0 <= x < math.inf))


def check_probability(name: str, value: float) -> float:
    """``value`` as a float in [0, 1], or a ValueError that names the argument."""
    expected = "a probability in [0, 1]"
    return float(check_number(name, value, expected, lambda p: 0.0 <= p <= 1.0))


def as_ids(ids: Any, like: Tensor, name: str = "ids") -> Tensor:
    """Integer ids (Tensor, array or nested lists) as a Tensor on the device of ``like``.

    Raises:
        TypeError: the numbers are not integers.
        ValueError: nested lists of unequal length.
    """
    if not isinstance(ids, Tensor):
        if isinstance(ids, (list, tuple, range)):
            try:
                ids = np.array(ids, dtype=np.int64 if np.size(ids) == 0 else None)
            except ValueError as error:
                raise ValueError(f"{name}: the lists are of unequal length ({error})") from None
        ids = tensor(ids, device=like.device)
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"{name}: expected integers, got dtype {ids.dtype} of shape {ids.shape}")
    return ids if ids.device is like.device else ids.to(like.device)


class Linear(Module):
    """y = x W^T + b over the last axis: (..., in_features) -> (..., out_features).

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        bias: False leaves b out.

    Attributes:
        weight: (out_features, in_features), from U(-k, k), k = 1/sqrt(in_features).
        bias: (out_features,) or None, from the same.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        self.in_features = check_size("in_features", in_features)
        self.out_features = check_size("out_features", out_features)
        bound = 1.0 / math.sqrt(in_features)
        self.weight = Parameter(empty((out_features, in_features)))
        init.uniform_(self.weight, -bound, bound)
        self.bias: Parameter | None = None
        if bias:
            self.bias = Parameter(empty((out_features,)))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) -> (..., out_features)."""
        return operations.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = f"{self.in_features}, {self.out_features}"
        return text if self.bias is not None else text + ", bias=False"


class Embedding(Module):
    """A table of vectors, looked up by integer: ids (...) -> (..., embedding_dim).

    Args:
        num_embeddings: number of rows; ids are 0 .. num_embeddings - 1.
        embedding_dim: length of a row.
        padding_idx: the id (negative counts from the end) of a row that starts as zeros and gets
            no gradient.
        sparse: let the gradient be a :class:`tinytensor.RowGrad` of the rows that were read, so
            that a training step takes no longer for a larger table. An optimiser then leaves the
            other rows and their state as they are: no decay, no momentum.

    Attributes:
        weight: (num_embeddings, embedding_dim), from N(0, 1).
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
    ):
        self.sparse = sparse
        self.num_embeddings = check_size("num_embeddings", num_embeddings)
        self.embedding_dim = check_size("embedding_dim", embedding_dim)
        if padding_idx is not None:
            n, row = self.num_embeddings, padding_idx
            if not isinstance(row, (int, np.integer)) or not -n <= row < n:
                raise ValueError(f"padding_idx: expected one of the {n} rows, got {row!r}")
            padding_idx = int(row) % n
        self.padding_idx = padding_idx
        self.weight = Parameter(empty((num_embeddings, embedding_dim)))
        init.normal_(self.weight)
        if padding_idx is not None:
            values = self.weight.detach().numpy().copy()
            values[padding_idx] = 0.0
            init._fill(self.weight, values)

    def forward(self, ids: Any) -> Tensor:
        """Rows of the table.

        Args:
            ids: integers of any shape: a Tensor, an array or nested lists.

        Raises:
            IndexError: an id is outside the table; the message names it.
            TypeError: ids are not integers.
        """
        ids = as_ids(ids, self.weight)
        return operations.embedding(ids, self.weight, self.padding_idx, self.sparse)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{text}, sparse=True" if self.sparse else text


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axis: Ba et al., 2016.

    The variance divides by n, and eps stands inside the root.

    Args:
        dim: size of the last axis, as a number or as a shape of one axis.
        eps: keeps constant rows finite: they come out as ``bias``.
        bias: False leaves the bias out.
        elementwise_affine: False leaves weight and bias out.

    Attributes:
        weight: (dim,) ones, or None.
        bias: (dim,) zeros, or None.
    """

    def __init__(
        self,
        dim: int | Sequence[int],
        eps: float = 1e-5,
        bias: bool = True,
        elementwise_affine: bool = True,
    ):
        if isinstance(dim, Sequence):
            if len(dim) != 1:
                raise ValueError(f"dim: LayerNorm is over the last axis only, got {tuple(dim)}")
            dim = dim[0]
        self.dim = check_size("dim", dim)
        self.eps = check_eps(eps)
        self.weight: Parameter | None = None
        self.bias: Parameter | None = None
        if elementwise_affine:
            self.weight = Parameter(ones((self.dim,)))
            if bias:
                self.bias = Parameter(zeros((self.dim,)))

    def forward(self, x: Tensor) -> Tensor:
        """(..., dim) -> (..., dim)."""
        if x.shape[-1:] != (self.dim,):
            raise ValueError(f"x: expected a last axis of {self.dim}, got shape {x.shape}")
        return operations.layer_norm(x, self.weight, self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        flag = "" if self.bias is not None or self.weight is None else ", bias=False"
        return f"{self.dim}, eps={self.eps:g}{flag}"


class Dropout(Module):
    """In training, zero each entry with probability ``p`` and scale the rest by 1 / (1 - p).

    Draws from the generator named "dropout"; does nothing in evaluation mode. With p = 1 all is 0.
    """

    def __init__(self, p: float = 0.5):
        self.p = check_probability("p", p)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``."""
        if not self.training or self.p == 0.0:
            return x
        return operations.dropout(x, self.p, training=True, generator=random.generator("dropout"))

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        return f"p={self.p:g}"


class Identity(Module):
    """Returns its input."""

    def forward(self, x: Any) -> Any:
        """``x``."""
        return x
