"""The training loop: batches, steps, validations, checkpoints, and going on where one stopped.

A run that is stopped at any step and resumed from its checkpoint is bit for bit the run that was
never stopped: the same parameters, optimiser state and losses. All that training reads is in the
checkpoint (the generators' states among it), validation draws nothing from training's generators,
and a validation that was due when the stop came is made first thing after it. The same holds where
several processes share each batch (``config.workers``), as long as their number stays.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ... import cuda, random
from ...models import Model, build
from ..checkpoint import Checkpoint
from ..config import ConfigError, TrainConfig
from ..data.files import absolute_names
from ..parallel import DataParallel, WorkerError
from ..parallel.workers import check, choose, resumed, start
from ..results.history import History
from ..results.restore import Restored, restore
from ..system.signals import Stop
from ..system.terminal import warn
from ..tasks import TASKS
from .cell import default_report
from .changes import changed
from .folder import RunFolder, last_checkpoint, save_at_the_end, save_on_the_way
from .loggers import further
from .memory import check_run
from .outcome import Outcome
from .parts import compare_data, folder_of, load_optimizer, optimizer_of, snapshot
from .report import Report
from .step import diverged, gradients, refuse_spoilt
from .validation import Pace, Told, due, mean_loss, to_come

#: NumPy is not to warn of what does not fit into a number: the loss, the gradients, and before a
#: checkpoint the weights, are looked at
quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")


class Trainer(Outcome):
    """A training run.

    ::

        trainer = Trainer(TrainConfig(steps=500), text=my_text)
        trainer.run()                                # until done: True; stopped: False
        Trainer.resume("runs/gpt").run()             # goes on from the last checkpoint

    Args:
        config: all settings.
        text: what to train on, for a task on a text; None reads ``config.data``, or takes the
            default corpus.
        folder: of the run: checkpoint, log and picture. None takes ``config.out``; where that is
            None too, nothing is written. While it runs, no other run can use it.
        report: what is shown meanwhile; by default a bar in a notebook, elsewhere nothing.
            ``train.Report()`` shows nothing.

    Attributes:
        config: all settings; ``workers`` is a number now, which the checkpoint keeps.
        task, model, optimizer, schedule: what the run is made of.
        workers: how many processes share each batch.
        step: how many steps are done.
        history: losses so far.

    Raises:
        DataError: the text is unfit. ConfigError: a setting is.
    """

    def __init__(
        self,
        config: TrainConfig,
        text: str | None = None,
        folder: str | Path | RunFolder | None = None,
        report: Report | None = None,
    ):
        check(config)
        self._setup(config, text, folder, report)
        random.manual_seed(config.seed)
        try:
            settings = {**config.model_settings(), **self.task.sizes()}
            self.model: Model[Any] = build(config.model, **settings)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._finish()

    def _setup(
        self,
        config: TrainConfig,
        text: str | None,
        folder: str | Path | RunFolder | None,
        report: Report | None,
        saved: Restored | None = None,
    ) -> None:
        """All that comes before the model. A checkpoint's vocabulary must be that of the data."""
        if config.device == "cuda" and cuda.why_not():
            raise ConfigError(cuda.why_not())
        further(config.log)  # refuses what is not installed
        self._names = None if config.data is None else absolute_names(config.data)
        self.task = TASKS[config.task](config, text=text)
        check_run(config, self.task.sizes(), self.task.length)
        if saved is not None:
            self.same_text, self.text_note = compare_data(self.task, self._names, saved)
        self.config = config
        self.task.batches(1)  # reads what is to be read, and refuses what is unfit
        self.run_folder = folder_of(config, folder)
        self.report = default_report() if report is None else report
        self.history = History()
        self.step = 0
        self._seconds: deque[float] = deque(maxlen=50)
        self.schedule = config.make_schedule()

    def _finish(self) -> None:
        """All that comes after the model."""
        config = self.config
        self.model.to(config.device)
        self.task.prepare(self.model)
        self.optimizer = optimizer_of(config, self.model)
        self.workers = choose(config, self.model.num_parameters(), self.task.length)
        self.config = config.merged({"workers": self.workers})
        self.pace = Pace()
        self._parallel: DataParallel | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of the run."""
        return None if self.run_folder is None else self.run_folder.path

    @classmethod
    def resume(
        cls,
        path: str | Path,
        changes: Mapping[str, Any] | None = None,
        text: str | None = None,
        report: Report | None = None,
        folder: RunFolder | None = None,
    ) -> Trainer:
        """The trainer that saved a checkpoint, at the step where it did.

        Args:
            path: the checkpoint, or the folder of its run.
            changes: settings that differ from now on, such as ``{"steps": 5000}``. The model's,
                the optimiser's name and the seed can't change. With other ``workers`` the losses
                differ by rounding, and dropout draws other numbers.
            text, report: as in the constructor.
            folder: that of the run, where it is held already.

        Raises:
            CheckpointError: it cannot be read, or does not fit together.
            ConfigError: a change that cannot be.
            DataError: the text has another vocabulary.
        """
        saved = restore(path)
        changes, note = resumed(saved.config.workers, changes or {})
        config = changed(saved.config, changes, saved.step, saved.file.parent)
        if "workers" in changes:
            check(config)
        trainer = cls.__new__(cls)
        folder = RunFolder(saved.file.parent) if folder is None else folder
        trainer._setup(config, text, folder, report, saved)
        trainer.model = saved.model
        trainer._finish()
        load_optimizer(trainer.optimizer, saved)
        trainer.workers_note = note
        trainer.step, trainer.history = saved.step, saved.history
        folder.saved = saved.step
        random.set_state(saved.random)
        return trainer

    #: False where a resumed run reads another text than before, with the same vocabulary
    same_text: bool = True
    #: what a resumed run does about its number of processes, where that is worth a word
    workers_note: str | None = None
    #: then: what is known of the reason, or ""
    text_note: str = ""

    # ---- the loop ------------------------------------------------------------------------------

    def run(self, stop: Stop | None = None) -> bool:
        """Train until ``config.steps``, with validations and checkpoints on the way.

        Args:
            stop: once it is true, the current step is finished, a checkpoint is saved, and this
                returns. None makes one that listens to Ctrl-C and SIGTERM.

        Returns:
            True when all steps are done, False when stopped before.

        Raises:
            TrainingError: the loss, a gradient or a weight is not finite any more, or would not
                be in the next step; the checkpoint from which the run can go on is not replaced.
            WorkerError: one of several processes has died.
            SaveError: the last checkpoint could not be written (one on the way is only warned of).
            ConfigError: the folder cannot be written to, another run has it, or the processes
                cannot be started.
        """
        if stop is None:
            with Stop() as stop:
                return self.run(stop)
        if self.run_folder is None:
            return self._run(stop)
        with self.run_folder.held():
            return self._run(stop)

    @quiet
    def _run(self, stop: Stop) -> bool:
        config = self.config
        try:
            if not stop:
                self._start_workers()
            if self.run_folder is not None:
                self.run_folder.start_log(self.step, self.history.validated, further(config.log))
            self.report.start(self)
            while True:
                if self._due() and not self._validate(stop):
                    break
                if self.step >= config.steps or stop:
                    break
                self.train_step()
                self.report.step(self)
                if self.step % config.checkpoint_every == 0 and self.step < config.steps:
                    save_on_the_way(self.run_folder, self.save)
            # Once more also where the last one is of this step: a validation may have come since.
            save_at_the_end(self.save)
        except WorkerError as error:
            raise WorkerError(
                f"step {self.step + 1}: {error}{last_checkpoint(self.run_folder)}"
            ) from None
        finally:
            self.close()
            self.report.close()
            if self.run_folder is not None:
                self.run_folder.close_log()
        try:
            self.plot()
        except Exception as error:  # whatever it is, the run is done and saved
            warn(f"the loss curve could not be drawn: {error}")
        return self.step >= config.steps and self.history.validated == self.step

    @quiet
    def train_step(self) -> float:
        """One step: batches, gradients, clipping, update. Returns the loss before the update.

        With several ``workers`` their processes are started if need be, and stay for the next step
        until :meth:`close`, or the end of :meth:`run`.

        Raises:
            TrainingError: the loss or a gradient is not finite; no weight was changed.
        """
        parallel = self._start_workers()
        started = time.perf_counter()
        lr = self.schedule(self.step)
        self.optimizer.lr = lr
        self.optimizer.zero_grad()
        limit = self.config.clip or math.inf
        mean, norm = gradients(self, parallel, limit)
        if not (math.isfinite(mean) and math.isfinite(norm)):
            raise diverged(self, f"step {self.step + 1}: loss {mean}, norm of the gradient {norm}")
        self.report.gradients(self, norm)
        if parallel is not None:
            parallel.update(limit, norm)
        else:
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.step += 1
        self.history.train.append(mean)
        seconds = time.perf_counter() - started
        self._seconds.append(seconds)
        if self.run_folder is not None:
            rounded = round(seconds, 5)
            self.run_folder.log(self.step, loss=mean, lr=lr, grad_norm=norm, seconds=rounded)
        return mean

    def _start_workers(self) -> DataParallel | None:
        """The processes that share each batch, started unless they are there; None for only one."""
        workers = self.workers
        if workers > 1 and (self._parallel is None or self._parallel.closed):
            self._parallel = start(self.model, self.optimizer, workers)
        return self._parallel

    def close(self) -> None:
        """End the processes that :meth:`train_step` has started with several ``workers``."""
        if self._parallel is not None:
            self._parallel.close()
            self._parallel = None

    def evaluate(
        self, limit: int | None = None, stop: Stop | None = None, told: Told | None = None
    ) -> float | None:
        """Mean loss over the validation split in consecutive blocks; nothing random is drawn.

        Where several processes run (see :meth:`train_step`), each takes batches of its own.

        Args:
            limit: at most so many batches, spread evenly over the split; None for all of it.
            stop: once it is true, give up and return None.
            told: called now and then with the number of batches that are read.
        """
        blocks = self.task.blocks(self.config.batch_size, limit)
        return mean_loss(self.model, blocks, self._parallel, stop, told)

    @property
    def val_batches(self) -> tuple[int, int]:
        """How many batches a validation reads, and how many the whole split has."""
        there = self.task.batches(self.config.batch_size)
        return min(there, self.config.eval_batches or there), there

    def _due(self) -> bool:
        return due(self.step, self.config.steps, self.config.eval_every, self.history.validated)

    def _validate(self, stop: Stop) -> bool:
        """Make the validation that is due; False where a stop came first."""
        with self.pace.measured(self.val_batches[0], lambda: self.report.validating(self)) as told:
            loss = self.evaluate(self.config.eval_batches or None, stop, told)
        if loss is None:
            return False
        if not math.isfinite(loss):
            raise diverged(self, f"step {self.step}: validation loss {loss}")
        self.history.val.append((self.step, loss))
        if self.run_folder is not None:
            self.run_folder.log(self.step, val_loss=loss)
        self.report.validated(self)
        return True

    # ---- results -------------------------------------------------------------------------------

    @property
    def recent_loss(self) -> float:
        """Mean training loss of the last 50 steps, NaN before the first."""
        return self.history.recent

    @property
    def step_seconds(self) -> float:
        """Mean time of the last 50 steps of this process, 0 before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """About how long the steps and validations to come take; 0 before the first step."""
        config, seconds = self.config, self.step_seconds
        if not seconds:
            return 0.0
        count = to_come(self.step, config.steps, config.eval_every, self.history.validated)
        validations = self.pace.left(count, self.val_batches[0], seconds / config.accumulate)
        return (config.steps - self.step) * seconds + validations

    @property
    def tokens_per_second(self) -> float:
        """Speed of training lately, 0 before the first step."""
        config = self.config
        symbols = config.batch_size * config.accumulate * self.task.length
        return symbols / self.step_seconds if self.step_seconds else 0.0

    def checkpoint(self) -> Checkpoint:
        """The state of the run: host arrays and plain values, all copies."""
        return snapshot(self, self._names)

    @quiet
    def save(self) -> Path | None:
        """Write the checkpoint into the run's folder; None where it has no folder.

        It replaces the one before only if the run can go on from it: the weights, the optimiser's
        state, and the loss and gradients of the next step, which are computed for this, are finite.

        Raises:
            TrainingError: they are not. SaveError: it could not be written. In both cases the one
                before is untouched.
        """
        if self.run_folder is None:
            return None
        state = self.checkpoint()
        refuse_spoilt(self, self._parallel, state)
        return self.run_folder.save(state, self.step)
