"""Ctrl-C while the command line is still being imported: one line instead of a traceback.

The package imports this module before all else. It does something only where this process is
``python -m tinytensor`` or the script ``tinytensor``: nothing is begun then that could be lost, so
the process leaves at once with exit code 130. In every other program it leaves signals alone.
"""

from __future__ import annotations

# the part of signal that is built in: the module itself takes milliseconds to import
import _signal  # type: ignore[import-not-found]
import os
import sys

MODULES = ("tinytensor", "tinytensor.__main__", "-mtinytensor")
SCRIPTS = ("tinytensor", "tinytensor.exe", "tinytensor-script.py")


def is_command_line() -> bool:
    """Whether this process was started as ``python -m tinytensor`` or as its script."""
    arguments = getattr(sys, "argv", [])
    for started in sys.orig_argv[-len(arguments) :][:1] if arguments else []:
        # Python calls a module's program "-m" until it has found the module
        if arguments[0] == "-m":
            return started in MODULES
        return os.path.basename(started) in SCRIPTS
    return False


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"tinytensor: interrupted\n")
    finally:
        os._exit(128 + number)


def begin() -> None:
    """From now on Ctrl-C leaves at once, in a command line; where it is ignored it stays so."""
    if is_command_line() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)


def end() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if _signal.getsignal(_signal.SIGINT) is _leave:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


begin()
