"""Which parameters an optimiser is given: members of groups, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...tensor.tensor import Tensor

if TYPE_CHECKING:
    from ...nn import Module


def param_groups(model: Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups for an optimiser: matrices decay, biases and the gains of norms do not.

    Args:
        model: its parameters that require gradients are taken, tied ones once.
        weight_decay: for parameters of at least two axes.
    """
    params = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in params if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def refuse_module(params: Any) -> None:
    """Raise TypeError for a module where its parameters are expected."""
    if hasattr(params, "parameters"):
        raise TypeError(
            f"params: expected tensors, got a {type(params).__name__}; pass model.parameters()"
        )
    if callable(params):
        raise TypeError(
            f"params: expected tensors, got a {type(params).__name__}; call it, as in "
            "model.parameters()"
        )


def members(params: Tensor | Iterable[Any]) -> list[Tensor]:
    """The parameters of a group, each once.

    Raises:
        ValueError: an iterator that was read before. TypeError: something is not a leaf tensor that
            requires gradients.
    """
    refuse_module(params)
    found = [params] if isinstance(params, Tensor) else list(params)
    if not found and isinstance(params, Iterator):
        raise ValueError(
            "params: the iterator of a group is used up; one such as model.parameters() can be "
            "read only once, so make a list of it"
        )
    for p in found:
        if not isinstance(p, Tensor) or not p.requires_grad:
            kind = "one that does not" if isinstance(p, Tensor) else type(p).__name__
            if isinstance(p, (tuple, str)):  # of named_parameters(), of state_dict()
                kind += "; pass model.parameters()"
            raise TypeError(f"params: expected tensors that require gradients, got {kind}")
        if p.node is not None:
            raise TypeError(
                f"params: expected leaf tensors, got the result of {p.node.op.name!r}, "
                f"shape {p.shape}, which an update would not change where it came from"
            )
    return list(dict.fromkeys(found))
