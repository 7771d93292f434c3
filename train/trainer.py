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

from .. import Generator, cuda, no_grad, random
from ..models import build
from ..nn import evaluating
from .checkpoint import Checkpoint, CheckpointError, load, locate
from .config import MODEL_FIELDS, ConfigError, TrainConfig
from .data import CharTokenizer, DataError, TokenStream, default_corpus, fingerprint, load_text
from .folder import RunFolder, last_checkpoint, save_at_the_end, save_on_the_way, warn
from .history import History
from .optim import SGD, AdamW, param_groups
from .optimizer import Optimizer
from .parallel import DataParallel, WorkerError, why_not
from .plot import plot_losses
from .progress import Report
from .sample import restore_model, sample_text
from .signals import Stop
from .step import diverged, gradients, refuse_spoilt

#: NumPy is not to warn of what does not fit into a number: the loss, the gradients, and before a
#: checkpoint the weights, are looked at
quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")


class Trainer:
    """A training run.

    ::

        trainer = Trainer(TrainConfig(steps=500), text=my_text)
        trainer.run()                                # until done: True; stopped: False
        Trainer.resume("runs/gpt").run()             # goes on from the last checkpoint

    Args:
        config: all settings.
        text: what to train on; None reads ``config.data``, or takes the default corpus.
        folder: of the run: checkpoint, log and picture. None takes ``config.out``; where that is
            None too, nothing is written. While it runs, no other run can use it.
        report: what is shown meanwhile; nothing by default.

    Attributes:
        model, tokenizer, data, optimizer, schedule: what the run is made of.
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
        self._setup(config, text, folder, report, None)
        random.manual_seed(config.seed)
        try:
            self.model = build(
                config.model, vocab_size=len(self.tokenizer), **config.model_settings()
            )
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._finish()

    def _setup(
        self,
        config: TrainConfig,
        text: str | None,
        folder: str | Path | RunFolder | None,
        report: Report | None,
        tokenizer: CharTokenizer | None,
    ) -> None:
        """All that comes before the model. A given tokenizer must fit the text."""
        if config.device == "cuda" and cuda.why_not():
            raise ConfigError(cuda.why_not())
        if config.workers > 1 and why_not() is not None:
            raise ConfigError(f"workers: expected 1 here, got {config.workers}; {why_not()}")
        if text is None:
            text = load_text(config.data) if config.data else default_corpus()
        if not text:
            raise DataError("data: the text is empty")
        own = CharTokenizer.from_text(text)
        if tokenizer is not None and own != tokenizer:
            raise DataError(f"data: {vocabulary_difference(own, tokenizer)}")
        self.config = config
        self.tokenizer = own
        self.text_hash = fingerprint(text)
        self.data = TokenStream(own.encode(text), config.block_size)
        chosen = config.out if folder is None else folder
        self.run_folder: RunFolder | None = None
        if chosen is not None:
            self.run_folder = chosen if isinstance(chosen, RunFolder) else RunFolder(chosen)
        self.report = Report() if report is None else report
        self.history = History()
        self.step = 0
        self._seconds: deque[float] = deque(maxlen=50)
        self.schedule = config.make_schedule()

    def _finish(self) -> None:
        """All that comes after the model."""
        config = self.config
        self.model.to(config.device)
        if "\n" in self.tokenizer:
            self.model.start_id = int(self.tokenizer.encode("\n")[0])
        groups = param_groups(self.model, config.weight_decay)
        self.optimizer: Optimizer
        if config.optimizer == "sgd":
            self.optimizer = SGD(groups, config.lr, config.beta1)
        else:
            self.optimizer = AdamW(groups, config.lr, (config.beta1, config.beta2))
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
            changes: settings that differ from now on, such as ``{"steps": 5000}``. The model's
                can't change. With other ``workers`` the losses differ by rounding, and dropout
                draws other numbers.
            text, report: as in the constructor.
            folder: that of the run, where it is held already.

        Raises:
            CheckpointError: it cannot be read, or does not fit together.
            ConfigError: a change that cannot be.
            DataError: the text has another vocabulary.
        """
        file = locate(path)
        saved = load(file)
        changes = dict(changes or {})
        try:
            config = TrainConfig.from_dict(saved.meta["config"])
            step, states = saved.meta["step"], saved.meta["random"]
            if type(step) is not int or step < 0:
                raise ValueError(f"step: expected a count, got {step!r}")
            for name, state in states.items():
                random.generator(name)
                Generator(0).set_state(state)
            history = History.from_arrays(saved.history, step)
        except (ConfigError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(f"checkpoint: {file} has damaged settings ({error})") from None
        for name in ("model", "optimizer", *MODEL_FIELDS):
            if name in changes and changes[name] != getattr(config, name):
                was = getattr(config, name)
                raise ConfigError(
                    f"{name}: the checkpoint has {'the default' if was is None else was}, "
                    f"a resumed run can't change it to {changes[name]}"
                )
        if changes.get("steps", step) < step:
            raise ConfigError(
                f"steps: the checkpoint has done {step}; expected at least that, got "
                f"{changes['steps']}"
            )
        model, tokenizer = restore_model(saved, file)
        trainer = cls.__new__(cls)
        folder = RunFolder(file.parent) if folder is None else folder
        trainer._setup(config.merged(changes), text, folder, report, tokenizer)
        trainer.model = model
        trainer._finish()
        settings = [dict(group) for group in trainer.optimizer.param_groups]
        try:
            trainer.optimizer.load_state_dict(saved.optimizer)
        except ValueError as error:
            raise CheckpointError(f"checkpoint: {file}: {error}") from None
        for group, own in zip(trainer.optimizer.param_groups, settings, strict=True):
            group.update(own)  # settings are the config's, which a flag may have changed
        trainer.same_text = saved.meta.get("text") == trainer.text_hash
        trainer.step, trainer.history = step, history
        folder.saved = step
        random.set_state(states)
        return trainer

    #: False where a resumed run reads another text than before, with the same vocabulary
    same_text: bool = True

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
                self.run_folder.start_log(self.step, self.history.validated)
            self.report.start(self)
            while True:
                if self._validation_due() and not self._validate(stop):
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
        workers = self.config.workers
        if workers > 1 and (self._parallel is None or self._parallel.closed):
            try:
                self._parallel = DataParallel(self.model, self.optimizer, workers)
            except OSError as error:
                raise ConfigError(
                    f"workers: cannot start {workers} processes: {error.strerror or error}"
                ) from None
        return self._parallel

    def close(self) -> None:
        """End the processes that :meth:`train_step` has started with several ``workers``."""
        if self._parallel is not None:
            self._parallel.close()
            self._parallel = None

    def evaluate(self, limit: int | None = None, stop: Stop | None = None) -> float | None:
        """Mean loss over the validation split in consecutive blocks; nothing random is drawn.

        Args:
            limit: stop after this many batches; None for the whole split.
            stop: once it is true, give up and return None.
        """
        total, count = 0.0, 0
        with no_grad(), evaluating(self.model):
            for x, y in self.data.blocks("val", self.config.batch_size, limit):
                if stop:
                    return None
                total += self.model(x, y)[1].item() * y.size
                count += y.size
        return total / count

    def _validation_due(self) -> bool:
        last = self.step >= self.config.steps
        due = last or self.step > 0 and self.step % self.config.eval_every == 0
        return due and self.history.validated != self.step

    def _validate(self, stop: Stop) -> bool:
        """Make the validation that is due; False where a stop came first."""
        last = self.step >= self.config.steps
        limit = None if last else self.config.eval_batches or None
        loss = self.evaluate(limit, stop)
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
        recent = self.history.train[-50:]
        return sum(recent) / len(recent) if recent else math.nan

    @property
    def step_seconds(self) -> float:
        """Mean time of the last 50 steps of this process, 0 before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Speed of training lately, 0 before the first step."""
        config = self.config
        symbols = config.batch_size * config.accumulate * config.block_size
        return symbols / self.step_seconds if self.step_seconds else 0.0

    def checkpoint(self) -> Checkpoint:
        """The state of the run: host arrays and plain values, all copies."""
        config = self.config.to_dict()
        if self.config.data is not None:
            config["data"] = str(Path(self.config.data).absolute())
        return Checkpoint(
            weights=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            history=self.history.arrays(),
            meta={
                "config": config,
                "model": {"name": self.config.model, "config": self.model.config.to_dict()},
                "symbols": self.tokenizer.symbols,
                "step": self.step,
                "random": random.state(),
                "text": self.text_hash,
            },
        )

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

    def plot(self) -> Path | None:
        """Draw the losses into the run's folder; None where it has no folder or no loss."""
        if self.run_folder is None or not self.history.train:
            return None
        return plot_losses(
            self.run_folder.picture,
            self.history.train,
            self.history.val,
            title=f"{self.config.model}, {self.model.num_parameters():,} parameters",
            baseline=math.log(len(self.tokenizer)),
        )

    def sample(self, prompt: str = "", length: int | None = None) -> str:
        """A text by the model as it is now, the same each time (its generator is seeded)."""
        length = self.config.sample_length if length is None else length
        rng = Generator(self.config.seed)
        return sample_text(self.model, self.tokenizer, prompt, length, rng=rng)


def vocabulary_difference(text: CharTokenizer, saved: CharTokenizer) -> str:
    """A line that says how a text's characters differ from a checkpoint's."""
    parts = []
    for what, characters in (
        ("not in the checkpoint", sorted(set(text.symbols) - set(saved.symbols))),
        ("not in the text", sorted(set(saved.symbols) - set(text.symbols))),
    ):
        if characters:
            more = f" and {len(characters) - 8} more" if len(characters) > 8 else ""
            parts.append(f"{what}: {', '.join(map(repr, characters[:8]))}{more}")
    return (
        f"the text has {len(text)} different characters, the checkpoint {len(saved)}; "
        + "; ".join(parts)
    )
