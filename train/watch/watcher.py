"""Watching a run from within: looks at it as it goes, keeps what it sees, and shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..config import ConfigError
from ..given.words import cause
from ..results.watch_file import NAME, Seen
from ..run.report import Report
from ..system.terminal import note, warn
from . import looks
from .budget import SHARE, Budget
from .keep import WatchLog

if TYPE_CHECKING:
    from ..run.trainer import Trainer
    from .server import Server

#: seconds that the end of a run waits for a page that is open
LINGER = 3.0


class Watcher(Report):
    """Keeps a run's history in its folder, see :mod:`..results.watch_file`, and serves its page.

    What training computes is bit for bit the same without it. Whatever goes wrong here costs the
    watching alone: it is said once, and the run goes on.

    Args:
        every: steps between two looks; None looks as often as costs little, see :class:`Budget`.
        server: of the page; None keeps the history only.
        tell: called with the line that has the page's address.
    """

    def __init__(
        self,
        every: int | None = None,
        server: Server | None = None,
        tell: Callable[[str], object] = print,
    ):
        if every is not None and (isinstance(every, bool) or every < 1):
            raise ConfigError(f"watch-every: expected a number of steps >= 1, got {every}")
        self.every, self.server = every, server
        self._tell = tell
        self._log: WatchLog | None = None
        self._looks: dict[str, Callable[[Trainer], Any]] = {}
        self._budget = Budget(0, 0)
        self._began = 0.0
        self._norms: Any = None

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`: the first look, before the first step."""
        self._began = time.perf_counter()
        with self._on_its_own():
            if trainer.folder is None:
                raise ConfigError("the run has no folder to keep its history in")
            self._budget = Budget(trainer.step, trainer.config.steps, self.every)
            self._looks = {"sample": looks.sample}
            for kind, make in (("activations", looks.Activations), ("attention", looks.Attention)):
                try:
                    self._looks[kind] = make(trainer)
                except ConfigError:  # the model has none
                    if kind != "attention":
                        raise
            self._log = WatchLog(trainer.folder, self._about(trainer))
            self._look(trainer)
            if self.server is not None:
                self.server.start()
                self._tell(f"watch it learn: {self.server.address}")

    def _about(self, trainer: Trainer) -> dict[str, Any]:
        """What the page tells of the run: plain values."""
        config = trainer.config
        attention = self._looks.get("attention")
        return {
            "name": trainer.folder.name if trainer.folder else "",
            "model": config.model,
            "task": config.task,
            "parameters": trainer.model.num_parameters(),
            "data": trainer.task.describe(),
            "steps": config.steps,
            "batch": trainer.task.describe_batch(config.batch_size * config.accumulate),
            "shown": trainer.task.shown,
            "baseline": trainer.task.baseline,
            "sentence": getattr(attention, "text", None),
        }

    def gradients(self, trainer: Trainer, norm: float) -> None:
        """See :class:`Report`."""
        step = trainer.step + 1
        if self._log is not None and self._due("gradients", step):
            with self._on_its_own():
                began = time.perf_counter()
                self._norms = looks.gradients(trainer, norm)
                self._budget.looked("gradients", step, time.perf_counter() - began)

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        if self._log is None:
            return
        with self._on_its_own():
            norms, self._norms = self._norms, None
            if norms is not None:
                self._log.add(Seen("gradients", trainer.step, norms))
            self._look(trainer)

    def _look(self, trainer: Trainer) -> None:
        """All looks that are due, but for gradients."""
        assert self._log is not None
        for kind, look in list(self._looks.items()):
            if not self._due(kind, trainer.step):
                continue
            began = time.perf_counter()
            if not self._log.has(kind, trainer.step):
                try:
                    value = look(trainer)
                except Exception as error:
                    del self._looks[kind]
                    warn(f"watch: {kind}: {cause(error)}; the rest is watched on")
                    continue
                self._log.add(Seen(kind, trainer.step, value))
            self._budget.looked(kind, trainer.step, time.perf_counter() - began)

    def _due(self, kind: str, step: int) -> bool:
        return self._budget.due(kind, step, time.perf_counter() - self._began)

    def close(self) -> None:
        """See :class:`Report`: tells what watching has cost, where that was much."""
        if self._log is None:
            return
        with self._on_its_own():
            self._log.close()
            self._log = None
            spent, whole = self._budget.spent, time.perf_counter() - self._began
            if spent > SHARE * whole and spent > 0.1:
                less = "" if self.every else f"; of a longer one it takes {SHARE:.0%}"
                note(f"watching took {spent:.1f} s, {spent / whole:.0%} of this run{less}")

    def end(self, stop: object = None) -> None:
        """The run is over: let an open page have the rest, then end the server."""
        server, self.server = self.server, None
        if server is not None:
            server.followed.ended = True
            if not stop:
                server.told_all(LINGER)
            server.close()

    @contextmanager
    def _on_its_own(self) -> Iterator[None]:
        """An error inside ends the watching and not the run."""
        try:
            yield
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Watch no longer."""
        log, self._log = self._log, None
        warn(f"watch: {NAME}: {cause(error)}; the run goes on without being watched")
        if log is not None:
            try:
                log.close()
            except OSError:
                pass
