"""``with`` blocks that are always left, also when Ctrl-C strikes on the way out.

Python looks for Ctrl-C before the first line of every Python function, ``__exit__`` included: a
KeyboardInterrupt raised there would end the block with nothing undone, and recording, say, would
stay off for the rest of the program. Here each ``with`` makes a :class:`Block`, which runs as long
as its token is alive, and the token hangs on what is called at the end, which the statement alone
has. Called or, where an interrupt was faster, let go uncalled: the token is gone, and a weak
reference to it sees to what is left to do.

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
_NOBODY = weakref.ref(_Token())


class Block:
    """One ``with``, from where it is entered to where it is left.

    Attributes:
        manager: what stood behind ``with``.
        token: what has to be alive while the block runs; the ``with`` statement has it, or this
            block itself where it was entered by hand.
        held: called, it returns the token while the block runs, and else None.
        note: what the manager wrote down, for example what it has to put back.
    """

    __slots__ = ("manager", "token", "held", "note", "_reference")

    def __init__(self, manager: Any, note: Any = None):
        self.manager = manager
        self.note = note
        self.token: _Token | None = _Token()
        self._reference = weakref.ref(self.token, self.leave)
        self.held = _NOBODY

    @property
    def running(self) -> bool:
        """Whether it is entered and not left."""
        return self.held() is not None

    def enter(self) -> Any:
        """Begin, as the innermost block of this thread."""
        state = local.state
        state.looked_up, self.note = self.note, None
        self.manager._check(state)
        try:
            self.held = self._reference
            for name in self.manager.lists:
                around = [block for block in getattr(state, name) if block.running]
                setattr(state, name, (*around, self))
            return self.manager._enter(self)
        except BaseException:
            self.leave()
            raise

    def leave(self, *_: object) -> None:
        """End, unless it has ended. An error that ends it goes on."""
        if self.held is not _NOBODY:
            self.manager._leave(self)
            self.held = self._reference = _NOBODY
            self.token = None


class _Method:
    """A method of managers that Python looks up for a ``with``: first ``__enter__``, then
    ``__exit__``, and only then calls the first. So both can be those of a new block."""

    def __init__(self, of: Callable[[Any], Callable[..., Any]]):
        self._of = of

    def __get__(self, manager: Any, kind: type | None = None) -> Callable[..., Any]:
        return self if manager is None else self._of(manager)

    def __call__(self, manager: Any, *error: object) -> Any:
        """As ``ExitStack`` calls it, which asks the class."""
        return self._of(manager)(*error)


def _enter_of(manager: Any) -> Callable[..., Any]:
    state = local.state
    state.looked_up = block = Block(manager, state.looked_up)
    return block.enter


def _exit_of(manager: Any) -> Callable[..., Any]:
    state = local.state
    block = state.looked_up
    if block is not None and block.manager is manager:
        leave = partial(block.leave)
        leave.token, block.token = block.token, None  # type: ignore[attr-defined]
        return leave
    for block in reversed(getattr(state, manager.lists[0])):  # called by hand: the last one entered
        if block.running and block.manager is manager:
            return block.leave
    raise RuntimeError(f"{type(manager).__name__}: left in a thread that has not entered it")


class Manager:
    """Base of the context managers.

    Attributes:
        lists: the lists of :class:`~.thread_state.ThreadState` on which its blocks stand.
    """

    lists: tuple[str, ...] = ("others",)
    __enter__ = _Method(_enter_of)
    __exit__ = _Method(_exit_of)

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
