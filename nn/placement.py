"""Moving a module to another device or dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.convert import names_device
from ..arrays.device import Device
from ..hints.finding import of_setting

if TYPE_CHECKING:
    from .module import Module


def move(module: Module, targets: tuple[Any, ...], named: dict[str, Any]) -> None:
    """See :meth:`Module.to`."""
    if unknown := sorted(named.keys() - {"device", "dtype"}):
        raise TypeError(
            f"to: unknown argument {unknown[0]!r}; expected device= and dtype="
            f"{of_setting(unknown[0], ())}"
        )
    targets = tuple(target for target in (*targets, *named.values()) if target is not None)
    for target in targets:
        device = isinstance(target, Device) or (isinstance(target, str) and names_device(target))
        if not device and np.dtype(target).kind != "f":
            raise TypeError(
                "to: expected a device or a floating dtype, since parameters have gradients, got "
                f"{np.dtype(target)}"
            )
    for target in targets:
        for tensor in [*module.parameters(), *module.buffers()]:
            moved = tensor.detach().to(target)
            if moved.dtype != tensor.dtype and not np.issubdtype(tensor.dtype, np.floating):
                continue
            grad = tensor.grad
            tensor._data = moved._data
            tensor.bump_version()
            if grad is not None:
                tensor.grad = grad.detach().to(target)
