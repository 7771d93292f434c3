"""Ctrl-C at every point where CPython lets it through, one after the other.

CPython looks for signals when a Python function begins, after a call, and when a loop goes back. A
trace of every instruction sees these points pass, and raises KeyboardInterrupt at the wanted one.
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import tinytensor as tt

_PACKAGE = str(Path(tt.__file__).parent)


@functools.cache
def _points(code: CodeType) -> frozenset[int]:
    """Offsets of the instructions at whose end signals are looked for.

    Without those that end a ``try``: a signal is still inside it, what is raised before the next
    instruction would not be.
    """
    tries = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(offset: int) -> int | None:
        return next((t.target for t in tries if t.start <= offset < t.end), None)

    found = dis.get_instructions(code)
    return frozenset(
        i.offset
        for i, after in itertools.pairwise(found)
        if (i.opname.startswith(("RESUME", "CALL")) or "JUMP_BACKWARD" in i.opname)
        and handler(i.offset) == handler(after.offset)
    )


class _Interrupt:
    """Raises at the point of this number, from 0 on, in code of the package or of this file."""

    def __init__(self, number: int, file: str):
        self.left, self.file = number, file
        self.struck = False
        self.last: dict[FrameType, int] = {}

    def passed(self, frame: FrameType) -> None:
        """Before each instruction: was the one before it, in this frame, a point?"""
        offset = self.last.get(frame, 0)  # of a function that begins only what follows is seen
        self.last[frame] = frame.f_lasti
        file = frame.f_code.co_filename
        if self.struck or not (file == self.file or file.startswith(_PACKAGE)):
            return
        if offset == 0 or offset in _points(frame.f_code):
            self.left -= 1
            if self.left < 0:
                self.struck = True
                raise KeyboardInterrupt

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For ``sys.settrace``, up to Python 3.11."""
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "call":
            self.last.pop(frame, None)
        if event == "opcode":
            self.passed(frame)
        return self.trace

    def run(self, program: Callable[[], Any]) -> None:
        if sys.version_info < (3, 12):
            before = sys.gettrace()
            sys.settrace(self.trace)
            try:
                program()
            finally:
                sys.settrace(before)
            return
        watch = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        watch.use_tool_id(4, "interrupts")
        here = watch.events
        began = here.PY_START | here.PY_RESUME
        for event in (here.PY_START, here.PY_RESUME):
            watch.register_callback(4, event, lambda *_: self.last.pop(sys._getframe(1), None))
        watch.register_callback(4, here.INSTRUCTION, lambda *_: self.passed(sys._getframe(1)))
        watch.set_events(4, began | here.INSTRUCTION)
        try:
            program()
        finally:
            watch.set_events(4, 0)
            watch.free_tool_id(4)


def interrupted_everywhere(program: FunctionType, check: Callable[[], Any]) -> int:
    """Run ``program`` again and again, interrupted at its first point, its second, and so on until
    it ends undisturbed; ``check`` after each. Returns how many points there were."""
    program()
    number = 0
    while True:
        interrupt = _Interrupt(number, program.__code__.co_filename)
        try:
            interrupt.run(program)
        except KeyboardInterrupt:
            interrupt.last.clear()
            check()
        else:
            check()
            if not interrupt.struck:
                return number
        number += 1
