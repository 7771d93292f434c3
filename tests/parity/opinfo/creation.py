"""Making tensors from nothing; no gradients, and the samples have no operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinytensor as tt

from . import Entry


def _made(fn: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """``fn`` on the sample's arguments; PyTorch's device is left out, ours is the default one."""

    def call(T: Any, s: Any) -> Any:
        options = {k: T(v) for k, v in s.kwargs.items() if k != "device"}
        return fn(T(s.input), *T(s.args), **options)

    return call


def _arange(start: Any, *rest: Any, end: Any = None, **options: Any) -> Any:
    """Python's True counts as 1, and PyTorch's ``end`` is NumPy's ``stop``."""
    start, *rest = (float(v) if isinstance(v, float) else int(v) for v in (start, *rest))
    return tt.arange(start, *rest, **options) if end is None else tt.arange(start, end, **options)


ENTRIES = [
    Entry("arange", call=_made(_arange)),
    Entry("linspace", call=_made(tt.linspace)),
    Entry("logspace", call=_made(tt.logspace)),
    Entry("eye", call=_made(tt.eye)),
    Entry("full", call=_made(tt.full)),
    Entry("full_like", call=_made(tt.full_like)),
    Entry("ones", call=_made(tt.ones)),
    Entry("ones_like", call=_made(tt.ones_like)),
    Entry("zeros", call=_made(tt.zeros)),
    Entry("zeros_like", call=_made(tt.zeros_like)),
]

WITHOUT = {"multinomial": "draws its own random numbers, see test_random.py"}
