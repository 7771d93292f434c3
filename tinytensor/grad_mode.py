"""Whether ops record a graph: ``no_grad`` and its relatives, per thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .thread_state import local

F = TypeVar("F", bound=Callable[..., Any])


class Mode:
    """Base of context managers that are decorators too: each call of the function decorated enters
    one of its own, so that threads and recursion don't meet in it. A generator function runs inside
    it wherever it continues, and what is between its steps outside.
    """

    def again(self) -> Any:
        """Another context manager like this one."""
        return type(self)()

    def __call__(self, func: F) -> F:
        if inspect.isgeneratorfunction(func):

            @functools.wraps(func)
            def steps(*args: Any, **kwargs: Any) -> Any:
                generator, send, given = func(*args, **kwargs), "send", None
                while True:
                    try:
                        with self.again():
                            value = getattr(generator, send)(given)
                    except StopIteration as end:
                        return end.value
                    try:
                        send, given = "send", (yield value)
                    except GeneratorExit:
                        generator.close()
                        raise
                    except BaseException as error:
                        send, given = "throw", error

            return steps  # type: ignore[return-value]

        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return func(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class _Recording(Mode):
    """Records inside, or does not; the setting is per thread and restored on leaving."""

    def __init__(self, enabled: bool):
        self.enabled = enabled
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        state = local.state
        if self.enabled and state.inference:
            raise RuntimeError(
                "enable_grad: inside tt.inference_mode() nothing can be recorded; use tt.no_grad() "
                "around the code instead"
            )
        self._outer.append(state.enabled)
        state.enabled = self.enabled

    def __exit__(self, *exc: object) -> None:
        local.state.enabled = self._outer.pop()

    def again(self) -> _Recording:
        return _Recording(self.enabled)


class set_grad_enabled(_Recording):
    """Record graphs from now on (True) or not (False), in this thread; as a context manager or
    decorator only inside, and as it was before on leaving, also by an exception."""

    def __init__(self, enabled: bool):
        super().__init__(enabled)
        self._before = local.state.enabled
        super().__enter__()

    def __enter__(self) -> None:
        """Nothing is left to do: it was switched when this was made."""

    def __call__(self, func: F) -> F:
        local.state.enabled = self._before  # a decorator switches when the function is called
        return super().__call__(func)


def no_grad(func: Any = None) -> Any:
    """Inside ``with tt.no_grad():``, or under ``@tt.no_grad``, no graph is recorded."""
    return _Recording(False) if func is None else _Recording(False)(func)


def enable_grad(func: Any = None) -> Any:
    """Record graphs again inside a :func:`no_grad` block."""
    return _Recording(True) if func is None else _Recording(True)(func)


class inference_mode(Mode):
    """A stricter :func:`no_grad`, as context manager or decorator: inside it nothing can turn
    recording on again, so that code which must not build a graph is sure not to.

    Raises:
        RuntimeError: :func:`enable_grad` (or a gradient check) is entered inside.
    """

    def __init__(self) -> None:
        self._outer: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        state = local.state
        self._outer.append((state.enabled, state.inference))
        state.enabled, state.inference = False, True

    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.enabled, state.inference = self._outer.pop()


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients record a graph in this thread."""
    return local.state.enabled
