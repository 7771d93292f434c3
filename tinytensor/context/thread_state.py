"""What a thread is in the middle of: whether it records, and inside which module call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .blocks import Block
    from .scope import Scope


class ThreadState:
    """All in one object, for a lookup by thread takes as long as ten of an attribute.

    Attributes:
        recording: the ``with`` blocks that switch recording, outermost first; without any, ops on
            tensors that require gradients record a graph. See ``graph/grad_mode.py``.
        anomaly, devices, derivatives: those of detect_anomaly, of devices, and of the functions in
            functional.py. others: of all other context managers.
        offered: a weak reference to the block that a ``with`` is about to enter, see blocks.py.
        observers: called with each node that is recorded; checkpointing watches this way.
        results: called with each tensor that is recorded, when it is in the graph; or None.
        scope: the innermost module call, or None outside any module.
        cut: what last gave a result without a graph although its operand had one, for a message.
    """

    __slots__ = (
        "recording", "anomaly", "devices", "derivatives", "others", "offered", "observers",
        "results", "scope", "cut",
    )  # fmt: skip

    def __init__(self) -> None:
        self.recording: tuple[Block, ...] = ()
        self.anomaly: tuple[Block, ...] = ()
        self.devices: tuple[Block, ...] = ()
        self.derivatives: tuple[Block, ...] = ()
        self.others: tuple[Block, ...] = ()
        self.offered: Callable[[], Block | None] = lambda: None
        self.observers: tuple[Callable[[Any], None], ...] = ()
        self.results: Callable[[Any], None] | None = None
        self.scope: Scope | None = None
        self.cut: str | None = None


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


#: ``local.state`` is the state of the thread that asks
local = _Local()
