"""What each op is in PyTorch, by family; every module here has two tables.

`TORCH` maps an op's name to a function that takes the op's own arguments, with torch tensors for
arrays, and gives PyTorch's result.  `WITHOUT` maps a name to the reason why PyTorch has no such op.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

TORCH: dict[str, Callable[..., Any]] = {}
WITHOUT: dict[str, str] = {}

for _found in pkgutil.iter_modules(__path__):
    _module = importlib.import_module(f"{__name__}.{_found.name}")
    assert not TORCH.keys() & _module.TORCH.keys(), f"{_found.name}: an op is in two tables"
    TORCH |= _module.TORCH
    WITHOUT |= _module.WITHOUT
