"""Standard output and standard error that may go away, be full, or have few characters.

A reader that leaves (``| head``), a terminal that is closed, a full disk: none of them costs more
than the words that were meant for them. While a command runs, :class:`Output` stands in for both
streams: :func:`guarded` puts it there.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

#: seconds that a training run waits for a reader that takes nothing
PATIENCE = 1.0
#: errors after which a stream may work again
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.EFBIG)
#: errors that say no more than that the reader has left; a pipe on Windows says EINVAL
LEFT = (errno.EPIPE, errno.ECONNRESET, *([errno.EINVAL] if os.name == "nt" else []))
_FIT = "tinytensor.fit"
_LINES = {
    **dict.fromkeys(map(chr, range(0x2500, 0x2580)), "+"),  # box drawing
    **dict.fromkeys("─┄┈╌╴╶", "-"),
    **dict.fromkeys("━┅┉╍╸╺═", "="),
    **dict.fromkeys("│┃┆┇┊┋╎╏║", "|"),
}


def _fit(error: UnicodeError) -> tuple[str, int]:
    """An error handler for codecs: drawn lines become ``-=|+``, all else ``?``."""
    assert isinstance(error, UnicodeEncodeError)
    strange = error.object[error.start : error.end]
    return "".join(_LINES.get(character, "?") for character in strange), error.end


codecs.register_error(_FIT, _fit)


class Output(io.TextIOBase):
    """A text stream that never raises: what cannot be written is dropped.

    Whole lines are handed to the system at once, past Python's own buffers: nothing is left in
    those for Python's end to stumble on. What the encoding lacks becomes ``?``.

    Args:
        stream: the stream to write to; None where it was closed before Python started.
        patience: seconds to wait for a reader of a pipe that does not block; None waits for as
            long as it takes. After one wait in vain nothing is waited for, till something is read.

    Attributes:
        lost: why something was dropped, None if nothing was.
        over: whether it is of no use to go on writing.
    """

    def __init__(self, stream: TextIO | None, patience: float | None = None):
        self.lost: OSError | None = None
        self.over = stream is None
        if stream is None:
            self.lost = OSError(errno.EBADF, "it is closed")
        self._stream: Any = stream
        self._patience = self._waits = patience
        buffer = getattr(stream, "buffer", None)
        raw = buffer.raw if isinstance(buffer, io.BufferedWriter) else buffer
        self._raw = raw if isinstance(raw, io.RawIOBase) else None
        self._pending = ""
        self._rest = b""  # of a line that has been written in part
        encoding, errors = self.encoding, self.errors
        if errors in ("strict", "surrogateescape"):
            errors = _FIT
        try:
            self._encoder = codecs.getincrementalencoder(encoding)(errors)
        except LookupError:
            self._encoder = codecs.getincrementalencoder("ascii")(_FIT)
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()

    def write(self, text: str) -> int:
        """Write a text, or keep it until its line is complete."""
        self._pending += text
        if "\n" in text or len(self._pending) > 8192:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write what was kept."""
        text, self._pending = self._pending, ""
        if self.over or not text:
            return
        try:
            if self._raw is None:
                self._stream.write(self._encode(text).decode(self.encoding, "replace"))
                self._stream.flush()
            else:
                self._put(self._encode(text.replace("\n", os.linesep)))
        except OSError as error:
            self.lost = self.lost or error
            self.over = error.errno not in _PASSING
        except ValueError:  # so says Python of a closed stream
            self.lost, self.over = self.lost or OSError(errno.EBADF, "it is closed"), True

    def _encode(self, text: str) -> bytes:
        try:
            return self._encoder.encode(text)
        except UnicodeError:  # of a codec that knows no error handlers
            return text.encode("ascii", _FIT)

    def _put(self, data: bytes) -> None:
        """Write bytes: all of them, or none where the reader takes none. What is left of a line
        that was written in part comes before anything else."""
        self._rest = self._left_of(self._rest)
        left = data if self._rest else self._left_of(data)
        if left:
            if len(left) < len(data):
                self._rest = left
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _left_of(self, data: bytes) -> bytes:
        """Write bytes; returns those for which the reader has no room."""
        left = memoryview(data)
        while left:
            count = self._raw.write(left)  # type: ignore[union-attr]
            if count is not None:
                left = left[count:]
                self._waits = self._patience
            elif not self._wait():  # it would block
                break
        return bytes(left)

    def _wait(self) -> bool:
        """Wait until something can be written; False where patience has come to its end."""
        end = None if self._waits is None else time.monotonic() + self._waits
        while end is None or time.monotonic() < end:
            left = 1.0 if end is None else max(0.0, end - time.monotonic())
            try:
                if select.select([], [self.fileno()], [], left)[1]:
                    return True
            except (OSError, ValueError):  # Windows selects sockets only
                time.sleep(0.01)
                return True
        self._waits = 0.0
        return False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """Of the stream: what it does itself with characters that its encoding lacks."""
        return getattr(self._stream, "errors", None) or "strict"

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        try:
            return self._stream is not None and bool(self._stream.isatty())
        except ValueError:
            return False

    def fileno(self) -> int:
        """The stream's descriptor."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return int(self._stream.fileno())

    def writable(self) -> bool:
        """True."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_stream" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._stream, name)


@contextlib.contextmanager
def guarded(patience: float | None = None) -> Iterator[Output]:
    """Within it :class:`Output` stands for standard output, which it yields, and for standard
    error."""
    before = sys.stdout, sys.stderr
    out, err = Output(before[0], patience), Output(before[1], patience)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before


def hold_descriptors() -> None:
    """Open the null device where standard input, output or error is closed: the next file that is
    opened, a checkpoint perhaps, would take their number, and get what others write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
