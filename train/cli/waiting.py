"""A word about what takes long, where nothing else is shown yet."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TextIO


class Waiting:
    """``with Waiting("reading the text"):`` says so once it has taken a while.

    Args:
        what: what is going on. file: where to say so.
        patience: seconds until it is said.
    """

    def __init__(self, what: str, file: TextIO, patience: float = 2.0):
        self._timer = threading.Timer(patience, self._tell, (f"{what} ...", file))
        self._timer.daemon = True

    @staticmethod
    def _tell(line: str, file: TextIO) -> None:
        try:
            print(line, file=file, flush=True)
        except (OSError, ValueError):  # nobody reads it, or it is closed
            pass

    def __enter__(self) -> Waiting:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._timer.join()  # processes are forked later, which no other thread should see
