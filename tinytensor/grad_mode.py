"""Whether ops record a graph: ``no_grad`` and its relatives, per thread."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _GradMode(threading.local):
    enabled = True
    #: inside inference_mode: recording cannot be turned on again
    inference = False
    #: inside detect_anomaly: backward checks every gradient
    anomaly = False
    #: called with each node that is recorded; checkpointing and anomaly detection watch this way
    observers: tuple[Callable[[Any], None], ...] = ()


grad_mode = _GradMode()


class set_grad_enabled(contextlib.ContextDecorator):
    """Context manager and decorator: record a graph inside (True) or not (False).

    The setting is per thread and restored on leaving, also by an exception.
    """

    def __init__(self, enabled: bool):
        self.enabled = enabled
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        if self.enabled and grad_mode.inference:
            raise RuntimeError(
                "enable_grad: inside tt.inference_mode() nothing can be recorded; use tt.no_grad() "
                "around the code instead"
            )
        self._outer.append(grad_mode.enabled)
        grad_mode.enabled = self.enabled

    def __exit__(self, *exc: object) -> None:
        grad_mode.enabled = self._outer.pop()

    def __call__(self, func: F) -> F:
        enabled = self.enabled

        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(enabled):
                return func(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


def no_grad() -> set_grad_enabled:
    """Inside ``with tt.no_grad():`` (or under ``@tt.no_grad()``) no graph is recorded."""
    return set_grad_enabled(False)


def enable_grad() -> set_grad_enabled:
    """Record graphs again inside a :func:`no_grad` block."""
    return set_grad_enabled(True)


class inference_mode(contextlib.ContextDecorator):
    """A stricter :func:`no_grad`, as context manager or decorator: inside it nothing can turn
    recording on again, so that code which must not build a graph is sure not to.

    Raises:
        RuntimeError: :func:`enable_grad` (or a gradient check) is entered inside.
    """

    def __init__(self) -> None:
        self._outer: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._outer.append((grad_mode.enabled, grad_mode.inference))
        grad_mode.enabled, grad_mode.inference = False, True

    def __exit__(self, *exc: object) -> None:
        grad_mode.enabled, grad_mode.inference = self._outer.pop()


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients record a graph in this thread."""
    return grad_mode.enabled
