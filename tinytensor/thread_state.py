"""What a thread is in the middle of: whether it records, and inside which module call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scope import Scope


class ThreadState:
    """All in one object, for a lookup by thread takes as long as ten of an attribute.

    Attributes:
        enabled: whether ops on tensors that require gradients record a graph.
        inference: inside inference_mode: recording cannot be turned on again.
        anomaly: inside detect_anomaly: backward checks every gradient.
        observers: called with each node that is recorded; checkpointing and anomaly detection
            watch this way.
        scope: the innermost module call, or None outside any module.
    """

    __slots__ = ("enabled", "inference", "anomaly", "observers", "scope")

    def __init__(self) -> None:
        self.enabled = True
        self.inference = False
        self.anomaly = False
        self.observers: tuple[Callable[[Any], None], ...] = ()
        self.scope: Scope | None = None


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


#: ``local.state`` is the state of the thread that asks
local = _Local()
