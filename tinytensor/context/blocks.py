"""``with`` blocks that are always left, also when Ctrl-C strikes on the way out.

Python looks for Ctrl-C before the first line of every Python function, ``__exit__`` included: a
KeyboardInterrupt raised there would end the block with nothing undone, and recording, say, would
stay off for the rest of the program. Here a block runs as long as its token is alive, and the token
hangs on what the ``with`` statement holds to call at its end, which nobody else has. Called or,
where an interrupt was faster, let go uncalled: the token is gone, and a weak reference to it sees
to what is left to do.

So a manager is entered as often as one likes, one inside another and in several threads, for what
a block changes is written down in the block. And settings are not put back but looked up: of the
blocks on a setting's list the innermost one that is still running counts, in whatever order the
blocks around it are left (a generator that waits inside one may be closed at any time).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from .thread_state import ThreadState, local


class _Token:
    """Who holds it can end the block that it belongs to."""

    __slots__ = ("__weakref__",)


#: a reference to nothing
NOBODY: Callable[[], Any] = weakref.ref(_Token())


class Block:
    """One ``with``, from where it is entered to where it is left.

    Attributes:
        manager: what stood behind ``with``.
        held: called, it returns the token while the block runs, and else None.
        note: what the manager wrote down, for example what it has to put back.
    """

    __slots__ = ("manager", "held", "note", "_token", "__weakref__")

    def __init__(self, manager: Any):
        self.manager = manager
        self.held = NOBODY
        self.note: Any = None
        #: before the block is entered, a reference to the token that a ``with`` has ready for it;
        #: afterwards the token itself, where the block was entered without one
        self._token: Any = NOBODY

    @property
    def running(self) -> bool:
        """Whether it is entered and not left."""
        return self.held() is not None

    def enter(self) -> Any:
        """Begin, as the innermost block of this thread."""
        state = local.state
        self.manager._check(state)
        try:
            self.begin()
            for name in self.manager.lists:
                around = [block for block in getattr(state, name) if block.running]
                setattr(state, name, (*around, self))
            return self.manager._enter(self)
        except BaseException:
            self.end()
            raise

    def begin(self) -> None:
        """Run from now on."""
        token = self._token()
        self._token = None
        if token is None:  # no ``with`` has it: entered by hand
            self._token = token = _Token()
        self.held = weakref.ref(token, self.end)

    def end(self, *_: object) -> None:
        """End, unless it has ended or never begun."""
        if self.held is not NOBODY:
            self.manager._leave(self)
            self.held = NOBODY
            self._token = None

    def leave(self, *_: object) -> None:
        """What is called at the end of a ``with``. An error that ends it goes on."""
        if self.held is NOBODY and self._token is not None:  # not by the ``with`` that entered
            _leave_last(self.manager)
        self.end()


def _leave_last(manager: Any) -> None:
    """``manager.__exit__`` called by hand: end the block that it entered last in this thread."""
    for block in reversed(getattr(local.state, manager.lists[0])):
        if block.running and block.manager is manager:
            block.end()
            return
    raise RuntimeError(f"{type(manager).__name__}: left in a thread that has not entered it")


class _Exit:
    """``__exit__`` of managers. A ``with`` looks up it and ``__enter__``, in either order, and then
    calls the latter; what is found here ends a new block, which ``__enter__`` begins."""

    def __get__(self, manager: Any, kind: type | None = None) -> Callable[..., Any]:
        if manager is None:
            return self
        block = Block(manager)
        leave = partial(block.leave)
        leave.token = token = _Token()  # type: ignore[attr-defined]
        block._token = weakref.ref(token)
        local.state.offered = weakref.ref(block)
        return leave

    def __call__(self, manager: Any, *error: object) -> None:
        """As ``ExitStack`` calls it, which asks the class."""
        _leave_last(manager)


class Manager:
    """Base of the context managers.

    Attributes:
        lists: the lists of :class:`~.thread_state.ThreadState` on which its blocks stand.
    """

    lists: tuple[str, ...] = ("others",)

    def __enter__(self) -> Any:
        state = local.state
        block = state.offered()
        state.offered = NOBODY
        if block is None or block.manager is not self:
            block = Block(self)
        return block.enter()

    __exit__ = _Exit()

    def _check(self, state: ThreadState) -> None:
        """Raise what forbids to enter, before anything is changed."""

    def _enter(self, block: Block) -> Any:
        """Make the change, and return what follows ``as``."""

    def _leave(self, block: Block) -> None:
        """Undo the change. It may be called again if it is interrupted, and then has to go on."""


def innermost(blocks: tuple[Block, ...]) -> Any:
    """The manager of the innermost block that is running, or None."""
    for block in reversed(blocks):
        if block.running:
            return block.manager
    return None
