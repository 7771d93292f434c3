"""Whether ops record a graph: ``no_grad`` and its relatives, per thread."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..context.blocks import Block, Manager
from ..context.thread_state import ThreadState, local

F = TypeVar("F", bound=Callable[..., Any])


class Mode(Manager):
    """Base of context managers that are decorators too: each call of the function decorated is a
    block of its own. Generators, coroutines (``async def``) and asynchronous generators run inside
    it wherever they go on, to their last ``finally``; what is between their steps is outside.

    Attributes:
        name: what it is called in messages.
    """

    name: str

    def __call__(self, func: F) -> F:
        if isinstance(func, (staticmethod, classmethod)):
            return type(func)(self(func.__func__))
        if inspect.isclass(func):
            raise TypeError(
                f"{self.name}: expected a function to decorate, got the class {func.__name__}; "
                "decorate those of its methods that are meant, such as forward"
            )
        if not callable(func):
            raise TypeError(f"{self.name}: expected a function to decorate, got {func!r}")

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from self._steps(func(*args, **kwargs)))

        @functools.wraps(func)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await self._steps(func(*args, **kwargs))

        @functools.wraps(func)
        async def async_generator(*args: Any, **kwargs: Any) -> Any:
            inner = func(*args, **kwargs)
            go_on, given = inner.asend, None
            while True:
                try:
                    value = await self._steps(go_on(given))
                except StopAsyncIteration:
                    return
                try:
                    go_on, given = inner.asend, (yield value)
                except GeneratorExit:
                    await self._steps(inner.aclose())
                    raise
                except BaseException as error:
                    go_on, given = inner.athrow, error

        for kind, asked in (
            (generator, inspect.isgeneratorfunction),
            (coroutine, inspect.iscoroutinefunction),
            (async_generator, inspect.isasyncgenfunction),
        ):
            if asked(func) or asked(getattr(func, "__call__", None)):  # noqa: B004 (an object's)
                return kind  # type: ignore[return-value]
        return call  # type: ignore[return-value]

    @types.coroutine
    def _steps(self, inner: Any) -> Generator[Any, Any, Any]:
        """A generator, or what ``await`` runs, each step in a block."""
        go_on, given = inner.send, None
        while True:
            try:
                with self:
                    value = go_on(given)
            except StopIteration as end:
                return end.value
            try:
                go_on, given = inner.send, (yield value)
            except GeneratorExit:
                with self:
                    inner.close()
                raise
            except BaseException as error:
                go_on, given = inner.throw, error


class _Recording(Mode):
    """Records inside, or does not. ``strict``: nothing inside can turn recording on again."""

    lists = ("recording",)

    def __init__(self, name: str, enabled: bool, strict: bool = False):
        self.name, self.enabled, self.strict = name, enabled, strict

    def _check(self, state: ThreadState) -> None:
        if self.enabled:
            recording_on(state.recording)

    def _enter(self, block: Block) -> None:
        block.note = self.enabled


class set_grad_enabled(_Recording):
    """Record graphs from now on (True) or not (False), in this thread, until the block around ends;
    as a context manager or decorator only inside, and as it was before on leaving.

    The call itself switches. For a block :func:`no_grad` and :func:`enable_grad` are safer: Ctrl-C
    between the call and the entering of its block leaves recording switched.
    """

    def __init__(self, enabled: bool):
        if not isinstance(enabled, bool):
            raise TypeError(f"set_grad_enabled: enabled: expected True or False, got {enabled!r}")
        super().__init__("set_grad_enabled", enabled)
        state = local.state
        super()._check(state)
        self._before: bool | None = is_recording(state)
        _switch(state, enabled)

    def _take_back(self) -> None:
        """It turned out to be for a block, or for a function, only."""
        if self._before is not None:
            _switch(local.state, self._before)
            self._before = None

    def _check(self, state: ThreadState) -> None:
        self._take_back()
        super()._check(state)

    def __call__(self, func: F) -> F:
        self._take_back()
        return super().__call__(func)


def no_grad(func: Any = None) -> Any:
    """Inside ``with tt.no_grad():``, or under ``@tt.no_grad``, no graph is recorded.

    This holds for the thread that enters, and for nothing else: a thread started inside records
    again, and inside an ``async def`` other tasks don't record while the block waits. (A decorated
    ``async def`` switches only while it runs itself; so does a decorated generator.)
    """
    mode = _Recording("no_grad", False)
    return mode if func is None else mode(func)


def enable_grad(func: Any = None) -> Any:
    """Record graphs again inside a :func:`no_grad` block."""
    mode = _Recording("enable_grad", True)
    return mode if func is None else mode(func)


def inference_mode(func: Any = None) -> Any:
    """A stricter :func:`no_grad`, as context manager or decorator: inside it nothing can turn
    recording on again, so that code which must not build a graph is sure not to.

    Raises:
        RuntimeError: :func:`enable_grad` (or a gradient check) is entered inside.
    """
    mode = _Recording("inference_mode", False, strict=True)
    return mode if func is None else mode(func)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients record a graph in this thread."""
    return is_recording(local.state)


# ---- for the engine, which asks and switches without a ``with`` ----------------------------------


def is_recording(state: ThreadState) -> bool:
    """What the innermost block says that is still running; True where there is none.

    The engine asks ``not state.recording or is_recording(state)``.
    """
    blocks = state.recording
    while blocks:
        if blocks[-1].held() is not None:
            return blocks[-1].note
        blocks = state.recording = blocks[:-1]  # left since
    return True


def recording_on(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """What to set ``state.recording`` to, where it is ``blocks``, to record; RuntimeError inside
    inference_mode. ``(*blocks, OFF)`` is what to set it to not to."""
    if any(block.running and block.manager.strict for block in blocks):
        raise RuntimeError(
            "enable_grad: inside tt.inference_mode() nothing can be recorded; use tt.no_grad() "
            "around the code instead"
        )
    return (*blocks, _ON) if blocks else blocks


def _endless(enabled: bool) -> Block:
    block = Block(_Recording("set_grad_enabled", enabled))
    block.note = enabled
    block.begin()
    return block


_ON, OFF = _endless(True), _endless(False)


def _switch(state: ThreadState, enabled: bool) -> None:
    """Change the innermost block that is running; or, without any, how the thread is by itself."""
    is_recording(state)  # drops those that are not
    blocks = state.recording
    if blocks and blocks[-1] not in (_ON, OFF):
        blocks[-1].note = enabled
    else:
        around = blocks[:-1]
        state.recording = around if enabled and not around else (*around, _ON if enabled else OFF)
